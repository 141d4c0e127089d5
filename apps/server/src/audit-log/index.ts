/**
 * Reads the audit log. Entries are chained for each tenant by hash, so that changing, inserting or removing one breaks
 * the chain from there on. The chain alone cannot show that its end was cut off or that all of it was rewritten.
 * Therefore the head is logged every day, outside the database, and `verify` compares the chain with a head from such a
 * log.
 */
import { dayMs, Refusal } from '@assay/core'
import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { Database, Sql } from '../db/index.ts'
import * as store from './store.ts'

export type { RepeatedEntry } from './store.ts'

const batchSize = 1_000

/** The installation's own entries do not belong to a tenant and have the empty id. */
export interface AuditVerdict {
  tenantId: string
  entries: number
  /** The first link that does not hold; null when all do. */
  broken: { position: string; reason: string } | null
}

/** `position:hash` of a head, as the log has it. */
export interface KnownHead {
  position: string
  hash: string
}

/**
 * Chains new entries. The heads are left for upkeep to log: a command writes to a terminal, and a head that counts as
 * logged there would be missing from the log that is kept where the database's operators cannot write.
 *
 * Returns the tenants whose head is not the end of their chain. Their entries are left as they are for `verify` to find,
 * and keep no other tenant waiting.
 */
export async function chainEntries(db: Database): Promise<string[]> {
  const broken: string[] = []
  let after: string | undefined
  for (;;) {
    const tenantIds = await store.listUnchainedTenants(db, after, batchSize)
    for (const tenantId of tenantIds) {
      let chained: number | undefined
      do chained = await chainBatch(db, tenantId)
      while (chained === batchSize)
      if (chained === undefined) broken.push(tenantId)
    }
    after = tenantIds.at(-1)
    if (after === undefined) return broken
  }
}

/** Upkeep: chains new entries, and logs each head once a day. */
export async function chainAudit(db: Database, log: Pick<Logger, 'info' | 'error'>): Promise<void> {
  for (const tenantId of await chainEntries(db)) {
    log.error({ tenant_id: tenantId }, 'audit log chain is broken: run assay audit verify')
  }
  const day = db.now().slice(0, 10)
  for (const { tenantId, position, hash, loggedOn } of await store.listHeads(db)) {
    if (loggedOn === day || !(await store.markLogged(db, tenantId, day))) continue
    log.info({ tenant_id: tenantId, position, hash: hash.toString('hex') }, 'audit log head')
  }
}

/** How many entries were chained; undefined when the head is not the end of the chain. */
function chainBatch(db: Database, tenantId: string): Promise<number | undefined> {
  return db.transaction(async (tx) => {
    const head = await store.lockHead(tx, tenantId)
    if (head === undefined || (await store.hasEntryAfter(tx, tenantId, head.position))) return undefined
    const rows = await store.listUnchained(tx, tenantId, batchSize)
    let position = BigInt(head.position)
    let previous = head.hash
    const links = rows.map((row) => {
      position += 1n
      previous = hashLink(previous, position.toString(), row)
      return { entry: row.entry, position, hash: previous }
    })
    await store.chain(tx, tenantId, links)
    return rows.length
  })
}

/** Everything that an entry says, in an order that never changes. */
function hashLink(previous: Buffer, position: string, row: store.EntryRow): Buffer {
  const { tenantId, at, actor, action, subject, fields, userId, clientId, providerId } = row
  const said = JSON.stringify([position, tenantId, at, actor, action, subject, fields, userId, clientId, providerId])
  return createHash('sha256').update(previous).update(said).digest()
}

export async function verifyAudit(db: Database, tenantId: string, known?: KnownHead): Promise<AuditVerdict> {
  let head: store.Head | undefined
  let entries = 0
  let previous: Buffer = Buffer.alloc(0)
  let reached = 0n
  let seesKnown = known === undefined
  const broken = (position: bigint, reason: string): AuditVerdict => ({
    ...{ tenantId, entries },
    broken: { position: position.toString(), reason },
  })
  for (;;) {
    const rows = await store.listChained(db, tenantId, reached.toString(), batchSize)
    for (const row of rows) {
      reached += 1n
      if (row.position !== reached.toString()) return broken(reached, 'is missing')
      previous = hashLink(previous, row.position, row)
      if (!previous.equals(row.hash)) return broken(reached, 'was changed')
      entries += 1
      if (known?.position === row.position) {
        if (known.hash !== previous.toString('hex')) return broken(reached, 'is not what the log had at this position')
        seesKnown = true
      }
    }
    if (rows.length === batchSize) continue
    const isBehind = (): boolean => head !== undefined && BigInt(head.position) > reached
    if (rows.length === 0 && isBehind()) break
    // A worker goes on chaining. The head is read after the entries, and if it is ahead, the entries up to it are read
    // next: they were committed with it, so only missing ones are not found.
    head = await store.findHead(db, tenantId)
    if (!isBehind()) break
  }
  if (head === undefined && reached > 0n) return broken(reached, 'has no head')
  if (head !== undefined && head.position !== reached.toString()) return broken(reached + 1n, 'is missing')
  if (head !== undefined && !head.hash.equals(previous)) return broken(reached, 'is not the head that was kept')
  if (!seesKnown) return broken(reached + 1n, 'is missing')
  return { tenantId, entries, broken: null }
}

export async function listAuditTenants(db: Database): Promise<string[]> {
  return store.listChainedTenants(db)
}

/** Chained entries as NDJSON, oldest first. */
export async function* exportAudit(db: Database, tenantId: string): AsyncGenerator<string> {
  let after = '0'
  for (;;) {
    const rows = await store.listChained(db, tenantId, after, batchSize)
    for (const row of rows) yield `${JSON.stringify(toWire(row))}\n`
    const last = rows.at(-1)
    if (last === undefined || rows.length < batchSize) return
    after = last.position
  }
}

function toWire(row: store.ChainedRow): object {
  return {
    position: row.position,
    at: row.at,
    tenant_id: row.tenantId === '' ? null : row.tenantId,
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    fields: row.fields,
    user_id: row.userId,
    client_id: row.clientId,
    provider_id: row.providerId,
    hash: row.hash.toString('hex'),
  }
}

/** More kinds than one user has: an application makes about 300, one for each action at each provider. */
const kindsMax = 2_000

/**
 * What concerns a user, chained or not: once for each actor, client, action and provider, however often it happened.
 * Otherwise an application could repeat one action until the user no longer sees another.
 */
export function listAuditOfUser(
  db: Database,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<store.RepeatedEntry[]> {
  return store.listKindsOfUser(db, { tenantId, userId, limit: kindsMax })
}

/** Enough to connect and to remove 500 accounts twice in a day. */
const perDayMax = 2_000

/**
 * Entries are kept for good, so a user who leaves thousands of them in a day has to wait. Otherwise an application that
 * connects and removes one account, or asks for one consent, again and again would fill the disk.
 */
export async function isRestless(
  sql: Sql,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<boolean> {
  const since = new Date(Date.parse(sql.now()) - dayMs).toISOString()
  return (await store.countOfUser(sql, { tenantId, userId, since, max: perDayMax })) >= perDayMax
}

/** For the steps of a consent: giving it, issuing its code, and redeeming that code. */
export async function refuseRestless(sql: Sql, user: { tenantId: string; userId: string }): Promise<void> {
  if (!(await isRestless(sql, user))) return
  const message = 'There were too many consents and changes today. Try again later.'
  throw new Refusal('rate_limited', message, { retryAfterSeconds: 3_600 })
}
