import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toInstant } from './value-types.ts'

test('a timestamp has exactly three decimals; microseconds are truncated, not rounded', () => {
  assert.equal(toInstant('2026-03-02 10:11:12+00'), '2026-03-02T10:11:12.000Z')
  assert.equal(toInstant('2026-03-02 10:11:12.3+00'), '2026-03-02T10:11:12.300Z')
  assert.equal(toInstant('2026-03-02 10:11:12.345999+00'), '2026-03-02T10:11:12.345Z')
})

test('a server in another zone gives the same instant', () => {
  assert.equal(toInstant('2026-03-02 11:11:12.345+01'), '2026-03-02T10:11:12.345Z')
  assert.equal(toInstant('2026-03-02 15:41:12.345+05:30'), '2026-03-02T10:11:12.345Z')
  assert.equal(toInstant('2026-03-01 23:11:12.345-11'), '2026-03-02T10:11:12.345Z')
})

test('infinity and other date styles are refused, not guessed', () => {
  assert.throws(() => toInstant('infinity'), /not an instant/)
  assert.throws(() => toInstant('02.03.2026 10:11:12 UTC'), /not an instant/)
})
