/**
 * A trading robot's account: exactly 100,000 ledger entries between 2021-03-01 and 2026-10-31. One deposit a month, a
 * staking reward every eight hours, and bitcoin bought and sold around the clock for the rest.
 */
import { buy, deposit, entries, leg, sell, type Story, type StoryEvent } from '../../kraken/story.ts'

const entriesTotal = 100_000
const months = 68
const rewards = 5_931
/** The DOT that earns them: one deposit, and a move of two entries. */
const staked = 3
/** Each is two entries. */
const trades = (entriesTotal - months - rewards - staked) / 2

const fromMs = Date.UTC(2021, 2, 1)
const toMs = Date.UTC(2026, 10, 1)

export function largeStory(): Story {
  const events: StoryEvent[] = [
    deposit('2021-03-01 00:00:00.5', 'DOT', '2500', 'Polkadot', { network: 'Polkadot' }),
    entries('2021-03-01 00:00:30.5', 'transfer', [
      leg('-2500 DOT', { subtype: 'spottostaking' }),
      leg('2500 DOT.S', { subtype: 'stakingfromspot' }),
    ]),
  ]
  for (let month = 0; month < months; month += 1) {
    const date = new Date(Date.UTC(2021, 2 + month, 1, 0, 1)).toISOString().slice(0, 10)
    events.push(deposit(`${date} 00:01:00.25`, 'ZUSD', '50000.0000', 'Synapse (US Wire)'))
  }
  for (let index = 0; index < rewards; index += 1) {
    events.push(
      entries(spread(index, rewards, 7), 'staking', [
        leg(`0.${String(1_000_000 + (index % 977)).padStart(10, '0')} DOT.S`),
      ]),
    )
  }
  for (let index = 0; index < trades; index += 1) {
    // Bought and sold again in lots of the same size, so that the account never runs out of either side.
    const volume = `0.0${String(10_000 + (((index >> 1) * 7_919) % 80_000))}`
    const at = spread(index, trades, 13)
    events.push(index % 2 === 0 ? buy(at, 'XXBTZUSD', { volume, maker: true }) : sell(at, 'XXBTZUSD', { volume }))
  }
  return { events, strategies: [] }
}

/** The index-th of `count` moments spread evenly over the years, never on a round second. */
function spread(index: number, count: number, offsetS: number): string {
  const ms = fromMs + 3_600_000 + Math.floor(((toMs - fromMs - 7_200_000) / count) * index) + offsetS * 1000
  const text = new Date(ms).toISOString()
  return `${text.slice(0, 10)} ${text.slice(11, 23)}${index % 10}`
}
