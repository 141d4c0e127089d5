/** `assay serve` and `assay worker`. */
import { startService, type Role } from '@assay/server'
import { parseConfig, readEnvironment } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { parseArgs } from 'node:util'
import { readBuild } from './build.ts'
import { listenForStop, UsageError } from './console.ts'

const roles: readonly Role[] = ['api', 'worker', 'all']

export async function serve(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: { role: { type: 'string', default: 'all' }, port: { type: 'string' } },
  })
  const role = roles.find((candidate) => candidate === values.role)
  if (role === undefined) throw new UsageError(`--role must be ${roles.join(', ')}, got ${JSON.stringify(values.role)}`)
  await run(role, values.port === undefined ? {} : { ASSAY_PORT: values.port })
}

export async function worker(words: string[]): Promise<void> {
  parseArgs({ args: words, options: {} })
  await run('worker', {})
}

async function run(role: Role, overrides: Record<string, string>): Promise<void> {
  const config = parseConfig({ ...readEnvironment(), ...overrides }, role)
  const log = createLog({ level: config.logLevel })
  const { asked, signal } = listenForStop()
  const service = await startService(config, role, log, readBuild(), signal).catch((error: unknown) => {
    // Asked to stop while it waited for its database: there is nothing to stop.
    if (error === signal.reason) return undefined
    throw error
  })
  if (service === undefined) return
  log.info({ role, url: service.url }, 'ready')
  await asked
  log.info({}, 'stopping')
  await service.stop()
}
