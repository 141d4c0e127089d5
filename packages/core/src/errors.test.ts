import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { causes, faults, invalidParameter, Refusal, refusalCodes, SourceError } from './errors.ts'

describe('errors', () => {
  it('every fault of a provider is also a cause the wire can name', () => {
    const known = new Set<string>(causes)
    assert.deepEqual(
      faults.filter((fault) => !known.has(fault)),
      [],
    )
  })

  it('the unions have no duplicates', () => {
    for (const union of [causes, faults, refusalCodes]) assert.equal(new Set(union).size, union.length)
  })

  it('a wrong parameter is a refusal that names it', () => {
    const refusal = invalidParameter('limit', 'must be a whole number from 1 to 100')
    assert.ok(refusal instanceof Refusal)
    assert.equal(refusal.code, 'invalid_request')
    assert.equal(refusal.message, 'limit must be a whole number from 1 to 100')
    assert.deepEqual(refusal.items, [
      { cause: 'invalid_parameter', parameter: 'limit', message: 'must be a whole number from 1 to 100' },
    ])
  })

  it('a source error keeps the wait that the provider requested', () => {
    const error = new SourceError('rate_limited', 'HTTP 429', { retryAfterMs: 5_000 })
    assert.deepEqual([error.fault, error.retryAfterMs, error.name], ['rate_limited', 5_000, 'SourceError'])
    assert.equal(new SourceError('venue_down', 'HTTP 502').retryAfterMs, undefined)
  })
})
