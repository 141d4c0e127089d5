/** What was stored, and what should have been, in exact whole numbers. Shares nothing with the connectors. */
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import type { Database } from '../../../apps/server/src/db/index.ts'
import { toUnits } from '../../reconciler.ts'
import type { Held } from '../simulator.ts'

/** By the asset's symbol, in 10⁻³⁰; zeros are left out. */
export type Sums = Record<string, bigint>

function sum(pairs: readonly (readonly [symbol: string, amount: string])[]): Sums {
  const sums = new Map<string, bigint>()
  for (const [symbol, amount] of pairs) sums.set(symbol, (sums.get(symbol) ?? 0n) + toUnits(amount))
  return Object.fromEntries([...sums].filter(([, units]) => units !== 0n).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function heldBalances({ balances }: Held, symbolOf: (code: string) => string): Sums {
  return sum(balances.map(({ code, amount }) => [symbolOf(code), amount]))
}

export function heldChanges({ records }: Held, symbolOf: (code: string) => string): Sums {
  return sum(records.flatMap(({ changes }) => changes).map(({ code, amount }) => [symbolOf(code), amount]))
}

type Identify = ((stream: string, partition: string, key: string) => string | undefined) | undefined

/** `stream partition key` by default. */
function toNames(records: readonly { stream: string; partition: string; key: string }[], identify: Identify): string[] {
  const names = records.map(({ stream, partition, key }) =>
    identify === undefined ? `${stream} ${partition} ${key}` : identify(stream, partition, key),
  )
  return names.filter((name) => name !== undefined).toSorted()
}

/** The names of everything that the provider holds. */
export function heldKeys({ records }: Held, identify?: Identify): string[] {
  return toNames(records, identify)
}

export async function storedKeys(db: Database, ref: ConnectionRef, identify?: Identify): Promise<string[]> {
  const rows = await db.rows<{ stream: string; partition: string; key: string }>(
    `select stream, partition, source_key as key from raw_records
     where user_key = $1 and connection_key = $2 and retired_at is null`,
    [ref.userKey, ref.connectionKey],
  )
  return toNames(rows, identify)
}

export async function storedBalances(db: Database, ref: ConnectionRef): Promise<Sums> {
  const rows = await db.rows<{ symbol: string; amount: string }>(
    `select a.symbol, (h.liquid + h.staked)::text as amount from holdings h join assets a using (asset_key)
     where h.user_key = $1 and h.connection_key = $2`,
    [ref.userKey, ref.connectionKey],
  )
  return sum(rows.map(({ symbol, amount }) => [symbol, amount]))
}

/**
 * The contract's law: the change of a balance = inputs − outputs − fees, over all transactions. Postings are signed.
 */
export async function explained(db: Database, ref: ConnectionRef): Promise<Sums> {
  const rows = await db.rows<{ symbol: string; amount: string }>(
    `select a.symbol, p.amount::text as amount from postings p join assets a using (asset_key)
     where p.user_key = $1 and p.connection_key = $2`,
    [ref.userKey, ref.connectionKey],
  )
  return sum(rows.map(({ symbol, amount }) => [symbol, amount]))
}

export interface StoredTransaction {
  id: string
  type: string
  category: string
  group_key: string
  document: string
  change_seq: string
}

export function listTransactions(db: Database, ref: ConnectionRef): Promise<StoredTransaction[]> {
  return db.rows<StoredTransaction>(
    `select id::text, type::text, category::text, group_key, document, change_seq::text from transactions
     where user_key = $1 and connection_key = $2 order by id`,
    [ref.userKey, ref.connectionKey],
  )
}
