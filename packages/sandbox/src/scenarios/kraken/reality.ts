/**
 * Ravi's account: what Kraken's documents leave out and readers of real accounts report. An Earn reference that is lost
 * or used again, a `count` that is too low, airdrops booked as transfers from futures, conversions whose two sides have
 * nothing in common but their meaning, codes that fit no rule, and withdrawals that a review holds back for weeks.
 *
 * Reported in: https://github.com/AlexanderLill/PP-Crypto-Parser/issues/4 ("Unknown", Earn without a subtype),
 * https://github.com/BittyTax/BittyTax/issues/310 (ETHW as spotfromfutures), …/issues/494 (earn/airdrop), …/pull/499
 * (delistingconversion with two references), https://github.com/rotki/rotki/pull/12566 (four legs of a tokenized
 * stock), rotki's test_kraken.py (ZMXN, ZARS, FLOWH). The reused Earn reference comes from readers of real accounts
 * alone.
 */
import {
  buy,
  deposit,
  entries,
  every,
  leg,
  withdrawal,
  type Entries,
  type Story,
  type StoryEvent,
} from '../../kraken/story.ts'

const savings: StoryEvent[] = [
  ...every({ months: 1 }, '2022-01-03', '2026-11-01', (date) =>
    deposit(`${date} 07:30:15.25`, 'ZEUR', '400.0000', 'SEPA'),
  ),
  ...every({ months: 1 }, '2022-01-05', '2026-11-01', (date, index) =>
    buy(`${date} 10:00:0${index % 10}.0451`, index % 2 === 0 ? 'XXBTZEUR' : 'XETHZEUR', { spend: '250' }),
  ),
]

const arrivals: StoryEvent[] = [
  deposit('2019-10-02 12:11:10.5001', 'SAI', '250.5', 'Sai', { network: 'Ethereum' }),
  deposit('2020-02-11 09:00:00.1102', 'XXBT', '0.3', 'Bitcoin', { network: 'Bitcoin' }),
  deposit('2021-05-05 18:22:31.0505', 'MATIC', '600', 'MATIC', { network: 'Ethereum' }),
  deposit('2021-05-06 18:22:31.0506', 'NANO', '30', 'Nano', { network: 'Nano' }),
  deposit('2021-06-06 08:08:08.0606', 'LUNA2', '50', 'Terra 2.0', { network: 'Terra' }),
  deposit('2021-09-09 11:12:13.0909', 'FLOWH', '75', 'Flow', { network: 'Flow' }),
  deposit('2025-03-14 16:15:14.0314', 'ZMXN', '12000.5000', 'SPEI'),
  deposit('2025-04-01 16:15:14.0401', 'ZARS', '250000.2500', 'Bank transfer (ARS)'),
  deposit('2026-02-02 02:02:02.0202', 'ETH.INK', '0.2150000001', 'Ether (Ink)', { network: 'Ink' }),
  deposit('2026-07-12 15:00:01.0712', 'USDT0.TEMPO', '310.25', 'USDT0 (Tempo)', { network: 'Tempo' }),
  deposit('2026-08-19 21:40:59.0819', 'HYPER.CORE', '44.4', 'Hyper (Core)', { network: 'Hyperliquid' }),
]

/** Airdrops and gifts, under five different types. */
const gifts: StoryEvent[] = [
  entries('2021-12-20 00:00:00.1220', 'airdrop', [leg('12.50000000 SGB')]),
  entries('2022-09-18 00:00:00.0918', 'transfer', [leg('0.4200000016 ETHW')], { subtype: 'spotfromfutures' }),
  entries('2023-01-10 00:00:00.0110', 'transfer', [leg('901.10000000 FLR')], { subtype: 'airdrop' }),
  entries('2024-02-20 12:00:00.0220', 'transfer', [leg('111.1000000000 STRK')], { subtype: 'spotfromfutures' }),
  entries('2025-01-22 11:39:14.0122', 'earn', [leg('15.02000000 FLR')], { subtype: 'airdrop' }),
  entries('2025-08-01 09:00:00.0801', 'credit', [leg('25.0000 ZUSD')]),
]

