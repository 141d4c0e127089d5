/**
 * history: a year of values of a user with about 50,000 transactions that the product itself has read. It measures the
 * last year and the first year, for which everything since then has to be subtracted from the present balances. It also
 * measures what was held at one moment a year ago.
 */
import { getAssetHistory, listAssets } from '@assay/contract'
import type { Benchmark, Finding } from '../../benchmark.ts'
import { measure } from '../../measure.ts'
import { startInstallation } from '../../world/installation.ts'
import { measureLatency } from '../../world/measuring/latency.ts'
import { openLedger } from '../../world/ledger.ts'

const years = [
  { name: 'the last year', start: '2025-11-01', end: '2026-11-01', days: 365 },
  { name: 'the first year', start: '2021-04-01', end: '2022-04-01', days: 365 },
]

export const history: Benchmark = {
  name: 'history',
  summary: 'a year of values over some 50,000 transactions',
  async run(bench) {
    const database = await openLedger(bench)
    const { db } = database
    const installation = await startInstallation(database, bench.say)
    bench.onEnd(() => installation.stop())
    const token = await installation.newToken('one')
    const { count } = await db.row<{ count: number }>(
      `select count(*)::int from transactions t join users u on u.user_key = t.user_key
       where u.external_user_id = 'one'`,
    )
    const headers = { authorization: `Bearer ${token}` }
    const findings: Finding[] = []
    for (const { name, start, end, days } of years) {
      const path = `${getAssetHistory.path}?start_time=${start}T00:00:00Z&end_time=${end}T00:00:00Z`
      await checkDays(`${installation.url}${path}`, headers, days)
      const run = (): Promise<number> =>
        measureLatency(installation.url, { method: 'GET', path, headers }, bench.seconds / 2)
      const measured = await measure({ name, run }, bench)
      const title = `GET ${getAssetHistory.path} of ${name}, ${count} transactions`
      findings.push({ title, unit: 'ms (p50)', measured, goal: { atMost: 150 }, notes: [] })
    }
    const at = `${listAssets.path}?limit=100&as_of=2025-11-01T12:00:00Z`
    const run = (): Promise<number> =>
      measureLatency(installation.url, { method: 'GET', path: at, headers }, bench.seconds / 2)
    const measured = await measure({ name: 'a year ago', run }, bench)
    const title = `GET ${listAssets.path} as of a year ago, ${count} transactions`
    findings.push({ title, unit: 'ms (p50)', measured, goal: { atMost: 150 }, notes: [] })
    return findings
  },
}

/** A year without values would be fast, so every day must have one. */
async function checkDays(url: string, headers: Record<string, string>, days: number): Promise<void> {
  const response = await fetch(url, { headers })
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  const { data } = (await response.json()) as { data: { value_in_usd: string }[] }
  const valued = data.filter(({ value_in_usd: value }) => value !== '0')
  if (valued.length < days) throw new Error(`only ${valued.length} of ${days} days have a value`)
}
