/**
 * All SQL of proofs but the search for the cause of a difference (differences-store.ts). It writes verdicts and running
 * balances; it reads postings, observations and due assets, which belong to the ledger.
 */
import type { Decimal } from '@assay/core'
import type { Sql } from '../db/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../owner.ts'
import { causesWithoutRecords, type Cause, type Grade } from './judge.ts'
import type { Wallet } from './running.ts'

const toTime = (ms: number): string => new Date(ms).toISOString()

/**
 * The assets that are due, with the number that says as of which change. Strangers can send a wallet millions, so nothing
 * else is held of them together.
 */
export type Due = ReadonlyMap<number, number>

interface StandingRow {
  settled: boolean
  history_from: string | null
  balances_since: string | null
  unproved_at: string | null
  proof_grade: Grade | null
  proof_balances_at: string | null
  proof_walked_at: string | null
  /** The earliest change of an asset that is due; null when there is none. */
  due_since: string | null
  /** Assets whose verdict may change although they did not: a gap is closed, or a pending transaction ends. */
  unsettled: number[]
}

export interface ProofStanding extends StandingRow {
  due: Due
}

/** Undefined when the connection was removed. */
export async function findStanding(sql: Sql, ref: ConnectionRef): Promise<ProofStanding | undefined> {
  const of = 'where user_key = $1::bigint and connection_key = $2::integer'
  const row = await sql.maybeRow<StandingRow & { due_keys: number[]; due_marks: number[] }>(
    `select settled, history_from, balances_since, unproved_at, proof_grade, proof_balances_at, proof_walked_at, d.*,
       coalesce((select json_agg(asset_key) from proofs ${of} and grade <> 'proved' and not uninvited), '[]') as unsettled
     from connection_proofs, (
       select min(since) as due_since, coalesce(json_agg(asset_key), '[]') as due_keys,
         coalesce(json_agg(marks), '[]') as due_marks
       from due_proofs ${of}) d
     ${of}`,
    keysOf(ref),
  )
  if (row === undefined) return undefined
  const { due_keys: keys, due_marks: marks, ...standing } = row
  return { ...standing, due: new Map(keys.map((key, index) => [key, marks[index] ?? 0])) }
}

/** Every asset that the connection ever held or moved. */
export async function listAssetKeys(sql: Sql, ref: ConnectionRef): Promise<number[]> {
  const of = 'where user_key = $1::bigint and connection_key = $2::integer'
  const { keys } = await sql.row<{ keys: number[] }>(
    `select coalesce(json_agg(asset_key order by asset_key), '[]') as keys from (
       select asset_key from observed_balances ${of} union select asset_key from daily_changes ${of}
       union select asset_key from postings ${of} and spam union select asset_key from proofs ${of}
       union select asset_key from due_proofs ${of}) of`,
    keysOf(ref),
  )
  return keys
}

/** SQL: the sum of the postings of `q.asset_key` at `q.at`. Earlier days cost one row each. */
const postedAt = (at: string): string => `
  coalesce((select sum(d.amount) from daily_changes d
    where d.user_key = $1::bigint and d.connection_key = $2::integer and d.asset_key = q.asset_key
      and d.day < (${at} at time zone 'UTC')::date), 0)
  + coalesce((select sum(p.amount) from postings p
    where p.user_key = $1::bigint and p.asset_key = q.asset_key and p.connection_key = $2::integer and not p.spam
      and p.occurred_at >= date_trunc('day', ${at}, 'UTC') and p.occurred_at <= ${at}), 0)
  + coalesce((select sum(p.amount) from postings p
    where p.user_key = $1::bigint and p.connection_key = $2::integer and p.asset_key = q.asset_key and p.spam
      and p.occurred_at <= ${at}), 0)`

/** SQL: what was observed of `q.asset_key` at `q.at`; null when nothing was held by then. */
export const observedAt = (at: string, amount: string): string => `
  (select ${amount} from observed_balances o
   where o.user_key = $1::bigint and o.connection_key = $2::integer and o.asset_key = q.asset_key
     and o.observed_at <= ${at} order by o.observed_at desc limit 1)`

