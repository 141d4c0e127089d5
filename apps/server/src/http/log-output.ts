/**
 * Where the log goes: a file descriptor, some lines at a time, because a system call for each access line took a
 * twentieth of a page's time. What is left is written when the process ends, unless it is killed outright.
 *
 * pino's own destination throws when a disk is full, and then tries again forever in the handler of the exit, in which
 * the process serves nothing and hears no signal. It also keeps all lines for a reader that has stopped reading. Here a
 * line that cannot be written waits, and lines beyond a limit are lost: the service is worth more than its log.
 */
import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

const batchLength = 4_096
const flushEveryMs = 200
/** In characters. A busy process writes as much in a minute. */
const waitingLengthMax = 8 * 1_048_576
/** How often the last lines are tried again while the reader of a full pipe takes none, 50 ms apart. */
const lastTriesMax = 20

export function openLogOutput(fd: number): DestinationStream {
  let waiting = ''
  let batch: Buffer = Buffer.alloc(0)
  let isWriting = false

  function takeBatch(): void {
    if (batch.length > 0) return
    batch = Buffer.from(waiting)
    waiting = ''
  }

  function writeBatch(): void {
    if (isWriting) return
    takeBatch()
    if (batch.length === 0) return
    isWriting = true
    write(fd, batch, (error, bytes) => {
      isWriting = false
      // It is tried again after a while: a disk gets room, and a pipe that is full for now says EAGAIN.
      if (error !== null) return
      batch = batch.subarray(bytes)
      if (batch.length > 0 || waiting.length >= batchLength) writeBatch()
    })
  }

  function writeRest(): void {
    // Another thread is writing this batch.
    if (isWriting) batch = Buffer.alloc(0)
    for (let tries = 0; tries < lastTriesMax;) {
      takeBatch()
      if (batch.length === 0) return
      try {
        batch = batch.subarray(writeSync(fd, batch))
        tries = 0
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return
        tries += 1
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
      }
    }
  }

  setInterval(writeBatch, flushEveryMs).unref()
  process.on('exit', writeRest)
  return {
    write(line) {
      if (waiting.length > waitingLengthMax) return
      waiting += line
      if (waiting.length >= batchLength) writeBatch()
    },
  }
}
