/**
 * The simulated providers in a separate process, with more scenarios: `large_tenth`, a tenth of `large`, of Kraken,
 * Binance and Coinbase; and `trades` and `trades_few` of Kraken, which have deposits and trades alone.
 */
import { startSandbox } from '@assay/sandbox'
import { binanceScenarios } from '../../packages/sandbox/src/scenarios/binance/index.ts'
import { coinbaseScenarios } from '../../packages/sandbox/src/scenarios/coinbase/index.ts'
import { krakenScenarios } from '../../packages/sandbox/src/scenarios/kraken/index.ts'

type KrakenScenario = (typeof krakenScenarios)[number]
type StoryEvent = ReturnType<KrakenScenario['story']>['events'][number]

function findLarge<Scenario extends { name: string }>(scenarios: readonly Scenario[]): Scenario {
  const large = scenarios.find(({ name }) => name === 'large')
  if (large === undefined) throw new Error('the sandbox has no scenario large')
  return large
}
const large = findLarge(krakenScenarios)

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

/**
 * Deposits come first in the story. After them each buy is followed by its sell, so a tenth of the pairs never sells
 * what was not bought.
 */
function addTenth<Story extends { events: readonly unknown[] }>(
  scenarios: readonly { name: string; story: () => Story }[],
  isTrade: (event: Story['events'][number]) => boolean,
): void {
  const whole = findLarge(scenarios)
  const story = (): Story => {
    const told = whole.story()
    const deposits = told.events.findIndex((event) => isTrade(event))
    const isKept = (index: number): boolean => index < deposits || ((index - deposits) >> 1) % 10 === 0
    return { ...told, events: told.events.filter((_, index) => isKept(index)) }
  }
  const changeable = scenarios as (typeof whole)[]
  changeable.push({ ...whole, name: 'large_tenth', story })
}

// We change the sandbox's own lists, because a benchmark alone does not justify an option.
addTenth(binanceScenarios, ({ kind }) => kind === 'order')
addTenth(coinbaseScenarios, ({ rows }) => rows.some(({ detail }) => detail?.kind === 'fill'))
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