export interface WeighedRow {
  asset_key: number
  asset_id: string
  posted: Decimal
  observed: Decimal
  staked: Decimal
  /** What was observed, and what the postings came to, when the balances were first read. */
  observed_first: Decimal
  posted_first: Decimal
  spam: boolean
}

/** Each asset at this moment and at the first observation. */
export async function weigh(
  sql: Sql,
  ref: ConnectionRef,
  assetKeys: readonly number[],
  { at, firstAt }: { at: string; firstAt: string },
): Promise<WeighedRow[]> {
  const number = (expression: string): string => `trim_scale(coalesce(${expression}, 0))::text`
  return sql.rows<WeighedRow>(
    `select q.asset_key, a.id as asset_id, ${number(postedAt('$4::timestamptz'))} as posted,
       ${number(observedAt('$4::timestamptz', 'o.liquid + o.staked'))} as observed,
       ${number(observedAt('$4::timestamptz', 'o.staked'))} as staked,
       ${number(observedAt('$5::timestamptz', 'o.liquid + o.staked'))} as observed_first,
       ${number(postedAt('$5::timestamptz'))} as posted_first,
       coalesce((select h.spam from holdings h where h.user_key = $1::bigint and h.connection_key = $2::integer
           and h.asset_key = q.asset_key),
         not exists (select from daily_changes d where d.user_key = $1::bigint and d.connection_key = $2::integer
             and d.asset_key = q.asset_key)
           and exists (select from postings p where p.user_key = $1::bigint and p.connection_key = $2::integer
             and p.asset_key = q.asset_key and p.spam)) as spam
     from unnest($3::integer[]) as q (asset_key) join assets a on a.asset_key = q.asset_key`,
    [...keysOf(ref), [...assetKeys], at, firstAt],
  )
}

/**
 * Those of these assets that moved only in transactions in which the wallet paid no fee and gave nothing that is known,
 * or in no transaction at all: after an event of the amount zero, a contract may report any balance. That an unknown
 * token was given says nothing: its contract may report what it likes in the name of any address.
 *
 * A look-up for each transaction: PostgreSQL expects few of them, and compared each with each.
 */
export async function listUninvited(sql: Sql, ref: ConnectionRef, assetKeys: readonly number[]): Promise<number[]> {
  const rows = await sql.rows<{ asset_key: number }>(
    `with moved as (
       select transaction_id, array_agg(asset_key) as asset_keys from postings
       where user_key = $1::bigint and connection_key = $2::integer and asset_key = any($3::integer[])
       group by transaction_id
     )
     select q.asset_key from unnest($3::integer[]) as q (asset_key)
     where q.asset_key <> all(array(
       select distinct unnest(m.asset_keys) from moved m where exists (
         select from postings p join assets a on a.asset_key = p.asset_key
         where p.user_key = $1::bigint and p.transaction_id = m.transaction_id and p.amount <> 0
           and (p.side = 'f' or (p.side = 'o' and a.id ~ '^(crypto|fiat):')) offset 0)))`,
    [...keysOf(ref), [...assetKeys]],
  )
  return rows.map((row) => row.asset_key)
}

// --------------------------------------------------------------------------------------------------- running balances

export interface RecordRow {
  stream: string
  partition: string
  source_key: string
  occurred_at: string
  body: string
}

/** Those with a running balance have some hundred bytes. A provider decides how much its rows have. */
const recordBytesMax = 16_384

/** After a moment up to another, in the order of time. Longer records are left out, so that a page fits into memory. */
export async function listRecords(
  sql: Sql,
  ref: ConnectionRef,
  { after, until, limit }: { after: string; until: string; limit: number },
): Promise<RecordRow[]> {
  return sql.rows<RecordRow>(
    `select stream, partition, source_key, occurred_at, body from raw_records
     where user_key = $1::bigint and connection_key = $2::integer and occurred_at > $3::timestamptz
       and occurred_at <= $4::timestamptz and retired_at is null and unreadable is null
       and octet_length(body) <= ${recordBytesMax}
     order by occurred_at limit $5::bigint`,
    [...keysOf(ref), after, until, limit],
  )
}

