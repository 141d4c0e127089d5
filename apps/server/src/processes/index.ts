/**
 * Several API processes behind one port. The parent accepts connections and gives them to its children in turn, counts
 * the limits for all of them, adds their metrics up, and starts another child for one that ended. It serves no request
 * itself, so it keeps answering its children while they work.
 *
 * A stop: the parent closes the port and then asks every child to stop, on the same channel on which it has sent the
 * connections. So a child has each of them before it stops. It ends its requests and leaves; the parent leaves last.
 *
 * Children do not listen through node:cluster: a connection that it gives to the last child while that one closes waits
 * in a queue of the parent and is never answered (seen in Node 24.21, lib/internal/cluster/round_robin_handle.js).
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createLimits,
  createSlots,
  limitCalls,
  type CountedSlots,
  type Limits,
  type LimitSettings,
} from '../limits/index.ts'
import { addUp, type OwnMetrics } from '../telemetry/index.ts'
import type { ToChild, ToParent } from './child.ts'

export { findParent, type Parent } from './child.ts'

export interface ProcessesOptions {
  count: number
  host: string
  port: number
  limits: LimitSettings
  /** How long a child has for its requests; after that and some seconds more it is killed. */
  stopGraceMs: number
  /** Aborts a start, which is then rejected with the signal's reason. */
  signal: AbortSignal
  log: {
    info(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

export interface Processes {
  url: string | undefined
  stop(): Promise<void>
}

/** A child ended before all of them were ready. It has said why on its own standard error. */
export class ProcessesError extends Error {}

const restartFirstMs = 250
const restartMaxMs = 10_000
const metricsMaxMs = 2_000
const goodbyeMs = 10_000
/** Connections that wait while no child is ready. */
const waitingMax = 1_000

/** Starts this very command again in each child. Resolves when all of them serve. */
export async function startProcesses(options: ProcessesOptions): Promise<Processes> {
  const state = createState(options)
  await listen(state)
  const urls: Promise<string | undefined>[] = []
  for (let index = 0; index < options.count; index += 1) urls.push(startChild(state))
  try {
    const { signal } = options
    const aborted = once(signal, 'abort').then(() => signal.throwIfAborted())
    aborted.catch(() => undefined)
    const [url] = await Promise.race([Promise.all(urls), aborted.then(() => [undefined])])
    state.isServing = true
    return { url, stop: () => stop(state) }
  } catch (error) {
    await stop(state)
    throw error
  }
}

interface State {
  options: ProcessesOptions
  server: Server
  /** The children that serve; the first one gets the next connection. */
  ready: Worker[]
  waiting: Socket[]
  /** Connections on their way to a child, by number. */
  given: Map<number, { socket: Socket; child: number }>
  lastGiven: number
  children: Map<number, Worker>
  isServing: boolean
  isStopping: boolean
  /** Grows while children end before they are ready. */
  restartMs: number
  limits: Limits
  slots: CountedSlots
  /** The moment of the message that is being answered. */
  nowMs: number
  metrics: ReturnType<typeof createMetricsRound>
}

function createState(options: ProcessesOptions): State {
  const children = new Map<number, Worker>()
  // Nothing is read before the connection has reached its child.
  const server = createServer({ pauseOnConnect: true }, (socket) => give(state, socket))
  const state: State = {
    ...{ server, ready: [], waiting: [], given: new Map(), lastGiven: 0 },
    ...{ options, children, isServing: false, isStopping: false, restartMs: restartFirstMs, nowMs: 0 },
    limits: createLimits(options.limits, () => state.nowMs),
    slots: createSlots(),
    metrics: createMetricsRound(() => [...children.values()]),
  }
  return state
}

async function listen({ server, options: { host, port } }: State): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
}

function give(state: State, socket: Socket): void {
  const child = state.ready.shift()
  if (child === undefined) {
    if (state.waiting.length < waitingMax) state.waiting.push(socket)
    else socket.destroy()
    return
  }
  state.ready.push(child)
  state.lastGiven += 1
  const id = state.lastGiven
  state.given.set(id, { socket, child: child.id })
  const message: ToChild = { kind: 'connection', id }
  // A child may end before it has the connection, and Node would keep what waits in its channel open without an answer.
  // So the connection stays open here until the child has it. A message that cannot be sent finds its child gone.
  child.send(message, socket, { keepOpen: true }, () => undefined)
}

/** The child has it, so only the child closes it. */
function letGo(state: State, id: number): void {
  state.given.get(id)?.socket.destroy()
  state.given.delete(id)
}

/** Connections that a child did not take before it ended. Nothing was read from them. */
function giveAgain(state: State, childId: number): void {
  for (const [id, { socket, child }] of state.given) {
    if (child !== childId) continue
    state.given.delete(id)
    if (state.isStopping) socket.destroy()
    else give(state, socket)
  }
}

/** Resolves when the child serves. */
function startChild(state: State): Promise<string | undefined> {
  const child = cluster.fork()
  state.children.set(child.id, child)
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>()
  child.on('message', (message: ToParent) => {
    if (message.kind === 'ready') {
      state.restartMs = restartFirstMs
      state.ready.push(child)
      for (const socket of state.waiting.splice(0)) give(state, socket)
      resolve(message.url)
    } else answer(state, child, message)
  })
  // A message may find its child gone. The exit event follows and reports it.
  child.on('error', () => undefined)
  child.once('exit', (code, signal) => {
    state.children.delete(child.id)
    state.ready = state.ready.filter((one) => one !== child)
    state.metrics.retire(child.id)
    state.slots.leaveAll(child.id)
    giveAgain(state, child.id)
    reject(new ProcessesError(`An API process ended before it was ready (${signal ?? `exit code ${code}`}).`))
    if (state.isServing && !state.isStopping) void replace(state, child, { code, signal })
  })
  return promise
}

async function replace(state: State, { process: { pid } }: Worker, end: object): Promise<void> {
  const { log } = state.options
  log.error({ pid, ...end }, 'an API process ended; starting another')
  await delay(state.restartMs)
  if (state.isStopping) return
  state.restartMs = Math.min(state.restartMs * 2, restartMaxMs)
  await startChild(state).then(
    () => log.info({ lost: pid }, 'an API process was replaced'),
    // Its exit has started the next try.
    () => undefined,
  )
}

function answer(state: State, child: Worker, message: Exclude<ToParent, { kind: 'ready' }>): void {
  switch (message.kind) {
    case 'limit': {
      state.nowMs = message.nowMs
      const call = limitCalls[message.call] as (limits: Limits, ...words: readonly string[]) => unknown
      return send(child, { kind: 'answer', id: message.id, value: call(state.limits, ...message.words) })
    }
    case 'take slot': {
      const value = state.slots.take(message.key, message.max, child.id)
      return send(child, { kind: 'answer', id: message.id, value })
    }
    case 'taken':
      return letGo(state, message.id)
    case 'leave slot':
      return state.slots.leave(message.key, child.id)
    case 'all metrics':
      return void state.metrics.read().then((value) => send(child, { kind: 'answer', id: message.id, value }))
    case 'own metrics':
      return state.metrics.take(child.id, message.metrics as OwnMetrics)
  }
}

/** A child that has just ended takes no message, and needs none. */
function send(child: Worker, message: ToChild): void {
  if (child.isConnected()) child.send(message, () => undefined)
}

/**
 * The metrics of every child, added up. The last report of a child is kept when it ends: a sum of counters that went
 * down would look to Prometheus like a restart of all of them.
 */
function createMetricsRound(listChildren: () => Worker[]) {
  const told = new Map<number, OwnMetrics>()
  let retired: Promise<OwnMetrics> = Promise.resolve([])
  let reading: Promise<string> | undefined
  let missing = new Set<number>()
  let onAllTold: () => void = () => undefined

  async function read(): Promise<string> {
    const children = listChildren().filter((child) => child.isConnected())
    missing = new Set(children.map(({ id }) => id))
    const allTold = new Promise<void>((resolve) => (onAllTold = resolve))
    for (const child of children) send(child, { kind: 'own metrics' })
    // A child that stays busy for this long counts with its last report.
    await Promise.race([allTold, delay(metricsMaxMs, undefined, { ref: false })])
    return addUp([await retired, ...told.values()]).metrics()
  }
  function tick(child: number): void {
    if (missing.delete(child) && missing.size === 0) onAllTold()
  }

  return {
    /** Callers at the same time share one round. */
    read: () => (reading ??= read().finally(() => (reading = undefined))),
    take(child: number, metrics: OwnMetrics): void {
      told.set(child, metrics)
      tick(child)
    },
    retire(child: number): void {
      // A gauge describes the present, and this child no longer exists.
      const last = (told.get(child) ?? []).filter(({ type }) => String(type) !== 'gauge')
      told.delete(child)
      retired = retired.then((before) => addUp([before, last]).getMetricsAsJSON())
      tick(child)
    },
  }
}

async function stop(state: State): Promise<void> {
  state.isStopping = true
  state.server.close()
  for (const socket of state.waiting.splice(0)) socket.destroy()
  const children = [...state.children.values()]
  const gone = Promise.all(children.filter((child) => !child.isDead()).map((child) => once(child, 'exit')))
  for (const child of children) send(child, { kind: 'stop' })
  const late = delay(state.options.stopGraceMs + goodbyeMs, 'late' as const, { ref: false })
  if ((await Promise.race([gone, late])) === 'late') for (const child of children) child.process.kill('SIGKILL')
  await gone
}
