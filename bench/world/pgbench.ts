/**
 * pgbench: the statement of the product, prepared, sent by a client written in C. The text is taken from the store while
 * it runs, so it cannot drift from what is served; only its parameters become expressions of pgbench's random numbers.
 */
import { writeFileSync } from 'node:fs'
import type { Sql } from '../../apps/server/src/db/index.ts'
import { findPgbench } from '../prepare.ts'
import { runProgram, scratchFile } from './process.ts'

/** Enough that PostgreSQL never waits for a client, and fewer than the connections of our own pool. */
export const pgbenchClients = 8

export interface PgbenchScript {
  /** pgbench's own commands, such as `\set user random(1, 400)`. */
  head: string
  statement: string
}

/**
 * The one statement that a store sends, without sending it. Its values become part of the text: those named in
 * `expressions` as the expression there, numbers and nulls as they are.
 */
export async function captureStatement(
  send: (sql: Sql) => Promise<unknown>,
  expressions: Readonly<Record<string, string>>,
): Promise<string> {
  const captured: { text: string; values: readonly unknown[] }[] = []
  const keep = (text: string, values: readonly unknown[]): Promise<never[]> => {
    captured.push({ text, values })
    return Promise.resolve([])
  }
  await send({ rows: keep, row: keep, maybeRow: keep, execute: keep } as unknown as Sql)
  const [only, ...others] = captured
  if (only === undefined || others.length > 0) throw new Error(`the store sent ${captured.length} statements, not one`)
  // pgbench takes the colon of 'transactions:read' for the beginning of a variable, also inside quotes.
  const text = only.text.replaceAll(/'([^':]*):([^':]*)'/g, "E'$1\\x3a$2'")
  return text.replaceAll(/\$(\d+)/g, (_, number: string) => toExpression(only.values[Number(number) - 1], expressions))
}

function toExpression(value: unknown, expressions: Readonly<Record<string, string>>): string {
  if (value === null || typeof value === 'number') return String(value)
  const expression = typeof value === 'string' ? expressions[value] : undefined
  if (expression === undefined) throw new Error(`no expression for the value ${JSON.stringify(value)}`)
  return expression
}

export function preparePgbench(
  name: string,
  databaseUrl: string,
  script: PgbenchScript,
  seconds: number,
): () => Promise<number> {
  const program = findPgbench()
  const file = scratchFile(`${name}.pgbench.sql`)
  writeFileSync(file, `${script.head}\n${script.statement.replaceAll(/\s+/g, ' ')};\n`)
  // As many threads as processors: one would spend its time waiting for the other's.
  const load = ['-c', `${pgbenchClients}`, '-j', '2', '-T', `${Math.ceil(seconds)}`]
  const words = ['-n', '-M', 'prepared', ...load, '-f', file, databaseUrl]
  return async () => {
    const output = await runProgram(program, words)
    const perSecond = /^tps = ([\d.]+)/m.exec(output)?.[1]
    if (perSecond === undefined) throw new Error(`pgbench said no figure:\n${output}`)
    return Number(perSecond)
  }
}
