/**
 * Nora's account: opened in March 2021, a savings plan every month since, and over the years nearly everything that
 * Kraken's ledger can hold. Amounts and times are the same in every account; ids differ.
 *
 * `savings.ts` beside this file is the part that repeats; here is what happened once.
 */
import {
  appBuy,
  buy,
  deposit,
  entries,
  leg,
  sell,
  withdrawal,
  type Story,
  type StoryEvent,
} from '../../kraken/story.ts'
import { fromKraken } from '../bitcoin/savings.ts'
import { outsideTransfers } from '../coinbase/outside.ts'
import { savings } from './savings.ts'

/** Coins that came from a wallet of her own, and from friends. */
const arrivals: StoryEvent[] = [
  deposit('2021-03-19 07:41:05.3312', 'XXBT', '0.41250000', 'Bitcoin', {
    network: 'Bitcoin',
    hash: outsideTransfers.bitcoinOut.hash,
    address: outsideTransfers.bitcoinOut.address,
  }),
  deposit('2021-04-22 19:03:44.9017', 'XETH', '4.2000000001', 'Ether (Hex)', { network: 'Ethereum' }),
  deposit('2021-06-02 11:20:09.0150', 'DOT', '180.5', 'Polkadot', { network: 'Polkadot' }),
  deposit('2021-07-14 22:15:31.6604', 'XXRP', '7500', 'Ripple XRP', { network: 'XRP Ledger' }),
  deposit('2022-02-08 06:50:12.2040', 'USDC', '3000', 'USDC', { network: 'Ethereum' }),
  deposit('2023-05-30 15:45:59.0071', 'USDT', '1250.25', 'Tether USD (TRC20)', { network: 'Tron', fee: '2.5' }),
  deposit('2024-04-19 20:09:10.1234', 'XXBT', '0.03150000', 'Bitcoin', { network: 'Bitcoin' }),
  deposit('2025-01-11 10:10:10.1010', 'SOL', '62.75', 'Solana', { network: 'Solana' }),
]

/** A few minutes before the chain has them. */
const toOwnWallet = fromKraken.map(({ at, amount, hash, address }) =>
  withdrawal(at.replace(/:\d\d$/, ':02.2500'), 'XXBT', amount, 'Bitcoin', {
    ...{ network: 'Bitcoin', fee: '0.00004', hash, address },
  }),
)

const departures: StoryEvent[] = [
  withdrawal('2021-11-10 17:30:22.4416', 'XXBT', '0.15000000', 'Bitcoin', { network: 'Bitcoin', fee: '0.00015' }),
  withdrawal('2022-05-09 03:12:48.7701', 'ZEUR', '400', 'SEPA', { fee: '0.0900' }),
  withdrawal('2022-11-12 23:59:59.9999', 'XETH', '1.5', 'Ether', { network: 'Ethereum', fee: '0.0035' }),
  withdrawal('2023-08-21 12:00:00.0001', 'USDC', '500', 'USDC', { network: 'Ethereum', fee: '4' }),
  withdrawal('2024-03-14 14:14:14.1414', 'XXBT', '0.05', 'Bitcoin', { network: 'Bitcoin', fee: '0.0001' }),
  ...toOwnWallet,
  withdrawal('2025-07-02 09:00:41.5520', 'ZEUR', '1200', 'SEPA', { fee: '1' }),
  withdrawal('2026-05-18 18:22:07.3090', 'SOL', '3', 'Solana', { network: 'Solana', fee: '0.01' }),
  // The address was refused: the withdrawal was booked, and booked back with its fee.
  withdrawal('2022-08-03 10:05:00.2500', 'XETH', '0.75', 'Ether', { network: 'Ethereum', fee: '0.0035', failed: true }),
  withdrawal('2024-09-09 09:09:09.0900', 'ZEUR', '250', 'SEPA', { fee: '1', failed: true }),
]

const trades: StoryEvent[] = [
  buy('2021-05-19 13:00:01.1178', 'XETHXXBT', { volume: '2.00000000', maker: true }),
  sell('2021-11-08 15:30:27.8843', 'XXBTZEUR', { volume: '0.02000000' }),
  sell('2021-11-08 15:30:27.8843', 'XXBTZEUR', { volume: '0.00731250' }),
  buy('2021-12-03 21:05:40.0009', 'ADAEUR', { spend: '180' }),
  buy('2022-01-21 08:44:13.7710', 'SOLEUR', { spend: '220' }),
  sell('2022-06-18 04:51:19.3300', 'XXRPZEUR', { volume: '1000.00000000' }),
  buy('2023-01-12 16:20:00.5000', 'DOTEUR', { spend: '120', maker: true }),
  buy('2023-06-15 11:11:11.1111', 'KSMEUR', { spend: '90' }),
  sell('2024-03-13 19:42:55.6418', 'XETHZUSD', { volume: '0.50000000' }),
  buy('2024-03-13 19:44:02.0037', 'PEPEUSD', { spend: '100', price: '0.000008110' }),
  buy('2024-11-06 02:15:30.4400', 'XDGUSD', { spend: '150' }),
  buy('2025-02-03 07:07:07.0707', 'LINKUSD', { spend: '200' }),
  // Paid for with fee credits: a third leg without an amount.
  buy('2025-02-03 07:09:31.2280', 'ATOMUSD', { spend: '125', feeCredits: '32.50' }),
  sell('2025-08-14 12:34:56.7890', 'XXBTZUSD', { volume: '0.01234567', maker: true }),
  buy('2026-02-27 17:03:18.9455', 'TRXEUR', { spend: '60' }),
]

