/**
 * All SQL over the legs of own transfers and their matches. A transaction that writes here holds the user.
 *
 * Legs of provisional connections are kept and stay due, but they are not matched before they are settled: a match
 * would tell another person's session about the user's accounts, or the user about a stranger's.
 */
import { arrivalMaxMs, clockToleranceMs, type TransferLeg, type TransferMatch } from '@assay/core'
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef, Owner } from '../../owner.ts'
import type { Categorization, Counterpart } from '../deriving/document.ts'

type User = Pick<Owner, 'userKey'>

export interface KeptTransferLeg extends Omit<TransferLeg, 'connectionId' | 'assetId'> {
  assetKey: number
  /** How its transaction is categorized without a counterpart. */
  alone: Categorization
}

// This is looked up once for each statement, not once for each row.
const isSettled = (alias: string): string => `${alias}.connection_key <> all (array(
  select c.connection_key from provisional_connections c where c.user_key = $1::bigint
  union all
  select c.connection_key from removed_connections c where c.user_key = $1::bigint))`

// Pairs that core's matcher may make, `a` known and `b` looked for: by hash, or by amount and time.
const mayPair = `b.user_key = $1::bigint and b.asset_key = a.asset_key and b.direction <> a.direction
  and b.connection_key <> a.connection_key and ${isSettled('b')}
  and (a.to_address is null or b.to_address is null or a.to_address = b.to_address)`
// This is not a CASE, because Citus garbles one in the text of an UPDATE that it sends to a shard.
const fits = `((a.direction = 'out' and b.amount in (a.amount, a.amount - a.fee))
  or (a.direction = 'in' and a.amount in (b.amount, b.amount - b.fee)))`
const within = (before: number, after: number): string =>
  `b.occurred_at between a.occurred_at - interval '${before} ms' and a.occurred_at + interval '${after} ms'`
const inTime = (direction: 'out' | 'in'): string =>
  direction === 'out' ? within(clockToleranceMs, arrivalMaxMs) : within(arrivalMaxMs, clockToleranceMs)
/** One hash can carry hundreds of transfers; those that fit come first. */
const sharingHashMax = 200
const byAmount = (direction: 'out' | 'in'): string =>
  `(select b.transaction_id from transfer_legs b where a.direction = '${direction}' and ${mayPair}
     and (a.hash is null or b.hash is null) and ${inTime(direction)} and ${fits}
   order by b.occurred_at limit $3::bigint)`
/**
 * $2: the ids of `a`; $3: how many of each to find by amount, or null for all of them. An array is found once, whatever
 * the statistics say. As a join, PostgreSQL searched again for each of a user's legs, and took more than half a minute
 * for a user with thousands of equal transfers.
 */
const near = `any(array(select n.transaction_id from transfer_legs a cross join lateral (
    (select b.transaction_id from transfer_legs b where ${mayPair} and b.hash = a.hash
     order by ${fits} desc, b.transaction_id limit ${sharingHashMax})
    union all ${byAmount('out')} union all ${byAmount('in')}
  ) n where a.user_key = $1::bigint and a.transaction_id = any($2::uuid[])))`

const members = 'direction asset_key amount fee hash to_address occurred_at category method confidence'.split(' ')
const membersOf = (alias: string): string => members.map((name) => `${alias}.${name}`).join(', ')
const given = `unnest($3::uuid[], $4::text[], $5::integer[], $6::numeric[], $7::numeric[], $8::text[], $9::text[],
  $10::timestamptz[], $11::text[], $12::text[], $13::double precision[]) as g (transaction_id, ${members.join(', ')})`

function valuesOf(ref: ConnectionRef, legs: readonly KeptTransferLeg[]): unknown[] {
  return [
    ref.userKey,
    ref.connectionKey,
    legs.map(({ id }) => id),
    legs.map(({ direction }) => direction),
    legs.map(({ assetKey }) => assetKey),
    legs.map(({ amount }) => amount),
    legs.map(({ fee }) => fee),
    legs.map(({ hash }) => hash),
    legs.map(({ toAddress }) => toAddress),
    legs.map(({ occurredAtMs }) => new Date(occurredAtMs).toISOString()),
    legs.map(({ alone }) => alone.category),
    legs.map(({ alone }) => alone.method),
    legs.map(({ alone }) => alone.confidence),
  ]
}

