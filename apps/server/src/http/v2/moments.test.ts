import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import { toMoment } from './moments.ts'

describe('a moment that a request asks about', () => {
  const now = '2026-03-02T10:11:12.345Z'
  const latestMs = Date.parse(now)
  const at = (ms: number, earliestMs?: number): string | undefined =>
    toMoment('as_of', new Date(latestMs + ms).toISOString(), {
      latestMs,
      ...(earliestMs === undefined ? {} : { earliestMs }),
    })

  it('is what the client sent', () => {
    assert.equal(at(-1), '2026-03-02T10:11:12.344Z')
    assert.equal(at(0), now)
    assert.equal(toMoment('as_of', undefined, { latestMs }), undefined)
  })

  it('is the present when the client’s clock runs ahead by seconds', () => {
    assert.equal(at(1), now)
    assert.equal(at(10_000), now)
  })

  it('is refused when it lies in the future or before the kept history', () => {
    assert.throws(() => at(10_001), Refusal)
    assert.throws(() => at(-1_001, latestMs - 1_000), Refusal)
    assert.equal(at(-1_000, latestMs - 1_000), '2026-03-02T10:11:11.345Z')
  })
})
