/**
 * An installation for tests that kill processes: PostgreSQL, an API process and a worker process, any of which may be
 * killed at any moment, and simulated providers, which may not. Its database can be frozen and cloned, so that a sync
 * can be run again from the same state: same connection, same ids.
 *
 * PostgreSQL does not wait for the disk here (fsync off): a killed process leaves its writes to the kernel, so only the
 * loss of the machine would show a difference.
 */
import { startSandbox, type Sandbox } from '@assay/sandbox'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { startEmbedded, type Database } from '../../apps/server/src/db/index.ts'
import { openTestDatabase, silentLog, toDatabaseUrl } from '../postgres.ts'
import { reservePort } from '../reserve-port.ts'
import { patienceMs, until } from '../until.ts'

export type Victim = 'worker' | 'api' | 'postgres'

export interface Running {
  url: string
  db: Database
  /** For commands on the same database. */
  environment: Record<string, string>
  /** Kills it, and starts it again unless another part does. */
  kill(victim: Victim): Promise<void>
  /** Processes that ended without being killed, with their last output. */
  listDeserters(): string[]
  /** How often a run of the worker failed for a reason of our own, such as a database that died. */
  countBreakdowns(): number
  /** How many bytes the API process retains. It collects its garbage first, which takes a moment. */
  readApiMemory(): Promise<number>
  /** Stops in order, so that running work comes to an end. */
  endWorker(): Promise<void>
  stop(): Promise<void>
}

export interface RunOptions {
  /** A module that the worker loads first. */
  hook?: string
  settings?: Record<string, string>
  /** Sees the database before anything runs on it. */
  look?(db: Database): Promise<void>
}

export interface Installation {
  sandbox: Sandbox
  /** The API and a worker on the database of this name. */
  run(database: string, options?: RunOptions): Promise<Running>
  /** `from` must have no open connections. */
  clone(from: string, to: string): Promise<void>
  drop(database: string): Promise<void>
  close(): Promise<void>
}

/** The database that `startEmbedded` makes. */
export const firstDatabase = 'assay'

const program = path.resolve(import.meta.dirname, '../../apps/cli/bin/assay.mjs')
const probed = ['--expose-gc', '--import', path.join(import.meta.dirname, 'memory/memory-probe.ts')]
const signals = ['SIGINT', 'SIGTERM'] as const

