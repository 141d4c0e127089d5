/** A queue for a suite, emptied before each test, and workers on it. */
import { after, afterEach, beforeEach, type TestContext } from 'node:test'
import { pino, type Logger } from 'pino'
import { openTestDatabase, testDatabase, type TestAddress } from '../../../../test/postgres.ts'
import type { Database, DatabaseAddress, Sql } from '../db/index.ts'
import type { Priority } from './declarations.ts'
import { insertJob } from './queue-store.ts'
import { installQueue, runTasks, type Task, type Worker } from './worker.ts'

/** A task that the service does not have, for tests of the queue itself. */
export type TestTask = Task['run']

export interface TestJob {
  task: string
  payload: object
  key: string
  lane?: string
  delayMs?: number
  priority?: Priority
  flags?: readonly string[]
}

export function queueTask(sql: Sql, { payload, delayMs = 0, priority = 'background', ...job }: TestJob): Promise<void> {
  return insertJob(sql, { ...job, priority, payload: JSON.stringify(payload) }, delayMs)
}

interface WorkerChoices {
  silentAfterMs?: number
  alone?: boolean
  makeRoom?: readonly string[]
  concurrency?: number
  answerWithinMs?: number
  /** Another way to the same database, for the queue alone. */
  connection?: DatabaseAddress
  listSlow?: () => string[]
}

export interface TestQueue {
  db: Database
  connection: TestAddress
  /** What was logged at warn or above. */
  lines: string[]
  /** Stopped when the test ends, unless the test stops it earlier. */
  start(tasks: Readonly<Record<string, TestTask>>, choices?: WorkerChoices): Promise<Worker>
}

/** Call it in an async `describe` before the first await, so that its hooks belong to that suite. */
export function openQueue(): Promise<TestQueue> {
  const cleanups: (() => Promise<void>)[] = []
  const stops: (() => Promise<void>)[] = []
  const end = async (all: (() => Promise<void>)[]): Promise<void> => {
    for (const one of all.splice(0).toReversed()) await one()
  }
  const opened = open({ after: (cleanup) => void cleanups.push(cleanup as () => Promise<void>) }, stops)
  beforeEach(async () => {
    const { db, lines } = await opened
    await db.execute('delete from graphile_worker._private_jobs; delete from graphile_worker._private_job_queues')
    lines.length = 0
  })
  afterEach(() => end(stops))
  after(() => end(cleanups))
  return opened
}

async function open(t: Pick<TestContext, 'after'>, stops: (() => Promise<void>)[]): Promise<TestQueue> {
  const { db, connection } = await testDatabase(t)
  const lines: string[] = []
  const log: Logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  await installQueue(connection, log)
  return {
    db,
    connection,
    lines,
    async start(tasks, { makeRoom = [], ...choices } = {}) {
      const own = openTestDatabase(connection)
      const plain = { silentAfterMs: 600, alone: false, concurrency: 4 }
      const named = Object.entries(tasks).map(([name, run]) => [name, { run, makesRoom: makeRoom.includes(name) }])
      const started = await runTasks(
        { db: own, connection, pooler: 'none', log, ...plain, ...choices },
        Object.fromEntries(named) as Record<string, Task>,
      )
      let stopping: Promise<void> | undefined
      const stop = (): Promise<void> => (stopping ??= started.stop().then(() => own.close()))
      stops.push(stop)
      return { stop }
    },
  }
}
