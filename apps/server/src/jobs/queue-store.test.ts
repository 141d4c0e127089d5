import assert from 'node:assert/strict'
import { it } from 'node:test'
import { toLane } from './queue-store.ts'

it('any number of names share 1,024 lanes evenly', () => {
  const names = Array.from({ length: 100_000 }, (_, index) => `key ${index}`)
  const used = new Map<string, number>()
  for (const lane of names.map(toLane)) used.set(lane, (used.get(lane) ?? 0) + 1)
  assert.equal(used.size, 1_024)
  // 98 on average; an even distribution of 100,000 names over 1,024 lanes stays well below twice that.
  assert.ok(Math.max(...used.values()) < 200)
})

it('a name has the same lane in every process', () => {
  assert.deepEqual([toLane('a'), toLane('a'), toLane('b')], ['lane 274', 'lane 274', 'lane 22'])
})
