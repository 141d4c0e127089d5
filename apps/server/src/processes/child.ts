/**
 * The child's side of several processes on one port: it asks the parent for what they share, and does what it is asked.
 */
import cluster from 'node:cluster'
import type { Socket } from 'node:net'
import { askLimits, type AskedLimits, type LimitSettings, type Slots, type LimitCall } from '../limits/index.ts'

/**
 * The messages between a parent and its children over Node's channel. Both run the same code, so the messages need no
 * version.
 */
export type ToParent =
  | { kind: 'ready'; url: string | undefined }
  /** Counts or looks at a limit, at this moment of the database's clock. */
  | { kind: 'limit'; id: number; call: LimitCall; words: readonly string[]; nowMs: number }
  /** Asks for one of `max` slots for a long answer. */
  | { kind: 'take slot'; id: number; key: string; max: number }
  | { kind: 'leave slot'; key: string }
  /** Has the connection of this number. */
  | { kind: 'taken'; id: number }
  /** Wants the metrics of all processes as one text. */
  | { kind: 'all metrics'; id: number }
  /** The metrics of this process, which the parent asked for. */
  | { kind: 'own metrics'; metrics: readonly object[] }

export type ToChild =
  /** Comes with the socket of the connection. */
  | { kind: 'connection'; id: number }
  | { kind: 'stop' }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'own metrics' }

export interface Parent {
  /** Limits that are counted for all processes together. */
  limits(settings: LimitSettings, now: () => number): AskedLimits
  /** Slots for long answers, shared by all processes. */
  slots: Slots
  /** The metrics of all processes, added up. */
  readMetrics(): Promise<string>
  /** From now on the parent gives this process its share of the connections. */
  takeConnections(take: (socket: Socket) => void): void
  reportReady(url: string | undefined): void
}

/** Undefined in a process that was not started as a child. */
export function findParent(options: {
  readOwnMetrics(): Promise<readonly object[]>
  onStop(): void
}): Parent | undefined {
  if (!cluster.isWorker) return undefined
  const waiting = new Map<number, (value: unknown) => void>()
  let last = 0
  let take: (socket: Socket) => void = (socket) => void socket.destroy()

  const sendToParent = (message: ToParent): void => void process.send?.(message)
  function ask(toMessage: (id: number) => ToParent): Promise<unknown> {
    last += 1
    const id = last
    return new Promise((resolve) => {
      waiting.set(id, resolve)
      sendToParent(toMessage(id))
    })
  }

  // Node ends a child whose channel to the parent is gone, so a question that the parent cannot answer does not wait.
  process.on('message', (message: ToChild, socket: Socket | undefined) => {
    // The socket is missing if the caller hung up while the connection was being passed on.
    if (message.kind === 'connection') {
      // Before anything is read from it: until then the parent can give it to another child.
      sendToParent({ kind: 'taken', id: message.id })
      return void (socket && take(socket))
    }
    if (message.kind === 'stop') return options.onStop()
    if (message.kind === 'answer') {
      waiting.get(message.id)?.(message.value)
      waiting.delete(message.id)
      return
    }
    void options.readOwnMetrics().then((metrics) => sendToParent({ kind: 'own metrics', metrics }))
  })

  return {
    limits: (settings, now) =>
      askLimits((call, words) => ask((id) => ({ kind: 'limit', id, call, words, nowMs: now() })), settings, now),
    slots: {
      take: async (key, max) => (await ask((id) => ({ kind: 'take slot', id, key, max }))) as boolean,
      leave: (key) => sendToParent({ kind: 'leave slot', key }),
    },
    readMetrics: async () => (await ask((id) => ({ kind: 'all metrics', id }))) as string,
    takeConnections: (taker) => void (take = taker),
    reportReady: (url) => sendToParent({ kind: 'ready', url }),
  }
}
