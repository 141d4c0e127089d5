/**
 * `assay start`: everything on this machine. In sandbox mode that is the embedded database, the simulated providers,
 * the API and a worker, and a demo user whose data can be read at once. With `--live` the providers are the real ones,
 * for a person who tries a key of their own; nothing is simulated, and no provider is called before a key is given.
 *
 * The simulators are imported here and nowhere else in the product: an installation without development packages does
 * not carry them, and live mode does not load them.
 */
import { startDemo, type Demo } from '@assay/demo'
import { startService } from '@assay/server'
import { makeDirectory, openAdmin, whenAnswering } from '@assay/server/admin'
import { parseConfig, readEnvironment, type Config } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readBuild } from '../build.ts'
import { listenForStop, UsageError, writeLine } from '../console.ts'
import { demoUser, openDemoAccess } from './demo-access.ts'
import { usage } from '../usage.ts'
import { toReadableLine } from './readable-log.ts'
import { toLiveWelcome, toWelcome, type LiveSecrets, type Running as Addresses } from './welcome.ts'

/** Any fixed text would do, so that the simulators recognise stored keys after a restart. */
const sandboxSeed = 'assay'

export async function start(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      port: { type: 'string' },
      'demo-port': { type: 'string' },
      data: { type: 'string' },
      fresh: { type: 'boolean', default: false },
      live: { type: 'boolean', default: false },
    },
  })
  // A sandbox can be emptied at any time; a person's real accounts are removed on their own page.
  if (values.live && values.fresh) throw new UsageError(`--fresh is for the sandbox\n${usage.start}`)
  const { asked, signal } = listenForStop()
  const mode = values.live ? 'live' : 'sandbox'
  const environment = { ASSAY_LOG_LEVEL: 'warn', ...readEnvironment(), ASSAY_MODE: mode }
  const parsed = parseConfig({
    ...environment,
    ...(values.port === undefined ? {} : { ASSAY_PORT: values.port }),
    ...(values['demo-port'] === undefined ? {} : { ASSAY_DEMO_PORT: values['demo-port'] }),
    ...(values.data === undefined ? {} : { ASSAY_DATA_DIRECTORY: values.data }),
  })
  const config = { ...parsed, sandbox: { ...parsed.sandbox, startsEmpty: values.fresh } }
  const running = await startAll(config, signal).catch((error: unknown) => {
    if (error === signal.reason) return undefined
    throw error
  })
  if (running === undefined) return
  try {
    const stopped = asked.then(() => true)
    const welcome = await Promise.race([welcomeTo(running), asked])
    if (welcome !== undefined) writeLine(welcome)
    await stopped
    writeLine('Stopping …')
  } finally {
    await running.stop()
    // If nobody reads the output, writing that line never ends and would keep the process alive.
    setTimeout(() => process.exit(), goodbyeMaxMs).unref()
  }
}

const goodbyeMaxMs = 1_000

interface Running extends Addresses {
  /** Undefined in sandbox mode, whose secrets are published. */
  secrets: LiveSecrets | undefined
  stop(): Promise<void>
}

async function welcomeTo(running: Running): Promise<string> {
  if (running.secrets !== undefined) return toLiveWelcome(running, running.secrets)
  const { token } = await openDemoAccess(running.url, `${running.demoUrl}/callback`, writeLine)
  return toWelcome(running, token)
}

type Log = ReturnType<typeof createLog>

async function startAll(config: Config, signal: AbortSignal): Promise<Running> {
  const log = openLog(config.logLevel)
  const ends: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end()
  }
  writeLine(`Starting Assay in ${config.mode} mode, with its data in ${config.database.dataDirectory} …`)
  try {
    // The simulators keep files there before the database is opened.
    await makeDirectory(config.database.dataDirectory, 0o755)
    const settings = config.mode === 'live' ? config : await startSimulators(config, log, ends)
    const service = await startService(settings, 'all', log, readBuild(), signal)
    ends.push(() => service.stop())
    const { url } = service
    if (url === undefined) throw new Error('a service that serves requests has an address')
    const secrets = config.mode === 'live' ? newSecrets() : undefined
    const widgetUrl = config.urls.widget ?? `${url}/connect`
    const demo = await startDemo({
      port: config.sandbox.demoPort,
      authUrl: config.urls.auth ?? url,
      baseUrl: url,
      widgetUrl,
      clientId: 'cli_demo',
      clientSecret: secrets?.demo ?? 'sandbox-demo-secret',
      // Only simulated accounts can be viewed without signing in.
      ...(secrets === undefined ? { sampleUser: demoUser } : {}),
      onBug: (error) => log.error({ err: error }, 'the demo application failed to answer'),
    })
    ends.push(() => demo.stop())
    const webhookUrl = await whenAnswering({ log, signal }, () => register(settings, demo, secrets, log))
    return { url, widgetUrl, demoUrl: demo.url, webhookUrl, secrets, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A person at a terminal reads sentences. A slow first start is not a reason to show them a stack. */
function openLog(level: string): Log {
  if (!process.stdout.isTTY) return createLog({ level })
  const withStack = level === 'debug' || level === 'trace'
  return createLog({
    level,
    destination: { write: (line) => void process.stdout.write(toReadableLine(line, withStack)) },
  })
}

/** The settings with the address of the simulators. */
async function startSimulators(config: Config, log: Log, ends: (() => Promise<void>)[]): Promise<Config> {
  const { startSandbox } = await import('@assay/sandbox')
  const sandbox = await startSandbox({
    pace: config.sandbox.pace,
    seed: sandboxSeed,
    walletsFile: path.join(config.database.dataDirectory, 'sandbox-wallets'),
    keysFile: path.join(config.database.dataDirectory, 'sandbox-keys'),
    log: (text, fields) => log.warn(fields ?? {}, text),
  })
  ends.push(() => sandbox.close())
  return { ...config, sandbox: { ...config.sandbox, url: sandbox.controlUrl } }
}

function newSecrets(): LiveSecrets {
  const newSecret = (): string => randomBytes(32).toString('base64url')
  return { demo: newSecret(), enterprise: newSecret() }
}

/**
 * The demo receives webhooks, unless the developer has set another receiver. Its secret lasts as long as the process.
 * Returns the address of the receiver.
 */
async function register(config: Config, demo: Demo, secrets: LiveSecrets | undefined, log: Log): Promise<string> {
  const admin = await openAdmin(config, log)
  try {
    const { tenants, webhooks } = admin
    const { tenantId } = await (secrets === undefined
      ? tenants.ensureSandboxTenant(demo.url)
      : tenants.ensureLiveTenant(demo.url, secrets))
    const present = await webhooks.findUrl(tenantId)
    if (present !== undefined && present !== demo.webhookUrl) return present
    demo.trustWebhooks(await webhooks.set(tenantId, demo.webhookUrl))
    return demo.webhookUrl
  } finally {
    await admin.close()
  }
}
