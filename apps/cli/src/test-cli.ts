/** For tests: the command line as a person or a script uses it, with arguments in, and text and an exit code out. */
import { readEnvironment } from '@assay/server/config'
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Socket } from 'node:net'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { HostedCommand } from '../../../test/command-host.ts'

const program = path.resolve(import.meta.dirname, '../bin/assay.mjs')
const hostProgram = path.resolve(import.meta.dirname, '../../../test/command-host.ts')

export type Environment = Record<string, string>

interface Running {
  child: ChildProcess
  output(): string
  /** All of standard error, once it has ended. */
  errors: Promise<string>
}

/** A command in its own process, which may be sent signals. */
export function start(words: readonly string[], environment: Environment = {}): Running {
  const child = spawn(process.execPath, [program, ...words], {
    env: { PATH: readEnvironment()['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { child, output: () => output, errors: text(child.stderr) }
}

export interface Ended {
  code: number | null
  out: string
  err: string
}

/** These listen for signals, or have a database of their own as a child process. */
const commandsAlone: readonly (string | undefined)[] = ['start', 'serve', 'worker', 'backup', 'restore']

/** A command that ends by itself. */
export async function run(words: readonly string[], environment: Environment = {}): Promise<Ended> {
  const isAlone = commandsAlone.includes(words[0]) || 'ASSAY_DATA_DIRECTORY' in environment
  return isAlone ? runAlone(words, environment) : runHosted(words, environment)
}

/** Like `run`, but in its own process. */
export async function runAlone(words: readonly string[], environment: Environment = {}): Promise<Ended> {
  const { child, output, errors } = start(words, environment)
  const [err, [code]] = await Promise.all([errors, once(child, 'close') as Promise<[number | null]>])
  return { code, out: output(), err }
}

let host: ChildProcess | undefined
let lastCommand: Promise<unknown> = Promise.resolve()

/** One command at a time: an environment belongs to the whole process. */
function runHosted(words: readonly string[], environment: Environment): Promise<Ended> {
  const ended = lastCommand.then(() => runNext(words, environment))
  lastCommand = ended.catch(() => undefined)
  return ended
}

async function runNext(words: readonly string[], environment: Environment): Promise<Ended> {
  if (host?.connected !== true) host = startHost()
  const child = host
  const endMark = `\nend of ${randomUUID()}\n`
  const command: HostedCommand = {
    words,
    environment: { PATH: readEnvironment()['PATH'], ...environment },
    endMark,
  }
  keepAlive(child, true)
  const outputs = Promise.all([readUntil(child.stdout, endMark), readUntil(child.stderr, endMark)])
  const stopped = new AbortController()
  const answered = once(child, 'message', stopped) as Promise<[{ code: number }]>
  const closed = once(child, 'close', stopped) as Promise<[number | null]>
  child.send(command)
  // A command that ends the process ends as it would in a process of its own.
  const code = await Promise.race([answered.then(([message]) => message.code), closed.then(([exitCode]) => exitCode)])
  const [out, err] = await outputs
  stopped.abort()
  await Promise.allSettled([answered, closed])
  keepAlive(child, false)
  return { code, out, err }
}

function startHost(): ChildProcess {
  const { PATH, NODE_COMPILE_CACHE } = readEnvironment()
  const child = spawn(process.execPath, [hostProgram], {
    env: { PATH, NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  child.stdout?.setEncoding('utf8')
  child.stderr?.setEncoding('utf8')
  return child
}

/** While no command runs, the host does not keep the test alive; it ends when the test does. */
function keepAlive(child: ChildProcess, isNeeded: boolean): void {
  const sockets = [child.stdout, child.stderr].filter((stream) => stream instanceof Socket)
  for (const part of [child, child.channel, ...sockets]) {
    if (isNeeded) part?.ref()
    else part?.unref()
  }
}

/** The text before the mark, or all text when the stream ends without it. */
function readUntil(stream: Readable | null, mark: string): Promise<string> {
  return new Promise((resolve) => {
    let read = ''
    const finish = (): void => {
      stream?.off('data', collect).off('end', finish)
      resolve(read.endsWith(mark) ? read.slice(0, -mark.length) : read)
    }
    function collect(chunk: string): void {
      read += chunk
      if (read.endsWith(mark)) finish()
    }
    stream?.on('data', collect).on('end', finish)
  })
}
