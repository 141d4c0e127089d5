/**
 * The PostgreSQL that is measured: the embedded one as the product starts it, durable and with its own settings, in
 * bench/data; or the server of DATABASE_URL. Each dataset is a database of its own and kept for the next run.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import {
  createDatabase,
  migrate,
  startEmbedded,
  type Database,
  type DatabaseLog,
} from '../../apps/server/src/db/index.ts'
import type { Say } from '../measure.ts'
import { dataDirectory } from './process.ts'

export interface Postgres {
  /** Ready for use; filled when it is not there yet, or was filled by other code. */
  ensureDatabase(name: string, fill: (db: Database) => Promise<void>): Promise<BenchDatabase>
  /** Migrated and without a row, whatever it held before. */
  newDatabase(name: string): Promise<BenchDatabase>
  stop(): Promise<void>
}

export interface BenchDatabase {
  db: Database
  /** For other processes. */
  url: string
}

const fillTimeoutMs = 3_600_000

const quiet: DatabaseLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields, message) => console.error(message, fields),
}

export async function openPostgres(givenUrl: string | undefined, say: Say): Promise<Postgres> {
  const server = givenUrl === undefined ? await startServer() : undefined
  const urlOf = (database: string): string => toUrl(server?.connection ?? givenUrl ?? '', database)
  const open: Database[] = []

  async function connect(name: string): Promise<BenchDatabase> {
    const url = urlOf(name)
    const db = openDatabase(url)
    open.push(db)
    return { db, url }
  }

  async function create(name: string): Promise<BenchDatabase> {
    await administer(urlOf('postgres'), async (admin) => {
      await admin.execute(`drop database if exists ${name} with (force)`)
      await admin.execute(`create database ${name}`)
    })
    const made = await connect(name)
    await migrate(made.db, { log: quiet })
    return made
  }

  return {
    newDatabase: create,
    async ensureDatabase(name, fill) {
      const wanted = fingerprint()
      const found = await administer(urlOf('postgres'), (admin) => findFingerprint(admin, name))
      if (found === wanted) {
        const known = await connect(name)
        await migrate(known.db, { log: quiet })
        return known
      }
      say(`making the database ${name}`)
      const made = await create(name)
      await fill(made.db)
      // Last: a database whose filling was interrupted is made again.
      await made.db.execute(`comment on database ${name} is '${wanted}'`)
      return made
    },
    async stop() {
      await Promise.all(open.map((db) => db.close()))
      await server?.stop()
    },
  }
}

async function startServer(): Promise<Awaited<ReturnType<typeof startEmbedded>>> {
  return startEmbedded({ dataDirectory, log: quiet })
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

function toUrl(server: string | { host: string; user: string }, database: string): string {
  if (typeof server !== 'string') return `postgres://${server.user}@${encodeURIComponent(server.host)}/${database}`
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

/** Of what decides what a filled database holds. Its schema is brought up to date as any installation's is. */
function fingerprint(): string {
  const hash = createHash('sha256')
  for (const file of ['population.ts', 'documents.json'])
    hash.update(readFileSync(path.join(import.meta.dirname, file)))
  return hash.digest('hex')
}