/** Bought, sold and converted in the app: no order, no trade, only ledger entries. */
const inTheApp: StoryEvent[] = [
  appBuy('2021-08-15 20:20:20.2020', '99.0000 ZEUR', '0.0024750000 XXBT', '1.0000'),
  appBuy('2022-10-01 08:00:00.8000', '49.5000 ZEUR', '118.20000000 ADA', '0.5000'),
  appBuy('2023-12-24 18:00:00.1800', '197.0200 ZEUR', '0.0921340000 XETH', '2.9800'),
  appBuy('2026-08-08 08:08:08.0808', '24.7500 ZEUR', '0.1874000000 SOL', '0.2500'),
  // Sold for the other coin straight away.
  entries('2022-03-30 13:37:00.1337', 'spend', [
    leg('-300 USDC', { fee: '2.7' }),
    leg('6.1000000000 LINK', { type: 'receive' }),
  ]),
  // Ether's two halves were joined again; the swap of MATIC for POL was one for one.
  entries('2023-04-13 00:00:00.4130', 'conversion', [leg('-0.0600000000 ETH2.S'), leg('0.0600000000 XETH')]),
  buy('2022-12-19 14:02:11.5005', 'MATICUSD', { spend: '80' }),
  entries('2024-09-18 12:00:00.9180', 'conversion', [leg('-60 MATIC'), leg('60 POL')]),
  // Four legs, two of them cancelling out: how Kraken books a share that is settled on a chain.
  entries('2025-10-20 15:45:10.0020', 'trade', [
    leg('-135.3000 ZUSD', { fee: '0.3518', subtype: 'tradespot' }),
    leg('0.5000000000 AAPLx', { subtype: 'tradespot' }),
    leg('-0.5000000000 AAPLx', { subtype: 'tokenization' }),
    leg('0.5000000000 AAPLx', { subtype: 'tokenization' }),
  ]),
  // Dust: six small rests against a few cents, one of them too small to be worth anything.
  entries('2024-12-31 23:30:00.0420', 'spend', [
    leg('-0.0000412000 SOL', { subtype: 'dustsweeping' }),
    leg('-0.00001930 ADA', { subtype: 'dustsweeping' }),
    leg('0.0046 ZEUR', { type: 'receive', subtype: 'dustsweeping' }),
  ]),
  entries('2025-12-31 23:30:00.0430', 'spend', [
    leg('-0.0000000007 KSM', { subtype: 'dustsweeping' }),
    leg('0.0000 ZEUR', { type: 'receive', subtype: 'dustsweeping' }),
  ]),
]

/** What the exchange did by itself. */
const house: StoryEvent[] = [
  entries('2021-03-06 12:00:00.0600', 'invite bonus', [leg('10.0000 ZEUR')]),
  entries('2021-03-06 12:00:01.0600', 'transfer', [leg('500.00 KFEE')]),
  entries('2021-09-20 00:00:00.0920', 'transfer', [leg('377.32400000 SGB')], { subtype: 'airdrop' }),
  entries('2023-01-10 00:00:00.0110', 'transfer', [leg('2500.50000000 FLR')], { subtype: 'airdrop' }),
  entries('2022-07-07 07:07:07.7070', 'adjustment', [leg('0.0500 ZEUR')]),
  entries('2024-06-06 06:06:06.6060', 'adjustment', [leg('-0.0150 ZEUR')]),
  // A margin position left only its costs behind: entries with a fee and no amount.
  entries('2022-04-04 04:04:04.0404', 'margin', [leg('0 ZUSD', { fee: '0.1250' })]),
  entries('2022-04-04 08:04:04.0404', 'rollover', [leg('0 ZUSD', { fee: '0.0210' })]),
  entries('2022-04-04 12:04:04.0404', 'rollover', [leg('0 ZUSD', { fee: '0.0210' })]),
  entries('2022-04-05 09:15:00.0404', 'settled', [leg('3.4400 ZUSD')]),
  // Money on its way in, first shown under a code of its own.
  entries('2025-03-03 10:00:00.3030', 'deposit', [leg('75.0000 EUR.HOLD')]),
  entries('2025-03-05 10:00:00.3050', 'transfer', [leg('-75.0000 EUR.HOLD'), leg('75.0000 ZEUR')], {
    subtype: 'release',
  }),
  entries('2025-05-05 05:05:05.5050', 'custodytransfer', [leg('-0.0100000000 XXBT'), leg('0.0100000000 XXBT')]),
  // A type that no reader can know yet.
  entries('2026-03-03 03:03:03.3030', 'quantumsettlement', [leg('1.2300 ZUSD')], { subtype: 'entangled' }),
  // A big amount and a tiny one.
  entries('2026-06-30 12:00:00.6300', 'transfer', [leg('8765432.1098765432 PEPE')], { subtype: 'airdrop' }),
  entries('2026-07-01 12:00:00.7010', 'earn', [leg('0.0000000001 XBT.M')], { subtype: 'reward' }),
]

