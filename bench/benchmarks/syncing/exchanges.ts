/**
 * exchanges: a trading robot's history from the simulated Binance (100,000 trades of 40 symbols) and Coinbase (100,000
 * transactions in 60 wallets), read, kept and derived, against ccxt alone, which reads the same rows and discards them.
 * At the default size the histories are a tenth of that.
 *
 * ccxt receives the symbols and reads only the trades. Our worker finds the symbols itself, and reads deposits,
 * conversions, rewards and fiat orders of all years as well, which takes part of its time at 50 ms per response.
 */
import type { Bench, Benchmark, Finding } from '../../benchmark.ts'
import { toComparison } from '../../measure.ts'
import { startInstallation, type Installation } from '../../world/installation.ts'
import { compareReads, roundTripMs, type Read } from './sync.ts'

export const exchanges: Benchmark = {
  name: 'exchanges',
  summary: 'a long history at Binance and at Coinbase, against ccxt alone reading and discarding it',
  async run(bench) {
    const postgres = await bench.postgres()
    const installation = await startInstallation(await postgres.newDatabase('bench_exchanges'), bench.say)
    bench.onEnd(() => installation.stop())
    const findings: Finding[] = []
    for (const providerId of ['binance', 'coinbase']) findings.push(...(await measure(installation, providerId, bench)))
    return findings
  },
}

async function measure(installation: Installation, providerId: string, bench: Bench): Promise<Finding[]> {
  const short = 'default'
  // Whole histories of both exchanges take twenty minutes.
  const scenario = { try: short, default: 'large_tenth', full: 'large' }[bench.size]
  const slow = await compareReads(installation, { providerId, scenario, short, latencyMs: roundTripMs }, bench)
  const fast = await compareReads(installation, { providerId, scenario, short, latencyMs: 0 }, bench)
  return [
    { ...slow.finding, goal: { atMost: 1.3 } },
    { ...fast.finding, goal: { atMost: 4 } },
    compareMemory(providerId, slow.reads, fast.reads),
  ]
}

/** Memory must not grow when pages arrive twice as fast. */
function compareMemory(providerId: string, slow: readonly Read[], fast: readonly Read[]): Finding {
  const peaksOf = (reads: readonly Read[]): number[] => reads.map(({ peakMiB }) => peakMiB)
  const measured = toComparison(
    { name: 'without latency', values: peaksOf(fast) },
    { name: `with ${roundTripMs} ms`, values: peaksOf(slow) },
  )
  return {
    title: `Peak memory of the worker at ${providerId}`,
    unit: 'MiB',
    measured,
    goal: { atMost: 1.1 },
    notes: [],
  }
}
