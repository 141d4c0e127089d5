import assert from 'node:assert/strict'
import { it } from 'node:test'
import { toSatoshi } from '../../bitcoin/story.ts'
import { defaultStory } from './default.ts'

it('the savings wallet has some hundreds of payments of every kind, with dust and a very large amount', () => {
  const { events } = defaultStory()
  assert.ok(events.length >= 200 && events.length <= 250, `${events.length}`)
  assert.deepEqual([...new Set(events.map(({ kind }) => kind))].sort(), ['consolidate', 'receive', 'send'])
  const received = events.flatMap((event) => (event.kind === 'receive' ? event.amounts.map(toSatoshi) : []))
  assert.ok(received.includes(546n), 'dust: the least that a node relays')
  assert.ok(received.some((satoshi) => satoshi > 2n * 10n ** 8n))
})
