/**
 * sync: a trading robot's history from the simulated Kraken, read, kept and derived, against ccxt alone, which reads
 * the same pages and discards them. It runs once with the round trip of a real exchange, where waiting dominates, and
 * once without, where our own work dominates. It also measures the worker's peak memory, which must not grow with the
 * history.
 */
import path from 'node:path'
import type { Benchmark, Finding } from '../../benchmark.ts'
import { compare, median, toComparison, type Effort } from '../../measure.ts'
import { show } from '../../report.ts'
import { startInstallation, type Installation } from '../../world/installation.ts'
import { cpuSecondsOf, peakMiBOf, runProgram } from '../../world/process.ts'

export const roundTripMs = 50
const readerOf = (providerId: string): string =>
  path.resolve(import.meta.dirname, `../../programs/ccxt-${providerId}.mjs`)

export interface Read {
  /** The time from the call that adds the connection to the last derived transaction. */
  seconds: number
  /** The part until the last page of the ledger was requested. */
  readingSeconds: number
  workerCpuSeconds: number
  peakMiB: number
}

export const sync: Benchmark = {
  name: 'sync',
  summary: 'a long history read, kept and derived, against ccxt alone reading and discarding it',
  async run(bench) {
    const postgres = await bench.postgres()
    const installation = await startInstallation(await postgres.newDatabase('bench_sync'), bench.say)
    bench.onEnd(() => installation.stop())
    const providerId = 'kraken'
    const [long, short] = bench.size === 'try' ? ['default', 'default'] : ['large', 'large_tenth']
    // A hundred thousand entries at 50 ms a page take two minutes a run, twenty in all.
    const patient = bench.size === 'full' ? long : short
    const slow = await compareReads(
      installation,
      { providerId, scenario: patient, short, latencyMs: roundTripMs },
      bench,
    )
    const fast = await compareReads(installation, { providerId, scenario: long, short, latencyMs: 0 }, bench)
    return [
      { ...slow.finding, goal: { atMost: 1.15 } },
      { ...fast.finding, goal: { atMost: 4 } },
      await compareMemory(installation, { long, short }, fast.reads, bench),
    ]
  },
}

interface Wanted {
  providerId: string
  scenario: string
  latencyMs: number
}

/** Read by a fresh worker, so that its memory is that of this run. */
async function readHistory(
  { sandbox, ...assay }: Installation,
  { providerId, scenario, latencyMs }: Wanted,
): Promise<Read> {
  await sandbox.setLatency(0, providerId)
  const account = await sandbox.newAccount(scenario, providerId)
  const token = await assay.newToken(account.accountId)
  const worker = await assay.startWorker()
  try {
    // The first connection makes the worker load ccxt.
    await assay.connect(token, await sandbox.newAccount('empty', providerId))
    await sandbox.setLatency(latencyMs, providerId)
    const [cpuBefore, began] = [cpuSecondsOf(worker.pid), performance.now()]
    const { connectionId, readingMs } = await assay.connect(token, account)
    const seconds = (performance.now() - began) / 1_000
    const [workerCpuSeconds, peakMiB] = [cpuSecondsOf(worker.pid) - cpuBefore, peakMiBOf(worker.pid)]
    // Done before the next run, because destroying a long history is a job that would run beside it.
    await assay.remove(token, connectionId)
    return { seconds, readingSeconds: readingMs / 1_000, workerCpuSeconds, peakMiB }
  } finally {
    await worker.stop()
  }
}

async function readByCcxt({ sandbox }: Installation, { providerId, scenario, latencyMs }: Wanted): Promise<number> {
  await sandbox.setLatency(0, providerId)
  const { apiKey, secretKey, accountId } = await sandbox.newAccount(scenario, providerId)
  const [url, state] = [await sandbox.urlOf(providerId), `${sandbox.controlUrl}/control/accounts/${accountId}/state`]
  await sandbox.setLatency(latencyMs, providerId)
  const output = await runProgram(process.execPath, [readerOf(providerId), url, apiKey, secretKey, state])
  return (JSON.parse(output) as { seconds: number }).seconds
}

/** Rounds read `scenario`; both sides are warmed up with `short`. */
export async function compareReads(
  installation: Installation,
  { short, ...wanted }: Wanted & { short: string },
  effort: Effort,
): Promise<{ finding: Omit<Finding, 'goal'>; reads: Read[] }> {
  const reads: Read[] = []
  const warmUp = { ...wanted, scenario: short, latencyMs: 0 }
  const measured = await compare(
    {
      name: 'assay',
      warmUp: () => readHistory(installation, warmUp),
      async run() {
        const read = await readHistory(installation, wanted)
        reads.push(read)
        return read.seconds
      },
    },
    {
      name: 'ccxt',
      warmUp: () => readByCcxt(installation, warmUp),
      run: () => readByCcxt(installation, wanted),
    },
    effort,
  )
  const part = (of: (read: Read) => number): string => show(median(reads.map(of)))
  const notes = [
    `Of the seconds: ${part((read) => read.readingSeconds)} until the last page, ${part((read) => read.seconds - read.readingSeconds)} after it (deriving); processor time of the worker ${part((read) => read.workerCpuSeconds)}.`,
  ]
  const { providerId, scenario, latencyMs } = wanted
  const title = `Scenario ${scenario} of ${providerId}, ${latencyMs} ms added to each answer`
  return { finding: { title, unit: 's', measured, notes }, reads }
}

async function compareMemory(
  installation: Installation,
  { long, short }: { long: string; short: string },
  longReads: readonly Read[],
  { rounds, say }: Effort,
): Promise<Finding> {
  const peaks: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    say(`memory, round ${round} of ${rounds}`)
    peaks.push((await readHistory(installation, { providerId: 'kraken', scenario: short, latencyMs: 0 })).peakMiB)
  }
  const measured = toComparison(
    { name: `scenario ${long}`, values: longReads.map(({ peakMiB }) => peakMiB) },
    { name: `scenario ${short}`, values: peaks },
  )
  return { title: 'Peak memory of the worker', unit: 'MiB', measured, goal: { atMost: 1.1 }, notes: [] }
}
