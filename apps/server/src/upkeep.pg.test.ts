import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pino } from 'pino'
import { recordStatements, type SentStatement } from './db/test-statements.ts'
import { createStatistics } from './enterprise/index.ts'
import type { Handler } from './jobs/index.ts'
import { createOauth } from './oauth/index.ts'
import { testKeys } from './oauth/test-oauth.ts'
import type { ConnectionRef, Owner } from './owner.ts'
import { createTenants } from './tenants/index.ts'
import { openEngine, type TestEngine } from './test-engine.ts'
import { createUpkeep } from './upkeep.ts'

const { signal } = new AbortController()

function open(engine: TestEngine, logged: { step: string }[] = []): Handler<'upkeep'> {
  const { db } = engine
  const log = pino(
    { level: 'error' },
    { write: (line: string) => void logged.push(JSON.parse(line) as { step: string }) },
  )
  const oauth = createOauth({
    ...{ db, tenants: createTenants({ db }), keys: testKeys, issuer: 'https://auth.example' },
    ...{ widgetUrl: 'https://auth.example/connect', onCodeRedeemed: async () => undefined },
    randomBytes: (size) => Buffer.alloc(size, 1),
  })
  return createUpkeep({
    ...{ ...engine, oauth, statistics: createStatistics({ db }), log },
    ...{ removalsKeptMs: 90 * dayMs, versionsKeptMs: 400 * dayMs, abandonedAfterMs: 30 * dayMs },
  })
}

describe('upkeep', async () => {
  const engine = await openEngine()
  const { db } = engine

  it('continues after a step that fails, names the step, and queues its next round', async () => {
    const logged: { step: string }[] = []
    await db.execute(
      `insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, removed_at)
       values (1, gen_random_uuid(), 1, 1, 1, $1::timestamptz - interval '91 days')`,
      [db.now()],
    )
    await db.execute('alter table webhook_messages rename to elsewhere')
    await assert.rejects(open(engine, logged)({}, signal), { message: 'upkeep failed: webhooks' })
    await db.execute('alter table elsewhere rename to webhook_messages')
    assert.deepEqual(
      logged.map(({ step }) => step),
      ['webhooks'],
    )
    assert.deepEqual(await db.rows('select from removed_transactions'), [])
    const waiting = await db.rows(
      "select from graphile_worker.jobs where key = 'upkeep' and run_at > clock_timestamp()",
    )
    assert.equal(waiting.length, 1)
  })

  describe('of connections whose user has allowed no application anything for 30 days', () => {
    const upkeep = open(engine)
    const endGrants = ({ userKey }: Owner, daysAgo: number, how: 'expires_at' | 'revoked_at'): Promise<unknown> =>
      db.execute(`update grants set ${how} = $2 where user_key = $1`, [
        userKey,
        new Date(db.clock.now() - daysAgo * dayMs).toISOString(),
      ])
    const isThere = async (ref: ConnectionRef): Promise<boolean> =>
      (await engine.connections.find(ref, ref.connectionId)) !== undefined
    const connect = async (): Promise<ConnectionRef> => engine.connect(await engine.newOwner(), 'empty')

    it('destroys them, whether the last grant was revoked or expired, including those that wait for their owner', async () => {
      const [revoked, expired, waiting] = [await connect(), await connect(), await connect()]
      await db.execute("update connections set status = 'needs_reauth' where id = $1", [waiting.connectionId])
      await endGrants(revoked, 31, 'revoked_at')
      await endGrants(expired, 31, 'expires_at')
      await endGrants(waiting, 31, 'revoked_at')
      await engine.webhooks.set(revoked.tenantId, 'http://127.0.0.1:9/hook')
      await upkeep({}, signal)
      await engine.webhooks.remove(revoked.tenantId)
      for (const ref of [revoked, expired, waiting]) {
        assert.equal(await isThere(ref), false)
        assert.deepEqual(await db.rows('select from connections where user_key = $1', [ref.userKey]), [])
      }
    })

    it('destroys them in the same round, however many other users have left', async () => {
      for (let count = 0; count < 210; count += 1) await endGrants(await engine.newOwner(), 40, 'revoked_at')
      const last = await connect()
      await endGrants(last, 31, 'revoked_at')
      await upkeep({}, signal)
      assert.equal(await isThere(last), false)
    })

    it('keeps them until then, and as long as another grant is younger', async () => {
      const [recent, other, again] = [await connect(), await connect(), await connect()]
      await endGrants(recent, 29, 'revoked_at')
      await endGrants(other, 40, 'revoked_at')
      await db.execute(
        `insert into grants (user_key, client_id, id, tenant_key, tenant_id, user_id, scopes, consent, granted_at, expires_at)
         select user_key, 'cli_enterprise', id || 'b', tenant_key, tenant_id, user_id, scopes, consent, granted_at, expires_at
         from grants where user_key = $1`,
        [other.userKey],
      )
      await endGrants(again, 40, 'revoked_at')
      await db.execute('update grants set revoked_at = null where user_key = $1', [again.userKey])
      await upkeep({}, signal)
      for (const ref of [recent, other, again]) assert.equal(await isThere(ref), true)
      // The end of a grant is checked once: this one is not checked again, and the other one is.
      await db.execute(`update grants set revoked_at = $2 where user_key = $1 and client_id = 'cli_enterprise'`, [
        other.userKey,
        new Date(db.clock.now() - 31 * dayMs).toISOString(),
      ])
      await upkeep({}, signal)
      assert.equal(await isThere(other), false)
    })
  })
})

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

