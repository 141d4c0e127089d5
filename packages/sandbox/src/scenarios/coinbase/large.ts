/**
 * A trading robot's account: exactly 100,000 transactions in 60 wallets between January 2021 and October 2026. Most of
 * them are fills of Advanced Trade around the clock; every wallet has some hundred rows, and money has tens of thousands.
 */
import { bank, fill, single, type Story, type StoryEvent } from '../../coinbase/story.ts'
import { currencies } from '../../coinbase/assets.ts'

const transactionsTotal = 100_000
const walletsTotal = 60
const staked = ['SOL/staked', 'DOT/staked']
/** Each coin is bought in small lots and sold again; each fill is two rows. */
const fillsPerCoin = 800
const deposits = 70
const fromMs = Date.UTC(2021, 0, 4)
const toMs = Date.UTC(2026, 9, 31)

export function largeStory(): Story {
  const coins = currencies.filter(({ isFiat, listed }) => !isFiat && listed).slice(0, walletsTotal - staked.length - 1)
  const events: StoryEvent[] = []
  for (let index = 0; index < deposits; index += 1) {
    events.push(bank(spread(index, deposits, 1), 'fiat_deposit', '25000.00 USD'))
  }
  for (const [place, { code }] of coins.entries()) {
    for (let index = 0; index < fillsPerCoin; index += 1) {
      const at = spread(index, fillsPerCoin, 3_600 + place * 97)
      // Now and then less is sold than was bought, so that something is left.
      const size = index % 40 === 39 ? '0.005' : `0.0${1_000 + (((index >> 1) * 7_919 + place) % 9_000)}`
      // A fixed price for each coin: some of them have none in the sandbox's market.
      const price = `${1 + place * 3}.25`
      events.push(
        fill(at, `${code}-USD`, index % 2 === 0 ? 'buy' : 'sell', [size], { price, isMaker: index % 3 === 0 }),
      )
    }
  }
  const left = transactionsTotal - deposits - coins.length * fillsPerCoin * 2
  for (let index = 0; index < left; index += 1) {
    const amount = `0.000${1_000 + (index % 977)} ${staked[index % staked.length] ?? ''}`
    events.push(single(spread(index, left, 7), 'staking_reward', amount))
  }
  return { events, unused: ['ZQNT'], nativeCurrency: 'USD' }
}

/** The index-th of `count` moments spread evenly over the years. */
function spread(index: number, count: number, offsetS: number): string {
  const ms = fromMs + Math.floor(((toMs - fromMs) / count) * index) + offsetS * 1_000
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
