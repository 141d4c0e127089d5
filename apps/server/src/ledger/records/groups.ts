/**
 * Which records are in one group. A connector names the link keys of a record; records that share a key share a group.
 * Deriving splits a group into stories by time (deriving/draft.ts).
 *
 * The group of a record with one link key has that key's name, and nothing else is stored: that is the usual case. A
 * record with several keys joins their groups into one, under the smallest of their names, and every other key gets a
 * row that leads there. Rows always lead to the end, so finding a group takes one step.
 */
import { toSafeText, type Connector, type RawRecord } from '@assay/connectors'
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef } from '../../owner.ts'
import * as store from './group-store.ts'
import { markDue } from './raw-store.ts'

type LinkKeys = readonly [string, ...string[]]

/** A record with its link keys. One that cannot be read says why, and is alone in a group if it is new. */
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

/** Groups that become one. The smallest name wins, whatever the order in which their keys are met. */
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

/** In the transaction that keeps the records: the rows that lead from their link keys to one group. */
export async function joinGroups(
  tx: Sql,
  ref: ConnectionRef,
  linked: readonly Pick<Linked<RawRecord>, 'linkKeys'>[],
): Promise<void> {
  const several = linked.map(({ linkKeys }) => linkKeys).filter((keys) => keys.length > 1)
  if (several.length === 0) return
  const keys = [...new Set(several.flat())]
  const known = await store.listAliases(tx, ref, keys)
  const groupOf = (key: string): string => known.get(key) ?? key
  const unions = new Unions()
  for (const one of several) unions.join(one.map(groupOf))
  const moves = new Map(unions.entries())
  const aliases = new Map(moves)
  for (const key of keys) {
    const group = unions.find(groupOf(key))
    if (group !== key && known.get(key) !== group) aliases.set(key, group)
  }
  if (aliases.size > 0) await store.keepAliases(tx, ref, aliases)
  // A group that was only a name until now has no records to move.
  if (moves.size > 0 && (await store.moveRecords(tx, ref, moves)) > 0) {
    await markDue(tx, ref, [...new Set([...moves.keys(), ...moves.values()])])
  }
}
