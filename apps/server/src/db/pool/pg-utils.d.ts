/** How node-postgres writes a parameter: pg-cursor, of the same authors, takes it from there, too. */
declare module 'pg/lib/utils.js' {
  export function prepareValue(value: unknown): unknown
}
