/**
 * PostgreSQL for tests. `npm test` starts one server and hands its address to every test file; a file that is run by
 * hand (`node --test x.pg.test.ts`) starts its own with the first database it asks for.
 *
 * Each `testDatabase(t)` is a clone of a migrated template, some 30 ms, and is dropped when the test ends. The server
 * does not wait for the disk (fsync off): crash safety is tested with a separate durable server.
 */
import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, type TestContext } from 'node:test'
import { createLog } from '@assay/server/log'
import { createDatabase, migrate, startEmbedded, type Database, type DatabaseLog } from '../apps/server/src/db/index.ts'
import type { Binaries } from '../apps/server/src/db/embedded/binaries.ts'
import { migrationsDirectory } from '../apps/server/src/db/migrate.ts'
import { patienceMs } from './until.ts'

export interface TestAddress {
  host: string
  /** PostgreSQL's default, unless it is given. */
  port?: number
  user: string
  password: string
  database: string
}

/** As a DATABASE_URL. */
export function toDatabaseUrl({ host, port, user, password, database }: TestAddress): string {
  const place = port === undefined ? encodeURIComponent(host) : `${host}:${port}`
  return `postgres://${user}:${password}@${place}/${database}`
}

export interface TestPostgres {
  /** For ASSAY_TEST_POSTGRES: JSON of host and user. */
  address: string
  stop(): Promise<void>
}

export const silentLog: DatabaseLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** A fast server in its own directory; `binaries` for another version of PostgreSQL. */
export async function startTestPostgres(binaries?: Binaries): Promise<TestPostgres> {
  const dataDirectory = await mkdtemp(path.join(await chooseParent(), 'assay-test-'))
  // As root: programs before PostgreSQL 16 return to their working directory by its path.
  await chmod(dataDirectory, 0o755)
  const server = await startEmbedded({
    dataDirectory,
    log: silentLog,
    // Without autovacuum a table's statistics, and so the plans that tests look at, change only when a test says so.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
    ...(binaries === undefined ? {} : { binaries }),
  })
  const { host, user, password } = server.connection
  // PostgreSQL 15 has no setting for the number of hashes.
  if (binaries === undefined) await hashPasswordOnce({ host, user, password })
  async function stop(): Promise<void> {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, stopAndLeave)
    await server.stop()
    await rm(dataDirectory, { recursive: true, force: true })
  }
  // Ctrl-C in a test run is common, and must not leave a server and its files behind each time.
  function stopAndLeave(signal: NodeJS.Signals): void {
    void stop().finally(() => process.kill(process.pid, signal))
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stopAndLeave)
  return { address: JSON.stringify({ host, user, password }), stop }
}

/**
 * A connection proves that it knows the password by hashing it 4096 times, some milliseconds of processor time. A run
 * opens thousands, and a random password needs none of it.
 */
async function hashPasswordOnce(server: Server): Promise<void> {
  await administer(server, (admin) =>
    admin.execute(`set local scram_iterations = 1; alter role ${server.user} password '${server.password}'`),
  )
}

/** Several times what a run needs: 1 GiB of write-ahead log at most, and the databases of the tests under way. */
const memoryMinBytes = 8 * 2 ** 30
/** TMPFS_MAGIC of statfs(2). */
const tmpfsType = 0x01021994

/**
 * Linux's memory where there is plenty of it. A clone of the template is 700 files: PostgreSQL spends 25 ms of
 * processor time on making and dropping one there. On a disk it spends 50 to 190 ms, and waits for the file system's
 * journal.
 */
async function chooseParent(): Promise<string> {
  const memory = '/dev/shm'
  const found = await statfs(memory).catch(() => undefined)
  const isRoomy = found?.type === tmpfsType && found.bavail * found.bsize >= memoryMinBytes
  return isRoomy && os.freemem() >= memoryMinBytes ? memory : os.tmpdir()
}

/** Opens any database of the test server with the settings tests use: a busy machine is slow, and not away. */
export function openTestDatabase(connection: TestAddress): Database {
  const patience = { statementTimeoutMs: patienceMs, acquireTimeoutMs: patienceMs }
  const options = { connection, pooler: 'none', poolSizeMax: 5, log: silentLog, trustMachineClock: true } as const
  return createDatabase({ ...options, ...patience })
}

/** A migrated database for this test alone. */
export async function testDatabase(t: Owner): Promise<TestDatabase> {
  const cluster = process.env['ASSAY_TEST_CLUSTER']
  if (cluster !== undefined) return distributedDatabase(t, cluster)
  const server = await findServer()
  return cloneDatabase(t, server, await ensureTemplate(server))
}

