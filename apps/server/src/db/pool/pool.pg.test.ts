import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { silentLog, testDatabase } from '../../../../../test/postgres.ts'
import { patienceMs, until } from '../../../../../test/until.ts'
import { isDatabaseAway } from '../away.ts'
import { createDatabase, type DatabaseOptions } from './pool.ts'
import type { Database } from '../sql.ts'

/** A handle with one connection, so that two statements share a session. */
async function singleConnection(t: TestContext, options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const { connection } = await testDatabase(t)
  const db = createDatabase({
    connection,
    pooler: 'none',
    poolSizeMax: 1,
    statementTimeoutMs: patienceMs,
    acquireTimeoutMs: patienceMs,
    log: silentLog,
    ...options,
  })
  t.after(() => db.close())
  return db
}

describe('the usage of the pool', () => {
  test('reports waiting callers, and how long they waited', async (t) => {
    const waits: number[] = []
    const db = await singleConnection(t, { onWaited: (seconds) => waits.push(seconds) })
    await db.rows('select 1')
    assert.deepEqual([db.usage(), waits], [{ busy: 0, idle: 1, waiting: 0 }, []])
    let second: Promise<unknown> | undefined
    await db.transaction(async () => {
      second = db.rows('select 2')
      assert.deepEqual(db.usage(), { busy: 1, idle: 0, waiting: 1 })
    })
    await second
    assert.deepEqual([waits.length, (waits[0] ?? 0) > 0], [1, true])
  })
})

describe('values', () => {
  test('quantities keep every digit, times are ISO text, and other types are JavaScript’s own', async (t) => {
    const { db } = await testDatabase(t)
    const row = await db.row(`select 0.000000000000000001::numeric as amount, 9007199254740993::bigint as count,
      array[123456789012.123456789012345678, null]::numeric[] as amounts, array[9007199254740993]::bigint[] as counts,
      timestamptz '2026-03-02 10:11:12.345678Z' as at, array[timestamptz '2026-03-02 10:11:12Z', null] as times,
      date '2026-03-02' as day, timestamp '2026-03-02 10:11:12' as local, true as yes, 7 as small, 0.5::float8 as ratio,
      array['a', 'b'] as words, '{"a": [1]}'::jsonb as document, '\\x00ff'::bytea as bytes, null::numeric as nothing`)
    assert.deepEqual(row, {
      amount: '0.000000000000000001',
      count: '9007199254740993',
      amounts: ['123456789012.123456789012345678', null],
      counts: ['9007199254740993'],
      at: '2026-03-02T10:11:12.345Z',
      times: ['2026-03-02T10:11:12.000Z', null],
      day: '2026-03-02',
      local: '2026-03-02 10:11:12',
      yes: true,
      small: 7,
      ratio: 0.5,
      words: ['a', 'b'],
      document: { a: [1] },
      bytes: Buffer.from([0, 255]),
      nothing: null,
    })
  })

  test('row takes exactly one row, maybeRow at most one, and the error names the statement but no value', async (t) => {
    const { db } = await testDatabase(t)
    const text = 'select x from generate_series(1, $1::int) as x'
    assert.deepEqual(await db.row(text, [1]), { x: 1 })
    assert.equal(await db.maybeRow(text, [0]), undefined)
    await assert.rejects(db.row(text, [0]), { message: `expected exactly one row from: ${text}` })
    await assert.rejects(db.row(text, [2]), /exactly one row/)
    await assert.rejects(db.maybeRow(text, [2]), /at most one row/)
  })

  test('execute counts the rows touched, and without values runs a script', async (t) => {
    const { db } = await testDatabase(t)
    await db.execute('create table pair (a int, b int); insert into pair values (1, 1), (2, 2)')
    assert.equal(await db.execute('update pair set b = $1', [3]), 2)
  })
})

