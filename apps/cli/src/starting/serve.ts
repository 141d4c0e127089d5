/** `assay serve` and `assay worker`. */
import { startService, type Role, type Service } from '@assay/server'
import { parseConfig, readEnvironment, type Config } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { findParent, startProcesses, type Parent } from '@assay/server/processes'
import cluster from 'node:cluster'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { readBuild } from '../build.ts'
import { listenForStop, UsageError } from '../console.ts'

const roles: readonly Role[] = ['api', 'worker', 'all']
const processesMax = 64

export async function serve(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      role: { type: 'string', default: 'all' },
      port: { type: 'string' },
      processes: { type: 'string', default: '1' },
    },
  })
  const role = roles.find((candidate) => candidate === values.role)
  if (role === undefined) throw new UsageError(`--role must be ${roles.join(', ')}, got ${JSON.stringify(values.role)}`)
  const count = parseProcesses(values.processes, role)
  const config = parseConfig({ ...readEnvironment(), ...(values.port && { ASSAY_PORT: values.port }) }, role)
  if (count === 1) return run(config, role)
  if (cluster.isWorker) return runChild(config)
  await runParent(config, count)
}

export async function worker(words: string[]): Promise<void> {
  parseArgs({ args: words, options: {} })
  await run(parseConfig(readEnvironment(), 'worker'), 'worker')
}

function parseProcesses(text: string, role: Role): number {
  const count = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > processesMax) {
    throw new UsageError(`--processes must be a whole number from 1 to ${processesMax}, got ${JSON.stringify(text)}`)
  }
  if (count > 1 && role === 'worker') {
    throw new UsageError(
      '--processes is for --role api. For more jobs at a time raise ASSAY_WORKER_CONCURRENCY, or start another worker.',
    )
  }
  if (count > 1 && role === 'all') {
    throw new UsageError(
      '--processes is for --role api. Start the API with it, and a separate worker: assay serve --role worker.',
    )
  }
  return count
}

/**
 * How far the heap may grow beyond what is in use before all of it is collected. V8 chooses a multiple by itself, from
 * the machine's memory, so a long history takes over a third more than a short one (467 MiB for 100,000 entries, 340
 * for a tenth). A worker that collects earlier uses a twentieth more processor time.
 */
const workerHeapGrowth = '--heap-growing-percent=25'

async function run(config: Config, role: Role): Promise<void> {
  if (role === 'worker') setFlagsFromString(workerHeapGrowth)
  const log = createLog({ level: config.logLevel })
  const { asked, signal } = listenForStop()
  const service = await startOrLeave(signal, startService(config, role, log, readBuild(), signal))
  if (service === undefined) return
  log.info({ role, url: service.url }, 'ready')
  await asked
  log.info({}, 'stopping')
  await service.stop()
}

/** Several processes of the API on one port. This one serves no request itself. */
async function runParent(config: Config, count: number): Promise<void> {
  // Checked here, so that each is reported once and not by every process.
  if (config.database.url === undefined) {
    throw new UsageError('--processes needs DATABASE_URL: the embedded database belongs to one process.')
  }
  if (config.listen.port === 0) {
    throw new UsageError('--processes needs a port that is not 0 (--port or ASSAY_PORT): all processes share it.')
  }
  const log = createLog({ level: config.logLevel })
  const { asked, signal } = listenForStop()
  const { limits, stopGraceMs, listen } = config
  const processes = await startOrLeave(signal, startProcesses({ count, ...listen, limits, stopGraceMs, log, signal }))
  if (processes === undefined) return
  log.info({ role: 'api', url: processes.url, processes: count }, 'ready')
  await asked
  log.info({}, 'stopping')
  await processes.stop()
}

/**
 * Runs one of several processes. It stops when the parent asks for that, and not at a signal: Ctrl-C and some process
 * managers send one to every process, and the parent must close the port first, or a connection could reach a process
 * that has stopped.
 */
async function runChild(config: Config): Promise<void> {
  const log = createLog({ level: config.logLevel })
  const stopping = new AbortController()
  const asked = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()))
  const onStop = (): void => stopping.abort()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)
  let parent: Parent | undefined
  const join = (readOwnMetrics: () => Promise<readonly object[]>): Parent | undefined =>
    (parent = findParent({ readOwnMetrics, onStop }))
  const starting = startService(config, 'api', log, readBuild(), stopping.signal, join)
  try {
    const service = await startOrLeave(stopping.signal, starting)
    if (service === undefined) return
    parent?.reportReady(service.url)
    await asked
    await service.stop()
  } finally {
    // Otherwise the channel would keep a process alive whose start failed, or that has stopped.
    process.channel?.unref()
  }
}

/** Undefined when it was asked to stop while it waited for its database, before it had started anything. */
async function startOrLeave<T extends Pick<Service, 'url'>>(
  signal: AbortSignal,
  starting: Promise<T>,
): Promise<T | undefined> {
  return starting.catch((error: unknown) => {
    if (error === signal.reason) return undefined
    throw error
  })
}