export async function loadWallets(sql: Sql, ref: ConnectionRef): Promise<Map<string, Wallet>> {
  const rows = await sql.rows<{
    wallet: string
    asset_id: string
    last_at: string
    balance: Decimal
    break_start: string | null
    break_end: string | null
    break_amount: Decimal | null
  }>(
    `select wallet, asset_id, last_at, trim_scale(balance)::text as balance, break_start, break_end,
       trim_scale(break_amount)::text as break_amount
     from running_balances where user_key = $1::bigint and connection_key = $2::integer`,
    keysOf(ref),
  )
  return new Map(
    rows.map(({ wallet, asset_id, last_at, balance, break_start, break_end, break_amount }) => {
      const isBroken = break_start !== null && break_end !== null && break_amount !== null
      const firstBreak = isBroken
        ? { startMs: Date.parse(break_start), endMs: Date.parse(break_end), amount: break_amount }
        : undefined
      return [wallet, { assetId: asset_id, lastAtMs: Date.parse(last_at), balance, firstBreak }]
    }),
  )
}

export async function keepWallets(tx: Sql, ref: ConnectionRef, wallets: ReadonlyMap<string, Wallet>): Promise<void> {
  const all = [...wallets]
  await tx.execute(
    `with gone as (
       delete from running_balances where user_key = $1::bigint and connection_key = $2::integer and wallet <> all($3::text[])
     )
     insert into running_balances as r
       (user_key, connection_key, wallet, asset_id, last_at, balance, break_start, break_end, break_amount)
     select $1::bigint, $2::integer, g.*
     from unnest($3::text[], $4::text[], $5::timestamptz[], $6::numeric[], $7::timestamptz[], $8::timestamptz[],
       $9::numeric[]) as g
     on conflict (user_key, connection_key, wallet) do update
       set asset_id = excluded.asset_id, last_at = excluded.last_at, balance = excluded.balance,
         break_start = excluded.break_start, break_end = excluded.break_end, break_amount = excluded.break_amount
       where (r.asset_id, r.last_at, r.balance, r.break_start, r.break_end, r.break_amount) is distinct from
         (excluded.asset_id, excluded.last_at, excluded.balance, excluded.break_start, excluded.break_end,
           excluded.break_amount)`,
    [
      ...keysOf(ref),
      all.map(([name]) => name),
      all.map(([, { assetId }]) => assetId),
      all.map(([, { lastAtMs }]) => toTime(lastAtMs)),
      all.map(([, { balance }]) => balance),
      all.map(([, { firstBreak }]) => (firstBreak === undefined ? null : toTime(firstBreak.startMs))),
      all.map(([, { firstBreak }]) => (firstBreak === undefined ? null : toTime(firstBreak.endMs))),
      all.map(([, { firstBreak }]) => firstBreak?.amount ?? null),
    ],
  )
}

// ------------------------------------------------------------------------------------------------------------ verdicts

export interface AssetVerdict {
  assetKey: number
  grade: Grade
  spam: boolean
  /** It does not add up, and strangers sent it: it does not count for the connection. */
  uninvited: boolean
  /**
   * The difference that records close to the reading make up, if some of them are not in it, or more are: the next reading
   * decides. Null where there is none.
   */
  inFlight: Decimal | null
  opening: Decimal
  posted: Decimal
  observed: Decimal | null
  difference: Decimal | null
  causes: Cause[]
  firstBad: { startMs: number; endMs: number } | null
}

/** False when the connection was removed; otherwise it cannot be, until the transaction ends. */
export async function holdConnection(tx: Sql, ref: ConnectionRef): Promise<boolean> {
  const row = await tx.maybeRow(
    `select from existing_connections where user_key = $1::bigint and connection_key = $2::integer
     for no key update`,
    keysOf(ref),
  )
  return row !== undefined
}

