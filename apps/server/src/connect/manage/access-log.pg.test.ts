import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { createStillClock } from '../../../../../test/still-clock.ts'
import type { Database } from '../../db/index.ts'
import { createTenants } from '../../tenants/index.ts'
import { createAccessLog, type AccessLogDeps } from './access-log.ts'

const never = 1_000_000_000
const read = { userKey: '-17', grantId: 'grt_1', endpoint: 'listAssets' }

/** A database that knows the users 0 to 99 and -17. */
async function openUsers(t: TestContext): Promise<Database> {
  const { db } = await testDatabase(t)
  const { tenantId, tenantKey } = await createTenants({ db }).createTenant('Example')
  await db.execute(
    `insert into users (user_key, tenant_key, tenant_id, id, email, created_at)
     select key, $1, $2, 'usr_' || key, key || '@example.com', $3::timestamptz
     from (select generate_series(0, 99) as key union all select -17) keys`,
    [tenantKey, tenantId, db.now()],
  )
  return db
}

function listCounts(db: Database): Promise<{ endpoint: string; count: string }[]> {
  return db.rows('select endpoint, count from grant_accesses order by endpoint')
}

function refuse(error: unknown): never {
  throw error
}

describe('the access log', () => {
  it('writes nothing while requests arrive, and writes everything that is left when it stops', async (t) => {
    const db = await openUsers(t)
    const log = createAccessLog({ db, onFailure: refuse, flushEveryMs: never })
    for (let request = 0; request < 1_000; request += 1) log.count(read)
    log.count({ ...read, endpoint: 'listTransactions' })
    assert.deepEqual(await listCounts(db), [])
    await log.stop()
    assert.deepEqual(await listCounts(db), [
      { endpoint: 'listAssets', count: '1000' },
      { endpoint: 'listTransactions', count: '1' },
    ])
  })

  it('writes nothing about a user who was deleted since', async (t) => {
    const db = await openUsers(t)
    const log = createAccessLog({ db, onFailure: refuse, flushEveryMs: never })
    log.count(read)
    log.count({ ...read, userKey: '4', endpoint: 'listTransactions' })
    await db.execute('delete from users where user_key = -17')
    await log.stop()
    assert.deepEqual(await listCounts(db), [{ endpoint: 'listTransactions', count: '1' }])
  })

  it('counts of several processes add up', async (t) => {
    const db = await openUsers(t)
    for (let process = 0; process < 3; process += 1) {
      const log = createAccessLog({ db, onFailure: refuse, flushEveryMs: never })
      log.count(read)
      log.count(read)
      await log.stop()
    }
    assert.deepEqual(await listCounts(db), [{ endpoint: 'listAssets', count: '6' }])
  })

  it('a write that fails loses nothing', async (t) => {
    const db = await openUsers(t)
    const failures: unknown[] = []
    let away = true
    const flaky = {
      ...db,
      execute: (text: string, values?: readonly unknown[]) =>
        away ? Promise.reject(new Error('away')) : db.execute(text, values),
    }
    const log = createAccessLog({ db: flaky, onFailure: (error) => void failures.push(error), flushEveryMs: never })
    log.count(read)
    await log.stop()
    away = false
    log.count(read)
    await log.stop()
    assert.equal(failures.length, 1)
    assert.deepEqual(await listCounts(db), [{ endpoint: 'listAssets', count: '2' }])
  })

  it('memory is bounded: while a write hangs, reads that find no room are not counted', async (t) => {
    const db = await openUsers(t)
    const hanging = Promise.withResolvers<void>()
    const slow = {
      ...db,
      execute: async (text: string, values?: readonly unknown[]) => {
        await hanging.promise
        return db.execute(text, values)
      },
    }
    const log = createAccessLog({ db: slow, onFailure: refuse, flushEveryMs: never, entriesMax: 10 })
    for (let user = 0; user < 35; user += 1) {
      log.count({ ...read, userKey: String(user) })
      await new Promise((resolve) => setImmediate(resolve))
    }
    hanging.resolve()
    await log.stop()
    const { total } = await db.row<{ total: string }>('select sum(count)::text as total from grant_accesses')
    assert.equal(total, '20', 'ten on their way to the database and ten waiting')
  })

  it('counts what a tenant reads to the last page, however fast it walks through its users', async (t) => {
    const db = await openUsers(t)
    const log = createAccessLog({ db, onFailure: refuse, flushEveryMs: never, entriesMax: 10 })
    const pages = Array.from({ length: 20 }, (_, page) => new Set([0, 1, 2, 3].map((at) => String(4 * page + at))))
    await Promise.all(
      pages.map((userKeys) => log.countForTenant({ userKeys, clientId: 'cli_1', endpoint: 'listUsers' })),
    )
    await log.stop()
    assert.deepEqual(await listCounts(db), Array(80).fill({ endpoint: 'listUsers', count: '1' }))
  })

  it('counts one read of more users than it has room for', { timeout: 60_000 }, async (t) => {
    const db = await openUsers(t)
    const log = createAccessLog({ db, onFailure: refuse, flushEveryMs: never, entriesMax: 10 })
    const userKeys = new Set(Array.from({ length: 35 }, (_, user) => String(user)))
    await log.countForTenant({ userKeys, clientId: 'cli_1', endpoint: 'getAccountStats' })
    await log.stop()
    assert.deepEqual(await listCounts(db), Array(35).fill({ endpoint: 'getAccountStats', count: '1' }))
  })

  it('refuses a tenant while reads cannot be recorded, and loses none of those that it answered', async (t) => {
    const db = await openUsers(t)
    let away = true
    const flaky = {
      ...db,
      execute: (text: string, values?: readonly unknown[]) =>
        away ? Promise.reject(new Error('away')) : db.execute(text, values),
    }
    const log = createAccessLog({ db: flaky, onFailure: () => undefined, flushEveryMs: never, entriesMax: 10 })
    let answered = 0
    for (let user = 0; user < 40; user += 1) {
      const reading = log.countForTenant({ userKeys: new Set([String(user)]), clientId: 'cli_1', endpoint: 'getUser' })
      await reading.then(
        () => void (answered += 1),
        (error: unknown) => assert.equal((error as { code?: unknown }).code, 'unavailable'),
      )
    }
    assert.ok(answered >= 10 && answered <= 20, `${answered}`)
    away = false
    await log.stop()
    assert.equal((await listCounts(db)).length, answered)
  })

  it('keeps the time of the last read of an hour, whichever process writes last', async (t) => {
    const db = createStillClock().of(await openUsers(t))
    const [slow, quick] = [1, 2].map(() => createAccessLog({ db, onFailure: refuse, flushEveryMs: never }))
    assert.ok(slow !== undefined && quick !== undefined)
    slow.count(read)
    // The clock moves to the beginning of an hour, so that both reads fall within it.
    await db.clock.advance(3_600_000 - (db.clock.now() % 3_600_000))
    slow.count(read)
    await db.clock.advance(1_000)
    const at = db.now()
    quick.count(read)
    await quick.stop()
    await slow.stop()
    const rows = await db.rows<{ hour: string; count: string; last_at: string }>(
      'select hour, count, last_at from grant_accesses',
    )
    assert.deepEqual([rows.length, rows[0]?.count, rows[0]?.hour], [1, '3', `${at.slice(0, 13)}:00:00.000Z`])
    assert.equal(rows[0]?.last_at, at, 'the later of the two')
  })
})

