/**
 * `npm run campaign -- load`: minutes at 80 % of what this machine can answer, and PostgreSQL killed in the middle.
 * Every request is answered: 200, or 503 with Retry-After while PostgreSQL is down. Afterwards answers are as quick as
 * before, and the API holds on to no more memory than before.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connect, untilRead } from '../application.ts'
import { startControl, type Control } from './control.ts'
import { firstDatabase, openInstallation, type Running } from './installation.ts'
import { measurePeak, sendSteadily, type Answer, type Traffic } from './traffic.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const shareOfPeak = 0.8
const peakMs = 10_000
const windowMs = 10_000
const tokenMs = 300_000
/** After PostgreSQL is back: how long 503 may come, and how long queues may take to empty. */
const graceMs = 15_000
/** We may slow down as much as the machine does; anything beyond this factor is our own fault. */
const slowerMax = 2
const growthMax = 1.1

const paths = ['/accounts/v2/transactions?limit=30', '/platform/v1/assets', '/accounts/v2/providers']

interface Window {
  answers: Answer[]
  /** Of the server that does nothing. */
  control: { ms: number }[]
}

interface Findings {
  windows: readonly Window[]
  killedAtMs: number
  backAtMs: number
  /** How many bytes the API retains. */
  memory: { before: number; after: number }
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
  // The first run warms up, and the second one measures.
  await measurePeak(traffic, peakMs)
  const peak = await measurePeak(traffic, peakMs)
  const rate = Math.floor(peak * shareOfPeak)
  const before = await running.readApiMemory()
  say(`peak ${Math.round(peak)} requests a second; ${forMs / 60_000} minutes at ${rate}, PostgreSQL killed half-way`)
  say(row(['from', 'requests', '200', '503', 'other', 'p50 ms', 'p99 ms', 'control p99']))

  const windows: Window[] = []
  const over = new AbortController()
  const control = await startControl()
  const began = performance.now()
  const watching = watch(windows, control, over.signal)
  const renewing = repeat(renew, tokenMs, over.signal)
  const killing = delay(forMs / 2).then(async () => {
    const killedAtMs = performance.now() - began
    await running.kill('postgres')
    return { killedAtMs, backAtMs: performance.now() - began }
  })
  const heldBack = await sendSteadily(traffic, rate, forMs, (answer, atMs) =>
    windowAt(windows, atMs).answers.push(answer),
  )
  const times = await killing
  over.abort()
  await Promise.all([watching, renewing, control.stop()])
  dealOut(control, windows)
  const memory = { before, after: await running.readApiMemory() }
  say(`${heldBack} requests were not sent, because too many were open`)
  say(`memory held by the API: ${toMiB(memory.before)} MiB before, ${toMiB(memory.after)} MiB after`)
  const failures = [...judge({ windows, ...times, memory }), ...running.listDeserters()]
  for (const failure of failures) say(`✗ ${failure}`)
  if (failures.length === 0) say('✓ every request answered, as quick after the restart as before, memory flat')
  return failures.length === 0
}

const toMiB = (bytes: number): number => Math.round((10 * bytes) / 2 ** 20) / 10

function windowAt(windows: Window[], atMs: number): Window {
  const index = Math.floor(atMs / windowMs)
  while (windows.length <= index) windows.push({ answers: [], control: [] })
  return windows[index] ?? { answers: [], control: [] }
}

/** Prints each window when it is over. */
async function watch(windows: Window[], control: Control, signal: AbortSignal): Promise<void> {
  let printed = 0
  await repeat(
    async () => {
      const window = windows[printed]
      if (window === undefined) return
      dealOut(control, windows)
      say(describe(window, printed))
      printed += 1
    },
    windowMs,
    signal,
  )
}

function dealOut(control: Control, windows: readonly Window[]): void {
  for (const window of windows) window.control = []
  for (const { atMs, ms } of control.times()) windows[Math.floor(atMs / windowMs)]?.control.push({ ms })
}

async function repeat(work: () => Promise<void>, everyMs: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const aborted = await delay(everyMs, false, { signal }).catch(() => true)
    if (aborted) return
    // PostgreSQL may be down now, but the tokens that need renewal are still valid for minutes.
    await work().catch(() => undefined)
  }
}

function describe({ answers, control }: Window, index: number): string {
  const count = (holds: (answer: Answer) => boolean): number => answers.filter(holds).length
  const ok = count(({ status }) => status === 200)
  const away = count(({ status }) => status === 503)
  const times = [percentile(answers, 0.5), percentile(answers, 0.99), percentile(control, 0.99)].map(Math.round)
  const from = `${(index * windowMs) / 1_000} s`
  return row([from, answers.length, ok, away, answers.length - ok - away, ...times].map(String))
}

function row(cells: readonly string[]): string {
  return cells.map((cell) => cell.padStart(13)).join('')
}

function percentile(answers: readonly { ms: number }[], share: number): number {
  const sorted = answers.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function judge({ windows, killedAtMs, backAtMs, memory }: Findings): string[] {
  const failures: string[] = []
  // Requests of the window before the kill may still be running when it comes.
  const before = windows.slice(1, Math.floor(killedAtMs / windowMs) - 1)
  // The last one may be cut short.
  const after = windows.slice(Math.ceil((backAtMs + graceMs) / windowMs), -1)
  for (const { answers } of windows) {
    const wrong = answers.find(({ status, retryAfter }) => status !== 200 && !(status === 503 && retryAfter))
    if (wrong !== undefined) failures.push(wrong.status === 0 ? 'a request had no answer' : `answered ${wrong.status}`)
  }
  for (const { answers } of [...before, ...after]) {
    if (answers.some(({ status }) => status === 503)) failures.push('503 while PostgreSQL was there')
  }
  if (before.length === 0 || after.length === 0) return [...failures, 'too short to compare: give it more minutes']
  const p99 = (part: readonly Window[], of: (window: Window) => readonly { ms: number }[]): number =>
    median(part.map((window) => percentile(of(window), 0.99)))
  const [ours, oursAfter] = [p99(before, ({ answers }) => answers), p99(after, ({ answers }) => answers)]
  const [control, controlAfter] = [p99(before, (window) => window.control), p99(after, (window) => window.control)]
  if (oursAfter > ours * slowerMax * Math.max(1, controlAfter / control) + 5) {
    const machine = `the machine's own ${Math.round(control)} and ${Math.round(controlAfter)} ms`
    failures.push(`p99 was ${Math.round(ours)} ms and is ${Math.round(oursAfter)} ms after the restart, ${machine}`)
  }
  if (memory.after > memory.before * growthMax) failures.push('memory grew')
  return [...new Set(failures)]
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
