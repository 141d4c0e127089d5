/**
 * Nora's account after two tokens arrived that nobody asked for: a code that no list has, and as many digits as eighteen
 * decimals hold. They are apart from `default.ts`, because such amounts are worth more than everything else she has.
 */
import { receive, type Story } from '../../coinbase/story.ts'
import { defaultStory } from './default.ts'

const unasked = { type: 'receive' } as const

export function oddStory(): Story {
  const story = defaultStory()
  return {
    ...story,
    events: [
      ...story.events,
      receive('2026-04-01T00:00:00Z', '123456789012.123456789012345678 ZQNT', unasked),
      receive('2026-04-02T00:00:00Z', '0.000000000000000001 ZQNT', unasked),
      receive('2026-06-30T18:00:00Z', '98765432109.876543210123456789 PEPE', unasked),
    ],
  }
}
