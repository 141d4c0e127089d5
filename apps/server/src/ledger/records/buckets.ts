/**
 * Which records may belong to one story. A connector names the link keys of a record; records that share a key share a
 * bucket, which the database and deriving call a group. Deriving splits a bucket into stories by time
 * (deriving/draft.ts).
 *
 * The bucket of a record with one link key has that key's name, and nothing else is stored: that is the usual case. A record
 * with several keys joins their buckets into one, the smallest name, and every other key gets a row that leads there. Rows
 * always lead to the end, so finding a bucket takes one step.
 */
import { toSafeText, type Connector, type RawRecord } from '@assay/connectors'
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef } from '../../owner.ts'
import * as store from './bucket-store.ts'
import { markDue } from './raw-store.ts'

type LinkKeys = readonly [string, ...string[]]

/** A record with its link keys. One that cannot be read says why, and is alone in a bucket if it is new. */
export interface Linked<Kept extends RawRecord> {
  record: Kept
  linkKeys: LinkKeys
}

/** References have some tens of characters. PostgreSQL refuses to index some thousand, and the whole page with them. */
const linkKeyLengthMax = 300

/** A bulkhead: a record that cannot be read becomes a stored fault, and the rest of its page is kept. */
export function link<Kept extends RawRecord>(
  connector: Pick<Connector, 'linkKeys'>,
  record: Kept,
  list: { stream: string; partition: string },
): Linked<Kept> {
  const alone: LinkKeys = [`?${list.stream}/${list.partition}/${record.key}`]
  if (record.unreadable !== undefined) return { record, linkKeys: alone }
  try {
    const [first, ...others] = connector.linkKeys({ ...record, ...list })
    if ([first, ...others].some((key) => key.length > linkKeyLengthMax)) {
      throw new RangeError(`a reference is longer than ${linkKeyLengthMax} characters`)
    }
    return { record, linkKeys: [toSafeText(first), ...others.map(toSafeText)] }
  } catch (error) {
    const reason = toSafeText(error instanceof Error ? error.message : String(error))
    return { record: { ...record, unreadable: reason }, linkKeys: alone }
  }
}

/** Buckets that become one. The smallest name wins, whatever the order in which their keys are met. */
export class Unions {
  readonly #parents = new Map<string, string>()

  find(name: string): string {
    let root = name
    for (let next = this.#parents.get(root); next !== undefined; next = this.#parents.get(root)) root = next
    return root
  }

  join(names: readonly string[]): void {
    const roots = [...new Set(names.map((name) => this.find(name)))].toSorted()
    const [winner, ...losers] = roots
    if (winner !== undefined) for (const loser of losers) this.#parents.set(loser, winner)
  }

  /** Every name that leads to another one, and where it leads. */
  *entries(): Generator<[string, string]> {
    for (const name of this.#parents.keys()) yield [name, this.find(name)]
  }
}

/** In the transaction that keeps the records: the rows that lead from their link keys to one bucket. */
export async function joinBuckets(
  tx: Sql,
  ref: ConnectionRef,
  linked: readonly Pick<Linked<RawRecord>, 'linkKeys'>[],
): Promise<void> {
  const several = linked.map(({ linkKeys }) => linkKeys).filter((keys) => keys.length > 1)
  if (several.length === 0) return
  const keys = [...new Set(several.flat())]
  const known = await store.listAliases(tx, ref, keys)
  const bucketOf = (key: string): string => known.get(key) ?? key
  const unions = new Unions()
  for (const one of several) unions.join(one.map(bucketOf))
  const moves = new Map(unions.entries())
  const aliases = new Map(moves)
  for (const key of keys) {
    const bucket = unions.find(bucketOf(key))
    if (bucket !== key && known.get(key) !== bucket) aliases.set(key, bucket)
  }
  if (aliases.size > 0) await store.keepAliases(tx, ref, aliases)
  // A bucket that was only a name until now has no records to move.
  if (moves.size > 0 && (await store.moveRecords(tx, ref, moves)) > 0) {
    await markDue(tx, ref, [...new Set([...moves.keys(), ...moves.values()])])
  }
}
