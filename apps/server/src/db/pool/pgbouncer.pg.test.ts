/**
 * PgBouncer in transaction mode, the setting of DATABASE_POOLER=transaction: two statements of one client may run on
 * two server connections. Debian 12 has 1.18, the oldest we know in use; it loses named statements.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { emptyDatabase, silentLog, testDatabase, type TestAddress } from '../../../../../test/postgres.ts'
import { patienceMs, until } from '../../../../../test/until.ts'
import { checkMigrations, migrate } from '../migrate.ts'
import { createDatabase } from './pool.ts'
import type { Database } from '../sql.ts'

const program = '/usr/sbin/pgbouncer'

/** A handle on `target` that goes through a PgBouncer with four server connections. */
async function throughPooler(t: TestContext, target: TestAddress, statementTimeoutMs = patienceMs): Promise<Database> {
  assert.ok(existsSync(program), 'PgBouncer is missing: apt-get install -y --no-install-recommends pgbouncer')
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-pgbouncer-'))
  const ini = path.join(directory, 'pgbouncer.ini')
  await writeFile(
    ini,
    `[databases]
* = host=${target.host} port=5432 user=${target.user} password=${target.password}
[pgbouncer]
listen_addr =
listen_port = 5432
unix_socket_dir = ${directory}
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 300
`,
  )
  // Like PostgreSQL it refuses to be root, and it has to reach PostgreSQL's socket.
  const identity = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined
  if (identity !== undefined) await chown(directory, identity.uid, identity.gid)
  const child = spawn(program, ['-q', ini], { ...identity, cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))

  await until('PgBouncer', () => {
    assert.equal(child.exitCode, null, `PgBouncer did not start: ${said}`)
    return accepts(path.join(directory, '.s.PGSQL.5432'))
  })
  const connection = { ...target, host: directory }
  const patience = { statementTimeoutMs, acquireTimeoutMs: patienceMs }
  const db = createDatabase({ connection, pooler: 'transaction', poolSizeMax: 50, ...patience, log: silentLog })
  t.after(async () => {
    await db.close()
    assert.equal(child.exitCode, null, `PgBouncer ended by itself: ${said}`)
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
    await rm(directory, { recursive: true })
  })
  return db
}

/** Resolves to true or undefined, because the file exists before the program listens on it. */
function accepts(socketPath: string): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect(socketPath, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(undefined))
  })
}

/** On a busy machine any statement may exceed a limit this low; it is then repeated. */
function untilQuick<T>(ask: () => Promise<T>): Promise<T> {
  return until('an answer within the limit', () =>
    ask().catch((error: unknown) => {
      assert.equal((error as { code?: unknown }).code, '57014')
      return undefined
    }),
  )
}

/** A transaction that keeps its server connection until it is released. */
async function hold(db: Database): Promise<{ pid: number; release(): Promise<void> }> {
  const begun = Promise.withResolvers<number>()
  const ending = Promise.withResolvers<void>()
  const ended = db.transaction(async (tx) => {
    begun.resolve((await tx.row<{ pid: number }>('select pg_backend_pid() as pid')).pid)
    await ending.promise
  })
  return {
    pid: await begun.promise,
    release() {
      ending.resolve()
      return ended
    },
  }
}

test('200 statements at once all return their own value, whichever server connection they run on', async (t) => {
  const db = await throughPooler(t, (await testDatabase(t)).connection)
  const values = Array.from({ length: 200 }, (_, index) => index)
  /** The server connections that answered. */
  async function askAtOnce(): Promise<number[]> {
    const rows = await Promise.all(
      values.map((value) =>
        db.row<{ n: number; pid: number }>('select $1::int as n, pg_backend_pid() as pid', [value]),
      ),
    )
    assert.deepEqual(
      rows.map(({ n }) => n),
      values,
    )
    return [...new Set(rows.map(({ pid }) => pid))]
  }
  for (let round = 0; round < 3; round++) await askAtOnce()

  // With three of the four taken, every statement runs on the one that is left. Then that one is taken and another is
  // left, so the same statements of the same clients run on two server connections.
  const held = await Promise.all([hold(db), hold(db), hold(db), hold(db)])
  const [first, second] = held
  await first.release()
  assert.deepEqual(await askAtOnce(), [first.pid])
  const again = await hold(db)
  assert.equal(again.pid, first.pid)
  await second.release()
  assert.deepEqual(await askAtOnce(), [second.pid])
  await Promise.all([again, ...held].map(({ release }) => release()))
})

test('50 transactions at once each stay on one server connection and commit or roll back completely', async (t) => {
  const db = await throughPooler(t, (await testDatabase(t)).connection)
  await db.execute('create table entry (n int, pid int)')
  const insert = 'insert into entry values ($1, pg_backend_pid())'
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, n) =>
      db.transaction(async (tx) => {
        await tx.execute(insert, [n])
        await tx.execute(insert, [n])
        if (n % 5 === 0) throw new Error('rolled back')
      }),
    ),
  )
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 10)
  const groups = await db.rows<{ rows: number; pids: number }>(
    'select count(*)::int as rows, count(distinct pid)::int as pids from entry group by n',
  )
  assert.equal(groups.length, 40)
  assert.ok(groups.every(({ rows, pids }) => rows === 2 && pids === 1))
})

test('migrations apply through the pooler, by two processes at once', async (t) => {
  const { connection } = await emptyDatabase(t)
  const db = await throughPooler(t, connection)
  const applied = await Promise.all([migrate(db, { log: silentLog }), migrate(db, { log: silentLog })])
  const state = await checkMigrations(db)
  assert.deepEqual(state.applied, applied.flat().toSorted())
  assert.deepEqual(state.pending, [])
})

test('a statement over the time limit is cancelled through the pooler', async (t) => {
  const db = await throughPooler(t, (await testDatabase(t)).connection, 100)
  await assert.rejects(db.rows('select pg_sleep(600)'), { code: '57014' })
  assert.deepEqual(await untilQuick(() => db.row('select 1 as one')), { one: 1 })
})
