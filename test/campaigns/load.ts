/**
 * `npm run campaign -- load`: minutes at 80 % of what this machine can answer, and PostgreSQL killed in the middle. Every
 * request is answered: 200, or 503 with Retry-After while PostgreSQL is away. Afterwards answers are as quick as before,
 * and the API's memory stays.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connect, untilRead } from '../application.ts'
import { firstDatabase, openInstallation, type Running } from './installation.ts'
import { measurePeak, sendSteadily, type Answer, type Traffic } from './traffic.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const shareOfPeak = 0.8
const peakMs = 10_000
const windowMs = 10_000
const tokenMs = 300_000
/** After the kill: how long 503 may come, and how long queues may take to empty. */
const graceMs = 15_000
/** A shared machine breathes; a leak or a queue that never empties does much more than this over minutes. */
const slowerMax = 2
const growthMax = 1.25

const paths = ['/accounts/v2/transactions?limit=30', '/platform/v1/assets', '/accounts/v2/providers']

interface Window {
  answers: Answer[]
  memoryMiB: number
}

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({ args: words, options: { minutes: { type: 'string', default: '10' } } })
  const forMs = Number(values.minutes) * 60_000
  const installation = await openInstallation()
  try {
    const running = await installation.run(firstDatabase)
    try {
      return await bear(running, forMs)
    } finally {
      await running.stop()
    }
  } finally {
    await installation.close()
  }
}

async function bear(running: Running, forMs: number): Promise<boolean> {
  let { token } = await connect(running.url, 'reader', [{ provider_id: 'kraken', scenario: 'default' }])
  await untilRead(running.url, token)
  const traffic: Traffic = { url: running.url, paths, token: () => token }
  const renew = async (): Promise<void> => {
    token = (await connect(running.url, 'reader', [])).token
  }
  // Once to warm up, once to measure.
  await measurePeak(traffic, peakMs)
  const peak = await measurePeak(traffic, peakMs)
  const rate = Math.floor(peak * shareOfPeak)
  say(`peak ${Math.round(peak)} requests a second; ${forMs / 60_000} minutes at ${rate}, PostgreSQL killed half-way`)
  say(row(['from', 'requests', '200', '503', 'other', 'p50 ms', 'p99 ms', 'memory MiB']))

  const windows: Window[] = []
  const over = new AbortController()
  const watching = watch(running, windows, over.signal)
  const renewing = repeat(renew, tokenMs, over.signal)
  const killing = delay(forMs / 2).then(() => running.kill('postgres'))
  await sendSteadily(traffic, rate, forMs, (answer, atMs) => windowAt(windows, atMs).answers.push(answer))
  await killing
  over.abort()
  await Promise.all([watching, renewing])
  const failures = [...judge(windows, forMs / 2), ...running.listDeserters()]
  for (const failure of failures) say(`✗ ${failure}`)
  if (failures.length === 0) say('✓ every request answered, as quick after the restart as before, memory flat')
  return failures.length === 0
}

function windowAt(windows: Window[], atMs: number): Window {
  const index = Math.floor(atMs / windowMs)
  while (windows.length <= index) windows.push({ answers: [], memoryMiB: 0 })
  return windows[index] ?? { answers: [], memoryMiB: 0 }
}

/** Prints each window when it is over. */
async function watch(running: Running, windows: Window[], signal: AbortSignal): Promise<void> {
  await repeat(
    async () => {
      const index = windows.findIndex(({ memoryMiB }) => memoryMiB === 0)
      const window = windows[index]
      if (window === undefined) return
      window.memoryMiB = Math.round((await running.readApiMemory()) / 2 ** 20)
      say(describe(window, index))
    },
    windowMs,
    signal,
  )
}

async function repeat(work: () => Promise<void>, everyMs: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const aborted = await delay(everyMs, false, { signal }).catch(() => true)
    if (aborted) return
    // PostgreSQL may be away just now; what is renewed here still holds for minutes.
    await work().catch(() => undefined)
  }
}

function describe({ answers, memoryMiB }: Window, index: number): string {
  const count = (holds: (answer: Answer) => boolean): number => answers.filter(holds).length
  const ok = count(({ status }) => status === 200)
  const away = count(({ status }) => status === 503)
  const times = [percentile(answers, 0.5), percentile(answers, 0.99)].map(Math.round)
  const from = `${(index * windowMs) / 1_000} s`
  return row([from, answers.length, ok, away, answers.length - ok - away, ...times, memoryMiB].map(String))
}

function row(cells: readonly string[]): string {
  return cells.map((cell) => cell.padStart(11)).join('')
}

function percentile(answers: readonly Answer[], share: number): number {
  const sorted = answers.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function judge(windows: readonly Window[], killedAtMs: number): string[] {
  const failures: string[] = []
  const killedIn = Math.floor(killedAtMs / windowMs)
  const calmFrom = Math.ceil((killedAtMs + graceMs) / windowMs)
  const before = windows.slice(1, killedIn)
  // The last one may be cut short.
  const after = windows.slice(calmFrom, -1)
  for (const { answers } of windows) {
    const wrong = answers.find(({ status, retryAfter }) => status !== 200 && !(status === 503 && retryAfter))
    if (wrong !== undefined) failures.push(wrong.status === 0 ? 'a request had no answer' : `answered ${wrong.status}`)
  }
  for (const { answers } of [...before, ...after]) {
    if (answers.some(({ status }) => status === 503)) failures.push('503 while PostgreSQL was there')
  }
  const [quick, quickAfter] = [before, after].map((part) =>
    median(part.map(({ answers }) => percentile(answers, 0.99))),
  )
  if (quick === undefined || quickAfter === undefined || quickAfter > quick * slowerMax + 5) {
    failures.push(`p99 was ${Math.round(quick ?? 0)} ms and is ${Math.round(quickAfter ?? 0)} ms after the restart`)
  }
  const [memory, memoryAfter] = [before, after].map((part) => median(part.map(({ memoryMiB }) => memoryMiB)))
  if ((memoryAfter ?? 0) > (memory ?? 0) * growthMax) failures.push(`memory grew from ${memory} to ${memoryAfter} MiB`)
  return [...new Set(failures)]
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}
