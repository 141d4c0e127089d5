/**
 * `assay start`: everything on this machine, in sandbox mode: the embedded database, the simulated providers, the API
 * and a worker, and a demo user whose data can be read at once.
 *
 * The simulators are imported here and nowhere else in the product: an installation without development packages does
 * not carry them.
 */
import { startService, type Service } from '@assay/server'
import { parseConfig, readEnvironment, type Config } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { parseArgs } from 'node:util'
import { readBuild } from './build.ts'
import { untilAskedToStop, writeLine } from './console.ts'
import { openDemoAccess } from './demo-access.ts'

const usage = 'usage: assay start [--port <port>] [--data <directory>]'
/** Any text would do: with the same one, keys that a database remembers are known again after a restart. */
const sandboxSeed = 'assay'

export async function start(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: { port: { type: 'string' }, data: { type: 'string' }, help: { type: 'boolean', default: false } },
  })
  if (values.help) return writeLine(usage)
  const asked = untilAskedToStop()
  const environment = { ASSAY_LOG_LEVEL: 'warn', ...readEnvironment(), ASSAY_MODE: 'sandbox' }
  const config = parseConfig({
    ...environment,
    ...(values.port === undefined ? {} : { ASSAY_PORT: values.port }),
    ...(values.data === undefined ? {} : { ASSAY_DATA_DIRECTORY: values.data }),
  })
  const running = await startAll(config)
  try {
    const stopped = asked.then(() => true)
    const access = await Promise.race([openDemoAccess(running.url, writeLine), asked])
    if (access !== undefined) writeLine(welcome(running.url, access.token))
    await stopped
    writeLine('Stopping …')
  } finally {
    await running.stop()
  }
}

async function startAll(config: Config): Promise<{ url: string; stop(): Promise<void> }> {
  const log = createLog({ level: config.logLevel })
  writeLine(`Starting Assay in sandbox mode, with its data in ${config.database.dataDirectory} …`)
  const { startSandbox } = await import('@assay/sandbox')
  const sandbox = await startSandbox({
    pace: config.sandbox.pace,
    seed: sandboxSeed,
    log: (message, fields) => log.warn(fields ?? {}, message),
  })
  let service: Service
  try {
    service = await startService(
      { ...config, sandbox: { ...config.sandbox, url: sandbox.controlUrl } },
      'all',
      log,
      readBuild(),
    )
  } catch (error) {
    await sandbox.close()
    throw error
  }
  const { url } = service
  if (url === undefined) throw new Error('a service that serves requests has an address')
  return {
    url,
    async stop() {
      await service.stop()
      await sandbox.close()
    },
  }
}

function welcome(url: string, token: string): string {
  return `
Assay is ready.

  API documents   ${url}/docs
  OpenAPI         ${url}/openapi/v2.json  and  ${url}/openapi/v1.json
  Test scenarios  ${url}/sandbox/scenarios
  Health          ${url}/readyz

Read the demo user's holdings (the token lives for 15 minutes; a restart prints a new one):

  curl -H 'Authorization: Bearer ${token}' ${url}/platform/v1/assets

Ctrl-C stops everything; the data stays.`
}