/** Into staking and out of it, in the old system (each side a reference of its own) and in the new one. */
const staking: StoryEvent[] = [
  toStaking('2021-08-30 09:30:00.8300', 'DOT', 'DOT.S', '150.0000000000'),
  toStaking('2021-10-04 09:00:00.1040', 'XETH', 'ETH2.S', '1.0000000000'),
  toStaking('2022-03-11 18:18:18.0311', 'ADA', 'ADA.S', '100.00000000'),
  toStaking('2023-07-01 00:10:00.0701', 'KSM', 'KSM.S', '2.5000000000'),
  fromStaking('2024-05-28 11:00:00.0528', 'DOT.S', 'DOT', '60.0000000000'),
  fromStaking('2024-05-28 11:05:00.0528', 'ADA.S', 'ADA', '100.00000000'),
  // Lent to a parachain for two years.
  toStaking('2022-01-18 16:00:00.0118', 'DOT', 'DOT.P', '10.0000000000'),
  fromStaking('2024-01-20 16:00:00.0120', 'DOT.P', 'DOT', '10.0000000000'),
  entries('2023-09-01 10:00:00.0901', 'transfer', [
    leg('-0.0500000000 XXBT', { subtype: 'spottostaking' }),
    leg('0.0500000000 XBT.M', { subtype: 'stakingfromspot' }),
  ]),
  allocate('2024-06-03 14:00:00.0603', '-90.0000000000 DOT.S', '90.0000000000 DOT.B', 'migration'),
  allocate('2024-06-10 08:15:30.0610', '-0.8000000000 XETH', '0.8000000000 ETH.B', 'allocation'),
  allocate('2025-01-12 12:12:12.0112', '-15.0000000000 SOL', '15.0000000000 SOL.B', 'allocation'),
  allocate('2025-01-12 12:13:00.0112', '-500.00000000 USDC', '500.00000000 USDC.F', 'autoallocation'),
  allocate('2026-01-09 19:00:00.0109', '-0.3000000000 ETH.B', '0.3000000000 XETH', 'deallocation'),
]

function toStaking(at: string, from: string, to: string, amount: string): StoryEvent {
  const legs = [
    leg(`-${amount} ${from}`, { subtype: 'spottostaking' }),
    leg(`${amount} ${to}`, { subtype: 'stakingfromspot', delayS: 4 }),
  ]
  return entries(at, 'transfer', legs, { references: 'each' })
}

function fromStaking(at: string, from: string, to: string, amount: string): StoryEvent {
  const legs = [
    leg(`-${amount} ${from}`, { subtype: 'stakingtospot' }),
    leg(`${amount} ${to}`, { subtype: 'spotfromstaking', delayS: 7 }),
  ]
  return entries(at, 'transfer', legs, { references: 'each' })
}

function allocate(at: string, gives: string, takes: string, subtype: string): StoryEvent {
  return entries(at, 'earn', [leg(gives), leg(takes)], { subtype })
}

export function defaultStory(): Story {
  return {
    events: [...savings(), ...arrivals, ...departures, ...trades, ...inTheApp, ...house, ...staking],
    strategies: [
      {
        id: 'ESRFUO3-Q62XD-WIOIL7',
        asset: 'DOT',
        code: 'DOT.B',
        bonding: { amount: '2.5', createdAt: '2026-10-20T09:00:00Z', expires: '2026-11-17T09:00:00.000Z' },
      },
      { id: 'ESDQCOL-WTZEU-NU55QF', asset: 'ETH', code: 'ETH.B' },
      { id: 'ESLOCKX-SOLBN-DED7QA', asset: 'SOL', code: 'SOL.B' },
      { id: 'ESFLEXU-SDCAU-TOERN4', asset: 'USDC', code: 'USDC.F' },
      { id: 'ESOPTIN-XBTRE-WARDSM', asset: 'XBT', code: 'XBT.M' },
    ],
  }
}
