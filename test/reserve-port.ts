/**
 * A port that a test may name before anything listens on it, and even after its listener was killed.
 *
 * A port that the system chose and that was closed again goes to the next caller: another test, or any outgoing
 * connection. This one lies below the range from which the system chooses. Among tests, the UDP port of the same number
 * is the lock: it is held until the test ends, and a killed process leaves no lock behind.
 */
import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { TestContext } from 'node:test'

const host = '127.0.0.1'
const lowest = 20_000
const triesMax = 1_000

export async function reservePort(t: Pick<TestContext, 'after'>): Promise<number> {
  for (let count = 0; count < triesMax; count += 1) {
    const port = randomInt(lowest, findSystemsOwn())
    const lock = await lockPort(port)
    if (lock === undefined) continue
    if (await isFree(port)) {
      t.after(() => void lock.close())
      return port
    }
    lock.close()
  }
  throw new Error(`none of ${triesMax} ports was free`)
}

/** The first port that the system gives to a caller who asks for any. */
function findSystemsOwn(): number {
  const linuxDefault = 32_768
  try {
    const [first = ''] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)
    return Math.max(Number(first), lowest + triesMax)
  } catch {
    return linuxDefault
  }
}

async function lockPort(port: number): Promise<Socket | undefined> {
  const socket = createSocket('udp4')
  socket.unref()
  try {
    socket.bind(port, host)
    await once(socket, 'listening')
    return socket
  } catch (error) {
    ignoreTaken(error)
    return undefined
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    probe.listen(port, host)
    await once(probe, 'listening')
  } catch (error) {
    ignoreTaken(error)
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}

function ignoreTaken(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
}
