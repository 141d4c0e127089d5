/** All SQL over audit_entries and audit_heads, except appending an entry (audit.ts). */
import type { Sql } from '../db/index.ts'

export interface EntryRow {
  entry: string
  tenantId: string
  at: string
  actor: string
  action: string
  subject: string
  fields: string[]
  userId: string | null
  clientId: string | null
  providerId: string | null
}

export interface ChainedRow extends EntryRow {
  position: string
  hash: Buffer
}

export interface Head {
  position: string
  hash: Buffer
  /** The day on which the head was last logged, YYYY-MM-DD. */
  loggedOn: string | null
}

// Numbers of 64 bits come as text. An ORDER BY has to name the table, or it would sort that text.
const columns = `entry::text, tenant_id as "tenantId", at, actor, action, subject, fields, user_id as "userId",
  client_id as "clientId", provider_id as "providerId"`

/** In the order of their ids, after the one given. */
export async function listUnchainedTenants(sql: Sql, after: string | undefined, limit: number): Promise<string[]> {
  const rows = await sql.rows<{ tenant_id: string }>(
    `select distinct tenant_id from audit_entries where position is null and ($1::text is null or tenant_id > $1::text)
     order by tenant_id limit $2`,
    [after ?? null, limit],
  )
  return rows.map(({ tenant_id: tenantId }) => tenantId)
}

/**
 * Locked until the transaction ends: one process at a time chains a tenant's entries. Undefined when the head was
 * deleted: a new one would hide that. A chain and its head are committed together, so the head of a chain that was seen
 * is there.
 */
export async function lockHead(tx: Sql, tenantId: string): Promise<Head | undefined> {
  if (!(await hasEntryAfter(tx, tenantId, '0'))) {
    await tx.execute(
      `insert into audit_heads (tenant_id, position, hash) values ($1, 0, '') on conflict (tenant_id) do nothing`,
      [tenantId],
    )
  }
  return tx.maybeRow<Head>(
    `select position::text, hash, to_char(logged_on, 'YYYY-MM-DD') as "loggedOn" from audit_heads
     where tenant_id = $1 for update`,
    [tenantId],
  )
}

export async function hasEntryAfter(sql: Sql, tenantId: string, position: string): Promise<boolean> {
  const found = await sql.maybeRow(
    'select from audit_entries where tenant_id = $1 and audit_entries.position > $2::bigint limit 1',
    [tenantId, position],
  )
  return found !== undefined
}

export async function listUnchained(tx: Sql, tenantId: string, limit: number): Promise<EntryRow[]> {
  return tx.rows<EntryRow>(
    `select ${columns} from audit_entries where tenant_id = $1 and position is null order by audit_entries.entry limit $2`,
    [tenantId, limit],
  )
}

export async function chain(
  tx: Sql,
  tenantId: string,
  links: readonly { entry: string; position: bigint; hash: Buffer }[],
): Promise<void> {
  const last = links.at(-1)
  if (last === undefined) return
  await tx.execute(
    `update audit_entries e set position = l.position, hash = l.hash
     from unnest($1::bigint[], $2::bigint[], $3::bytea[]) as l (entry, position, hash) where e.entry = l.entry`,
    [links.map(({ entry }) => entry), links.map(({ position }) => position.toString()), links.map(({ hash }) => hash)],
  )
  await tx.execute('update audit_heads set position = $2, hash = $3 where tenant_id = $1', [
    tenantId,
    last.position.toString(),
    last.hash,
  ])
}

export async function listHeads(sql: Sql): Promise<({ tenantId: string } & Head)[]> {
  return sql.rows(
    `select tenant_id as "tenantId", position::text, hash, to_char(logged_on, 'YYYY-MM-DD') as "loggedOn"
     from audit_heads order by tenant_id`,
  )
}

/** Also those whose head was deleted, or their first entry. From one tenant to the next is one index look-up. */
export async function listChainedTenants(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ tenant_id: string }>(
    `with recursive chained as (
       (select tenant_id from audit_entries where position is not null order by tenant_id limit 1)
       union all
       select next.* from chained c, lateral (
         select tenant_id from audit_entries
         where position is not null and tenant_id > c.tenant_id order by tenant_id limit 1) next
     )
     select tenant_id from chained union select tenant_id from audit_heads order by tenant_id`,
  )
  return rows.map(({ tenant_id: tenantId }) => tenantId)
}

export async function findHead(sql: Sql, tenantId: string): Promise<Head | undefined> {
  return sql.maybeRow<Head>(
    `select position::text, hash, to_char(logged_on, 'YYYY-MM-DD') as "loggedOn" from audit_heads where tenant_id = $1`,
    [tenantId],
  )
}

/** False when another process has logged it on this day. */
export async function markLogged(sql: Sql, tenantId: string, day: string): Promise<boolean> {
  const marked = await sql.execute(
    'update audit_heads set logged_on = $2::date where tenant_id = $1 and logged_on is distinct from $2::date',
    [tenantId, day],
  )
  return marked === 1
}

/** Chained entries after a position, in the order of the chain. */
export async function listChained(sql: Sql, tenantId: string, after: string, limit: number): Promise<ChainedRow[]> {
  return sql.rows<ChainedRow>(
    `select ${columns}, position::text, hash from audit_entries
     where tenant_id = $1 and audit_entries.position > $2::bigint order by audit_entries.position, audit_entries.entry limit $3`,
    [tenantId, after, limit],
  )
}

export interface RepeatedEntry {
  actor: string
  action: string
  clientId: string | null
  providerId: string | null
  count: number
  /** When the newest of them was written. */
  lastAt: string
}

/**
 * The kinds of entries that concern a user, the one with the newest entry first. All entries of the user are read: a
 * quarter of a second for 210,000, which takes 105 days at the daily limit.
 */
export async function listKindsOfUser(
  sql: Sql,
  { tenantId, userId, limit }: { tenantId: string; userId: string; limit: number },
): Promise<RepeatedEntry[]> {
  return sql.rows<RepeatedEntry>(
    `select actor, action, client_id as "clientId", provider_id as "providerId", count(*)::int as count,
            max(at) as "lastAt"
     from audit_entries where tenant_id = $1 and user_id = $2
     group by actor, action, client_id, provider_id
     order by max(entry) desc limit $3`,
    [tenantId, userId, limit],
  )
}

/** How many of the newest `max` entries were written since then. */
export async function countOfUser(
  sql: Sql,
  { tenantId, userId, since, max }: { tenantId: string; userId: string; since: string; max: number },
): Promise<number> {
  const { count } = await sql.row<{ count: number }>(
    `select count(*) filter (where at > $3::timestamptz)::int as count from (
       select at from audit_entries where tenant_id = $1 and user_id = $2 order by entry desc limit $4) newest`,
    [tenantId, userId, since, max],
  )
  return count
}
