/** `transactions.changed`: counts of a connection's changes, announced at most once a minute. */
import { minuteMs } from '@assay/core'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { pino } from 'pino'
import { createStillClock } from '../../../../test/still-clock.ts'
import { openQueue } from '../jobs/test-queue.ts'
import { testKeyring } from '../test-keys.ts'
import type { ConnectionRef } from '../owner.ts'
import { createWebhooks, type Webhooks } from './index.ts'
import { openConsents } from './test-consent.ts'

const keyring = testKeyring('test')

interface Body {
  type: string
  data: Record<string, unknown>
}

describe('transactions.changed', async () => {
  const queue = await openQueue()
  const db = createStillClock().of(queue.db)
  const consents = await openConsents(queue.db)
  const webhooks: Webhooks = createWebhooks({
    ...{ db, keyring, randomBytes, loopbackOnly: false, scaleWait: (ms) => ms, log: pino({ level: 'silent' }) },
    ...{ now: () => db.clock.now(), realNow: Date.now, fetch: async () => new Response() },
  })

  let count = 0
  /** A connection of a tenant with a webhook. */
  async function newConnection({
    connectSessionId = null as string | null,
    hasWebhook = true,
  } = {}): Promise<ConnectionRef> {
    count += 1
    const ref: ConnectionRef = {
      ...{ tenantKey: count, tenantId: `ten_${count}`, userKey: String(count), userId: `usr_${count}` },
      ...{ connectionKey: 1, connectionId: `con_${count}` },
    }
    await db.execute(
      `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
         status, key_lane, session_id, created_at, added_at, transaction_count)
       values ($1::bigint, 1, $2, $3, $4, $5, 'kraken', 'api_key', 'active', $2, $6, $7, $7, 41)`,
      [ref.userKey, ref.connectionId, ref.tenantKey, ref.tenantId, ref.userId, connectSessionId, db.now()],
    )
    await consents.give(db, ref)
    if (hasWebhook) await webhooks.set(ref.tenantId, 'https://app.example/')
    return ref
  }
  const add = (ref: ConnectionRef, added: number, changed = 0, removed = 0): Promise<void> =>
    db.transaction((tx) => webhooks.announceChanges(tx, ref, { added, changed, removed }))
  const listMessages = async ({ tenantId }: ConnectionRef): Promise<Body[]> => {
    const rows = await db.rows<{ body: string }>(
      'select body from webhook_messages where tenant_id = $1 order by seq',
      [tenantId],
    )
    return rows.map(({ body }) => JSON.parse(body) as Body)
  }
  const countsOf = async (ref: ConnectionRef): Promise<unknown[][]> =>
    (await listMessages(ref)).map(({ data }) => [data['added'], data['changed'], data['removed']])
  const isPending = async ({ userKey }: ConnectionRef): Promise<boolean> =>
    (await db.rows('select from pending_announcements where user_key = $1', [userKey])).length > 0

  it('says whose connection it is and how much changed, and carries nothing else', async () => {
    const ref = await newConnection()
    await add(ref, 3, 2, 1)
    await webhooks.announceDue()
    const [message] = await listMessages(ref)
    assert.equal(message?.type, 'transactions.changed')
    assert.deepEqual(message.data, {
      ...{ added: 3, changed: 2, removed: 1 },
      ...{ user_id: ref.userId, connection_id: ref.connectionId },
    })
    const jobs = await db.rows(`select from graphile_worker.jobs where task_identifier = 'webhook'`)
    assert.ok(jobs.length >= 1)
  })

  it('is written at once, and then at most once a minute with the sums since the last message', async () => {
    const ref = await newConnection()
    await add(ref, 1)
    await webhooks.announceDue()
    for (const n of [1, 2, 3]) {
      await add(ref, n, 1)
      await webhooks.announceDue()
    }
    assert.deepEqual(await countsOf(ref), [[1, 0, 0]])
    await db.clock.advance(minuteMs - 1)
    await webhooks.announceDue()
    assert.equal((await countsOf(ref)).length, 1)
    await db.clock.advance(1)
    await webhooks.announceDue()
    assert.deepEqual(await countsOf(ref), [
      [1, 0, 0],
      [6, 3, 0],
    ])
    await db.clock.advance(minuteMs)
    await webhooks.announceDue()
    assert.equal((await countsOf(ref)).length, 2)
    assert.equal(await isPending(ref), false)
  })

  it('counts nothing without a webhook, for a connection that is not shown, or without a change', async () => {
    const refs = [await newConnection({ hasWebhook: false }), await newConnection({ connectSessionId: 'ses' })]
    for (const ref of refs) {
      await add(ref, 1)
      await db.transaction((tx) => webhooks.announceShown(tx, ref))
      assert.equal(await isPending(ref), false, ref.connectionId)
    }
    const plain = await newConnection()
    await add(plain, 0)
    assert.equal(await isPending(plain), false)
  })

  it('counts everything that was read in its session when a connection is shown', async () => {
    const ref = await newConnection({ connectSessionId: 'ses' })
    await db.transaction(async (tx) => {
      await tx.execute('update connections set session_id = null where user_key = $1', [ref.userKey])
      await webhooks.announceShown(tx, ref)
    })
    await webhooks.announceDue()
    assert.deepEqual(await countsOf(ref), [[41, 0, 0]])
  })

  it('is not written for a connection that was removed meanwhile', async () => {
    const ref = await newConnection()
    await add(ref, 1)
    await db.execute(`update connections set status = 'removed' where user_key = $1`, [ref.userKey])
    await webhooks.announceDue()
    assert.deepEqual([await countsOf(ref), await isPending(ref)], [[], false])
  })

  it('is not written for a commit that is rolled back, and no commit waits for a round', async () => {
    const ref = await newConnection()
    await assert.rejects(
      db.transaction(async (tx) => {
        await webhooks.announceChanges(tx, ref, { added: 1, changed: 0, removed: 0 })
        throw new Error('rolled back')
      }),
      /rolled back/,
    )
    await webhooks.announceDue()
    assert.deepEqual(await countsOf(ref), [])
    await add(ref, 1)
    // A running commit is left to the next round.
    await db.transaction(async (tx) => {
      await webhooks.announceChanges(tx, ref, { added: 1, changed: 0, removed: 0 })
      await webhooks.announceDue()
      assert.deepEqual(await countsOf(ref), [])
    })
    await webhooks.announceDue()
    assert.deepEqual(await countsOf(ref), [[2, 0, 0]])
  })

  it('tells a tenant only what a consent in force allows it to read', async () => {
    const ref = await newConnection()
    await consents.give(db, ref, ['claims:read', 'providers:read'])
    await add(ref, 3)
    await webhooks.announceDue()
    assert.deepEqual([await countsOf(ref), await isPending(ref)], [[], false])

    await consents.give(db, ref)
    await add(ref, 4)
    await consents.end(db, ref.userKey)
    await webhooks.announceDue()
    assert.deepEqual([await countsOf(ref), await isPending(ref)], [[], false])
  })

  it('many connections at once are all announced in one round', async () => {
    const ref = await newConnection()
    await db.execute(
      `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
         status, key_lane, created_at, added_at)
       select $1::bigint, n, 'con_many' || n, $2, $3, $4, 'kraken', 'api_key', 'active', 'many' || n, $5, $5
       from generate_series(2, 251) n`,
      [ref.userKey, ref.tenantKey, ref.tenantId, ref.userId, db.now()],
    )
    for (let connectionKey = 2; connectionKey <= 251; connectionKey += 1) await add({ ...ref, connectionKey }, 1)
    await webhooks.announceDue()
    const messages = await listMessages(ref)
    assert.equal(new Set(messages.map(({ data }) => data['connection_id'])).size, 250)
    assert.equal(messages.length, 250)
  })

  it('connection.destroyed names the connection', async () => {
    const ref = await newConnection()
    await db.transaction((tx) => webhooks.announceDestroyed(tx, ref))
    const [message] = await listMessages(ref)
    assert.deepEqual(
      [message?.type, message?.data],
      ['connection.destroyed', { user_id: ref.userId, connection_id: ref.connectionId }],
    )
  })
})

