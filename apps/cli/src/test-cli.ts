/** For tests: the command line in its own process. */
import { readEnvironment } from '@assay/server/config'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'

const program = path.resolve(import.meta.dirname, '../bin/assay.mjs')

export type Environment = Record<string, string>

interface Running {
  child: ChildProcess
  output(): string
  /** All of standard error, once it has ended. */
  errors: Promise<string>
}

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

export async function run(words: readonly string[], environment: Environment = {}): Promise<Ended> {
  const { child, output, errors } = start(words, environment)
  const [err, [code]] = await Promise.all([errors, once(child, 'close') as Promise<[number | null]>])
  return { code, out: output(), err }
}