/** Whether another transaction waits for rows that this one holds. On Citus, only if the coordinator has them. */
export async function isWaitedFor(tx: Sql): Promise<boolean> {
  const row = await tx.row<{ found: boolean }>(
    `select exists (select from pg_locks where locktype = 'transactionid' and not granted
       and transactionid = pg_current_xact_id_if_assigned()::xid) as found`,
  )
  return row.found
}

/** Writes only verdicts that have changed. */
export async function keepVerdicts(tx: Sql, ref: ConnectionRef, verdicts: readonly AssetVerdict[]): Promise<void> {
  if (verdicts.length === 0) return
  const said =
    '(grade, spam, uninvited, opening, posted, observed, difference, in_flight, causes, first_bad_start, first_bad_end)'
  const of = (table: string): string => said.replaceAll(/[a-z_]+/g, (name) => `${table}.${name}`)
  await tx.execute(
    `insert into proofs as r (user_key, connection_key, changed_at, asset_key, grade, spam, uninvited, opening, posted,
       observed, difference, in_flight, causes, first_bad_start, first_bad_end)
     select $1::bigint, $2::integer, $3::timestamptz, g.*
     from unnest($4::integer[], $5::text[], $6::boolean[], $7::boolean[], $8::numeric[], $9::numeric[], $10::numeric[],
       $11::numeric[], $12::numeric[], $13::jsonb[], $14::timestamptz[], $15::timestamptz[]) as g
     on conflict (user_key, connection_key, asset_key) do update
       set ${said} = ${of('excluded')}, changed_at = excluded.changed_at
       where ${of('r')} is distinct from ${of('excluded')}`,
    [
      ...[...keysOf(ref), tx.now()],
      verdicts.map(({ assetKey }) => assetKey),
      verdicts.map(({ grade }) => grade),
      verdicts.map(({ spam }) => spam),
      verdicts.map(({ uninvited }) => uninvited),
      verdicts.map(({ opening }) => opening),
      verdicts.map(({ posted }) => posted),
      verdicts.map(({ observed }) => observed),
      verdicts.map(({ difference }) => difference),
      verdicts.map(({ inFlight }) => inFlight),
      verdicts.map(({ causes }) => JSON.stringify(causes)),
      verdicts.map(({ firstBad }) => (firstBad === null ? null : toTime(firstBad.startMs))),
      verdicts.map(({ firstBad }) => (firstBad === null ? null : toTime(firstBad.endMs))),
    ],
  )
}

/**
 * Marks these as judged up to a moment. An asset that changed in the meantime stays due as it is. One with a later
 * reading or later postings stays due from there on, because the next verdict is about those. With an older time, the
 * records of an account that moves before every reading would be walked from the start each time, and claims would not
 * believe its verdict.
 *
 * The rows are looked up by their assets: the table is nearly always empty, and PostgreSQL, which expects a row or two,
 * compared each of thousands with each that was judged.
 */
export async function settleDue(tx: Sql, ref: ConnectionRef, due: Due, at: string): Promise<void> {
  if (due.size === 0) return
  await tx.execute(
    `with judged as materialized (
       select g.asset_key, g.marks, least(
         (select min(o.observed_at) from observed_balances o where o.user_key = $1::bigint
           and o.connection_key = $2::integer and o.asset_key = g.asset_key and o.observed_at > $5::timestamptz),
         (select min(p.occurred_at) from postings p where p.user_key = $1::bigint and p.asset_key = g.asset_key
           and p.connection_key = $2::integer and p.occurred_at > $5::timestamptz)) as since
       from unnest($3::integer[], $4::bigint[]) as g (asset_key, marks)
     ), settled as (
       delete from due_proofs
       where user_key = $1::bigint and connection_key = $2::integer
         and asset_key = any(array(select asset_key from judged where since is null))
         and ((asset_key, marks) in (select asset_key, marks from judged where since is null)) is true
     )
     update due_proofs q set since = j.since from judged j
     where q.user_key = $1::bigint and q.connection_key = $2::integer
       and q.asset_key = any(array(select asset_key from judged where since is not null))
       and q.asset_key = j.asset_key and q.marks = j.marks and j.since is not null`,
    [...keysOf(ref), [...due.keys()], [...due.values()], at],
  )
}

