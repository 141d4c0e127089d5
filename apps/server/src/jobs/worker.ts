/**
 * Runs jobs. graphile-worker does the claiming, the backoff and the lanes. It does not notice that a worker was killed
 * (see rounds.ts), and it does not continue when the database was unreachable at the moment a job ended: its runner
 * ends, and the process would only look alive. So this file starts the runner again.
 *
 * Jobs are short (a batch of pages, then queued again), so a living worker never falls silent for long.
 */
import type { Pool, PoolClient } from 'pg'
import type { Logger } from 'pino'
import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import {
  Logger as QueueLogger,
  run,
  runMigrations,
  type Runner,
  type RunnerOptions,
  type Task as GraphileTask,
  type TaskList,
  type Worker as QueueWorker,
  type WorkerEvents,
} from 'graphile-worker'
import { isDatabaseAway, openPool, type Database, type DatabaseAddress } from '../db/index.ts'
import { runInTrace } from '../trace-context.ts'
import { declarations, findStoredTrace, parseStored, type Handlers, type JobName } from './declarations.ts'
import { createRoom, type Room } from './make-room.ts'
import { deleteOldLanes, isInteractive } from './queue-store.ts'
import { forgetOwn, freeSilentWorkers, repeat, startRounds, type OwnWorkers } from './rounds.ts'
import { createShares } from './shares.ts'

export interface Worker {
  /** Takes no further job and waits for those that are running. */
  stop(): Promise<void>
}

/** A job as graphile-worker knows it: its payload is what the table has. */
export interface Task {
  run(payload: unknown, signal: AbortSignal): Promise<void>
  makesRoom: boolean
}

export interface RunnerSettings {
  db: Database
  /** A direct connection is best: through a transaction pooler new jobs are found by polling alone. */
  connection: DatabaseAddress
  pooler: 'none' | 'transaction'
  concurrency: number
  silentAfterMs: number
  /** The providers that take long to answer: their jobs leave places to others. */
  listSlow?(this: void): string[]
  /** The embedded database has one owner: locks found at its start belong to dead workers. */
  alone: boolean
  log: Logger
  /** How long the queue's own statements may be without an answer; they take milliseconds. */
  answerWithinMs?: number
}

const pollIntervalMs = 1_000
/** How long a person's job may wait behind the background before a worker notices. */
const lookIntervalMs = 500
const restartDelayMs = 1_000
const answerWithinMsDefault = 30_000
/** A host that does not answer at all must not hold up a runner that starts, or a worker that stops meanwhile. */
const connectTimeoutMs = 10_000

export async function installQueue(connection: DatabaseAddress, log: Logger): Promise<void> {
  const { pool, close } = openQueuePool(connection, 2, log)
  try {
    await runMigrations({ pgPool: pool, logger: toQueueLogger(log) })
  } finally {
    await close()
  }
}

export function startWorker({ handlers, ...settings }: RunnerSettings & { handlers: Handlers }): Promise<Worker> {
  const tasks: Record<string, Task> = {}
  for (const name of Object.keys(handlers) as JobName[]) addTask(tasks, name, handlers)
  return runTasks(settings, tasks)
}

function addTask<Name extends JobName>(tasks: Record<string, Task>, name: Name, handlers: Pick<Handlers, Name>): void {
  const handle = handlers[name]
  if (handle === undefined) return
  const run: Task['run'] = (payload, signal) => {
    const work = (): Promise<void> => handle(parseStored(name, payload), signal)
    const traceparent = findStoredTrace(payload)
    return traceparent === undefined ? work() : runInTrace(traceparent, work)
  }
  tasks[name] = { run, makesRoom: declarations[name].makesRoom }
}

