/** Everything that an operator changes or views leaves an entry in the audit log. */
import { openAdmin, type Admin } from '@assay/server/admin'
import { parseConfig } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, describe, it } from 'node:test'
import { testDatabase, toDatabaseUrl } from '../../../../test/postgres.ts'
import { until } from '../../../../test/until.ts'
import { testKeyTexts } from '../../../server/src/test-keys.ts'
import { run, start } from '../test-cli.ts'

describe('the audit log of an operator', async () => {
  const { db, connection } = await testDatabase({ after: (end) => after(end as () => Promise<void>) })
  const environment = { DATABASE_URL: toDatabaseUrl(connection), ...testKeyTexts('test') }

  async function withAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = await openAdmin(parseConfig(environment, 'command'), createLog({ level: 'silent' }))
    try {
      return await work(admin)
    } finally {
      await admin.close()
    }
  }
  const listActions = async (tenantId: string): Promise<string[]> =>
    (
      await db.rows<{ said: string }>(
        `select actor || ' ' || action || ' ' || subject as said from audit_entries where tenant_id = $1 order by entry`,
        [tenantId],
      )
    ).map(({ said }) => said)

  it('records the commands that change data of every tenant, and who viewed findings', async () => {
    const onProgress = (): void => undefined
    await withAdmin(async (admin) => {
      await admin.correctPrice('crypto:bitcoin', '2024-03-01', parseDecimal('61000'))
      await admin.replay({ connectionId: undefined, providerId: undefined, apply: false, onProgress })
      await admin.replay({ connectionId: undefined, providerId: 'kraken', apply: true, onProgress })
      for await (const finding of admin.listFindings({ connectionId: 'con_1', providerId: undefined }))
        assert.fail(finding.transactionId)
      await admin.discardFindings({ connectionId: undefined, providerId: undefined })
      await admin.statistics.rebuild()
    })
    assert.deepEqual(await listActions(''), [
      'operator price.corrected crypto:bitcoin 2024-03-01',
      'operator ledger.replayed kraken',
      'operator ledger.read con_1',
      'operator ledger.discarded installation',
      'operator statistics.rebuilt installation',
    ])
  })

  it('records changes to webhooks, and who viewed their messages and the list of tenants', async () => {
    const { tenantId, messageId } = await withAdmin(async ({ tenants, webhooks }) => {
      const made = await tenants.createTenant('A tenant')
      await webhooks.set(made.tenantId, 'https://receiver.example/hook')
      return { tenantId: made.tenantId, messageId: await webhooks.sendTest(made.tenantId) }
    })
    await db.execute(`update webhook_messages set outcome = 'delivered', ended_at = $1::timestamptz`, [db.now()])
    await withAdmin(({ webhooks }) => webhooks.resend(tenantId, messageId))
    const [log, list] = await Promise.all([
      run(['webhook', 'log', tenantId], environment),
      run(['tenant', 'list'], environment),
    ])
    assert.deepEqual([log.code, list.code], [0, 0], log.err + list.err)
    assert.deepEqual(await listActions(tenantId), [
      `operator tenant.created ${tenantId}`,
      `operator webhook.set ${tenantId}`,
      `operator webhook.tested ${messageId}`,
      `operator webhook.resent ${messageId}`,
      `operator webhook.read ${tenantId}`,
    ])
    assert.equal((await listActions('')).at(-1), 'operator tenants.read installation')
  })

  it('does not take the head of the day, which a worker logs where operators cannot write', async () => {
    const verified = await run(['audit', 'verify', 'installation'], environment)
    assert.equal(verified.code, 0, verified.err)
    const unlogged = await db.rows<{ is: boolean }>('select logged_on is null as is from audit_heads')
    assert.ok(unlogged.length > 0)
    assert.ok(unlogged.every(({ is }) => is))
  })

  it('says that a rotation of keys was begun, even if it fails halfway', async () => {
    await db.execute(`create function fail() returns trigger language plpgsql as $$
        begin raise exception 'the disk is full'; end $$;
      create trigger fail before update on webhooks for each row execute function fail()`)
    const rotated = await run(['keys', 'rotate'], { ...environment, ...testKeyTexts('new', 'test') })
    assert.equal(rotated.code, 1)
    assert.equal((await listActions('')).at(-1), 'operator keys.rotated new')
  })

  it('is exported as far as it is chained, with an error when a deleted head keeps the rest out', async () => {
    const { tenantId } = await withAdmin(({ tenants }) => tenants.createTenant('A tenant without a head'))
    assert.equal((await run(['audit', 'export', tenantId], environment)).code, 0)
    await withAdmin((admin) => admin.audit.verify(tenantId, undefined))
    await db.execute('delete from audit_heads where tenant_id = $1', [tenantId])
    await withAdmin((admin) => admin.audit.recordOperatorRead(tenantId, 'clients.read', tenantId))
    const exported = await run(['audit', 'export', tenantId], environment)
    assert.equal(exported.code, 1)
    assert.deepEqual(
      exported.out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { action: string }).action),
      ['tenant.created', 'audit.read'],
    )
    assert.match(
      exported.err,
      /Newer entries of .* are missing here, because its chain is broken: run assay audit verify/,
    )
    const verified = await run(['audit', 'verify', tenantId], environment)
    assert.deepEqual([verified.code, verified.out], [1, `✗ ${tenantId}: entry 2 has no head\n`])
  })

  it('is exported as fast as it is read, and not into memory', async (t) => {
    const { tenantId } = await withAdmin(({ tenants }) => tenants.createTenant('A tenant with many entries'))
    await db.execute(
      `insert into audit_entries (tenant_id, at, actor, action, subject, fields)
       select $1, now(), 'operator', 'audit.read', repeat('x', 2000), '{}' from generate_series(1, 5000)`,
      [tenantId],
    )
    const { child, output } = start(['audit', 'export', tenantId], environment)
    t.after(() => child.kill('SIGKILL'))
    child.stdout?.pause()
    await until('the export to wait for its reader', () =>
      db.maybeRow(
        `select from pg_stat_activity where datname = current_database() and state = 'idle'
           and query like '%audit_entries.position > %' and state_change < clock_timestamp() - interval '1 second'`,
      ),
    )
    child.stdout?.resume()
    await once(child, 'close')
    assert.equal(child.exitCode, 0)
    assert.equal(output().split('\n').length, 5_002)
  })
})
