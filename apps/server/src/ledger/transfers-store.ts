/**
 * All SQL over the legs of own transfers and their matches. Whoever writes here holds the user (hold-connection.ts).
 *
 * Legs of provisional connections are kept and stay due, but nobody sees them as a candidate before they are settled:
 * a match would tell somebody else's session about the user's accounts, or the user about a stranger's.
 */
import { arrivalMaxMs, clockToleranceMs, type TransferLeg, type TransferMatch } from '@assay/core'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import type { Categorization, Counterpart } from './render.ts'

interface Owner {
  tenantId: string
  userId: string
}

export interface KeptLeg extends Omit<TransferLeg, 'connectionId'> {
  /** What its transaction is called without a counterpart. */
  alone: Categorization
}

const ownerOf = ({ tenantId, userId }: Owner): [string, string] => [tenantId, userId]

// Looked up once for each statement, not once for each row.
const isSettled = (alias: string): string => `${alias}.connection_id <> all (array(
  select c.id from hidden_connections c where c.tenant_id = $1 and c.user_id = $2))`

// What core's matcher may take for a pair, `a` known and `b` looked for: by hash, or by amount and time.
const mayPair = `b.tenant_id = $1 and b.user_id = $2 and b.asset_id = a.asset_id and b.direction <> a.direction
  and b.connection_id <> a.connection_id and ${isSettled('b')}
  and (a.to_address is null or b.to_address is null or a.to_address = b.to_address)`
const fits = `case a.direction when 'out' then b.amount in (a.amount, a.amount - a.fee)
  else a.amount in (b.amount, b.amount - b.fee) end`
const within = (before: number, after: number): string =>
  `b.occurred_at between a.occurred_at - interval '${before} ms' and a.occurred_at + interval '${after} ms'`
const inTime = (direction: 'out' | 'in'): string =>
  direction === 'out' ? within(clockToleranceMs, arrivalMaxMs) : within(arrivalMaxMs, clockToleranceMs)
/** One hash can carry hundreds of transfers; those that fit come first. */
const sharingHashMax = 200
const byAmount = (direction: 'out' | 'in'): string =>
  `(select b.id from transfer_legs b where a.direction = '${direction}' and ${mayPair}
     and (a.hash is null or b.hash is null) and ${inTime(direction)} and ${fits}
   order by b.occurred_at limit $4::bigint)`
/** $3: the ids of `a`; $4: how many of each to find by amount, or null for all of them. */
const nearIds = `select n.id from transfer_legs a cross join lateral (
    (select b.id from transfer_legs b where ${mayPair} and b.hash = a.hash order by ${fits} desc, b.id limit ${sharingHashMax})
    union all ${byAmount('out')} union all ${byAmount('in')}
  ) n where a.tenant_id = $1 and a.user_id = $2 and a.id = any($3::text[])`

const members = 'direction asset_id amount fee hash to_address occurred_at category method confidence'.split(' ')
const membersOf = (alias: string): string => members.map((name) => `${alias}.${name}`).join(', ')
const given = `unnest($4::text[], $5::text[], $6::text[], $7::numeric[], $8::numeric[], $9::text[], $10::text[],
  $11::timestamptz[], $12::text[], $13::text[], $14::double precision[]) as g (id, ${members.join(', ')})`

function valuesOf(ref: ConnectionRef, legs: readonly KeptLeg[]): unknown[] {
  return [
    ...ownerOf(ref),
    ref.connectionId,
    legs.map(({ id }) => id),
    legs.map(({ direction }) => direction),
    legs.map(({ assetId }) => assetId),
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

/** Those that are there and say something else. */
export async function listChangedLegIds(sql: Sql, ref: ConnectionRef, legs: readonly KeptLeg[]): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    `select l.id from ${given} join transfer_legs l on l.tenant_id = $1 and l.user_id = $2 and l.id = g.id
     where l.connection_id = $3 and (${membersOf('l')}) is distinct from (${membersOf('g')})`,
    valuesOf(ref, legs),
  )
  return rows.map(({ id }) => id)
}

