/**
 * Is the database unreachable ("away"), or was the statement wrong? The first passes by itself, so the caller is asked
 * to retry (503 with Retry-After); everything else is a bug or a refusal.
 *
 * SQLSTATEs: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
import { errorCodeOf } from './error-code.ts'

const awayCodes = new Set([
  // the network, or the embedded server's socket before it is there
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'ENOENT'],
  // PostgreSQL shutting down, crashed, starting; a connection that was idle for too long; no connection left
  ...['57P01', '57P02', '57P03', '57P05', '53300'],
  // a full disk: it answers, and nothing can be written until there is room
  '53100',
  // a primary that has just become a replica: connected, and unable to write until the pool has moved on
  '25006',
])

// node-postgres gives these no code (seen in 8.23.1: lib/client.js, lib/connection.js, pg-pool/index.js).
const awayMessages = [
  'Connection terminated',
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'There was an error establishing an SSL connection',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Cannot use a pool after calling end on the pool',
]

// Citus reports a node that died as an internal error in most places, sometimes in libpq's own words (seen in 13.2:
// connection/remote_commands.c, connection/placement_connection.c, transaction/remote_transaction.c,
// executor/adaptive_executor.c).
const clusterMessages = [
  'failure on connection marked as essential: ',
  'could not commit transaction for shard ',
  'failed to prepare transaction ',
  'execution cannot recover from multiple connection failures',
  'postmaster was shut down, exiting',
  'server closed the connection unexpectedly',
  'SSL connection has been closed unexpectedly',
  'could not receive data from server',
  'could not send data to server',
  'no connection to the server',
]

export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = errorCodeOf(error)
  if (code !== undefined) {
    // Class 08 is "connection exception"; PgBouncer reports its own failures to reach the server with it.
    if (code === 'ENOENT') return 'syscall' in error && error.syscall === 'connect'
    if (code === 'XX000') return clusterMessages.some((message) => error.message.startsWith(message))
    return awayCodes.has(code) || /^08[0-9A-Z]{3}$/.test(code)
  }
  // A host with several addresses fails with one error for each of them.
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isDatabaseAway)
  return awayMessages.some((message) => error.message.startsWith(message))
}

/** Whether the next attempt may succeed: the database is away, or two transactions conflicted. */
export function isPassing(error: unknown): boolean {
  // Class 40 is "transaction rollback": a deadlock, or a conflict of two transactions.
  return isDatabaseAway(error) || /^40[0-9A-Z]{3}$/.test(errorCodeOf(error) ?? '')
}