/** The worker itself, whatever its jobs are. */
export async function runTasks(options: RunnerSettings, tasks: Readonly<Record<string, Task>>): Promise<Worker> {
  const { db, log, silentAfterMs } = options
  const { pool, close } = openQueuePool(options.connection, options.concurrency + 2, log)
  endSilent(pool, options.answerWithinMs ?? answerWithinMsDefault)
  const stopping = new AbortController()
  const own: OwnWorkers = { live: new Set(), replaced: new Map() }
  const room = createRoom(db)
  // Belong to the present runner: jobs of an earlier runner may still end, and must not count for the next one.
  const newPlaces = () => ({ jobs: 0, shares: createShares(options.concurrency, options.listSlow ?? (() => [])) })
  let busy = newPlaces()
  const startRunner = async (): Promise<LiveRunner> => {
    const events: WorkerEvents = new EventEmitter()
    for (const id of own.live) own.replaced.set(id, performance.now())
    own.live.clear()
    events.on('pool:create', ({ workerPool }) => own.live.add(workerPool.id))
    const places = newPlaces()
    busy = places
    events.on('job:start', ({ job }) => {
      places.jobs += 1
      places.shares.take(Object.keys(job.flags ?? {}))
    })
    events.on('job:complete', ({ job }) => {
      places.jobs -= 1
      places.shares.leave(Object.keys(job.flags ?? {}))
    })
    lookAgain(events)
    const awaitTurn = claimInTurn(events)
    const forbiddenFlags = async (): Promise<string[]> => {
      await awaitTurn()
      return places.shares.listFull()
    }
    const taskList = toTaskList(tasks, stopping.signal, room)
    const [stuck, over] = [whenStuck(events), whenOver(events)]
    const runner = await run({ ...toRunnerOptions(options), taskList, pgPool: pool, events, forbiddenFlags })
    return { runner, stuck, over }
  }

  let first: LiveRunner
  try {
    await freeSilentWorkers(db, options.alone ? 0 : silentAfterMs, [], log)
    await deleteOldLanes(db)
    first = await startRunner()
  } catch (error) {
    await close()
    throw error
  }
  const rounds = startRounds({ db, silentAfterMs, log }, own)
  const look = repeat(lookIntervalMs, log, () => room.look(busy.jobs >= options.concurrency, busy.shares.listFull()))
  const running = keepRunning(first, startRunner, stopping.signal, log)

  return {
    async stop() {
      stopping.abort()
      try {
        // Heartbeats continue until the last job has ended; otherwise other workers would take it over.
        await running
        await Promise.all([rounds.stop(), look.stop()])
        // Nothing can be cleared while the database is unreachable; others will find this worker silent.
        await forgetOwn(db, own).catch((error: unknown) => {
          if (!isDatabaseAway(error)) throw error
        })
      } finally {
        await close()
      }
    },
  }
}

/** The report of an ended job takes one statement: some milliseconds, or more where the disk is slow. */
const lookAgainMs = [20, 120]

/**
 * graphile-worker looks for the next job before it has reported the end of the last one (seen in 0.18.0, `batch` in
 * dist/main.js). A job that waits in the same lane is missed then, and would begin with the next poll only: a history
 * that takes ten jobs would take up to ten seconds longer.
 */
function lookAgain(events: WorkerEvents): void {
  const hasEnded = new WeakSet<QueueWorker>()
  const isReleased = new WeakSet<QueueWorker>()
  events.on('job:complete', ({ worker, job }) => {
    if (job.job_queue_id !== null) hasEnded.add(worker)
  })
  events.on('worker:release', ({ worker }) => isReleased.add(worker))
  events.on('worker:getJob:empty', ({ worker }) => {
    if (!hasEnded.delete(worker)) return
    for (const ms of lookAgainMs) {
      setTimeout(() => {
        if (!isReleased.has(worker)) worker.nudge()
      }, ms).unref()
    }
  })
}

/**
 * Lets one place after another look for a job. Two that looked at the same moment would not know of each other, and both
 * take the last place of a share.
 */