/** Those that are stored and say something else. */
export async function listChangedTransferLegIds(
  sql: Sql,
  ref: ConnectionRef,
  legs: readonly KeptTransferLeg[],
): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    `select l.transaction_id as id
     from ${given} join transfer_legs l on l.user_key = $1::bigint and l.transaction_id = g.transaction_id
     where l.connection_key = $2::integer and (${membersOf('l')}) is distinct from (${membersOf('g')})`,
    valuesOf(ref, legs),
  )
  return rows.map(({ id }) => id)
}

/**
 * One that is new or changed is due. While no other connection has a leg, there is nothing to match with, and the
 * second connection does the matching. The exception is a connection of a session, which the first one cannot see.
 */
export async function upsertTransferLegs(tx: Sql, ref: ConnectionRef, legs: readonly KeptTransferLeg[]): Promise<void> {
  await tx.execute(
    `insert into transfer_legs as l (user_key, connection_key, transaction_id, ${members.join(', ')}, due)
     select $1::bigint, $2::integer, g.*, d.due from ${given}, (select
       exists (select from provisional_connections c where c.user_key = $1::bigint and c.connection_key = $2::integer)
       or exists (select from transfer_legs o where o.user_key = $1::bigint and o.connection_key <> $2::integer) as due) d
     on conflict (user_key, transaction_id) do update
       set ${members.map((name) => `${name} = excluded.${name}`).join(', ')}, due = excluded.due
       where (${membersOf('l')}) is distinct from (${membersOf('excluded')})`,
    valuesOf(ref, legs),
  )
}

/** Those of the ids that are legs. */
export async function listTransferLegIds(sql: Sql, user: User, ids: readonly string[]): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    'select transaction_id as id from transfer_legs where user_key = $1::bigint and transaction_id = any($2::uuid[])',
    [user.userKey, [...ids]],
  )
  return rows.map(({ id }) => id)
}

export async function listTransferLegIdsOf(sql: Sql, ref: ConnectionRef, limit: number): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    `select transaction_id as id from transfer_legs
     where user_key = $1::bigint and connection_key = $2::integer limit $3::bigint`,
    [ref.userKey, ref.connectionKey, limit],
  )
  return rows.map(({ id }) => id)
}

/**
 * Whether another connection of the user has any. Two index look-ups, because `<>` would walk over all legs of this
 * connection.
 */
export async function hasOtherTransferLegs(sql: Sql, ref: ConnectionRef): Promise<boolean> {
  const other = (sign: '<' | '>'): string =>
    `exists (select from transfer_legs where user_key = $1::bigint and connection_key ${sign} $2::integer)`
  const row = await sql.row<{ others: boolean }>(`select ${other('<')} or ${other('>')} as others`, [
    ref.userKey,
    ref.connectionKey,
  ])
  return row.others
}

/** Marks every leg that may pair with one of these, by its stored values, to be judged again. */
export async function markNear(tx: Sql, user: User, ids: readonly string[]): Promise<void> {
  await tx.execute(
    `update transfer_legs l set due = true
     where l.user_key = $1::bigint and not l.due and l.transaction_id = ${near}`,
    [user.userKey, [...ids], null],
  )
}

export async function deleteTransferLegs(tx: Sql, user: User, ids: readonly string[]): Promise<void> {
  await tx.execute('delete from transfer_legs where user_key = $1::bigint and transaction_id = any($2::uuid[])', [
    user.userKey,
    [...ids],
  ])
}

interface LegRow {
  transaction_id: string
  connection_key: number
  direction: 'out' | 'in'
  asset_key: number
  amount: TransferLeg['amount']
  fee: TransferLeg['fee']
  hash: string | null
  to_address: string | null
  occurred_at: string
}

const legColumns = `l.transaction_id, l.connection_key, l.direction, l.asset_key, trim_scale(l.amount)::text as amount,
  trim_scale(l.fee)::text as fee, l.hash, l.to_address, l.occurred_at`

