/**
 * Brings a database to the schema of this code: plain SQL files, in the order of their numbers, each in a transaction
 * of its own under one lock, so that any number of processes may start at once. What was applied is recorded with its
 * SHA-256: a file that was edited or lost afterwards, or a database that is ahead of the code, is refused, because the
 * schema would then be unknown.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCodeOf } from './error-code.ts'
import type { DatabaseLog } from './pool/pool.ts'
import type { Database, Sql } from './sql.ts'

export const migrationsDirectory = path.join(import.meta.dirname, 'migrations')

export interface MigrationState {
  applied: string[]
  pending: string[]
  /** Sentences, each naming a migration; empty when database and code agree. */
  drift: string[]
}

interface Migration {
  name: string
  text: string
  sha256: string
}

interface AppliedMigration {
  name: string
  sha256: string
}

/** The schema before 0.2.0, which was never released. */
const firstDesign = '0001_foundation.sql'
const newDatabase =
  'Move the data directory away (a sandbox has it in ./data), or set DATABASE_URL to an empty database, and start again.'
const firstDesignRefusal = `It was made by a version before 0.2.0, whose data is not carried over. ${newDatabase}`

const lock = "select pg_advisory_xact_lock(hashtextextended('assay schema_migrations', 0))"

/**
 * While a migration waits for a table, every later statement on that table waits behind it, in every process. A backup
 * uses its tables for as long as it runs. So a migration waits for a moment, lets the others pass, and tries again.
 */
const limitLockWait = "set local lock_timeout = '1s'"
const lockPauseMsDefault = 5_000
/** "lock_not_available" */
const lockWaitOverCode = '55P03'

interface MigrateOptions {
  log: DatabaseLog
  /** Aborts before the next migration; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal | undefined
  /** For tests. */
  directory?: string
  lockPauseMs?: number
}

/** Applies pending migrations and returns their names. */
export async function migrate(db: Database, options: MigrateOptions): Promise<string[]> {
  const migrations = await readMigrations(options.directory ?? migrationsDirectory)
  const names: string[] = []
  for (;;) {
    try {
      const name = await db.transaction((tx) => applyNext(tx, migrations, options.signal))
      if (name === undefined) return names
      options.log.info({ migration: name }, 'migration applied')
      names.push(name)
    } catch (error) {
      if (errorCodeOf(error) !== lockWaitOverCode) throw error
      options.log.warn({ err: error }, 'a migration waits for another transaction, such as a backup, to end')
      const pauseMs = options.lockPauseMs ?? lockPauseMsDefault
      await delay(pauseMs, undefined, { signal: options.signal }).catch(() => undefined)
    }
  }
}

export async function checkMigrations(db: Database, directory: string = migrationsDirectory): Promise<MigrationState> {
  const migrations = await readMigrations(directory)
  return db.transaction(async (tx) => {
    const { exists } = await tx.row<{ exists: boolean }>(
      "select to_regclass('schema_migrations') is not null as exists",
    )
    return compare(migrations, exists ? await listApplied(tx) : [])
  })
}

async function applyNext(
  tx: Sql,
  migrations: readonly Migration[],
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  await tx.execute(lock)
  // Another process may have held the lock for as long as its migration took.
  signal?.throwIfAborted()
  await tx.execute(`create table if not exists schema_migrations (
    name text primary key,
    sha256 text not null,
    applied_at timestamptz not null default clock_timestamp()
  )`)
  const state = compare(migrations, await listApplied(tx))
  if (state.drift.length > 0) {
    throw new Error(`The database does not match this version of the code:\n  ${state.drift.join('\n  ')}`)
  }
  const next = migrations.find(({ name }) => name === state.pending[0])
  if (next === undefined) return undefined
  await tx.execute(limitLockWait)
  await tx.execute(next.text)
  await tx.execute('insert into schema_migrations (name, sha256) values ($1, $2)', [next.name, next.sha256])
  return next.name
}

function listApplied(tx: Sql): Promise<AppliedMigration[]> {
  return tx.rows<AppliedMigration>('select name, sha256 from schema_migrations order by name collate "C"')
}

function compare(migrations: readonly Migration[], applied: readonly AppliedMigration[]): MigrationState {
  const files = new Map(migrations.map((migration) => [migration.name, migration]))
  const done = new Map(applied.map((migration) => [migration.name, migration]))
  const lastFile = migrations.at(-1)?.name ?? ''
  const lastDone = applied.at(-1)?.name ?? ''
  const drift: string[] = []
  if (done.has(firstDesign)) return { applied: [...done.keys()], pending: [], drift: [firstDesignRefusal] }
  for (const { name, sha256 } of applied) {
    const file = files.get(name)
    if (file === undefined && name > lastFile) {
      drift.push(`${name} was applied by a newer version of the code: start that version, or a later one.`)
    } else if (file === undefined) {
      drift.push(`${name} was applied, and its file is missing from this version of the code.`)
    } else if (file.sha256 !== sha256) {
      drift.push(
        `${name} was edited after it was applied (SHA-256 then ${sha256}, now ${file.sha256}). Start the version that applied it. Without one: ${newDatabase}`,
      )
    }
  }
  const pending = migrations.map(({ name }) => name).filter((name) => !done.has(name))
  for (const name of pending.filter((name) => name < lastDone)) {
    drift.push(`${name} was not applied, although the later ${lastDone} was: give it a number after that.`)
  }
  return { applied: [...done.keys()], pending, drift }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted()
  const numbers = new Set<string>()
  for (const name of names) {
    const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]
    if (number === undefined) throw new Error(`A migration is named like 0001_foundation.sql, not ${name}.`)
    if (numbers.has(number)) throw new Error(`Two migrations have the number ${number}: their order would be chance.`)
    numbers.add(number)
  }
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(path.join(directory, name), 'utf8')
      return { name, text, sha256: createHash('sha256').update(text).digest('hex') }
    }),
  )
}