/**
 * One that is new or changed is due. While no other connection has any leg there is nobody to be matched with, and
 * whoever comes second looks; unless it is a session's, which nobody sees when they look.
 */
export async function upsertLegs(tx: Sql, ref: ConnectionRef, legs: readonly KeptLeg[]): Promise<void> {
  await tx.execute(
    `insert into transfer_legs as l (tenant_id, user_id, connection_id, id, ${members.join(', ')}, due)
     select $1, $2, $3, g.*, d.due from ${given}, (select
       exists (select from provisional_connections c where c.tenant_id = $1 and c.user_id = $2 and c.id = $3)
       or exists (select from transfer_legs o where o.tenant_id = $1 and o.user_id = $2 and o.connection_id <> $3) as due) d
     on conflict (tenant_id, user_id, id) do update
       set ${members.map((name) => `${name} = excluded.${name}`).join(', ')}, due = excluded.due
       where (${membersOf('l')}) is distinct from (${membersOf('excluded')})`,
    valuesOf(ref, legs),
  )
}

/** Those of the ids that are legs. */
export async function listLegIds(sql: Sql, owner: Owner, ids: readonly string[]): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    'select id from transfer_legs where tenant_id = $1 and user_id = $2 and id = any($3::text[])',
    [...ownerOf(owner), [...ids]],
  )
  return rows.map(({ id }) => id)
}

export async function listLegIdsOf(sql: Sql, ref: ConnectionRef, limit: number): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    'select id from transfer_legs where tenant_id = $1 and user_id = $2 and connection_id = $3 limit $4',
    [...ownerOf(ref), ref.connectionId, limit],
  )
  return rows.map(({ id }) => id)
}

/** Whether another connection of the user has any. Two looks into an index: `<>` would walk over all of this one's. */
export async function hasOtherLegs(sql: Sql, ref: ConnectionRef): Promise<boolean> {
  const other = (sign: '<' | '>'): string =>
    `exists (select from transfer_legs where tenant_id = $1 and user_id = $2 and connection_id ${sign} $3)`
  const row = await sql.row<{ others: boolean }>(`select ${other('<')} or ${other('>')} as others`, [
    ...ownerOf(ref),
    ref.connectionId,
  ])
  return row.others
}

/** Whatever may pair with one of these, by what is stored of them, is to be judged again. */
export async function markNear(tx: Sql, owner: Owner, ids: readonly string[]): Promise<void> {
  await tx.execute(
    `update transfer_legs l set due = true
     where l.tenant_id = $1 and l.user_id = $2 and not l.due and l.id in (${nearIds})`,
    [...ownerOf(owner), [...ids], null],
  )
}

export async function deleteLegs(tx: Sql, owner: Owner, ids: readonly string[]): Promise<void> {
  await tx.execute('delete from transfer_legs where tenant_id = $1 and user_id = $2 and id = any($3::text[])', [
    ...ownerOf(owner),
    [...ids],
  ])
}

interface LegRow {
  id: string
  connection_id: string
  direction: 'out' | 'in'
  asset_id: string
  amount: TransferLeg['amount']
  fee: TransferLeg['fee']
  hash: string | null
  to_address: string | null
  occurred_at: string
}

const legColumns = (alias: string): string =>
  `${alias}.id, ${alias}.connection_id, ${alias}.direction, ${alias}.asset_id, trim_scale(${alias}.amount)::text as amount,
   trim_scale(${alias}.fee)::text as fee, ${alias}.hash, ${alias}.to_address, ${alias}.occurred_at`

