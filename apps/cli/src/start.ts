/**
 * `assay start`: everything on this machine, in sandbox mode: the embedded database, the simulated providers, the API
 * and a worker, and a demo user whose data can be read at once.
 *
 * The simulators are imported here and nowhere else in the product: an installation without development packages does
 * not carry them.
 */
import { startDemo, type Demo } from '@assay/demo'
import { startService } from '@assay/server'
import { openAdmin, whenAnswering } from '@assay/server/admin'
import { parseConfig, readEnvironment, type Config } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readBuild } from './build.ts'
import { listenForStop, writeLine } from './console.ts'
import { openDemoAccess } from './demo-access.ts'
import { toWelcome, type Running as Addresses } from './welcome.ts'

/** Any text would do: with the same one, keys that a database remembers are known again after a restart. */
const sandboxSeed = 'assay'

export async function start(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      port: { type: 'string' },
      'demo-port': { type: 'string' },
      data: { type: 'string' },
      fresh: { type: 'boolean', default: false },
    },
  })
  const { asked, signal } = listenForStop()
  const environment = { ASSAY_LOG_LEVEL: 'warn', ...readEnvironment(), ASSAY_MODE: 'sandbox' }
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
    const access = await Promise.race([openDemoAccess(running.url, `${running.demoUrl}/callback`, writeLine), asked])
    if (access !== undefined) writeLine(toWelcome(running, access.token))
    await stopped
    writeLine('Stopping …')
  } finally {
    await running.stop()
  }
}

interface Running extends Addresses {
  stop(): Promise<void>
}

async function startAll(config: Config, signal: AbortSignal): Promise<Running> {
  const log = createLog({ level: config.logLevel })
  const ends: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end()
  }
  writeLine(`Starting Assay in sandbox mode, with its data in ${config.database.dataDirectory} …`)
  try {
    const { startSandbox } = await import('@assay/sandbox')
    const { pace, demoPort } = config.sandbox
    const sandbox = await startSandbox({
      pace,
      seed: sandboxSeed,
      walletsFile: path.join(config.database.dataDirectory, 'sandbox-wallets'),
      log: (text, fields) => log.warn(fields ?? {}, text),
    })
    ends.push(() => sandbox.close())
    const settings = { ...config, sandbox: { ...config.sandbox, url: sandbox.controlUrl } }
    const service = await startService(settings, 'all', log, readBuild(), signal)
    ends.push(() => service.stop())
    const { url } = service
    if (url === undefined) throw new Error('a service that serves requests has an address')
    const client = { clientId: 'cli_demo', clientSecret: 'sandbox-demo-secret' }
    const widgetUrl = config.urls.widget ?? `${url}/connect`
    const demo = await startDemo({
      port: demoPort,
      authUrl: config.urls.auth ?? url,
      baseUrl: url,
      widgetUrl,
      ...client,
      onBug: (error) => log.error({ err: error }, 'the demo application failed to answer'),
    })
    ends.push(() => demo.stop())
    await whenAnswering({ log, signal }, () => sendWebhooks(settings, demo, log))
    return { url, widgetUrl, demoUrl: demo.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The demo hears of changes, unless the developer has set a receiver of their own. Its secret lives as long as it does. */
async function sendWebhooks(config: Config, demo: Demo, log: ReturnType<typeof createLog>): Promise<void> {
  const admin = await openAdmin(config, log)
  try {
    const { tenantId } = await admin.tenants.ensureSandboxTenant(demo.url)
    const present = await admin.webhooks.findUrl(tenantId)
    if (present === undefined || present === demo.webhookUrl) {
      demo.trustWebhooks(await admin.webhooks.set(tenantId, demo.webhookUrl))
    }
  } finally {
    await admin.close()
  }
}
