import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { until } from '../../../../../test/until.ts'
import type { Database, Sql } from '../../db/index.ts'
import type { ConnectionRef, Owner } from '../../owner.ts'
import * as store from './pending-store.ts'

const owner: Owner = { tenantKey: 1, tenantId: 'ten_a', userKey: '-7', userId: 'usr_a' }
const other: Owner = { ...owner, userKey: '8', userId: 'usr_b' }
const account = { providerId: 'kraken', fingerprint: 'one account' }

async function insertPending(db: Database, of: Owner, connectionId: string): Promise<ConnectionRef> {
  const connectionKey = await store.insertPending(db, of, {
    ...{ connectionId, providerId: 'kraken', connectionType: 'api_key', displayLabel: null },
    ...{
      stored: { sealedCredentials: 'sealed', address: null, networks: null },
      keyLane: connectionId,
      connectSessionId: null,
      repairOf: null,
    },
  })
  return { ...of, connectionKey, connectionId }
}

async function withPending(t: TestContext, ...ids: string[]): Promise<{ db: Database; refs: ConnectionRef[] }> {
  const { db } = await testDatabase(t)
  const refs: ConnectionRef[] = []
  for (const id of ids) refs.push(await insertPending(db, owner, id))
  return { db, refs }
}

/**
 * Does what the verification does. Returns the connection that the account already has, or undefined if this one takes
 * it.
 */
async function accept(tx: Sql, ref: ConnectionRef): Promise<store.TakenAccount | undefined> {
  const taken = await store.findAccount(tx, ref, account)
  if (taken !== undefined) return taken
  const { fingerprint } = account
  await store.acceptPending(tx, ref, { fingerprint, fingerprintOf: 'account', shown: null })
  return undefined
}

const statusOf = (db: Database, id: string): Promise<{ status: string } | undefined> =>
  db.maybeRow('select status from connections where id = $1', [id])

describe('a connection', () => {
  it('gets the next number of its user as its key, even when two are added at the same moment', async (t) => {
    const { db } = await testDatabase(t)
    const ids = Array.from({ length: 8 }, (_, index) => `con_${index}`)
    const refs = await Promise.all(ids.map((id) => insertPending(db, owner, id)))
    assert.deepEqual(refs.map(({ connectionKey }) => connectionKey).toSorted(), [1, 2, 3, 4, 5, 6, 7, 8])
    assert.equal((await insertPending(db, other, 'con_b')).connectionKey, 1)
  })
})

describe('an account', () => {
  it('that is verified twice at the same moment belongs to the first connection, and the second finds it', async (t) => {
    const { db, refs } = await withPending(t, 'con_first', 'con_second')
    const [first, second] = refs
    assert.ok(first && second)
    let letFirstEnd: () => void = () => undefined
    const mayEnd = new Promise<void>((resolve) => (letFirstEnd = resolve))
    let firstHasIt: () => void = () => undefined
    const taken = new Promise<void>((resolve) => (firstHasIt = resolve))

    const accepting = db.transaction(async (tx) => {
      const found = await accept(tx, first)
      firstHasIt()
      await mayEnd
      return found
    })
    await taken
    const finding = db.transaction((tx) => accept(tx, second))
    await until('the second to wait', () =>
      db.maybeRow("select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"),
    )
    letFirstEnd()
    assert.equal(await accepting, undefined)
    assert.deepEqual(await finding, { connectionKey: 1, connectionId: 'con_first', connectSessionId: null })
    assert.deepEqual(await statusOf(db, 'con_second'), { status: 'pending' })
  })

  it('of another user is a separate account', async (t) => {
    const { db, refs } = await withPending(t, 'con_first')
    const [first] = refs
    assert.ok(first)
    const theirs = await insertPending(db, other, 'con_other')
    assert.equal(await db.transaction((tx) => accept(tx, first)), undefined)
    assert.equal(await db.transaction((tx) => accept(tx, theirs)), undefined)
  })
})

describe('the verdict', () => {
  const verdict = { added: false, connection_id: null, errors: [] }

  async function withOne(t: TestContext): Promise<{ db: Database; ref: ConnectionRef }> {
    const { db, refs } = await withPending(t, 'con_a')
    const [ref] = refs
    assert.ok(ref)
    return { db, ref }
  }

  it('of a refusal is read once, and its row is deleted with it', async (t) => {
    const { db, ref } = await withOne(t)
    assert.equal(await store.isUndecided(db, ref), true)
    await store.refusePending(db, ref, verdict)
    assert.equal(await store.isUndecided(db, ref), false)
    assert.deepEqual(await db.rows('select from connections where sealed_credentials is not null'), [])
    assert.deepEqual(await store.takeVerdict(db, ref), verdict)
    assert.equal(await statusOf(db, 'con_a'), undefined)
  })

  it('of an acceptance is returned even when it arrives as the wait times out, and the row stays', async (t) => {
    const { db, ref } = await withOne(t)
    await db.transaction((tx) => accept(tx, ref))
    assert.equal((await store.takeVerdict(db, ref))?.added, true)
    assert.deepEqual(await statusOf(db, 'con_a'), { status: 'syncing' })
  })

  it('that has not arrived in time leaves no row, and finds none when it arrives later', async (t) => {
    const { db, ref } = await withOne(t)
    assert.equal(await store.takeVerdict(db, ref), undefined)
    assert.equal(await store.isUndecided(db, ref), false)
    assert.equal(await store.lockPending(db, ref), undefined)
    assert.equal(await db.transaction((tx) => accept(tx, ref)), undefined)
    assert.equal(await statusOf(db, 'con_a'), undefined)
  })
})
