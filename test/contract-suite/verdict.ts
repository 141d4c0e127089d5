/**
 * The verdict that a proof has to come to, computed from the simulator's own books in whole numbers: the holdings minus
 * what the lists that are read tell. Shares nothing with the connectors, the ledger or the proof.
 */
import assert from 'node:assert/strict'
import type { ConnectionRef } from '../../apps/server/src/owner.ts'
import type { ProofRow } from '../../apps/server/src/proof/index.ts'
import type { TestEngine } from '../../apps/server/src/test-engine.ts'
import { toUnits } from '../reconciler.ts'
import { heldBalances, heldChanges } from './books/reckoning.ts'
import type { Held, SimulatedAccount } from './simulator.ts'

interface Verdict {
  grade: string
  difference: bigint
  cause: string | null
}

type Verdicts = Record<string, Verdict>

/** How a provider's books are to be read. */
export interface Reading {
  /** The name that the service has for one of the codes in the books; see `by`. */
  symbolOf(code: string): string
  /** What identifies an asset: its symbol by default. Tokens of one chain may share a symbol. */
  by?: 'asset_id'
  /** The provider forgets old records: a proof can only begin where we first looked. */
  forgets?: true
}

/**
 * Of every asset that is not proved. Where the lists reach the beginning of the account, held less told must be
 * nothing, and the rest is unexplained: no provider here has a gap. A pending withdrawal has left the balance, and its
 * list tells it, so it adds up like one that is done.
 *
 * Where the provider forgets, the first balances that were seen are the opening. They cannot be proved by themselves;
 * from the second look on, only what happened since the books of the `first` look counts.
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

/** By symbol, what is held but appears in no list. */
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
  by: 'asset_symbol' | 'asset_id' = 'asset_symbol',
): Promise<{ verdicts: Verdicts; rows: readonly ProofRow[]; grade: string | null }> {
  const page = await proof.list(ref, ref.connectionId, { limit: assetsMax, after: undefined })
  if (page === undefined) throw new Error(`${ref.connectionId} has no proof`)
  const bad = page.rows.filter(({ grade }) => grade !== 'proved')
  return {
    verdicts: Object.fromEntries(
      bad
        .map(({ [by]: name, grade, difference, causes }): [string, Verdict] => [
          name,
          { grade, difference: toUnits(difference ?? '0'), cause: causes[0]?.cause ?? null },
        ])
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ),
    rows: page.rows,
    grade: page.summary.grade,
  }
}

/**
 * The proof reaches the verdict that is computed from the simulator's books, for every asset and for the connection.
 * `first`: the books of the first look, once there was a second one.
 */
export async function assertVerdict(
  engine: Pick<TestEngine, 'proof'>,
  { ref, account }: { ref: ConnectionRef; account: Pick<SimulatedAccount, 'hold'> },
  { symbolOf, by, forgets: isForgetful }: Reading,
  first?: Held,
): Promise<void> {
  const { verdicts, rows, grade } = await listVerdicts(engine, ref, by)
  const held = await account.hold()
  const forgets = isForgetful === true
  const expected = reckonVerdicts(held, symbolOf, { forgets, first })
  assert.deepEqual(verdicts, expected)
  const judged = new Set(rows.map(({ asset_id, asset_symbol }) => (by === 'asset_id' ? asset_id : asset_symbol)))
  assert.deepEqual(
    [...new Set(Object.keys(heldBalances(held, symbolOf))).difference(judged)],
    [],
    'held and not judged',
  )
  assert.equal(grade, reckonGrade(expected, { rows: rows.length, forgets, isFirst: first === undefined }))
  for (const { opening, posted, computed, observed, difference } of rows) {
    assert.equal(toUnits(computed), toUnits(opening) + toUnits(posted))
    assert.equal(toUnits(difference ?? '0'), toUnits(observed ?? '0') - toUnits(computed))
  }
}

/** The worst of its assets. An account without any adds up, unless the provider may have forgotten what it had. */
function reckonGrade(
  expected: Verdicts,
  { rows, forgets, isFirst }: { rows: number; forgets: boolean; isFirst: boolean },
): string {
  const grades = Object.values(expected).map(({ grade }) => grade)
  const worst = ['open', 'unprovable'].find((one) => grades.includes(one))
  return worst ?? (forgets && (isFirst || rows === 0) ? 'unprovable' : 'proved')
}