describe('statement names', () => {
  const listNames = 'select name, statement from pg_prepared_statements where statement like $1'

  test('a statement is prepared once under a name derived from its text', async (t) => {
    const db = await singleConnection(t)
    for (const value of [1, 2, 3]) await db.rows('select $1::int as named', [value])
    const prepared = await db.rows<{ name: string }>(listNames, ['%as named%'])
    assert.equal(prepared.length, 1)
    assert.match(prepared[0]?.name ?? '', /^assay_[0-9a-f]{32}$/)
  })

  test('behind a transaction pooler no statement has a name', async (t) => {
    const db = await singleConnection(t, { pooler: 'transaction' })
    await db.rows('select $1::int as unnamed', [1])
    assert.deepEqual(await db.rows(listNames, ['%']), [])
  })

  test('the number of names is bounded, and texts beyond it still run', async (t) => {
    const db = await singleConnection(t)
    for (let index = 0; index < 1_010; index++) {
      assert.deepEqual(await db.rows(`select ${index} as value`), [{ value: index }])
    }
    const { count } = await db.row<{ count: string }>('select count(*) from pg_prepared_statements')
    assert.equal(count, '1000')
  })

  test('a migration that changes the columns of a prepared statement does not break it', async (t) => {
    const db = await singleConnection(t)
    await db.execute('create table thing (a int); insert into thing values (1)')
    assert.deepEqual(await db.rows('select * from thing'), [{ a: 1 }])
    await db.execute('alter table thing add column b int')
    assert.deepEqual(await db.rows('select * from thing'), [{ a: 1, b: null }])
    await db.execute('alter table thing add column c int')
    const inTransaction = (): Promise<unknown> => db.transaction((tx) => tx.rows('select * from thing'))
    await assert.rejects(inTransaction, { code: '0A000' })
    assert.deepEqual(await inTransaction(), [{ a: 1, b: null, c: null }])
  })
})

describe('transactions', () => {
  test('commit together, and roll back together when the work throws', async (t) => {
    const { db } = await testDatabase(t)
    await db.execute('create table entry (a int)')
    const insert = 'insert into entry values ($1)'
    assert.equal(
      await db.transaction(async (tx) => {
        await tx.execute(insert, [1])
        return tx.execute(insert, [2])
      }),
      1,
    )
    const failing = db.transaction(async (tx) => {
      await tx.execute(insert, [3])
      throw new Error('half-way')
    })
    await assert.rejects(failing, { message: 'half-way' })
    assert.deepEqual(await db.rows('select a from entry order by a'), [{ a: 1 }, { a: 2 }])
  })

  test('a transaction whose work ignored a failed statement does not count as committed', async (t) => {
    const { db } = await testDatabase(t)
    await db.execute('create table entry (a int)')
    const work = db.transaction(async (tx) => {
      await tx.execute('insert into entry values ($1)', [1])
      await tx.rows('select 1 / 0').catch(() => undefined)
    })
    await assert.rejects(work, /rolled back because a failed statement was ignored/)
    assert.deepEqual(await db.rows('select * from entry'), [])
  })

  test('a statement sent after the end is refused', async (t) => {
    const db = await singleConnection(t)
    const tx = await db.transaction(async (inner) => inner)
    await assert.rejects(tx.rows('select 1'), /transaction that had ended/)
  })

  test('statements begun side by side run one after the other, and the commit waits for them', async (t) => {
    const db = await singleConnection(t)
    await db.execute('create table entry (a int)')
    await db.transaction(async (tx) => {
      void tx.execute('insert into entry values ($1)', [1])
      void tx.execute('insert into entry values ($1)', [2])
    })
    assert.deepEqual(await db.rows('select a from entry'), [{ a: 1 }, { a: 2 }])
  })
})

