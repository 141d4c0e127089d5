/**
 * Groups every record of a connection again, by the link keys that the connector names today. A replay does this first,
 * so it can show what another grouping would change before it makes the change.
 */
import type { Connector, RawRecord } from '@assay/connectors'
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef } from '../../owner.ts'
import { listRecords, replaceGroups } from '../records/group-store.ts'
import { link, Unions, type Linked } from '../records/groups.ts'
import { markDue, type GroupedRecord } from '../records/raw-store.ts'

export interface Regrouping {
  /** Records that belong to another group, or whose readability has changed; by `toRecordKey`. */
  moves: ReadonlyMap<string, MovedRecord>
  aliases: ReadonlyMap<string, string>
  /** Groups that lose or get records; groups that exchange records are in one list. */
  touched: readonly (readonly string[])[]
}

interface MovedRecord {
  stream: string
  partition: string
  key: string
  to: string
  unreadable: string | null
}

const recordsPerPage = 5_000

export function toRecordKey({ stream, partition, key }: { stream: string; partition: string; key: string }): string {
  return JSON.stringify([stream, partition, key])
}

/** Reads every record twice: the last one read may join the groups of the first. */
export async function planRegrouping(
  sql: Sql,
  ref: ConnectionRef,
  connector: Pick<Connector, 'linkKeys'>,
): Promise<Regrouping> {
  const unions = new Unions()
  for await (const record of readRecords(sql, ref)) {
    const { linkKeys } = linkAgain(connector, record)
    if (linkKeys.length > 1) unions.join(linkKeys)
  }
  const moves = new Map<string, MovedRecord>()
  const exchanges = new Unions()
  const touched = new Set<string>()
  for await (const record of readRecords(sql, ref)) {
    const { record: linked, linkKeys } = linkAgain(connector, record)
    // A record that cannot be read stays where it is, as it does when a page is committed.
    const to = linked.unreadable === undefined ? unions.find(linkKeys[0]) : record.group
    if (to === record.group && linked.unreadable === record.unreadable) continue
    const { stream, partition, key } = record
    moves.set(toRecordKey(record), { stream, partition, key, to, unreadable: linked.unreadable ?? null })
    exchanges.join([record.group, to])
    for (const group of [record.group, to]) touched.add(group)
  }
  return {
    moves,
    aliases: new Map(unions.entries()),
    touched: [...Map.groupBy(touched, (group) => exchanges.find(group)).values()],
  }
}

function withoutReason<Kept extends RawRecord>(record: Kept): Kept {
  const readable = { ...record }
  delete readable.unreadable
  return readable
}

/** Improved rules may be able to read a record that they could not read before. */
function linkAgain(connector: Pick<Connector, 'linkKeys'>, record: GroupedRecord): Linked<GroupedRecord> {
  return link(connector, withoutReason(record), record)
}

async function* readRecords(sql: Sql, ref: ConnectionRef): AsyncGenerator<GroupedRecord> {
  for (let after = { stream: '', partition: '', key: '' }; ;) {
    const page = await listRecords(sql, ref, after, recordsPerPage)
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < recordsPerPage) return
    after = last
  }
}

/** The records as they would be grouped. */
export function regroup({ moves }: Regrouping, records: readonly GroupedRecord[]): GroupedRecord[] {
  return records.map((record) => {
    const moved = moves.get(toRecordKey(record))
    if (moved === undefined) return record
    return {
      ...withoutReason(record),
      group: moved.to,
      ...(moved.unreadable === null ? {} : { unreadable: moved.unreadable }),
    }
  })
}

/** Stores the new groups and makes every touched group due. The caller's transaction holds the connection alone. */
export async function applyRegrouping(
  tx: Sql,
  ref: ConnectionRef,
  { moves, aliases, touched }: Regrouping,
): Promise<void> {
  await replaceGroups(tx, ref, aliases, [...moves.values()])
  if (touched.length > 0) await markDue(tx, ref, touched.flat())
}