function claimInTurn(events: WorkerEvents): () => Promise<void> {
  let last = Promise.resolve()
  let end: (() => void) | undefined
  for (const event of ['job:start', 'worker:getJob:empty', 'worker:getJob:error'] as const) {
    events.on(event, () => end?.())
  }
  return async () => {
    const before = last
    const turn = Promise.withResolvers<void>()
    last = turn.promise
    await before
    end = turn.resolve
  }
}

interface LiveRunner {
  runner: Runner
  /** Resolves when another runner has to take its place. */
  stuck: Promise<void>
  /** Resolves after the shutdown, even if the runner's own promises never settle. */
  over: Promise<void>
}

/**
 * A runner has to be replaced after two failures to take a job.
 *
 * graphile-worker asks once for the ids of its tasks and keeps the answer, even when it is an error (seen in 0.18.0,
 * dist/taskIdentifiers.js): a runner whose first question failed repeats that failure for as long as it lives.
 *
 * When the connection was lost, the server may have given a job to this runner, which does not know of it. While the
 * runner lives, nobody else takes that job for four hours; under the name of a runner that ended it is freed.
 */
function whenStuck(events: WorkerEvents): Promise<void> {
  return new Promise((resolve) => {
    let hasTaskIds = false
    const noteAnswer = (): void => void (hasTaskIds = true)
    events.on('worker:getJob:empty', noteAnswer)
    events.on('job:start', noteAnswer)
    events.on('worker:getJob:error', ({ error }) => {
      if (!hasTaskIds || isDatabaseAway(error)) resolve()
    })
  })
}

/** How long graphile-worker may take once its jobs have ended: it has one statement left at most. */
const shutdownRestMs = 2_000

/**
 * graphile-worker counts the reports of ended jobs that are under way, and waits for all of them when it shuts down.
 * Two that fail at the same moment are taken off twice (seen in 0.18.0, `batch` in dist/main.js); it then waits for a
 * count below zero to become zero, and neither `runner.promise` nor `runner.stop()` ever ends.
 */
function whenOver(events: WorkerEvents): Promise<void> {
  return new Promise((resolve) => {
    const note = (): void => void setTimeout(resolve, shutdownRestMs).unref()
    events.once('pool:gracefulShutdown:complete', note)
    events.once('pool:gracefulShutdown:error', note)
  })
}

/** Runs until `stopping`, and then until the running jobs have ended. */
async function keepRunning(
  first: LiveRunner,
  startRunner: () => Promise<LiveRunner>,
  stopping: AbortSignal,
  log: Logger,
): Promise<void> {
  const asked = once(stopping, 'abort')
  for (
    let live: LiveRunner | undefined = first;
    live !== undefined;
    live = await startRunnerAgain(startRunner, stopping, log)
  ) {
    const { runner, stuck, over } = live
    const ended = runner.promise.catch(() => undefined)
    const end = await Promise.race([ended, over, asked, stuck.then(() => 'stuck' as const)])
    // A runner rejects this only if it ended by itself and has nothing left to stop. A finished one still has a timer.
    const stop = (): Promise<void> => Promise.race([runner.stop().catch(() => undefined), over])
    if (stopping.aborted) return stop()
    if (end === 'stuck') log.warn('the job runner could not take a job; it is started again')
    else log.error('the job runner ended by itself; it is started again')
    await stop()
    if (end === 'stuck') await delay(restartDelayMs, undefined, { signal: stopping }).catch(() => undefined)
  }
}

async function startRunnerAgain(
  startRunner: () => Promise<LiveRunner>,
  stopping: AbortSignal,
  log: Logger,
): Promise<LiveRunner | undefined> {
  while (!stopping.aborted) {
    try {
      return await startRunner()
    } catch (error) {
      log.warn({ err: error }, 'the job runner did not start')
    }
    await delay(restartDelayMs, undefined, { signal: stopping }).catch(() => undefined)
  }
  return undefined
}