/** For the campaign `cluster`, which runs tests of the suite where the tables are distributed. */
async function distributedDatabase(t: Owner, cluster: string): Promise<TestDatabase> {
  const { createClusterDatabase, openUrl } = await import('./cluster/cluster-database.ts')
  const { url, drop } = await createClusterDatabase(cluster)
  const { hostname, port, username: user, password, pathname } = new URL(url)
  const db = openUrl(url)
  t.after(async () => {
    await db.close()
    await drop()
  })
  return { db, connection: { host: hostname, port: Number(port), user, password, database: pathname.slice(1) } }
}

/** A database without any table, for tests of migrations. */
export async function emptyDatabase(t: Owner): Promise<TestDatabase> {
  return cloneDatabase(t, await findServer(), 'template1')
}

interface TestDatabase {
  db: Database
  connection: TestAddress
}

type Owner = Pick<TestContext, 'after'>

async function cloneDatabase(t: Owner, server: Server, source: string): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  // Kept until the database is dropped: to connect costs as much as to clone.
  const admin = openTestDatabase({ ...server, database: 'postgres' })
  await admin.execute(`create database ${name} template ${source} strategy file_copy`)
  const connection = { ...server, database: name }
  const db = openTestDatabase(connection)
  t.after(async () => {
    await db.close()
    await admin.execute(`drop database ${name} with (force)`)
    await admin.close()
  })
  return { db, connection }
}

type Server = Omit<TestAddress, 'database'>

let ownServer: Promise<TestPostgres> | undefined

// Registered when the file is loaded, because inside a test `after` would be that test's; and in a test only, because
// anywhere else it would turn the process into a test run. A file that `node --test` is given by name is one whatever
// it is called: its process would never end while the server is its child.
const isTest = process.env['NODE_TEST_CONTEXT'] !== undefined || process.argv[1]?.endsWith('.test.ts') === true
if (isTest) after(stopOwnPostgres)

/** For a process that is not a test; a test stops its server by itself. */
export async function stopOwnPostgres(): Promise<void> {
  await (await ownServer)?.stop()
}

async function findServer(): Promise<Server> {
  const given = process.env['ASSAY_TEST_POSTGRES']
  if (given !== undefined) return JSON.parse(given) as Server
  ownServer ??= startTestPostgres()
  return JSON.parse((await ownServer).address) as Server
}

let template: Promise<string> | undefined

/** Created once for each state of the migrations by the first process that needs it; the others wait. */
function ensureTemplate(server: Server): Promise<string> {
  template ??= makeTemplate(server)
  return template
}

async function makeTemplate(server: Server): Promise<string> {
  const name = `template_${await hashMigrations()}`
  const draft = `draft_${process.pid}_${randomBytes(4).toString('hex')}`
  const found = await administer(server, (db) => isThere(db, name))
  if (found) return name
  await administer(server, (db) => db.execute(`create database ${draft}`))
  const db = openTestDatabase({ ...server, database: draft })
  await migrate(db, { log: silentLog })
  await db.close()
  // The queue's tables too, which a service would otherwise create at each start. Imported here, because only the one
  // process that makes the template needs the module.
  const { installQueue } = await import('../apps/server/src/jobs/index.ts')
  await installQueue({ ...server, database: draft }, createLog({ level: 'silent' }))
  await administer(server, async (admin) => {
    // CREATE DATABASE cannot run in a transaction, a rename can: the lock decides whose draft becomes the template.
    const taken = await admin.transaction(async (tx) => {
      await tx.execute("select pg_advisory_xact_lock(hashtextextended('assay test template', 0))")
      if (await isThere(tx, name)) return true
      await tx.execute(`alter database ${draft} rename to ${name}`)
      return false
    })
    if (taken) await admin.execute(`drop database ${draft}`)
  })
  return name
}

async function isThere(sql: Pick<Database, 'maybeRow'>, name: string): Promise<boolean> {
  return (await sql.maybeRow('select from pg_database where datname = $1', [name])) !== undefined
}

async function administer<T>(server: Server, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openTestDatabase({ ...server, database: 'postgres' })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function hashMigrations(): Promise<string> {
  const hash = createHash('sha256')
  const names = (await readdir(migrationsDirectory)).filter((name) => name.endsWith('.sql')).toSorted()
  for (const name of names) hash.update(name).update(await readFile(path.join(migrationsDirectory, name)))
  return hash.digest('hex').slice(0, 16)
}