/** These are judged again by the next reading. `due` says which of them were due before, and as of which change. */
export async function keepDue(
  tx: Sql,
  ref: ConnectionRef,
  assetKeys: readonly number[],
  { due, at }: { due: Due; at: string },
): Promise<void> {
  if (assetKeys.length === 0) return
  // Running balances were followed up to this moment and are not followed again, except from an earlier change that came
  // meanwhile.
  await tx.execute(
    `insert into due_proofs as q (user_key, connection_key, since, asset_key, marks)
     select $1::bigint, $2::integer, $3::timestamptz + interval '1 ms', g.* from unnest($4::integer[], $5::bigint[]) as g
     on conflict (user_key, connection_key, asset_key) do update
       set since = case q.marks when excluded.marks then excluded.since else least(q.since, excluded.since) end`,
    [...keysOf(ref), at, [...assetKeys], assetKeys.map((key) => due.get(key) ?? 0)],
  )
}

/** The grades of the connection's assets, without spam and what else strangers sent. */
export async function listGrades(sql: Sql, ref: ConnectionRef): Promise<{ grade: Grade; mayLackRecords: boolean }[]> {
  return sql.rows(
    `select grade, bool_or(grade = 'explained' and exists (
         select from jsonb_array_elements(causes) c where c ->> 'cause' <> all($3::text[]))) as "mayLackRecords"
     from proofs
     where user_key = $1::bigint and connection_key = $2::integer and not spam and not uninvited group by grade`,
    [...keysOf(ref), [...causesWithoutRecords]],
  )
}

// ------------------------------------------------------------------------------------------------------------- reading

export interface ProofHead {
  connection_key: number
  proof_grade: Grade | null
  proof_checked_at: string | null
  proof_balances_at: string | null
  proved_since: string | null
  assets_by_grade: Partial<Record<Grade, number>>
}

/** Undefined when the owner has no such connection. */
export async function findHead(sql: Sql, owner: Owner, connectionId: string): Promise<ProofHead | undefined> {
  return sql.maybeRow<ProofHead>(
    `select c.connection_key, c.proof_grade, c.proof_checked_at, c.proof_balances_at, c.proved_since,
       coalesce((select json_object_agg(g.grade, g.assets) from (
         select p.grade, count(*)::integer as assets from proofs p
         where p.user_key = $1::bigint and p.connection_key = c.connection_key and not p.spam and not p.uninvited
         group by p.grade) g),
         '{}') as assets_by_grade
     from readable_connections c where c.user_key = $1::bigint and c.id = $2`,
    [owner.userKey, connectionId],
  )
}

export interface ProofRow {
  asset_id: string
  asset_symbol: string
  grade: Grade
  spam: boolean
  opening: Decimal
  posted: Decimal
  computed: Decimal
  observed: Decimal | null
  difference: Decimal | null
  causes: Cause[]
  first_bad_start: string | null
  first_bad_end: string | null
}

/** By symbol and id. */
export async function listProofs(
  sql: Sql,
  owner: Owner,
  connectionKey: number,
  { limit, after }: { limit: number; after: { symbol: string; id: string } | undefined },
): Promise<ProofRow[]> {
  return sql.rows<ProofRow>(
    `select a.id as asset_id, a.symbol as asset_symbol, p.grade, p.spam, trim_scale(p.opening)::text as opening,
       trim_scale(p.posted)::text as posted, trim_scale(p.opening + p.posted)::text as computed,
       trim_scale(p.observed)::text as observed, trim_scale(p.difference)::text as difference, p.causes,
       p.first_bad_start, p.first_bad_end
     from proofs p join assets a on a.asset_key = p.asset_key
     where p.user_key = $1::bigint and p.connection_key = $2::integer
       and ($3::text is null or (a.symbol collate "C", a.id) > ($3::text collate "C", $4::text))
     order by a.symbol collate "C", a.id limit $5::bigint`,
    [owner.userKey, connectionKey, after?.symbol ?? null, after?.id ?? null, limit],
  )
}