function toRunnerOptions(options: RunnerSettings): RunnerOptions {
  return {
    concurrency: options.concurrency,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    // Otherwise it runs what a file `crontab` in the working directory says.
    parsedCronItems: [],
    noPreparedStatements: options.pooler === 'transaction',
    logger: toQueueLogger(options.log),
    // Without these a job's end is reported by a promise that is not awaited (seen in 0.18.0, dist/worker.js): when the
    // database is away at that moment, its rejection would end the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  }
}

function toTaskList(tasks: Readonly<Record<string, Task>>, stopping: AbortSignal, room: Room): TaskList {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, { run: runTask, makesRoom }]): [string, GraphileTask] => {
      if (!makesRoom) return [name, (payload) => runTask(payload, stopping)]
      return [
        name,
        async (payload, { job }) => {
          const flags = Object.keys(job.flags ?? {})
          const asked = room.enter(job.id, { laneId: job.job_queue_id, flags, isInteractive: isInteractive(job) })
          try {
            await runTask(payload, AbortSignal.any([stopping, asked]))
          } finally {
            room.leave(job.id)
          }
        },
      ]
    }),
  )
}

function openQueuePool(connection: DatabaseAddress, max: number, log: Logger): ReturnType<typeof openPool> {
  const onLost = (error: Error): void => log.warn({ err: error }, 'a connection of the job queue was lost')
  const onPrimary = (host: string): void => log.debug({ host }, 'found the primary of the database for the job queue')
  const limits = {
    ...{ max, connectionTimeoutMillis: connectTimeoutMs },
    ...{ keepAlive: true, keepAliveInitialDelayMillis: 60_000 },
  }
  const opened = openPool(connection, limits, { onLost, onPrimary })
  connectWithCare(opened.pool)
  return opened
}

/** What node-postgres knows of a connection and does not declare (8.23.1). */
interface Line {
  connection: { stream: Socket }
  _getActiveQuery(): object | null
}

/**
 * A server that vanished without a word is not noticed by TCP for a quarter of an hour, and graphile-worker waits as long
 * for its statement. A connection that only listens is silent by nature; keep-alive ends it.
 */
function endSilent(pool: Pool, afterMs: number): void {
  pool.on('connect', (client) => {
    const line = client as unknown as Line
    const { stream } = line.connection
    stream.setTimeout(afterMs)
    stream.on('timeout', () => {
      if (line._getActiveQuery() !== null) stream.destroy()
    })
  })
}

type Release = (error?: Error | boolean) => void
type OnConnect = (error: Error | undefined, client: PoolClient | undefined, release: Release) => void
type Connect = (callback?: OnConnect) => Promise<PoolClient> | undefined

/**
 * When the database dies while a runner stops, graphile-worker returns the connection that listens twice, the second
 * time in a promise that is not awaited (seen in 0.18.0, dist/main.js): pg-pool's objection would end the process.
 *
 * It looks for a job again by itself when it cannot connect for one of the reasons that it knows by their codes, such as
 * a database that is starting (`withRetries` in dist/lib.js): after pauses of up to two minutes, for hours. Meanwhile no
 * other place may look, and the runner does not stop. So it gets another code.
 */
function connectWithCare(pool: Pool): void {
  const connect = pool.connect.bind(pool) as Connect
  const connectOnce: Connect = (callback) => {
    if (callback === undefined) return connect()?.catch(failToConnect)
    return connect((error, client, release) => {
      let isReleased = false
      callback(error, client, (reason) => {
        if (isReleased) return
        isReleased = true
        release(reason)
      })
    })
  }
  Object.assign(pool, { connect: connectOnce })
}

/** "sqlclient_unable_to_establish_sqlconnection" */
const unreachableCode = '08001'

function failToConnect(error: unknown): never {
  if (!isDatabaseAway(error) || !(error instanceof Error)) throw error
  throw Object.assign(new Error(error.message, { cause: error }), { code: unreachableCode })
}

function toQueueLogger(log: Logger): QueueLogger {
  const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'debug' } as const
  return new QueueLogger(() => (level, message) => {
    log[levels[level]]({ part: 'queue' }, message)
  })
}
