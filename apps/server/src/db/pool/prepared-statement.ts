/**
 * One run of a statement with parameters, for node-postgres's client (a "submittable", as pg-cursor is one).
 *
 * The library's own Query has the server describe the columns at every run, makes a new parser for each of them, and
 * sets a second timer beside ours. Here a connection learns the columns of a named statement once: PostgreSQL itself
 * refuses to run it after they changed (0A000, see pool.ts). That took a tenth off the processor time of a page of
 * transactions.
 *
 * The client calls the handlers below (lib/client.js of pg 8.23.1); it keeps which names a connection has prepared in
 * `connection.parsedStatements`, by our `name` and `text`.
 */
import type pg from 'pg'
import { prepareValue } from 'pg/lib/utils.js'
import type { Answer } from '../sql.ts'
import { writeTextArray } from './text-arrays.ts'
import { parserOf, type Parser } from './value-types.ts'

/** The parts of a node-postgres connection that its types leave out. */
interface Line extends Omit<pg.Connection, 'bind' | 'execute' | 'parse' | 'describe'> {
  parsedStatements: Record<string, string | undefined>
  parse(message: { name: string; text: string }): void
  bind(message: {
    statement: string
    values: readonly unknown[]
    valueMapper: (value: unknown, place: number) => unknown
  }): void
  describe(message: { type: 'P'; name: string }): void
  execute(message: Record<string, never>): void
}

interface Columns {
  names: readonly string[]
  parsers: readonly Parser[]
  /** Copied for each row: objects with the same shape from the start are faster to create and to read. */
  emptyRow: Readonly<Record<string, unknown>>
}

const noColumns: Columns = { names: [], parsers: [], emptyRow: {} }

/** The columns of each connection's named statements. */
const described = new WeakMap<object, Map<string, Columns>>()

/** What is known of a statement by its text. */
export interface KnownStatement {
  /** Without a name the server forgets the statement at once. */
  name: string | undefined
  textArrays: ReadonlySet<number>
}

export class PreparedStatement implements pg.Submittable {
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
  readonly #textArrays: ReadonlySet<number>
  /** The client sets it if it is missing. */
  readonly callback: (error: Error | undefined, answer?: Answer) => void
  #columns: Columns | undefined
  #rows: Record<string, unknown>[] = []
  #rowCount = 0
  #failure: Error | undefined

  constructor(
    statement: KnownStatement & { text: string; values: readonly unknown[] },
    callback: (error: Error | undefined, answer?: Answer) => void,
  ) {
    this.name = statement.name ?? ''
    this.text = statement.text
    this.values = statement.values
    this.#textArrays = statement.textArrays
    this.callback = callback
  }

  submit(connection: pg.Connection): void {
    const line = connection as unknown as Line
    const isPrepared = this.name !== '' && line.parsedStatements[this.name] !== undefined
    this.#columns = isPrepared ? described.get(line)?.get(this.name) : undefined
    // All messages go out in one packet.
    line.stream.cork()
    try {
      if (!isPrepared) line.parse(this)
      line.bind({ statement: this.name, values: this.values, valueMapper: this.#write })
      if (this.#columns === undefined) line.describe({ type: 'P', name: '' })
      line.execute({})
    } catch (error) {
      // The value cannot be written. The server answers the Sync, and that ends the run.
      this.#failure = error instanceof Error ? error : new Error('a value could not be written', { cause: error })
    } finally {
      line.sync()
      line.stream.uncork()
    }
  }

  handleRowDescription({ fields }: { fields: readonly pg.FieldDef[] }): void {
    const names = fields.map(({ name }) => name)
    const parsers = fields.map(({ dataTypeID }) => parserOf(dataTypeID))
    this.#columns = { names, parsers, emptyRow: Object.fromEntries(names.map((name) => [name, null])) }
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const { names, parsers, emptyRow } = this.#columns ?? noColumns
    const row = { ...emptyRow }
    try {
      for (let place = 0; place < names.length; place += 1) {
        const text = fields[place]
        if (text !== null && text !== undefined) row[names[place] ?? ''] = parsers[place]?.(text)
      }
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error('a value could not be read', { cause: error })
    }
    this.#rows.push(row)
  }

  /** `INSERT 0 5`, `SELECT 31`. */
  handleCommandComplete({ text }: { text: string }): void {
    this.#rowCount = Number(text.slice(text.lastIndexOf(' ') + 1)) || 0
  }

  handleReadyForQuery(connection: pg.Connection): void {
    if (this.#failure !== undefined) return this.callback(this.#failure)
    this.#remember(connection)
    this.callback(undefined, { rows: this.#rows, rowCount: this.#rowCount })
  }

  /** The client handles nothing more of this run. */
  handleError(error: Error): void {
    this.callback(this.#failure ?? error)
  }

  readonly #write = (value: unknown, place: number): unknown =>
    (this.#textArrays.has(place) ? writeTextArray(value) : undefined) ?? prepareValue(value)

  #remember(connection: pg.Connection): void {
    if (this.name === '') return
    let known = described.get(connection)
    if (known === undefined) described.set(connection, (known = new Map<string, Columns>()))
    if (!known.has(this.name)) known.set(this.name, this.#columns ?? noColumns)
  }
}
