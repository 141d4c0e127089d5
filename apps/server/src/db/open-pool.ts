/**
 * A pool of node-postgres that can be closed completely, for our statements and for the job queue.
 *
 * `pool.end()` resolves when every connection was asked to close, not when it is closed (seen in pg-pool with pg
 * 8.23.1). A server that is stopped in between sends the remaining ones "terminating connection", and a normal Ctrl-C
 * looks like a failure. So `close` also waits for the sockets.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** Where a database is. A host that begins with "/" is the directory of a Unix socket. */
export type DatabaseAddress = { url: string } | { host: string; user: string; password?: string; database: string }

export interface OpenPool {
  pool: pg.Pool
  close(this: void): Promise<void>
}

/** A peer that disappeared silently never answers the close. */
const goodbyeMaxMsDefault = 2_000

export function openPool(
  address: DatabaseAddress,
  options: Omit<pg.PoolConfig, 'connectionString' | 'host' | 'port' | 'user' | 'database' | 'ssl'>,
  onLost: (error: Error) => void,
  goodbyeMaxMs = goodbyeMaxMsDefault,
): OpenPool {
  const pool = new pg.Pool({ ...toPgConfig(address), ...options })
  const open = new Set<Promise<void>>()
  // A connection that dies between two statements has no caller, and an 'error' event without a listener ends the
  // process. Idle ones are replaced at the next use; one in a transaction makes its next statement fail.
  pool.on('error', onLost)
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    open.add(ended)
    void ended.then(() => open.delete(ended))
  })
  return {
    pool,
    async close() {
      await pool.end()
      await Promise.race([Promise.all(open), delay(goodbyeMaxMs, undefined, { ref: false })])
    },
  }
}

function toPgConfig(address: DatabaseAddress): pg.PoolConfig {
  if ('url' in address) return { connectionString: address.url }
  // Port and TLS are spelled out, otherwise node-postgres would take them from PGPORT and PGSSLMODE.
  return { ...address, port: 5432, ssl: false }
}