/** Of settled connections, oldest first. */
export async function listDue(sql: Sql, owner: Owner, limit: number): Promise<TransferLeg[]> {
  const rows = await sql.rows<LegRow>(
    `select ${legColumns('l')} from transfer_legs l
     where l.tenant_id = $1 and l.user_id = $2 and l.due and ${isSettled('l')}
     order by l.occurred_at, l.id limit $3`,
    [...ownerOf(owner), limit],
  )
  return rows.map(toLeg)
}

/** What may pair with one of these; of each, as many as are asked for, because a crowd tells nothing by its number. */
export async function listNear(
  sql: Sql,
  owner: Owner,
  ids: readonly string[],
  candidatesMax: number | null,
): Promise<TransferLeg[]> {
  const rows = await sql.rows<LegRow>(
    `select ${legColumns('l')} from transfer_legs l
     where l.tenant_id = $1 and l.user_id = $2 and l.id in (${nearIds})`,
    [...ownerOf(owner), [...ids], candidatesMax],
  )
  return rows.map(toLeg)
}

function toLeg(row: LegRow): TransferLeg {
  return {
    id: row.id,
    connectionId: row.connection_id,
    direction: row.direction,
    assetId: row.asset_id,
    amount: row.amount,
    fee: row.fee,
    hash: row.hash,
    toAddress: row.to_address,
    occurredAtMs: Date.parse(row.occurred_at),
  }
}

export async function clearDue(tx: Sql, owner: Owner, ids: readonly string[]): Promise<void> {
  await tx.execute(
    'update transfer_legs set due = false where tenant_id = $1 and user_id = $2 and id = any($3::text[])',
    [...ownerOf(owner), [...ids]],
  )
}

const isOf = 'tenant_id = $1 and user_id = $2 and (outgoing_id = any($3::text[]) or incoming_id = any($3::text[]))'

/** The other side of each of these transactions that has one. */
export async function listCounterparts(
  sql: Sql,
  owner: Owner,
  ids: readonly string[],
): Promise<Map<string, Counterpart>> {
  const matches = await listMatches(sql, owner, ids)
  return new Map(
    matches.flatMap(({ outgoingId, incomingId, confidence }) => [
      [outgoingId, { transactionId: incomingId, confidence }],
      [incomingId, { transactionId: outgoingId, confidence }],
    ]),
  )
}

export async function listMatches(sql: Sql, owner: Owner, ids: readonly string[]): Promise<TransferMatch[]> {
  return sql.rows<TransferMatch>(
    `select outgoing_id as "outgoingId", incoming_id as "incomingId", confidence from transfer_matches where ${isOf}`,
    [...ownerOf(owner), [...ids]],
  )
}

/** Returns both sides of each. */
export async function deleteMatches(tx: Sql, owner: Owner, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.rows<{ outgoing_id: string; incoming_id: string }>(
    `delete from transfer_matches where ${isOf} returning outgoing_id, incoming_id`,
    [...ownerOf(owner), [...ids]],
  )
  return rows.flatMap((row) => [row.outgoing_id, row.incoming_id])
}

export async function insertMatches(tx: Sql, owner: Owner, matches: readonly TransferMatch[]): Promise<void> {
  await tx.execute(
    `insert into transfer_matches (tenant_id, user_id, outgoing_id, incoming_id, confidence)
     select $1, $2, * from unnest($3::text[], $4::text[], $5::double precision[])`,
    [
      ...ownerOf(owner),
      matches.map(({ outgoingId }) => outgoingId),
      matches.map(({ incomingId }) => incomingId),
      matches.map(({ confidence }) => confidence),
    ],
  )
}

/** What these transactions are called without a counterpart. */
export async function listAlone(sql: Sql, owner: Owner, ids: readonly string[]): Promise<Map<string, Categorization>> {
  const rows = await sql.rows<Categorization & { id: string }>(
    `select id, category, method, confidence from transfer_legs
     where tenant_id = $1 and user_id = $2 and id = any($3::text[])`,
    [...ownerOf(owner), [...ids]],
  )
  return new Map(rows.map(({ id, ...alone }) => [id, alone]))
}
