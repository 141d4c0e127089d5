/** What a page of a tenant costs beside a user with a long history that no application of the tenant may read. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { countScanned, recordStatements } from '../../db/test-statements.ts'
import { ownedBySuite } from '../../oauth/test-oauth.ts'
import { insertConnection, insertTenant, insertUser, putGrant } from '../test-tenant.ts'
import { readTenantPage } from './page-store.ts'
import { listRemoved, listTransactions } from './transactions-store.ts'

describe('a page of a tenant, one of whose users has ended a consent', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const tenant = await insertTenant(db, 'ten_a', ['cli_a'])
  const token = createHash('sha256').update('token').digest()
  await db.execute(
    `insert into client_tokens (token_hash, client_id, tenant_key, tenant_id, scopes, issued_at, expires_at)
     values ($1, 'cli_a', $2, $3, '{enterprise:read}', $4, $4::timestamptz + interval '1 hour')`,
    [token, tenant.tenantKey, tenant.tenantId, db.now()],
  )
  const ended = 20_000

  async function fill(userId: string, rows: number, from: string, lastsSeconds?: number): Promise<void> {
    const owner = await insertUser(db, tenant, userId)
    await putGrant(db, owner, {
      clientId: 'cli_a',
      scopes: ['transactions:read'],
      ...(lastsSeconds && { lastsSeconds }),
    })
    await insertConnection(db, owner, { connectionKey: 1, connectionId: `con_${userId}` })
    await db.execute(
      `insert into transactions (user_key, tenant_key, occurred_at, id, connection_key, provider_id, group_key, type,
         category, change_seq, updated_at, pending, staked_legs, document)
       select $1::bigint, $2, $3::timestamptz + n * interval '1 second', md5($1::bigint::text || ' ' || n)::uuid, 1,
         'kraken', n, 'send', 'gift', n, $3, false, 0, '"x":1}' from generate_series(1, $4::integer) n`,
      [owner.userKey, tenant.tenantKey, from, rows],
    )
    // Pages begin with the oldest of these, and with the newest transaction.
    await db.execute(
      `insert into removed_transactions (user_key, tenant_key, connection_key, id, change_seq, removed_at)
       select $1::bigint, $2, 2, md5($1::bigint::text || ' ' || n)::uuid, n,
         '2026-01-01'::timestamptz - ($3::timestamptz - '2025-01-01') - n * interval '1 second'
       from generate_series(1, $4::integer) n`,
      [owner.userKey, tenant.tenantKey, from, rows],
    )
  }
  for (let user = 0; user < 100; user += 1) await fill(`usr_${user}`, 50, '2025-01-01')
  await fill('usr_ended', ended, '2025-06-01', -1)
  await db.execute(`update connections set shown_at = '2025-12-01', shown_seq = 1`)
  await db.execute('vacuum analyze')

  const pages: Record<string, () => Promise<number>> = {
    'without filters': async () => {
      const page = await readTenantPage(db, token, { limit: 30, after: undefined })
      return (JSON.parse(`[${page?.items ?? ''}]`) as unknown[]).length
    },
    'of a provider': async () => {
      const request = { filters: { providerIds: ['kraken'] }, limit: 30, after: undefined }
      return (await listTransactions(db, tenant.tenantKey, request)).length
    },
    'of removed transactions': async () => {
      const request = { since: '2025-01-01T00:00:00.000Z', limit: 30, after: undefined }
      return (await listRemoved(db, tenant.tenantKey, request)).length
    },
  }
  for (const [name, read] of Object.entries(pages)) {
    it(`${name} looks at the consent once for each connection or user, and not for each row`, async () => {
      const sent = await recordStatements(async () => assert.equal(await read(), 30))
      let scanned = 0
      for (const statement of sent) scanned += await countScanned(db, statement)
      assert.ok(scanned < 1.2 * ended, `${scanned} rows`)
    })
  }
})
