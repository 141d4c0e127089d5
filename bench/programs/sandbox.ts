/**
 * The simulated providers in a separate process, with three more scenarios of Kraken: `large_tenth`, a tenth of
 * `large`, and `trades` and `trades_few`, which have deposits and trades alone.
 */
import { startSandbox } from '@assay/sandbox'
import { krakenScenarios } from '../../packages/sandbox/src/scenarios/kraken/index.ts'

type KrakenScenario = (typeof krakenScenarios)[number]
type StoryEvent = ReturnType<KrakenScenario['story']>['events'][number]

function findLarge(): KrakenScenario {
  const large = krakenScenarios.find(({ name }) => name === 'large')
  if (large === undefined) throw new Error('the sandbox has no scenario large')
  return large
}
const large = findLarge()

/** Deposits and the staked DOT come first in the story, and everything else needs them. */
const fundingEvents = 70

function partOfLarge(name: string, pick: (later: readonly StoryEvent[]) => readonly StoryEvent[]): KrakenScenario {
  return {
    ...large,
    name,
    story: () => {
      const { events, strategies } = large.story()
      return { strategies, events: [...events.slice(0, fundingEvents), ...pick(events.slice(fundingEvents))] }
    },
  }
}

/** Buys and sells alternate and the last is a buy, so that an odd number of them never sells what was not bought. */
function lastTrades(later: readonly StoryEvent[], count: number): StoryEvent[] {
  return later.filter(({ kind }) => kind === 'trade').slice(-(2 * Math.floor(count / 2) + 1))
}

// We change the sandbox's own list, because a benchmark alone does not justify an option.
const scenarios = krakenScenarios as KrakenScenario[]
scenarios.push(
  partOfLarge('large_tenth', (later) => [...later.slice(0, 30), ...lastTrades(later, later.length / 10)]),
  partOfLarge('trades', (later) => lastTrades(later, 10_000)),
  partOfLarge('trades_few', (later) => lastTrades(later, 300)),
)
const sandbox = await startSandbox({
  seed: 'bench',
  pace: 'fastest',
  log: (message, fields) => console.error(message, fields),
})
console.log(`ready at ${sandbox.controlUrl}`)
process.on('SIGTERM', () => void sandbox.close().then(() => process.exit(0)))
