/**
 * Nora's account after two tokens arrived that nobody asked for: a code that no list has, and as many digits as eighteen
 * decimals hold. They are apart from `default.ts`, because such amounts are worth more than everything else she has.
 */
import { entries, leg, type Story, type StoryEvent } from '../../kraken/story.ts'
import { defaultStory } from './default.ts'

const airdrops: StoryEvent[] = [
  airdrop('2026-04-01 00:00:00.4010', '123456789012.123456789012345678 ZQNT'),
  airdrop('2026-04-02 00:00:00.4020', '0.000000000000000001 ZQNT'),
  airdrop('2026-06-30 18:00:00.6300', '98765432109.8765432101 PEPE'),
]

function airdrop(at: string, gained: string): StoryEvent {
  return entries(at, 'transfer', [leg(gained)], { subtype: 'airdrop' })
}

export function oddStory(): Story {
  const story = defaultStory()
  return { ...story, events: [...story.events, ...airdrops] }
}
