/**
 * pgbench: the statement of the product, prepared, sent by a client written in C. The text is taken from the store
 * while it runs, so it cannot drift from what is served. Its values stay parameters, so that PostgreSQL chooses among
 * the same plans; only what pgbench cannot compute becomes an SQL expression of its variables.
 */
import { writeFileSync } from 'node:fs'
import type { Sql } from '../../../apps/server/src/db/index.ts'
import { findPgbench } from '../../prepare.ts'
import { runProgram, scratchFile } from '../process.ts'

/** Enough that PostgreSQL never waits for a client, and fewer than the connections of our own pool. */
export const pgbenchClients = 8

export interface PgbenchScript {
  /** pgbench's own commands, such as `\set user random(1, 400)`. */
  head: readonly string[]
  statement: string
  /** Variables that are the same in every transaction. */
  constants: ReadonlyMap<string, string>
}

/** What replaces a value that differs from request to request: a variable of pgbench, or SQL over its variables. */
export type Expressions = Readonly<Record<string, string>>

/**
 * The one statement that a store sends, without sending it. Values named in `expressions` are replaced by the
 * expression there; a null becomes a variable that does not exist, which pgbench sends as null; all others become
 * constants.
 */
export async function captureScript(
  head: readonly string[],
  expressions: Expressions,
  send: (sql: Sql) => Promise<unknown>,
): Promise<PgbenchScript> {
  const { text, values } = await captureStatement(send)
  const constants = new Map<string, string>()
  const statement = escapeColons(text).replaceAll(/\$(\d+)/g, (_, number: string) => {
    const value = toText(values[Number(number) - 1])
    const expression = value === null ? undefined : expressions[value]
    if (expression !== undefined) return expression
    const name = `value${number}`
    if (value !== null) constants.set(name, value)
    return `:${name}`
  })
  return { head, statement: statement.replaceAll(/\s+/g, ' '), constants }
}

async function captureStatement(
  send: (sql: Sql) => Promise<unknown>,
): Promise<{ text: string; values: readonly unknown[] }> {
  const captured: { text: string; values: readonly unknown[] }[] = []
  const keep = (text: string, values: readonly unknown[]): void => void captured.push({ text, values })
  const sql: Partial<Sql> = {
    now: () => new Date().toISOString(),
    rows: async (text, values = []) => (keep(text, values), []),
    maybeRow: async (text, values = []) => (keep(text, values), undefined),
  }
  await send(sql as Sql)
  const [only, ...others] = captured
  if (only === undefined || others.length > 0) throw new Error(`the store sent ${captured.length} statements, not one`)
  return only
}

function toText(value: unknown): string | null {
  if (value === null) return null
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  if (Buffer.isBuffer(value)) return value.toString()
  throw new Error(`pgbench cannot be given the value ${JSON.stringify(value)}`)
}

/** pgbench takes the colon of 'transactions:read' or 'HH24:MI' as the beginning of a variable, even inside quotes. */
function escapeColons(text: string): string {
  return text.replaceAll(/(\bE)?'((?:[^']|'')*)'/g, (whole, escaped: string | undefined, inside: string) => {
    if (!/:\w/.test(inside)) return whole
    const plain = escaped === undefined ? inside.replaceAll('\\', '\\\\') : inside
    return `E'${plain.replaceAll(':', '\\x3a')}'`
  })
}

export function preparePgbench(
  name: string,
  databaseUrl: string,
  { head, statement, constants }: PgbenchScript,
  seconds: number,
): () => Promise<number> {
  const program = findPgbench()
  const file = scratchFile(`${name}.pgbench.sql`)
  writeFileSync(file, `${[...head, statement].join('\n')};\n`)
  // One thread for each processor, because a single thread would become the bottleneck.
  const load = ['-c', `${pgbenchClients}`, '-j', '2', '-T', `${Math.ceil(seconds)}`]
  const given = [...constants].flatMap(([variable, value]) => ['-D', `${variable}=${value}`])
  const words = ['-n', '-M', 'prepared', ...load, ...given, '-f', file, databaseUrl]
  return async () => {
    const output = await runProgram(program, words)
    const perSecond = /^tps = ([\d.]+)/m.exec(output)?.[1]
    if (perSecond === undefined) throw new Error(`pgbench printed no figure:\n${output}`)
    return Number(perSecond)
  }
}