describe('upkeep with nothing to do', async () => {
  const engine = await openEngine()
  const { db } = engine
  const connectionsCount = 20_000

  /** Read every few hours, each with a job; every user has a grant, and many have one that ended years ago. */
  async function fill(): Promise<void> {
    const { tenantKey, tenantId } = await engine.newOwner()
    const at = db.now()
    const values = [connectionsCount, tenantKey, tenantId, at]
    await db.execute(
      `insert into users (user_key, tenant_key, tenant_id, id, external_user_id, created_at)
       select n, $2::int, $3::text, 'usr_' || n, 'made ' || n, $4::timestamptz from generate_series(1, $1::int) n`,
      values,
    )
    await db.execute(
      `insert into grants (user_key, client_id, id, tenant_key, tenant_id, user_id, scopes, consent, granted_at,
         expires_at, revoked_at, lapse_seen)
       select n, client_id, 'grt_' || client_id || n, $2::int, $3::text, 'usr_' || n, '{assets:read,transactions:read}', '{}',
         $4::timestamptz - interval '100 days',
         $4::timestamptz + case when over then interval '-60 days' else interval '265 days' end, null, over
       from generate_series(1, $1::int) n, (values ('cli_demo', false), ('cli_enterprise', true)) as c (client_id, over)`,
      values,
    )
    await db.execute(
      `insert into user_ledgers (user_key, connection_keys, read_at) select n, 1, $2::timestamptz
       from generate_series(1, $1::int) n`,
      [connectionsCount, at],
    )
    await db.execute(
      `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id,
         connection_type, status, sealed_credentials, key_lane, created_at, added_at, shown_at, shown_seq, last_synced_at,
         next_sync_at)
       select n, 1, 'con_' || n, $2::int, $3::text, 'usr_' || n, 'kraken', 'api_key',
         (array['active', 'active', 'active', 'degraded', 'needs_reauth'])[1 + n % 5], 'sealed', 'lane ' || n,
         $4::timestamptz - interval '90 days', $4::timestamptz - interval '90 days', $4::timestamptz, n, $4::timestamptz,
         case when n % 5 < 4 then $4::timestamptz + make_interval(secs => n) end
       from generate_series(1, $1::int) n`,
      values,
    )
    await db.execute(
      `insert into graphile_worker._private_tasks (identifier) values ('sync') on conflict do nothing;
       insert into graphile_worker._private_jobs (task_id, payload, key, run_at)
       select t.id, '{}', 'sync:con_' || n, now() + make_interval(secs => n)
       from generate_series(1, ${connectionsCount}) n, graphile_worker._private_tasks t where t.identifier = 'sync'`,
    )
    await db.execute('vacuum analyze')
  }

  /** The largest number of rows of a table that a node of the plan has examined. */
  function findWidest(node: PlanNode): { rows: number; where: string } {
    const rows = node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))
    const own = {
      rows: node['Relation Name'] === undefined ? 0 : rows,
      where: `${node['Node Type']} on ${node['Relation Name']}`,
    }
    return (node.Plans ?? []).map(findWidest).reduce((a, b) => (b.rows > a.rows ? b : a), own)
  }

  async function explain({ text, values }: SentStatement): Promise<{ rows: number; where: string }> {
    const explained = db.transaction(async (tx) => {
      const { 'QUERY PLAN': plan } = await tx.row<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
        `explain (analyze, format json) ${text}`,
        values,
      )
      throw new Explained(findWidest(plan[0]?.Plan as PlanNode))
    })
    return explained.catch((error: unknown) => {
      if (error instanceof Explained) return error.widest
      throw error
    })
  }

  it('uses indexes: no statement examines more than a few rows, whatever the number of connections', async () => {
    await fill()
    const upkeep = open(engine)
    // Run once, so that work left over from the setup is done.
    await upkeep({}, signal)
    const sent = await recordStatements(() => upkeep({}, signal))
    const looked = sent.filter(({ text }) => !/^(begin|commit|select graphile_worker\.)/i.test(text.trim()))
    assert.ok(looked.length > 10)
    for (const statement of looked) {
      const { rows, where } = await explain(statement)
      assert.ok(rows <= 100, `${rows} rows: ${where}\n${statement.text}`)
    }
  })
})

/** Rolls back what an explained statement did. */
class Explained extends Error {
  readonly widest: { rows: number; where: string }

  constructor(widest: { rows: number; where: string }) {
    super('explained')
    this.widest = widest
  }
}