export async function openInstallation(): Promise<Installation> {
  // An exit ends PostgreSQL and the processes too; a signal alone would leave them running.
  const leave = (): void => process.exit(130)
  for (const signal of signals) process.once(signal, leave)
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-campaign-'))
  const postgres = await startEmbedded({ dataDirectory: directory, log: silentLog, settings: { fsync: 'off' } })
  const sandbox = await startSandbox({ seed: 'campaign', pace: 'fast', log: () => undefined })
  const connect = (database: string): Database => openTestDatabase({ ...postgres.connection, database })
  async function administer(statement: string): Promise<void> {
    const db = connect('postgres')
    try {
      await db.execute(statement)
    } finally {
      await db.close()
    }
  }
  return {
    sandbox,
    run: (database, { hook, settings = {}, look } = {}) => {
      const url = toDatabaseUrl({ ...postgres.connection, database })
      return runProcesses({
        environment: { ...toEnvironment(directory, sandbox, url), ...settings },
        hook,
        look,
        db: connect(database),
        killPostgres: () => killPostgres(path.join(directory, 'postgres/postmaster.pid')),
      })
    },
    // The other strategy copies sequences with the numbers they have reserved, and PostgreSQL 18 logs none of those when
    // they are used: after a crash they are given out again, and jobs fail because their ids exist.
    clone: (from, to) => administer(`create database ${to} template ${from} strategy file_copy`),
    drop: (database) => administer(`drop database ${database} with (force)`),
    async close() {
      for (const signal of signals) process.removeListener(signal, leave)
      await sandbox.close()
      await postgres.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export function toEnvironment(directory: string, sandbox: Sandbox, databaseUrl: string): Record<string, string> {
  return {
    ASSAY_MODE: 'sandbox',
    ASSAY_DATA_DIRECTORY: directory,
    ASSAY_SANDBOX_URL: sandbox.controlUrl,
    ASSAY_LOG_LEVEL: 'error',
    ASSAY_WORKER_SILENT_AFTER: '1000',
    ASSAY_LIMIT_TOKEN: '1000000',
    ASSAY_KEY_CHECK_TIMEOUT: String(patienceMs),
    DATABASE_URL: databaseUrl,
  }
}

interface RunDeps {
  environment: Record<string, string>
  hook?: RunOptions['hook'] | undefined
  look?: RunOptions['look'] | undefined
  db: Database
  killPostgres(): Promise<void>
}

/** The API and a worker, on a database that is there. */
export async function runProcesses({ environment, hook, look, db, killPostgres }: RunDeps): Promise<Running> {
  await look?.(db)
  // Reserved, so that the API has the same address after each start.
  const ends: (() => unknown)[] = []
  const port = await reservePort({ after: (end) => void ends.push(end as () => unknown) })
  const url = `http://127.0.0.1:${port}`
  const heard: Heard = { deserters: [], breakdowns: 0 }
  const starts = {
    api: () => startProcess(['serve', '--role', 'api'], { ...environment, ASSAY_PORT: String(port) }, probed, heard),
    worker: () => startProcess(['worker'], environment, hook === undefined ? [] : ['--import', hook], heard),
  }
  const processes = { api: starts.api(), worker: starts.worker() }

  async function stop(): Promise<void> {
    await Promise.all([processes.api.end('SIGTERM'), processes.worker.end('SIGTERM')])
    for (const end of ends) await end()
    await db.close()
  }

  try {
    await until('the API', () => isUp(url))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url,
    db,
    environment,
    endWorker: () => processes.worker.end('SIGTERM'),
    listDeserters: () => heard.deserters,
    countBreakdowns: () => heard.breakdowns,
    readApiMemory: () => readMemory(processes.api),
    async kill(victim) {
      if (victim === 'postgres') return killPostgres()
      await processes[victim].end('SIGKILL')
      processes[victim] = starts[victim]()
    },
    stop,
  }
}

/** PostgreSQL is started again by the process that owns it, which is this one, as it would be by the service. */
async function killPostgres(postmasterFile: string): Promise<void> {
  const pid = Number((await readFile(postmasterFile, 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGKILL')
  await until('PostgreSQL to come back', async () => (await isOtherPostmaster(postmasterFile, pid)) || undefined)
}

interface Process {
  child: ChildProcess
  gone: Promise<void>
  end(signal: NodeJS.Signals): Promise<void>
}

/** What the processes of one run said and did. */
interface Heard {
  deserters: string[]
  breakdowns: number
}

function startProcess(
  words: string[],
  environment: Record<string, string>,
  nodeWords: string[],
  heard: Heard,
): Process {
  const child = spawn(process.execPath, [...nodeWords, program, ...words], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  // An operator who interrupts a campaign wants all of its processes to end.
  const endWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', endWithUs)
  let lastWords = ''
  for (const input of [child.stdout, child.stderr]) {
    if (input === null) continue
    createInterface({ input }).on('line', (line) => {
      lastWords = `${lastWords}${line}\n`.slice(-2_000)
      if (line.includes('reading broke down')) heard.breakdowns += 1
    })
  }
  let expected = false
  const gone = once(child, 'close').then(() => {
    process.removeListener('exit', endWithUs)
    if (!expected) heard.deserters.push(`${words.join(' ')} ended by itself: ${lastWords}`)
  })
  return {
    child,
    gone,
    async end(signal) {
      expected = true
      child.kill(signal)
      await gone
    },
  }
}

async function isUp(url: string): Promise<true | undefined> {
  const response = await fetch(`${url}/readyz`).catch(() => undefined)
  await response?.body?.cancel()
  return response?.status === 200 ? true : undefined
}

async function isOtherPostmaster(file: string, killed: number): Promise<boolean> {
  const lines = await readFile(file, 'utf8').then(
    (text) => text.split('\n'),
    () => [],
  )
  return lines[7]?.trim() === 'ready' && Number(lines[0]) !== killed
}

async function readMemory({ child, gone }: Process): Promise<number> {
  const answered = once(child, 'message') as Promise<[number]>
  child.send('memory')
  const ended = gone.then((): never => {
    throw new Error('the process ended while its memory was read')
  })
  return (await Promise.race([answered, ended]))[0]
}
