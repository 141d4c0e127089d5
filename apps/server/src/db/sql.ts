/** The database as a store sees it: SQL text and values in, rows out. `pool.ts` runs it. */
export interface Sql {
  /** All rows. The statement is prepared under a name derived from its text, unless the pooler forbids it. */
  rows<Row>(this: void, text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Exactly one row; any other number is a bug and throws. */
  row<Row>(this: void, text: string, values?: readonly unknown[]): Promise<Row>
  /** At most one row. */
  maybeRow<Row>(this: void, text: string, values?: readonly unknown[]): Promise<Row | undefined>
  /**
   * Rows touched. Without values the text is a script: it may hold several statements and has no time limit, because a
   * migration may take an hour.
   */
  execute(this: void, text: string, values?: readonly unknown[]): Promise<number>
  /** The present by the database's clock (clock.ts), to be passed as `$n::timestamptz`. ISO 8601, in milliseconds. */
  now(this: void): string
}

export interface Clock {
  /** Epoch ms. Throws until the database's clock was read once. */
  now(): number
  /** Reads the database's clock again: at the start, at the beginning of every job, and on a timer. */
  refresh(): Promise<void>
  /** Moves the sandbox clock forward and returns the new offset. */
  advance(byMs: number): Promise<number>
}

export interface Database extends Sql {
  clock: Clock
  /**
   * BEGIN, the work, COMMIT; rolled back when the work throws. A connection lost during COMMIT leaves it unknown
   * whether the work was kept: that is reported as "away", and the work must be safe to repeat.
   */
  transaction<T>(this: void, work: (tx: Sql) => Promise<T>): Promise<T>
  /** Connections of this process at this moment, and callers that wait for one. */
  usage(this: void): PoolUsage
  close(this: void): Promise<void>
}

export interface PoolUsage {
  busy: number
  idle: number
  waiting: number
}

export interface Statement {
  text: string
  values: readonly unknown[]
  script: boolean
}

export interface Answer {
  rows: unknown[]
  /** Found or touched. */
  rowCount: number
}

export type Run = (statement: Statement) => Promise<Answer>

export type Queries = Omit<Sql, 'now'>

export function toQueries(run: Run): Queries {
  return {
    async rows<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      return (await run({ text, values, script: false })).rows as Row[]
    },
    async row<Row>(text: string, values: readonly unknown[] = []): Promise<Row> {
      const { rows } = await run({ text, values, script: false })
      if (rows.length !== 1) throw wrongCount('exactly one row', text)
      return rows[0] as Row
    },
    async maybeRow<Row>(text: string, values: readonly unknown[] = []): Promise<Row | undefined> {
      const { rows } = await run({ text, values, script: false })
      if (rows.length > 1) throw wrongCount('at most one row', text)
      return rows[0] as Row | undefined
    },
    async execute(text: string, values?: readonly unknown[]): Promise<number> {
      return (await run({ text, values: values ?? [], script: values === undefined })).rowCount
    },
  }
}

/** Names the statement, never its values: they may be anything a user gave. */
function wrongCount(expected: string, text: string): Error {
  return new Error(`expected ${expected} from: ${text.replace(/\s+/g, ' ').trim().slice(0, 200)}`)
}

/**
 * One statement after the other on the transaction's connection, and none once it has ended: a forgotten await must not
 * write into whatever transaction has that connection next.
 */
export function createTransactionRun(send: Run): { run: Run; end(): Promise<void> } {
  let last: Promise<unknown> = Promise.resolve()
  let ended = false
  return {
    async run(statement) {
      if (ended) throw new Error('a statement was sent through a transaction that had ended')
      const result = last.then(() => send(statement))
      last = result.catch(() => undefined)
      return result
    },
    async end() {
      ended = true
      await last
    },
  }
}
