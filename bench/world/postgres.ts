/**
 * The PostgreSQL that is measured: the embedded one as the product starts it, durable and with its own settings, in
 * bench/data; or the server of DATABASE_URL. Each dataset has its own database.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import {
  createDatabase,
  migrate,
  startEmbedded,
  type Database,
  type DatabaseLog,
} from '../../apps/server/src/db/index.ts'
import { createLog } from '../../apps/server/src/http/log.ts'
import { installQueue } from '../../apps/server/src/jobs/index.ts'
import type { Say } from '../measure.ts'
import { dataDirectory } from './process.ts'

export interface Postgres {
  /** Kept for the next run. It is filled again when it is missing, or when other code or another schema filled it. */
  ensureDatabase(name: string, say: Say, fill: Fill): Promise<BenchDatabase>
  /** Filled in this run of the program, and shared by the benchmarks that ask for it. */
  sharedDatabase(name: string, fill: (database: BenchDatabase) => Promise<void>): Promise<BenchDatabase>
  /** Migrated and empty, whatever it held before. */
  newDatabase(name: string): Promise<BenchDatabase>
  stop(): Promise<void>
}

export type Fill = (db: Database) => Promise<void>

export interface BenchDatabase {
  db: Database
  /** The address for other processes. */
  url: string
}

const fillTimeoutMs = 3_600_000

const quiet: DatabaseLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields, message) => console.error(message, fields),
}

export async function openPostgres(givenUrl: string | undefined): Promise<Postgres> {
  const server = givenUrl === undefined ? await startEmbedded({ dataDirectory, log: quiet }) : undefined
  const urlOf = (database: string): string => toUrl(server?.connection ?? givenUrl ?? '', database)
  const open: Database[] = []
  const shared = new Map<string, Promise<BenchDatabase>>()

  async function connect(name: string): Promise<BenchDatabase> {
    const url = urlOf(name)
    const db = openDatabase(url)
    open.push(db)
    await migrate(db, { log: quiet })
    await db.clock.refresh()
    return { db, url }
  }

  async function create(name: string): Promise<BenchDatabase> {
    await administer(urlOf('postgres'), async (admin) => {
      await admin.execute(`drop database if exists ${name} with (force)`)
      await admin.execute(`create database ${name}`)
    })
    const made = await connect(name)
    await installQueue({ url: made.url }, createLog({ level: 'silent' }))
    return made
  }

  return {
    newDatabase: create,
    async sharedDatabase(name, fill) {
      const made =
        shared.get(name) ??
        create(name).then(async (database) => {
          await fill(database)
          return database
        })
      shared.set(name, made)
      return made
    },
    async ensureDatabase(name, say, fill) {
      const wanted = fingerprint()
      const found = await administer(urlOf('postgres'), (admin) => findFingerprint(admin, name))
      if (found === wanted) return connect(name)
      say(`filling the database ${name}`)
      const made = await create(name)
      await fill(made.db)
      // This comes last, so that a database whose filling was interrupted is created again.
      await made.db.execute(`comment on database ${name} is '${wanted}'`)
      return made
    },
    async stop() {
      await Promise.all(open.map((db) => db.close()))
      await server?.stop()
    },
  }
}

function openDatabase(url: string): Database {
  const connection = { url }
  return createDatabase({ connection, pooler: 'none', poolSizeMax: 4, statementTimeoutMs: fillTimeoutMs, log: quiet })
}

async function administer<T>(url: string, work: (admin: Database) => Promise<T>): Promise<T> {
  const admin = openDatabase(url)
  try {
    return await work(admin)
  } finally {
    await admin.close()
  }
}

async function findFingerprint(admin: Database, name: string): Promise<string | undefined> {
  const row = await admin.maybeRow<{ comment: string | null }>(
    "select shobj_description(oid, 'pg_database') as comment from pg_database where datname = $1",
    [name],
  )
  return row?.comment ?? undefined
}

function toUrl(server: string | { host: string; user: string; password: string }, database: string): string {
  if (typeof server !== 'string')
    return `postgres://${server.user}:${server.password}@${encodeURIComponent(server.host)}/${database}`
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

const fillers = ['people.ts', 'population.ts', 'idle-connections.ts', 'documents.json']
const migrations = path.resolve(import.meta.dirname, '../../apps/server/src/db/migrations')

/** Covers everything that decides what a filled database holds. */
function fingerprint(): string {
  const hash = createHash('sha256')
  for (const file of fillers) hash.update(readFileSync(path.join(import.meta.dirname, file)))
  for (const file of globSync(path.join(migrations, '*.sql')).toSorted()) hash.update(readFileSync(file))
  return hash.digest('hex')
}
