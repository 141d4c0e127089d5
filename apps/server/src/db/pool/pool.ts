/**
 * The pool of connections behind every store.
 *
 * Nothing here depends on a session: no SET, no session locks, no LISTEN. Behind a pooler in transaction mode every
 * statement outside a transaction may meet another server connection. The only difference there is that statements have
 * no names (PgBouncer before 1.21 loses them).
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { isDatabaseAway } from '../away.ts'
import { errorCodeOf } from '../error-code.ts'
import { cancelGraceMs, sendCancel, type Cancellable } from './cancel.ts'
import { openPool, type DatabaseAddress, type OpenPool } from './open-pool.ts'
import { createClock, type ClockOptions } from '../clock.ts'
import { PreparedStatement, type KnownStatement } from './prepared-statement.ts'
import { createTransactionRun, toQueries, type Answer, type Database, type Sql, type Statement } from '../sql.ts'
import { findTextArrays } from './text-arrays.ts'
import { valueTypes } from './value-types.ts'

export interface DatabaseLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface DatabaseOptions extends ClockOptions {
  connection: DatabaseAddress
  pooler: 'none' | 'transaction'
  poolSizeMax: number
  statementTimeoutMs: number
  /** How long a caller waits for a free or a new connection before the database counts as away. */
  acquireTimeoutMs?: number
  /** A caller found every connection in use and waited this long. */
  onWaited?: ((seconds: number) => void) | undefined
  log: DatabaseLog
}

const acquireTimeoutMsDefault = 5_000
const idleTimeoutMs = 30_000
/** Texts beyond this are run without a name: a query built from parts must not fill the server's memory with plans. */
const knownStatementsMax = 1_000

type Send = (client: pg.PoolClient, statement: Statement) => Promise<Answer>

export function createDatabase(options: DatabaseOptions): Database {
  const { pool, close } = createPool(options)
  const send = createSend(options)

  async function acquire(): Promise<pg.PoolClient> {
    // Every statement passes here, so only a caller who has to wait is timed.
    if (pool.idleCount > 0 || pool.totalCount < options.poolSizeMax) return pool.connect()
    const sinceMs = performance.now()
    try {
      return await pool.connect()
    } finally {
      options.onWaited?.((performance.now() - sinceMs) / 1_000)
    }
  }

  async function run(statement: Statement): Promise<Answer> {
    for (;;) {
      const client = await acquire()
      try {
        const answer = await send(client, statement)
        client.release()
        return answer
      } catch (error) {
        client.release(isUnfit(error))
        // Every connection of the pool may hold the old plan; each is dropped when it shows, so this ends.
        if (!isStalePlan(error)) throw error
      }
    }
  }

  // A server that vanished without a word (its machine lost power) is not noticed by TCP for a quarter of an hour, and as
  // long this connection would be in use. A slow one gets the time that a cancelled statement has, too: once a COMMIT is
  // given up, its outcome is unknown.
  const control = (client: pg.PoolClient, text: string): Promise<pg.QueryResult> => {
    const limited = { text, query_timeout: options.statementTimeoutMs + cancelGraceMs }
    return client.query(limited)
  }

  const queries = toQueries(run)
  const clock = createClock(queries, options)
  const now = (): string => new Date(clock.now()).toISOString()

  async function transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    const client = await acquire()
    const tx = createTransactionRun((statement) => send(client, statement))
    let failure: unknown
    try {
      await control(client, 'BEGIN')
      const result = await work({ ...toQueries((statement) => tx.run(statement)), now })
      await tx.end()
      const { command } = await control(client, 'COMMIT')
      // After a failed statement PostgreSQL answers COMMIT with ROLLBACK, and no error.
      if (command !== 'COMMIT') throw new Error('a transaction was rolled back because a failed statement was ignored')
      return result
    } catch (error) {
      failure = error
      await tx.end()
      if (!isUnfit(error)) {
        await control(client, 'ROLLBACK').catch((rollbackError: unknown) => {
          failure = rollbackError
        })
      }
      throw error
    } finally {
      client.release(isUnfit(failure))
    }
  }

  return {
    ...queries,
    ...{ now, clock, transaction, close },
    usage: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  }
}

function createPool({ connection, poolSizeMax, acquireTimeoutMs, log }: DatabaseOptions): OpenPool {
  const limits = {
    application_name: 'assay',
    max: poolSizeMax,
    connectionTimeoutMillis: acquireTimeoutMs ?? acquireTimeoutMsDefault,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    types: valueTypes,
  }
  return openPool(connection, limits, {
    onLost: (error) => log.warn({ err: error }, 'an idle database connection was lost'),
    onPrimary: (host) => log.info({ host }, 'found the primary of the database'),
  })
}

function createSend({ pooler, statementTimeoutMs }: DatabaseOptions): Send {
  const knownOf = createKnownStatements(pooler === 'none')
  return async (client, { text, values, script }) => {
    if (script) return lastAnswer(await client.query(text))
    let cancelled: Promise<void> | undefined
    let timer: NodeJS.Timeout | undefined
    try {
      const answer = await new Promise<Answer>((resolve, reject) => {
        const statement = new PreparedStatement({ ...knownOf(text), text, values }, (error, answer) => {
          if (answer === undefined) reject(error ?? new Error('a statement ended without an answer'))
          else resolve(answer)
        })
        timer = setTimeout(() => {
          cancelled = sendCancel(client as unknown as Cancellable)
          timer = setTimeout(() => reject(new Error('Query read timeout')), cancelGraceMs)
        }, statementTimeoutMs)
        client.query(statement)
      })
      // A write that waits for a standby ends its wait when it is cancelled, and succeeds on the primary alone.
      if (cancelled !== undefined) throw new Error('Query read timeout')
      return answer
    } catch (error) {
      // Otherwise the trace would begin at the socket and end there.
      if (error instanceof Error) Error.captureStackTrace(error)
      throw error
    } finally {
      clearTimeout(timer)
      // A cancel on its way when the statement ended by itself would hit the next one on this connection.
      if (cancelled !== undefined) await cancelled
    }
  }
}

function createKnownStatements(isNamed: boolean): (text: string) => KnownStatement {
  const known = new Map<string, KnownStatement>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const isFull = known.size >= knownStatementsMax
    const name = `assay_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    const statement = { name: isNamed && !isFull ? name : undefined, textArrays: findTextArrays(text) }
    if (!isFull) known.set(text, statement)
    return statement
  }
}

/** A script of several statements is answered with a list. */
function lastAnswer(result: pg.QueryResult | pg.QueryResult[]): Answer {
  const last = Array.isArray(result) ? result.at(-1) : result
  if (last === undefined) throw new Error('a script without a statement')
  return { rows: last.rows, rowCount: last.rowCount ?? 0 }
}

/** Whether a connection must not be used again after this error. */
function isUnfit(error: unknown): boolean {
  return isDatabaseAway(error) || isStalePlan(error)
}

/**
 * A migration changed the columns of a statement that this connection had prepared. Only a new connection forgets it.
 */
function isStalePlan(error: unknown): boolean {
  return (
    errorCodeOf(error) === '0A000' && error instanceof pg.DatabaseError && error.routine === 'RevalidateCachedQuery'
  )
}
