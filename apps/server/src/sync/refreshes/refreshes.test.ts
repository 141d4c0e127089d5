import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { statusOf, type RefreshedConnection } from './refreshes.ts'

type Status = RefreshedConnection['status']

describe('the status of a refresh', () => {
  const table: [Status[], string][] = [
    [[], 'succeeded'],
    [['queued', 'queued'], 'queued'],
    [['queued', 'cooling_down'], 'queued'],
    [['queued', 'running'], 'running'],
    [['queued', 'succeeded'], 'running'],
    [['succeeded', 'succeeded'], 'succeeded'],
    [['succeeded', 'failed'], 'partial'],
    [['succeeded', 'cooling_down'], 'partial'],
    [['failed', 'cooling_down'], 'failed'],
    [['failed'], 'failed'],
  ]
  for (const [parts, whole] of table) {
    it(`${parts.join(', ') || 'no connection'}: ${whole}`, () => {
      assert.equal(statusOf(parts.map((status) => ({ status }))), whole)
    })
  }
})