describe('failures', () => {
  test('a statement over the time limit is cancelled on the server, and the connection stays usable', async (t) => {
    const db = await singleConnection(t, { statementTimeoutMs: 100 })
    // On a busy machine any statement may exceed a limit this low; it is then repeated.
    const askPid = (): Promise<{ pid: number }> =>
      until('an answer within the limit', () =>
        db.row<{ pid: number }>('select pg_backend_pid() as pid').catch((error: unknown) => {
          assert.equal((error as { code?: unknown }).code, '57014')
          return undefined
        }),
      )
    const { pid } = await askPid()
    await assert.rejects(db.rows('select pg_sleep(600)'), { code: '57014' })
    await assert.rejects(
      db.transaction((tx) => tx.rows('select pg_sleep(600)')),
      { code: '57014' },
    )
    assert.deepEqual(await askPid(), { pid })
  })

  test('a statement that says it succeeded after it was cancelled counts as unanswered', async (t) => {
    const db = await singleConnection(t, { statementTimeoutMs: 300 })
    // As a write does that waits for a standby: PostgreSQL ends the wait, and answers as if the standby had it.
    await db.execute(`create function pg_temp.write() returns text language plpgsql as $$
      begin perform pg_sleep(60); return 'kept'; exception when query_canceled then return 'kept here alone'; end $$`)
    await assert.rejects(db.row('select pg_temp.write()'), isDatabaseAway)
    assert.ok(await db.row('select 1'))
  })

  test('a script has no time limit', async (t) => {
    const db = await singleConnection(t, { statementTimeoutMs: 20 })
    await db.execute('select pg_sleep(0.1)')
  })

  test('a connection that dies while idle is replaced; one that dies in a transaction is "away"', async (t) => {
    const { db: other } = await testDatabase(t)
    const db = await singleConnection(t)
    const kill = (pid: number): Promise<unknown> => other.row('select pg_terminate_backend($1, 600000)', [pid])
    const ownPid = 'select pg_backend_pid() as pid'

    await kill((await db.row<{ pid: number }>(ownPid)).pid)
    const afterIdle = await db.row(ownPid).catch((error: unknown) => {
      assert.equal(isDatabaseAway(error), true)
      return db.row(ownPid)
    })
    assert.ok(afterIdle)

    const inside = db.transaction(async (tx) => {
      await kill((await tx.row<{ pid: number }>(ownPid)).pid)
      await tx.rows('select 1')
    })
    await assert.rejects(inside, isDatabaseAway)
    assert.ok(await db.row(ownPid))
  })

  test('a commit may take longer than a statement, because nobody knows the outcome of one that was given up', async (t) => {
    const db = await singleConnection(t, { statementTimeoutMs: 1_000 })
    await db.execute(`
      create table slow (a int);
      create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(2); return null; end $$;
      create constraint trigger wait after insert on slow deferrable initially deferred
        for each row execute function wait()`)
    await db.transaction((tx) => tx.execute('insert into slow values ($1)', [1]))
    assert.deepEqual(await db.rows('select a from slow'), [{ a: 1 }])
  })

  for (const end of ['begin', 'commit']) {
    test(`a server that falls silent before the ${end} is "away" soon after the time limit`, async (t) => {
      const db = await singleConnection(t, { statementTimeoutMs: 2_000 })
      const ownPid = 'select pg_backend_pid() as pid'
      const { pid } = await db.row<{ pid: number }>(ownPid)
      const silence = (): boolean => process.kill(pid, 'SIGSTOP')
      try {
        if (end === 'begin') silence()
        const ended = db.transaction(async () => void (end === 'commit' && silence()))
        const outcome = ended.then(() => 'committed', isDatabaseAway)
        assert.equal(await Promise.race([outcome, delay(60_000, 'silent', { ref: false })]), true)
        assert.notEqual((await db.row<{ pid: number }>(ownPid)).pid, pid)
      } finally {
        process.kill(pid, 'SIGCONT')
      }
    })
  }

  test('no error shows the password of the URL', async (t) => {
    for (const url of [
      'postgres://assay:pass-word@127.0.0.1:1/assay',
      'postgres://assay:pass-word@127.0.0.1:no/assay',
    ]) {
      const options = { pooler: 'none', poolSizeMax: 1, statementTimeoutMs: 1_000, log: silentLog } as const
      const db = createDatabase({ ...options, connection: { url } })
      t.after(() => db.close())
      await assert.rejects(db.rows('select 1'), (error) => !inspect(error, { showHidden: true }).includes('pass-word'))
    }
  })

  test('the absence of a server is "away"', async (t) => {
    const host = await mkdtemp(path.join(os.tmpdir(), 'assay-test-'))
    const connection = { host, user: 'assay', database: 'assay' }
    const db = createDatabase({ connection, pooler: 'none', poolSizeMax: 1, statementTimeoutMs: 1_000, log: silentLog })
    t.after(async () => {
      await db.close()
      await rm(host, { recursive: true })
    })
    await assert.rejects(db.rows('select 1'), isDatabaseAway)
    await assert.rejects(
      db.transaction((tx) => tx.rows('select 1')),
      isDatabaseAway,
    )
  })
})
