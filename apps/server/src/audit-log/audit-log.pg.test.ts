/** The chain of the audit log: what it records, and that every tampering is detected. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/until.ts'
import type { Database } from '../db/index.ts'
import { createTenants } from '../tenants/index.ts'
import { recordAudit } from '../audit.ts'
import { chainAudit, chainEntries, exportAudit, listAuditTenants, verifyAudit } from './index.ts'

const quiet = { info: () => undefined, error: () => undefined }

async function prepare(
  t: TestContext,
): Promise<{ db: Database; tenantId: string; secrets: string[]; logged: object[] }> {
  const { db } = await testDatabase(t)
  const tenants = createTenants({ db })
  const { tenantId } = await tenants.createTenant('A tenant')
  const registration = { name: 'An app', redirectUris: ['https://app.example/cb'], scopes: ['assets:read'] } as const
  const { client, secret } = await tenants.createClient(tenantId, registration)
  const rotated = await tenants.rotateSecret(client.clientId, 0)
  await tenants.updateClient(client.clientId, { redirectUris: ['https://other.example/cb'] })
  await tenants.disableClient(client.clientId)
  const logged: object[] = []
  await chainAudit(db, { info: (facts: object) => void logged.push(facts), error: () => undefined })
  return { db, tenantId, secrets: [secret ?? '', rotated, 'other.example', 'An app'], logged }
}

async function readLines(db: Database, tenantId: string): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = []
  for await (const line of exportAudit(db, tenantId)) lines.push(JSON.parse(line) as Record<string, unknown>)
  return lines
}

describe('the audit log', () => {
  it('has an entry for every change to a client, with ids and field names but no values', async (t) => {
    const { db, tenantId, secrets } = await prepare(t)
    const lines = await readLines(db, tenantId)
    assert.deepEqual(
      lines.map(({ position, action, fields }) => [position, action, fields]),
      [
        ['1', 'tenant.created', ['name']],
        ['2', 'client.created', ['name', 'redirectUris', 'scopes']],
        ['3', 'secret.rotated', []],
        ['4', 'client.updated', ['redirectUris']],
        ['5', 'client.disabled', []],
      ],
    )
    for (const secret of secrets) assert.ok(!JSON.stringify(lines).includes(secret))
  })

  it('is unbroken when it is chained in several rounds and by two processes at once', async (t) => {
    const { db, tenantId } = await prepare(t)
    const tenants = createTenants({ db })
    const registration = { name: 'Other', redirectUris: ['https://app.example/cb'], scopes: ['assets:read'] } as const
    await Promise.all(Array.from({ length: 5 }, () => tenants.createClient(tenantId, registration)))
    await Promise.all([chainAudit(db, quiet), chainAudit(db, quiet)])
    assert.deepEqual(await verifyAudit(db, tenantId), { tenantId, entries: 10, broken: null })
  })

  it('is chained for every tenant, however many have new entries', async (t) => {
    const { db } = await testDatabase(t)
    await db.execute(
      `insert into audit_entries (tenant_id, at, actor, action, subject, fields)
       select 'ten_' || n, $1::timestamptz, 'operator', 'audit.read', 'ten_' || n, '{}' from generate_series(1, 1001) n`,
      [db.now()],
    )
    assert.deepEqual(await chainEntries(db), [])
    assert.equal((await listAuditTenants(db)).length, 1_001)
  })

  for (const table of ['audit_entries', 'audit_heads']) {
    it(`is unbroken when entries are chained while it is verified, before ${table} is read`, async (t) => {
      const { db, tenantId } = await prepare(t)
      const verified = await db.transaction(async (tx) => {
        await tx.execute(`lock table ${table} in access exclusive mode`)
        const verifying = verifyAudit(db, tenantId)
        await until('the verification waits', () =>
          db.maybeRow(
            `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' limit 1`,
          ),
        )
        await recordAudit(tx, { tenantId, actor: 'operator', action: 'audit.read', subject: tenantId })
        await chainEntries({ ...db, ...tx, transaction: (work) => work(tx) })
        return { verifying }
      })
      assert.deepEqual(await verified.verifying, { tenantId, entries: 6, broken: null })
    })
  }

  const sabotages: [string, string, string, string][] = [
    ['changed', `update audit_entries set actor = 'user' where position = 3`, '3', 'was changed'],
    ['removed', 'delete from audit_entries where position = 2', '2', 'is missing'],
    ['moved', 'update audit_entries set position = 9 where position = 4', '4', 'is missing'],
    ['cut off', 'delete from audit_entries where position = 5', '5', 'is missing'],
  ]
  for (const [title, statement, position, reason] of sabotages) {
    it(`an entry that was ${title} is named as the first broken link`, async (t) => {
      const { db, tenantId } = await prepare(t)
      await db.execute(statement, [])
      assert.deepEqual((await verifyAudit(db, tenantId)).broken, { position, reason })
    })
  }

  it('a chain that was cut off together with its head is detected by the head in the log', async (t) => {
    const { db, tenantId, logged } = await prepare(t)
    const head = logged[0] as { position: string; hash: string }
    assert.equal(head.position, '5')
    await db.execute('delete from audit_entries where position = 5', [])
    await db.execute(
      `update audit_heads h set position = 4, hash = e.hash from audit_entries e
       where e.tenant_id = h.tenant_id and e.position = 4`,
      [],
    )
    assert.equal((await verifyAudit(db, tenantId)).broken, null)
    assert.deepEqual((await verifyAudit(db, tenantId, head)).broken, { position: '5', reason: 'is missing' })
  })

  it('a chain whose head was deleted is verified with the others, and is broken', async (t) => {
    const { db, tenantId } = await prepare(t)
    await db.execute('delete from audit_heads where tenant_id = $1', [tenantId])
    assert.deepEqual(await listAuditTenants(db), [tenantId])
    assert.deepEqual((await verifyAudit(db, tenantId)).broken, { position: '5', reason: 'has no head' })
    await db.execute('delete from audit_entries where tenant_id = $1 and position = 1', [tenantId])
    assert.deepEqual(await listAuditTenants(db), [tenantId])
    assert.deepEqual((await verifyAudit(db, tenantId)).broken, { position: '1', reason: 'is missing' })
  })

  const lostHeads: [string, string, { position: string; reason: string }][] = [
    ['deleted', 'delete from audit_heads where tenant_id = $1', { position: '5', reason: 'has no head' }],
    ['set back', 'update audit_heads set position = 2 where tenant_id = $1', { position: '6', reason: 'is missing' }],
  ]
  for (const [what, statement, broken] of lostHeads) {
    it(`goes on for other tenants while the head of one was ${what}, and does not hide it`, async (t) => {
      const { db, tenantId } = await prepare(t)
      await db.execute(statement, [tenantId])
      // Tenants are chained in the order of their ids.
      const other = `${tenantId}z`
      for (const id of [tenantId, other])
        await recordAudit(db, { tenantId: id, actor: 'operator', action: 'audit.read', subject: id })
      const logged: unknown[] = []
      await chainAudit(db, { info: () => undefined, error: (facts: unknown) => void logged.push(facts) })
      assert.deepEqual(await verifyAudit(db, other), { tenantId: other, entries: 1, broken: null })
      assert.deepEqual((await verifyAudit(db, tenantId)).broken, broken)
      assert.deepEqual(logged, [{ tenant_id: tenantId }])
    })
  }

  it('logs the head once a day', async (t) => {
    const { db, logged } = await prepare(t)
    assert.equal(logged.length, 1)
    await chainAudit(db, { info: (facts: object) => void logged.push(facts), error: () => undefined })
    assert.equal(logged.length, 1)
  })
})
