/**
 * Holds an answer against the document's example: the same names, the same types and formats, the simulator's own
 * values.
 */
import assert from 'node:assert/strict'

export type Shape = Readonly<Record<string, RegExp | 'number' | 'boolean' | 'array' | 'object'>>

/** Nothing of the shape may be missing, and nothing further may be there. */
export function assertShape(value: unknown, shape: Shape): void {
  const members = Object.entries(value as Record<string, unknown>)
  const names = members.map(([name]) => name)
  for (const name of Object.keys(shape)) assert.ok(names.includes(name), `${name} is missing`)
  for (const [name, member] of members) {
    const wanted = shape[name]
    assert.ok(wanted !== undefined, `${name} is not documented`)
    if (wanted instanceof RegExp) {
      assert.equal(typeof member, 'string', name)
      assert.match(member as string, wanted, name)
    } else if (wanted === 'array') assert.ok(Array.isArray(member), name)
    else assert.equal(typeof member, wanted, name)
  }
}

/** The names, all with the same format. */
export function all(names: string, format: Shape[string]): Shape {
  return Object.fromEntries(names.split(' ').map((name) => [name, format]))
}

export const text = /^/
export const nothing = /^$/
export const digits = /^\d+$/
export const decimal = /^\d+(\.\d+)?$/
export const signedDecimal = /^-?\d+(\.\d+)?$/
export const milliseconds = /^\d{13}$/
export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
