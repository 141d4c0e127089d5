/**
 * Answers that their callers do not read. Node keeps an answer in memory until its caller has taken it, for as long as
 * the connection lasts, and its limits on time are for requests only. A caller who asks for pages and reads none of
 * them would fill the memory of the process. Three rules end that:
 *
 *   an answer, or the next part of one that is sent in parts, has to be taken within a minute
 *   all answers that wait have 64 MiB together; beyond that, a caller who has more than an equal part of them is cut off,
 *   those that have waited longest first. By their age alone, a caller who reads nothing would end the answers of all
 *   who read slowly
 *   a connection has one answer at a time: a request that is sent before the answer to the one before was taken
 *   (HTTP/1.1 pipelining) waits, and a connection with more than ten of them is closed
 *
 * So every answer that waits belongs to its connection, whose `writableLength` counts it. Node itself would let each
 * request that has arrived be answered at once, and keep the answers of one connection behind each other where nothing
 * counts them.
 */
import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { toNetwork } from '../../limits/index.ts'

export interface UnreadLimits {
  /** For an answer, or the next part of one that is sent in parts. */
  takenWithinMs: number
  /** For the answers of all connections together. */
  bytesMax: number
  /** How often the connections are looked at. What waits for less than that is a caller who reads. */
  lookEveryMs: number
  /** Requests of one connection that wait for the answer to the one before them. */
  queuedMax: number
}

export const unreadLimits: UnreadLimits = {
  takenWithinMs: 60_000,
  bytesMax: 64 * 1024 * 1024,
  lookEveryMs: 1_000,
  queuedMax: 10,
}

/** Of the answer that is being sent. A proxy sends the requests of several callers over one connection. */
const callers = new WeakMap<Socket, string>()

/** Once its token was checked, the user or client; before that, and without a token, the address. */
export function noteCaller(socket: Socket | null, caller: string): void {
  if (socket !== null) callers.set(socket, caller)
}

function callerOf(socket: Socket): string {
  return callers.get(socket) ?? toNetwork(socket.remoteAddress ?? '')
}

export function limitUnread(server: Server, limits: UnreadLimits): void {
  const open = new Set<Socket>()
  /** Connections whose caller has not taken what was sent; those that have waited longest come first. */
  const waiting = new Map<Socket, { sinceMs: number; sent: number }>()

  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      waiting.delete(socket)
    })
  })

  /** `bytesWritten` grows when the next part of an answer is sent, because the one before was taken. */
  function note(socket: Socket, nowMs: number): void {
    const { bytesWritten: sent } = socket
    const isSame = socket.writableLength > 0 && waiting.get(socket)?.sent === sent
    if (isSame) return
    waiting.delete(socket)
    if (socket.writableLength > 0) waiting.set(socket, { sinceMs: nowMs, sent })
  }

  function cut(socket: Socket): void {
    waiting.delete(socket)
    socket.destroy()
  }

  function look(): void {
    const nowMs = performance.now()
    let bytes = 0
    for (const socket of open) {
      bytes += socket.writableLength
      note(socket, nowMs)
    }
    for (const [socket, { sinceMs }] of waiting) {
      if (nowMs - sinceMs < limits.takenWithinMs) break
      bytes -= socket.writableLength
      cut(socket)
    }
    if (bytes <= limits.bytesMax) return
    const shares = [...Map.groupBy(waiting.keys(), callerOf).values()]
    for (const sockets of shares) {
      let share = sockets.reduce((sum, { writableLength }) => sum + writableLength, 0)
      for (const socket of sockets) {
        // Its caller may be reading it.
        const isNew = waiting.get(socket)?.sinceMs === nowMs
        if (isNew || bytes <= limits.bytesMax || share <= limits.bytesMax / shares.length) break
        bytes -= socket.writableLength
        share -= socket.writableLength
        cut(socket)
      }
    }
  }
  const timer = setInterval(look, limits.lookEveryMs).unref()
  server.once('close', () => clearInterval(timer))

  for (const handle of server.listeners('request') as RequestListener[]) {
    server.off('request', handle)
    server.on('request', answerInTurn(handle, limits.queuedMax))
  }
}

function answerInTurn(handle: RequestListener, queuedMax: number): RequestListener {
  const queued = new WeakMap<Socket, number>()
  return (request, response) => {
    const { socket } = request
    // Node gives an answer its connection when the one before was taken.
    if (response.socket !== null) return begin(request, response)
    const behind = (queued.get(socket) ?? 0) + 1
    queued.set(socket, behind)
    // A refusal would have to be kept, too. A client tries again what a closed connection left open (RFC 9112 §9.3.2).
    if (behind > queuedMax) return void socket.destroy()
    response.once('socket', () => {
      queued.set(socket, (queued.get(socket) ?? 0) - 1)
      begin(request, response)
    })
  }

  function begin(...[request, response]: Parameters<RequestListener>): void {
    callers.delete(request.socket)
    void handle(request, response)
  }
}
