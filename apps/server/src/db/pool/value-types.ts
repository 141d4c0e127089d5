/**
 * How PostgreSQL's values look in code. Types outside the table stay text: numeric and bigint above all, because a
 * binary float would lose digits, and dates without a zone, because node-postgres would read them in the machine's
 * zone.
 *
 * Handed to each pool, never set in `pg.types`: other users of pg in this process (graphile-worker) keep their own.
 */
import pg from 'pg'

export type Parser = (text: string) => unknown

const standard = (oid: number): Parser => pg.types.getTypeParser(oid, 'text') as Parser

const textArray = standard(1009) as (text: string) => (string | null)[]

const parsers = new Map<number, Parser>([
  ...[16, 17, 21, 23, 26, 700, 701].map((oid) => [oid, standard(oid)] as const), // bool bytea int2 int4 oid float4 float8
  ...[114, 3802].map((oid) => [oid, standard(oid)] as const), // json jsonb
  ...[1000, 1005, 1007, 1009, 1015].map((oid) => [oid, standard(oid)] as const), // arrays of bool int2 int4 text varchar
  ...[1016, 1231].map((oid) => [oid, textArray] as const), // arrays of bigint numeric
  [1184, toInstant],
  [1185, (text) => textArray(text).map((item) => (item === null ? null : toInstant(item)))],
])

export function parserOf(oid: number): Parser {
  return parsers.get(oid) ?? asText
}

export const valueTypes: pg.CustomTypesConfig = { getTypeParser: parserOf }

function asText(text: string): string {
  return text
}

// What a server in UTC sends; PostgreSQL drops trailing zeros: "2026-03-02 10:11:12.3+00".
const utcShape = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/

/** A timestamptz as the wire writes it: 2026-03-02T10:11:12.345Z. Microseconds are cut, not rounded. */
export function toInstant(text: string): string {
  const parts = utcShape.exec(text)
  if (parts !== null) {
    const [, date = '', time = '', fraction = ''] = parts
    return `${date}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
  }
  // This server is in another time zone. We cannot set its zone, because sessions are shared behind a pooler.
  const value = standard(1184)(text)
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) {
    throw new RangeError(`PostgreSQL sent a timestamp that is not an instant in the ISO DateStyle: ${text}`)
  }
  return value.toISOString()
}
