/**
 * The database: where it is, the handle every store takes, and its schema. Plain arguments; config.ts reads settings.
 */
import { joinEmbedded, refuseWithoutCluster, startEmbedded } from './embedded/embedded.ts'
import type { DatabaseAddress } from './pool/open-pool.ts'
import { createDatabase, type DatabaseLog } from './pool/pool.ts'
import type { Database } from './sql.ts'

export { isDatabaseAway, isPassing } from './away.ts'
export { backUp } from './backup/back-up.ts'
export { restore } from './backup/restore.ts'
export { startEmbedded } from './embedded/embedded.ts'
export { findBinaries, readVersion } from './embedded/binaries.ts'
export { makeDirectory } from './make-directory.ts'
export { emptySandbox, markInstallation } from './installation.ts'
export { checkMigrations, migrate, type MigrationState } from './migrate.ts'
export { openPool, type DatabaseAddress } from './pool/open-pool.ts'
export { createDatabase, type DatabaseLog } from './pool/pool.ts'
export { examineHosts, type HostState } from './pool/primary.ts'
export { whenAnswering } from './pool/when-answering.ts'
export type { Clock, Database, Sql } from './sql.ts'

export interface OpenOptions {
  /** A PostgreSQL of the operator's. Undefined: the embedded one in `dataDirectory`. */
  url: string | undefined
  dataDirectory: string
  pooler: 'none' | 'transaction'
  poolSizeMax: number
  /** How long a caller waits for a free or a new connection before the database counts as away. */
  acquireTimeoutMs: number
  statementTimeoutMs: number
  /** A caller found every connection in use and waited this long. */
  onWaited?: (seconds: number) => void
  /**
   * Use the embedded server of a process that already runs in `dataDirectory`, as short commands do beside a service.
   */
  join?: boolean
  /** Make a new embedded database where there is none. The default is to make one. */
  make?: boolean
  /** Ends a start of the embedded server that waits for another to end. */
  signal?: AbortSignal | undefined
}

export interface OpenedDatabase {
  db: Database
  connection: DatabaseAddress
  /** Closes the pool, then stops the embedded server if this process owns it. */
  close(): Promise<void>
}

export async function openDatabase(options: OpenOptions, log: DatabaseLog): Promise<OpenedDatabase> {
  const { url, dataDirectory, poolSizeMax, acquireTimeoutMs, statementTimeoutMs, onWaited } = options
  const pool = { poolSizeMax, acquireTimeoutMs, statementTimeoutMs, onWaited, log }
  if (url !== undefined) {
    const connection = { url }
    const db = createDatabase({ ...pool, connection, pooler: options.pooler })
    return { db, connection, close: () => db.close() }
  }
  const joined = options.join === true ? await joinEmbedded(dataDirectory) : undefined
  if (joined === undefined && options.make === false) refuseWithoutCluster(dataDirectory)
  const server = joined === undefined ? await startEmbedded({ dataDirectory, log, signal: options.signal }) : undefined
  const connection = joined ?? server?.connection
  if (connection === undefined) throw new Error('an embedded server without an address')
  // DATABASE_POOLER applies to DATABASE_URL only: our own server has no pooler in front.
  const db = createDatabase({ ...pool, connection, pooler: 'none' })
  return {
    db,
    connection,
    async close() {
      await db.close()
      await server?.stop()
    },
  }
}
