/**
 * Nora's second exchange: two years from November 2024, a monthly plan, staked ether, and some moves between this and
 * her Kraken account (`scenarios/kraken/default.ts`). Amounts and times are the same in every account; ids, hashes and
 * addresses differ.
 */
import { deposit, leg, monthly, reward, trade, withdrawal, type Story, type StoryEvent } from '../../harbor/story.ts'

/** Money in, bitcoin and ether out of it, and what the staked ether earns. */
const plan: StoryEvent[] = [
  ...monthly('2024-11-04', 24, (date, index) => deposit(`${date}T07:0${index % 10}:11.0${10 + index}Z`, '600 EUR')),
  ...monthly('2024-11-05', 24, (date, index) => trade(`${date}T09:15:0${index % 10}.250Z`, '250 EUR', 'BTC')),
  ...monthly('2024-12-09', 10, (date) => trade(`${date}T18:40:33.007Z`, '120 EUR', 'ETH', 'received')),
  // As many digits as ether has, and the house keeps a tenth.
  ...monthly('2025-01-01', 22, (date, index) =>
    reward(`${date}T00:00:00.000Z`, `0.00312${pad(index * 7_919)}0000001 ETH`, `0.00031${pad(index * 791)}`),
  ),
]

const arrivals: StoryEvent[] = [
  deposit('2024-11-06T10:02:45.118Z', '0.25 BTC', 'Bitcoin'),
  deposit('2024-11-20T21:33:09.640Z', '1.500000000000000001 ETH', 'Ethereum'),
  deposit('2024-12-30T08:10:00.001Z', '40.123456789 SOL', 'Solana'),
  deposit('2025-03-18T16:45:27.993Z', '2500.000001 USDC', 'Ethereum', '1.25'),
  deposit('2025-11-02T12:12:12.120Z', '0.00000001 BTC', 'Bitcoin'),
  // From Kraken, nine minutes earlier; Harbor does not tell the hash.
  { at: '2026-05-18T18:31:15.400Z', kind: 'deposit', legs: [leg('3 SOL')] },
  deposit('2026-08-21T05:59:59.999Z', '0.75 ETH', 'Ethereum'),
]

const departures: StoryEvent[] = [
  // To Kraken: it arrives eighteen minutes later.
  withdrawal('2025-01-11T09:52:03.310Z', '22.75 SOL', '0.008', { network: 'Solana' }),
  withdrawal('2025-06-30T23:59:59.999Z', '750 EUR', '0.9'),
  // Two at once, in one transaction and to two addresses.
  withdrawal('2025-09-09T14:20:00.500Z', '0.05 BTC', '0.0001', { network: 'Bitcoin', batch: 'september' }),
  withdrawal('2025-09-09T14:20:00.500Z', '0.02 BTC', '0.0001', { network: 'Bitcoin', batch: 'september' }),
  withdrawal('2026-02-14T11:00:41.077Z', '0.4 ETH', '0.00075', { network: 'Ethereum' }),
  withdrawal('2026-07-07T19:19:19.190Z', '1200 USDC', '3.5', { network: 'Ethereum' }),
  withdrawal('2026-10-12T06:30:00.000Z', '250 EUR', '0'),
]

const trades: StoryEvent[] = [
  trade('2025-02-03T13:37:00.133Z', '150 EUR', 'XRP'),
  trade('2025-04-22T20:05:18.902Z', '600 USDC', 'DOT', 'received'),
  trade('2025-05-08T04:44:44.444Z', '200 USDC', 'ADA', 'received'),
  trade('2025-10-10T17:01:00.900Z', '0.0312 BTC', 'USDC'),
  trade('2025-10-10T17:01:00.900Z', '0.0188 BTC', 'USDC'),
  trade('2026-01-19T10:20:30.405Z', '0.2 ETH', 'BTC', 'received'),
  trade('2026-03-27T22:10:09.008Z', '8.5 SOL', 'EUR'),
  trade('2026-09-15T15:55:01.777Z', '0.01 BTC', 'EUR', 'received'),
]

/** The house's own coin: more digits than a float holds, before and after the point, down to its smallest step. */
const house: StoryEvent[] = [
  reward('2025-07-01T12:00:00.000Z', '123456789012345.123456789012345678 PIER'),
  reward('2025-08-01T12:00:00.000Z', '0.000000000000000001 PIER'),
  { at: '2026-04-01T09:00:00.000Z', kind: 'trade', legs: [leg('-0.000000000000000777 PIER'), leg('0.01 EUR')] },
  reward('2026-06-15T03:03:03.030Z', '98765432109.8765432101 PIER', '0.000000000000000001'),
]

export function defaultStory(): Story {
  return { events: [...plan, ...arrivals, ...departures, ...trades, ...house], staked: { ETH: '1.2' } }
}

function pad(number: number): string {
  return String(number).padStart(6, '0')
}
