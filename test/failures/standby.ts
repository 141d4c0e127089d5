/**
 * A primary and a standby that follows it by streaming replication, both of the embedded PostgreSQL. The standby begins
 * as a copy of the primary's files, taken while the primary was stopped: the packages contain no pg_basebackup.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { startEmbedded, type Database } from '../../apps/server/src/db/index.ts'
import { openTestDatabase, silentLog, type TestAddress } from '../postgres.ts'
import { until } from '../until.ts'

export interface Pair {
  /** Addresses of the first primary and of the standby. */
  addresses: readonly [TestAddress, TestAddress]
  /** For DATABASE_URL. The standby is named first, so a client that simply uses the first host fails. */
  url: string
  /** Stops the primary in order. Resolves when the standby has everything and is about to lose the primary. */
  stopPrimary(): Promise<void>
  /** Makes the standby the primary. */
  promote(): Promise<void>
}

const settings = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' }

export async function startPair(t: Pick<TestContext, 'after'>): Promise<Pair> {
  const directories = [await newDirectory(), await newDirectory()] as const
  t.after(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true }))))
  const [first, second] = directories
  const made = await startEmbedded({ dataDirectory: first, log: silentLog, settings })
  await made.stop()
  // The copy keeps the owner of the files, because as root PostgreSQL runs as another user.
  await promisify(execFile)('cp', ['-a', `${first}/.`, second])
  await writeFile(path.join(second, 'postgres/standby.signal'), '')

  const primary = await startEmbedded({ dataDirectory: first, log: silentLog, settings })
  t.after(() => primary.stop())
  const { host, user, password } = primary.connection
  const source = `host=${host} user=${user} password=${password}`
  const standby = await startEmbedded({
    dataDirectory: second,
    log: silentLog,
    settings: { ...settings, primary_conninfo: source },
  })
  t.after(() => standby.stop())
  const addresses = [primary.connection, standby.connection] as const
  const hosts = [standby, primary].map(({ connection }) => encodeURIComponent(connection.host))
  return {
    addresses,
    url: `postgres://${user}:${password}@${hosts.join(',')}/assay?target_session_attrs=read-write`,
    stopPrimary: () => primary.stop(),
    promote: () => promote(path.join(second, 'postgres'), standby.connection),
  }
}

async function newDirectory(): Promise<string> {
  return mkdtemp(path.join(os.tmpdir(), 'assay-pair-'))
}

/** As `pg_ctl promote` does it; the function pg_promote() is for superusers. */
async function promote(directory: string, address: TestAddress): Promise<void> {
  const [pid] = (await readFile(path.join(directory, 'postmaster.pid'), 'utf8')).split('\n')
  await writeFile(path.join(directory, 'promote'), '')
  process.kill(Number(pid), 'SIGUSR1')
  const db = openTestDatabase(address)
  try {
    await until('the promotion', async () => ((await isInRecovery(db)) ? undefined : true))
  } finally {
    await db.close()
  }
}

async function isInRecovery(db: Database): Promise<boolean> {
  const { standby } = await db.row<{ standby: boolean }>('select pg_is_in_recovery() as standby')
  return standby
}