describe('connection.changed, connection.destroyed and proof.changed', async () => {
  const { db } = await openQueue()
  const consents = await openConsents(db)
  const webhooks = createWebhooks({
    ...{ db, keyring, randomBytes, loopbackOnly: false, scaleWait: (ms) => ms, log: pino({ level: 'silent' }) },
    ...{ now: () => db.clock.now(), realNow: Date.now, fetch: async () => new Response() },
  })
  const about = { tenantId: 'ten_a', userKey: '7', userId: 'usr_7', connectionId: 'con_7' }
  await webhooks.set(about.tenantId, 'https://app.example/')

  /** What the tenant hears of one change of each kind. */
  async function hear(): Promise<string[]> {
    await db.execute('delete from webhook_messages')
    await db.transaction(async (tx) => {
      for (const change of ['read', 'needs_reauth', 'removed', 'revoked'] as const) {
        await webhooks.announce(tx, { ...about, change })
      }
      await webhooks.announceProof(tx, about, { grade: 'proved', previousGrade: 'open' })
      await webhooks.announceDestroyed(tx, about)
    })
    const rows = await db.rows<{ body: string }>('select body from webhook_messages order by seq')
    return rows.map(({ body }) => {
      const { type, data } = JSON.parse(body) as Body
      return (data['change'] as string | undefined) ?? type
    })
  }
  const gone = ['removed', 'revoked', 'connection.destroyed']

  it('are told to a tenant that may see the connection', async () => {
    await consents.give(db, about, ['providers:read'])
    assert.deepEqual(await hear(), [
      'read',
      'needs_reauth',
      'removed',
      'revoked',
      'proof.changed',
      'connection.destroyed',
    ])
    await consents.give(db, about, ['assets:read'])
    assert.deepEqual(await hear(), ['read', 'needs_reauth', ...gone])
  })

  it('are not told for a consent to claims alone', async () => {
    await consents.give(db, about, ['claims:read'])
    assert.deepEqual(await hear(), [])
  })

  it('only say that the connection is gone once the consent has ended, and nothing once the user is deleted', async () => {
    await consents.give(db, about, ['transactions:read'])
    await consents.end(db, about.userKey)
    assert.deepEqual(await hear(), gone)
    await db.execute('delete from grants')
    assert.deepEqual(await hear(), [])
  })
})
