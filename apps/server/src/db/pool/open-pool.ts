/**
 * A pool of node-postgres that can be closed completely, for our statements and for the job queue.
 *
 * `pool.end()` resolves when every connection was asked to close, not when it is closed (seen in pg-pool with pg
 * 8.23.1). A server that is stopped in between sends the remaining ones "terminating connection", and a normal Ctrl-C
 * looks like a failure. So `close` also waits for the sockets.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { listHostUrls } from '../../config/database-url.ts'
import { createPrimaryClient } from './primary.ts'

/** Where a database is. A host that begins with "/" is the directory of a Unix socket. A URL may name several hosts. */
export type DatabaseAddress = { url: string } | { host: string; user: string; password?: string; database: string }

export interface OpenPool {
  pool: pg.Pool
  close(this: void): Promise<void>
}

export interface PoolEvents {
  /** A connection was lost while it was idle. */
  onLost(error: Error): void
  /** Called when another one of several hosts has become the primary. */
  onPrimary(host: string): void
}

/** A peer that disappeared silently never answers the close. */
const goodbyeMaxMsDefault = 2_000

/** The share of the connection timeout that is spent on finding the primary. The rest is for connecting to it. */
const shareOfSearch = 0.4

export function openPool(
  address: DatabaseAddress,
  options: Omit<pg.PoolConfig, 'connectionString' | 'host' | 'port' | 'user' | 'database' | 'ssl' | 'Client'>,
  { onLost, onPrimary }: PoolEvents,
  goodbyeMaxMs = goodbyeMaxMsDefault,
): OpenPool {
  const pool = new pg.Pool({ ...toPgConfig(address, options, onPrimary), ...options })
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

function toPgConfig(
  address: DatabaseAddress,
  { connectionTimeoutMillis: timeoutMs }: pg.PoolConfig,
  onPrimary: PoolEvents['onPrimary'],
): pg.PoolConfig {
  if ('url' in address) {
    const urls = listHostUrls(address.url)
    if (urls === undefined) return { connectionString: address.url }
    // All addresses are the same but for the host, which the client chooses when it connects.
    const Client = createPrimaryClient(urls, onPrimary, timeoutMs && timeoutMs * shareOfSearch)
    return { connectionString: urls[0], Client }
  }
  // Port and TLS are spelled out, otherwise node-postgres would take them from PGPORT and PGSSLMODE.
  return { ...address, port: 5432, ssl: false }
}