/** One coin for another. Each call of `side` has a reference of its own, as the two sides have at Kraken. */
const conversions: StoryEvent[] = [
  side('2019-11-18 20:00:00.1118', '-250.5 SAI', ''),
  side('2019-11-20 03:10:00.1120', '250.5 DAI', ''),
  side('2024-10-16 13:00:00.1016', '-600 MATIC', 'delistingconversion'),
  side('2024-10-18 08:45:00.1018', '600 POL', 'delistingconversion'),
  side('2023-05-02 08:00:00.0502', '-30 NANO', 'delistingconversion'),
  side('2023-05-02 08:00:02.0502', '0.0004000000 XXBT', 'delistingconversion', 'earn'),
  // Here both sides do share a reference.
  entries('2024-07-01 07:00:00.0701', 'earn', [leg('-50 LUNA2'), leg('21.00000000 USDC')], {
    subtype: 'delistingconversion',
  }),
]

function side(at: string, moved: string, subtype: string, type = 'transfer'): Entries {
  return entries(at, type, [leg(moved)], { subtype })
}

/** Earn entries after Kraken's migration: no subtype, and "Unknown" as the reference of unrelated entries. */
const earn: StoryEvent[] = [
  entries('2022-02-17 21:27:53.0217', 'transfer', [
    leg('-0.0100000000 XXBT', { subtype: 'spottostaking' }),
    leg('0.0100000000 XBT.M', { subtype: 'stakingfromspot' }),
  ]),
  lost('2024-03-11 16:31:11.0311', '-0.0100000000 XBT.M', '0.0100000000 XXBT'),
  lost('2024-03-12 09:29:47.0312', '0.0000000841 XXBT'),
  lost('2024-03-12 09:29:47.0312', '0.0000021000 XETH'),
  lost('2024-04-12 09:29:47.0412', '0.0000000907 XXBT'),
  entries('2024-04-30 10:00:00.0430', 'earn', [leg('0.0000000333 XXBT')]),
  // The allocation's reference comes back half a year later on a reward, and once more on another coin.
  again('2024-05-06 12:00:00.0506', 'allocation', '-0.0500000000 XETH', '0.0500000000 ETH.B'),
  again('2024-11-11 02:20:00.1111', 'reward', '0.0000731000 ETH.B'),
  again('2025-06-02 02:20:00.0602', 'reward', '0.0100000000 FLOWH.S'),
]

function lost(at: string, ...moved: string[]): Entries {
  return entries(
    at,
    'earn',
    moved.map((text) => leg(text)),
    { reference: 'Unknown' },
  )
}

function again(at: string, subtype: string, ...moved: string[]): Entries {
  return entries(
    at,
    'earn',
    moved.map((text) => leg(text)),
    { subtype, reference: 'reused' },
  )
}

/** A stock is bought with euros: two legs in dollars settle it inside the exchange and cancel each other. */
const stocks: StoryEvent[] = [
  entries('2025-09-10 14:31:05.1234', 'receive', [
    leg('332.9550 ZUSD'),
    leg('-332.9550 ZUSD', { type: 'spend' }),
    leg('-285.5900 ZEUR', { type: 'spend', fee: '2.8500' }),
    leg('0.9310000000 TSLAx.T'),
  ]),
  entries('2026-01-20 15:02:44.0120', 'receive', [
    leg('100.0000 ZUSD'),
    leg('-100.0000 ZUSD', { type: 'spend' }),
    leg('-0.2500000000 TSLAx.T', { type: 'spend' }),
    leg('84.1000 ZEUR', { fee: '0.8400' }),
  ]),
]

/** The last two are still on hold in November 2026, after more than two weeks. */
const held: StoryEvent[] = [
  withdrawal('2025-05-02 13:14:15.0502', 'XXBT', '0.0500000000', 'Bitcoin', {
    network: 'Bitcoin',
    fee: '0.0001',
    hold: { until: '2025-05-21 09:00:00', ends: 'Success' },
  }),
  withdrawal('2025-06-10 08:00:00.0610', 'ZEUR', '300', 'SEPA', {
    fee: '1',
    hold: { until: '2025-06-27 17:30:00', ends: 'return' },
  }),
  withdrawal('2026-10-28 19:45:12.1028', 'XETH', '0.3000000000', 'Ether', {
    network: 'Ethereum',
    fee: '0.0035',
    hold: { until: '2026-12-05 10:00:00', ends: 'Success' },
  }),
  withdrawal('2026-10-29 06:05:04.1029', 'ZEUR', '150', 'SEPA', {
    fee: '1',
    hold: { until: '2026-12-06 10:00:00', ends: 'return' },
  }),
]

export function realityStory(): Story {
  return {
    events: [...savings, ...arrivals, ...gifts, ...conversions, ...earn, ...stocks, ...held],
    strategies: [{ id: 'ESREUSE-ETHBN-DED4RA', asset: 'ETH', code: 'ETH.B' }],
    countShort: 7,
  }
}
