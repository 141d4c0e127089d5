/** Starts other programs and waits until they are ready or have ended. None of them outlives this process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

export interface Process {
  /** The line that reported that it is ready. */
  ready: string
  pid: number
  stop(): Promise<void>
}

export interface Program {
  /** The name of its log file. */
  name: string
  /** The arguments that Node is started with. */
  words: readonly string[]
  environment?: Readonly<Record<string, string>>
  /** Matches the line that says that it is ready. */
  ready: RegExp
}

export const dataDirectory = path.resolve(import.meta.dirname, '../data')
const logs = path.join(dataDirectory, 'logs')
const startTimeoutMs = 60_000
const pollMs = 20

/** A file for requests, scripts and logs. */
export function scratchFile(name: string): string {
  mkdirSync(logs, { recursive: true })
  return path.join(logs, name)
}

/** Starts a program with Node; its output goes to a file, as with systemd. */
export async function startProcess({ name, words, environment = {}, ready }: Program): Promise<Process> {
  const file = scratchFile(`${name}.log`)
  const output = openSync(file, 'w')
  const env = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, NODE_ENV: 'production', ...environment }
  const child = endWithUs(spawn(process.execPath, words, { env, stdio: ['ignore', output, output] }))
  closeSync(output)
  const said = await untilReady(child, file, ready)
  return { ready: said, pid: child.pid ?? 0, stop: () => stop(child) }
}

async function untilReady(child: ChildProcess, file: string, ready: RegExp): Promise<string> {
  const deadline = performance.now() + startTimeoutMs
  for (;;) {
    const output = readFileSync(file, 'utf8')
    const said = ready.exec(output)?.[1]
    if (said !== undefined) return said
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`${file}: the process did not become ready. It said:\n${output.slice(-2_000)}`)
    }
    await delay(pollMs)
  }
}

/** Runs a program to its end and returns its output. */
export async function runProgram(program: string, words: readonly string[]): Promise<string> {
  const child = endWithUs(spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] }))
  const closed = once(child, 'close') as Promise<[number | null]>
  const [output, complaints, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  if (code !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${code}:\n${complaints}${output}`)
  return output
}

export async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

/** A benchmark that fails leaves nothing running. */
export function endWithUs<Child extends ChildProcess>(child: Child): Child {
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.removeListener('exit', end))
  return child
}

/** User and system, of the process and its threads; fields 14 and 15 of proc(5), in hundredths of a second. */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

export function peakMiBOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}
