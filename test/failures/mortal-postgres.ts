/**
 * A PostgreSQL that dies at every possible moment, one after another. It is a proxy on a Unix socket: its first life
 * ends at the first thing that a client sends, its second life at the second, and so on. So a client that starts from
 * the beginning each time meets a death at each of its statements, however many there are, and no moment is left to
 * chance.
 *
 * A death ends all connections, and the next one is refused. Odd lives end without a word and before the statement is
 * run, as a lost machine does. Even lives end after it was run, with the last words of PostgreSQL in place of the
 * result, as a killed postmaster does: the client cannot know whether its statement counts.
 *
 * Messages: https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { toDatabaseUrl, type TestAddress } from '../postgres.ts'

export interface MortalPostgres {
  /** For DATABASE_URL. */
  url: string
  /** It lives until this is called. */
  beginDying(): void
  deaths(): number
  /** From then on it stays alive. */
  settle(): void
  /** It dies once more and does not come back. */
  vanish(): void
}

type Fate = 'lives' | 'dies' | 'is gone'

/** A request to be connected, a script, and the execution of a prepared statement; see `createReader`. */
const moments = new Set(['startup', 'Q', 'E'])

export async function startMortalPostgres(t: Pick<TestContext, 'after'>, target: TestAddress): Promise<MortalPostgres> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-mortal-'))
  const lines = new Set<Line>()
  let fate: Fate = 'lives'
  let [deaths, moment, refuses] = [0, 0, 0]

  /** Whether this message is the one at which the present life ends. */
  function endsLife(type: string): boolean {
    if (fate !== 'dies' || !moments.has(type)) return false
    moment += 1
    return moment > deaths
  }
  function die(isTold: boolean): void {
    deaths += 1
    moment = 0
    refuses = 1
    for (const line of lines) line.end(isTold)
    lines.clear()
  }

  const server = createServer((client) => {
    if (refuses > 0 || fate === 'is gone') {
      refuses -= 1
      client.on('error', () => undefined).resume()
      return void (deaths % 4 < 2
        ? client.destroy()
        : client.end(toFatal('57P03', 'the database system is starting up')))
    }
    const line = openLine(client, target, (type) => {
      if (!endsLife(type)) return 'pass'
      if (deaths % 2 === 1) return 'die after it'
      die(false)
      return 'dead'
    })
    line.onLastAnswer = () => die(true)
    lines.add(line)
    client.once('close', () => lines.delete(line))
  })
  server.listen(path.join(directory, '.s.PGSQL.5432'))
  await once(server, 'listening')
  t.after(async () => {
    for (const line of lines) line.end(false)
    server.close()
    await once(server, 'close')
    await rm(directory, { recursive: true, force: true })
  })
  return {
    url: toDatabaseUrl({ ...target, host: directory }),
    beginDying: () => void (fate = 'dies'),
    deaths: () => deaths,
    settle: () => void (fate = 'lives'),
    vanish() {
      fate = 'is gone'
      die(true)
    },
  }
}

interface Line {
  /** Set by its opener when the answer to the statement before its death has arrived. */
  onLastAnswer(): void
  end(isTold: boolean): void
}

type Verdict = 'pass' | 'die after it' | 'dead'

/** A client and the real server behind it. `judge` is asked about each message of the client. */
function openLine(client: Socket, target: TestAddress, judge: (type: string) => Verdict): Line {
  const upstream = connect(path.join(target.host, '.s.PGSQL.5432'))
  let isLast = false
  const line: Line = {
    onLastAnswer: () => undefined,
    end(isTold) {
      upstream.destroy()
      if (isTold) client.end(toFatal('57P01', 'terminating connection due to unexpected postmaster exit'))
      else client.destroy()
    },
  }
  for (const socket of [client, upstream]) socket.on('error', () => undefined)
  client.on('close', () => upstream.destroy())
  upstream.on('close', () => client.destroy())
  upstream.on('data', (bytes) => {
    if (isLast) line.onLastAnswer()
    else client.write(bytes)
  })
  const read = createReader()
  client.on('data', (bytes: Buffer) => {
    for (const { type, raw } of read(bytes)) {
      const verdict = judge(type)
      if (verdict === 'dead') return
      isLast ||= verdict === 'die after it'
      upstream.write(raw)
    }
  })
  return line
}

interface Message {
  /** The letter of its format; the first of a connection has none. */
  type: string
  raw: Buffer
}

function createReader(): (bytes: Buffer) => Message[] {
  let rest = Buffer.alloc(0)
  let isFirst = true
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    const messages: Message[] = []
    for (;;) {
      const start = isFirst ? 0 : 1
      if (rest.length < start + 4) return messages
      const length = start + rest.readInt32BE(start)
      if (rest.length < length) return messages
      messages.push({ type: isFirst ? 'startup' : rest.toString('latin1', 0, 1), raw: rest.subarray(0, length) })
      rest = rest.subarray(length)
      isFirst = false
    }
  }
}

/** ErrorResponse: fields of a letter and a text each. */
function toFatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}
