/**
 * Answers that their callers do not read. Node keeps an answer in memory until its caller has taken it, for as long as
 * the connection lasts, and its limits on time are for requests only. A caller who asks for pages and reads none of
 * them would fill the memory of the process. Three rules end that:
 *
 *   an answer, or the next part of one that is sent in parts, has to be taken within a minute
 *   all answers that wait have 64 MiB together; beyond that, those that have waited longest are cut off
 *   one connection has ten answers that wait for each other (HTTP/1.1 pipelining); further requests are refused
 */
import { Refusal } from '@assay/core'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface UnreadLimits {
  /** For an answer, or the next part of one that is sent in parts. */
  takenWithinMs: number
  /** For the answers of all connections together. */
  bytesMax: number
  /** How often the connections are looked at. What waits for less than that is a caller who reads. */
  lookEveryMs: number
  /** Answers of one connection that wait for the one before them. */
  queuedMax: number
}

export const unreadLimits: UnreadLimits = {
  takenWithinMs: 60_000,
  bytesMax: 64 * 1024 * 1024,
  lookEveryMs: 1_000,
  queuedMax: 10,
}

interface Unread {
  /** A request has arrived. Refuses one beyond those that may wait on its connection. */
  admit(socket: Socket, response: ServerResponse): void
  /** An answer of this connection has been taken. */
  noteTaken(socket: Socket): void
}

export function limitUnread(server: Server, limits: UnreadLimits): Unread {
  const open = new Set<Socket>()
  /** Connections whose caller has not taken what was sent; those that have waited longest come first. */
  const waiting = new Map<Socket, { sinceMs: number; sent: number }>()
  const queued = new WeakMap<Socket, number>()

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

  function look(): void {
    const nowMs = performance.now()
    let bytes = 0
    for (const socket of open) {
      bytes += socket.writableLength
      note(socket, nowMs)
    }
    for (const [socket, { sinceMs }] of waiting) {
      const isTooMuch = bytes > limits.bytesMax && sinceMs < nowMs
      if (!isTooMuch && nowMs - sinceMs < limits.takenWithinMs) return
      bytes -= socket.writableLength
      socket.destroy()
    }
  }
  const timer = setInterval(look, limits.lookEveryMs).unref()
  server.once('close', () => clearInterval(timer))

  return {
    admit(socket, response) {
      // Node gives an answer its socket when the one before has ended.
      if (response.socket !== null) return
      const behind = (queued.get(socket) ?? 0) + 1
      if (behind > limits.queuedMax) {
        const message = `At most ${limits.queuedMax} requests of one connection may wait for an answer.`
        throw new Refusal('rate_limited', message, { retryAfterSeconds: 1 })
      }
      queued.set(socket, behind)
    },
    noteTaken(socket) {
      const behind = queued.get(socket)
      if (behind !== undefined) queued.set(socket, Math.max(0, behind - 1))
    },
  }
}