describe('the time of the last read', () => {
  const users = ['-17', '4', '9']

  async function open(t: TestContext) {
    const db = createStillClock().of((await testDatabase(t)).db)
    await db.execute('insert into user_ledgers (user_key) select unnest($1::bigint[])', [users])
    const back: string[][] = []
    const onUserAccesses = async (owners: readonly { userKey: string }[]): Promise<void> => {
      back.push(owners.map(({ userKey }) => userKey).toSorted())
    }
    const served = async (userKeys: readonly string[], options: Partial<AccessLogDeps> = {}): Promise<void> => {
      const log = createAccessLog({ db, onFailure: refuse, onUserAccesses, flushEveryMs: never, ...options })
      for (const userKey of userKeys) log.count({ ...read, userKey })
      await log.stop()
    }
    const readAt = (): Promise<{ user_key: string; read_at: string | null }[]> =>
      db.rows('select user_key, read_at from user_ledgers order by user_key')
    return { db, served, readAt, back }
  }

  it('is recorded by one statement for every user who was served, and for no other user', async (t) => {
    const { db, served, readAt } = await open(t)
    const texts: string[] = []
    const rows: Database['rows'] = (text, values) => (texts.push(text), db.rows(text, values))
    const before = db.now()
    await served(['-17', '9', '1000'], { db: { ...db, rows } })
    const [ann, bob, cem] = await readAt()
    assert.equal(bob?.read_at, null)
    for (const user of [ann, cem]) assert.ok((user?.read_at ?? '') >= before)
    assert.equal(texts.length, 1)
  })

  it('stays as it is for five minutes, and then moves', async (t) => {
    const { db, served, readAt } = await open(t)
    await served(['4'])
    const first = await readAt()
    await db.clock.advance(300_000)
    await served(['4'])
    assert.deepEqual(await readAt(), first)
    await db.clock.advance(1)
    await served(['4'])
    assert.notDeepEqual(await readAt(), first)
  })

  it('costs no statement in a process that recorded it before', async (t) => {
    const { db } = await open(t)
    let statements = 0
    const rows: Database['rows'] = (text, values) => ((statements += 1), db.rows(text, values))
    const log = createAccessLog({ db: { ...db, rows }, onFailure: refuse, flushEveryMs: never })
    for (let round = 0; round < 3; round += 1) {
      log.count({ ...read, userKey: '4' })
      await log.stop()
    }
    assert.equal(statements, 1)
    await db.clock.advance(300_000)
    log.count({ ...read, userKey: '4' })
    await log.stop()
    assert.equal(statements, 2)
  })

  it('only users who come back after an hour are passed on, once each', async (t) => {
    const { db, served, back } = await open(t)
    await served(['4', '9'])
    assert.deepEqual(back, [['4', '9']], 'a first read ends the idleness, too')
    await db.clock.advance(3_500_000)
    await served(['4'])
    assert.equal(back.length, 1)
    await db.clock.advance(3_500_000)
    await served(['4', '9'])
    assert.deepEqual(back.slice(1), [['9']])
  })

  it('users who could not be passed on are passed on later', async (t) => {
    const { db, back } = await open(t)
    const failures: unknown[] = []
    let away = true
    const log = createAccessLog({
      db,
      flushEveryMs: never,
      onFailure: (error) => void failures.push(error),
      async onUserAccesses(owners) {
        if (away) throw new Error('away')
        back.push(owners.map(({ userKey }) => userKey))
      },
    })
    log.count({ ...read, userKey: '4' })
    await log.stop()
    away = false
    await log.stop()
    assert.deepEqual([failures.length, back], [1, [['4']]])
  })

  it('two processes that record the same users in different orders do not deadlock', async (t) => {
    const { db, served } = await open(t)
    const many = Array.from({ length: 500 }, (_, at) => String(at + 10))
    await db.execute('insert into user_ledgers (user_key) select unnest($1::bigint[])', [many])
    await Promise.all([served(many), served(many.toReversed()), served(many), served(many.toReversed())])
  })
})