/** Lists the due legs of settled connections, oldest first. */
export async function listDue(sql: Sql, user: User, limit: number): Promise<TransferLeg[]> {
  const rows = await sql.rows<LegRow>(
    `select ${legColumns} from transfer_legs l
     where l.user_key = $1::bigint and l.due and ${isSettled('l')}
     order by l.occurred_at, l.transaction_id limit $2::bigint`,
    [user.userKey, limit],
  )
  return rows.map(toLeg)
}

/** Legs that may pair with one of these, up to a limit for each: in a crowd, more of them change nothing. */
export async function listNear(
  sql: Sql,
  user: User,
  ids: readonly string[],
  candidatesMax: number | null,
): Promise<TransferLeg[]> {
  const rows = await sql.rows<LegRow>(
    `select ${legColumns} from transfer_legs l where l.user_key = $1::bigint and l.transaction_id = ${near}`,
    [user.userKey, [...ids], candidatesMax],
  )
  return rows.map(toLeg)
}

/** Core's matcher only compares assets and connections, so it is given their keys. */
function toLeg(row: LegRow): TransferLeg {
  return {
    id: row.transaction_id,
    connectionId: String(row.connection_key),
    direction: row.direction,
    assetId: String(row.asset_key),
    amount: row.amount,
    fee: row.fee,
    hash: row.hash,
    toAddress: row.to_address,
    occurredAtMs: Date.parse(row.occurred_at),
  }
}

export async function clearDue(tx: Sql, user: User, ids: readonly string[]): Promise<void> {
  await tx.execute(
    'update transfer_legs set due = false where user_key = $1::bigint and transaction_id = any($2::uuid[])',
    [user.userKey, [...ids]],
  )
}

const isOf = 'user_key = $1::bigint and (outgoing_id = any($2::uuid[]) or incoming_id = any($2::uuid[]))'

/** The other side of each of these transactions that has one. */
export async function listCounterparts(
  sql: Sql,
  user: User,
  ids: readonly string[],
): Promise<Map<string, Counterpart>> {
  const matches = await listMatches(sql, user, ids)
  return new Map(
    matches.flatMap(({ outgoingId, incomingId, confidence }) => [
      [outgoingId, { transactionId: incomingId, confidence }],
      [incomingId, { transactionId: outgoingId, confidence }],
    ]),
  )
}

export async function listMatches(sql: Sql, user: User, ids: readonly string[]): Promise<TransferMatch[]> {
  return sql.rows<TransferMatch>(
    `select outgoing_id as "outgoingId", incoming_id as "incomingId", confidence from transfer_matches where ${isOf}`,
    [user.userKey, [...ids]],
  )
}

/** Returns both sides of each match. */
export async function deleteMatches(tx: Sql, user: User, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.rows<{ outgoing_id: string; incoming_id: string }>(
    `delete from transfer_matches where ${isOf} returning outgoing_id, incoming_id`,
    [user.userKey, [...ids]],
  )
  return rows.flatMap((row) => [row.outgoing_id, row.incoming_id])
}

export async function insertMatches(tx: Sql, user: User, matches: readonly TransferMatch[]): Promise<void> {
  await tx.execute(
    `insert into transfer_matches (user_key, outgoing_id, incoming_id, confidence)
     select $1::bigint, g.* from unnest($2::uuid[], $3::uuid[], $4::double precision[]) as g`,
    [
      user.userKey,
      matches.map(({ outgoingId }) => outgoingId),
      matches.map(({ incomingId }) => incomingId),
      matches.map(({ confidence }) => confidence),
    ],
  )
}

/** How these transactions are categorized without a counterpart. */
export async function listAlone(sql: Sql, user: User, ids: readonly string[]): Promise<Map<string, Categorization>> {
  const rows = await sql.rows<Categorization & { id: string }>(
    `select transaction_id as id, category, method, confidence from transfer_legs
     where user_key = $1::bigint and transaction_id = any($2::uuid[])`,
    [user.userKey, [...ids]],
  )
  return new Map(rows.map(({ id, ...alone }) => [id, alone]))
}
