/**
 * The verdict that a proof has to come to, computed from the simulator's own books in whole numbers: the holdings minus
 * what the lists that are read tell. Shares nothing with the connectors, the ledger or the proof.
 */
import type { ConnectionRef } from '../../apps/server/src/owner.ts'
import type { ProofRow } from '../../apps/server/src/proof/index.ts'
import type { TestEngine } from '../../apps/server/src/test-engine.ts'
import { toUnits } from '../reconciler.ts'
import { heldBalances, heldChanges } from './reckoning.ts'
import type { Held } from './simulator.ts'

export interface Verdict {
  grade: string
  difference: bigint
  cause: string | null
}

export type Verdicts = Record<string, Verdict>

/**
 * Of every asset that is not proved. Where the lists reach the beginning of the account, held less told must be nothing, and
 * the rest is unexplained: no provider here has a gap. A pending withdrawal has left the balance, and its list
 * tells it, so it adds up like one that is done.
 *
 * Where the provider forgets, the first balances that were seen are the opening. They cannot be proved by themselves; from
 * the second look on, only what happened since the books of the `first` look counts.
 */
export function reckonVerdicts(
  held: Held,
  symbolOf: (code: string) => string,
  { forgets, first }: { forgets: boolean; first: Held | undefined },
): Verdicts {
  const differences = untoldOf(held, symbolOf)
  const openings = forgets && first !== undefined ? untoldOf(first, symbolOf) : new Map<string, bigint>()
  const verdicts: Verdicts = {}
  for (const [symbol, untold] of differences) {
    const difference = untold - (openings.get(symbol) ?? 0n)
    if (forgets && first === undefined) verdicts[symbol] = { grade: 'unprovable', difference: 0n, cause: null }
    else if (difference !== 0n) verdicts[symbol] = { grade: 'open', difference, cause: 'unexplained' }
  }
  return verdicts
}

/** By symbol what is held and told in no list. */
function untoldOf(held: Held, symbolOf: (code: string) => string): Map<string, bigint> {
  const [balances, told] = [heldBalances(held, symbolOf), heldChanges(held, symbolOf)]
  const symbols = [...new Set([...Object.keys(balances), ...Object.keys(told)])].toSorted()
  return new Map(symbols.map((symbol) => [symbol, (balances[symbol] ?? 0n) - (told[symbol] ?? 0n)]))
}

const assetsMax = 1_000

/** What the proof says. */
export async function listVerdicts(
  { proof }: Pick<TestEngine, 'proof'>,
  ref: ConnectionRef,
): Promise<{ verdicts: Verdicts; rows: readonly ProofRow[]; grade: string | null }> {
  const page = await proof.list(ref, ref.connectionId, { limit: assetsMax, after: undefined })
  if (page === undefined) throw new Error(`${ref.connectionId} has no proof`)
  const bad = page.rows.filter(({ grade }) => grade !== 'proved')
  return {
    verdicts: Object.fromEntries(
      bad
        .map(({ asset_symbol, grade, difference, causes }): [string, Verdict] => [
          asset_symbol,
          { grade, difference: toUnits(difference ?? '0'), cause: causes[0]?.cause ?? null },
        ])
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ),
    rows: page.rows,
    grade: page.summary.grade,
  }
}
