/**
 * A wallet used since March 2021 on the Ethereum-shaped network and since September 2023 on the Base-shaped one. Every
 * kind of step occurs; amounts have odd digits where an integrator may round.
 */
import { every } from '../../core/scenario.ts'
import type { Deed, Step, Story } from '../../evm/story.ts'
import type { ChainId } from '../../evm/chain/networks.ts'

const on =
  (chainId: ChainId) =>
  (at: string, deed: Deed): Step => ({ at, chainId, deed })
const ethereum = on(1)
const base = on(8453)

const end = '2026-11-01'

/** `prepared`: see `Story`. */
export function defaultStory(prepared: number): () => Story {
  return () => ({
    steps: [...moneyIn(), ...trading(), ...spending(), ...oddities(), ...onBase()].toSorted(byTime),
    prepared,
  })
}

function byTime(a: Step, b: Step): number {
  return a.at < b.at ? -1 : a.at > b.at ? 1 : 0
}

function moneyIn(): Step[] {
  return [
    ethereum('2021-03-01 09:00:00', { kind: 'receive', asset: 'ETH', amount: '10.123456789012345678' }),
    ethereum('2021-03-01 10:00:00', { kind: 'receive', asset: 'USDC', amount: '115000.000001' }),
    ...every({ months: 1 }, '2021-04-02', end, (date, index) =>
      ethereum(`${date} 08:15:00`, { kind: 'receive', asset: 'ETH', amount: `0.5000000000000${1000 + index}` }),
    ),
    ...every({ months: 1 }, '2021-04-03', end, (date, index) =>
      ethereum(`${date} 12:30:00`, { kind: 'receive', asset: 'USDC', amount: `${250 + index}.25` }),
    ),
    ...every({ months: 6 }, '2021-06-15', end, (date) =>
      ethereum(`${date} 17:00:00`, { kind: 'payout', amount: '1.333333333333333333' }),
    ),
    ...every({ months: 1 }, '2023-05-05', end, (date, index) =>
      ethereum(`${date} 03:20:00`, {
        kind: 'validator-withdrawal',
        gwei: 16_123_457 + index * 1_013,
        validator: 514_229,
      }),
    ),
    ethereum('2021-05-05 05:05:05', { kind: 'receive', asset: 'ETH', amount: '0.000000000000000001', from: 'friend' }),
    ethereum('2024-02-29 23:59:59', { kind: 'receive', asset: 'GUSD', amount: '69876.1' }),
  ]
}

function trading(): Step[] {
  return [
    ethereum('2021-04-10 10:00:00', { kind: 'approve', asset: 'USDC', amount: '1000000' }),
    ethereum('2021-04-10 10:05:00', { kind: 'approve', asset: 'GUSD', amount: '1000000' }),
    ...every({ months: 2 }, '2021-04-12', end, (date, index) =>
      ethereum(`${date} 14:00:00`, { kind: 'swap', give: 'ETH', amount: `0.1${index}7`, take: 'USDC' }),
    ),
    ...every({ months: 3 }, '2021-05-13', end, (date, index) =>
      ethereum(`${date} 15:00:00`, { kind: 'swap', give: 'USDC', amount: `${300 + index}.333333`, take: 'GUSD' }),
    ),
    ...every({ months: 6 }, '2021-06-14', end, (date) =>
      ethereum(`${date} 16:00:00`, { kind: 'swap', give: 'USDC', amount: '1234.567891', take: 'ETH' }),
    ),
    ...every({ months: 6 }, '2021-07-20', end, (date) =>
      ethereum(`${date} 09:00:00`, { kind: 'wrap', amount: '1.75' }),
    ),
    ...every({ months: 12 }, '2021-09-21', end, (date) =>
      ethereum(`${date} 09:00:00`, { kind: 'unwrap', amount: '0.400000000000000001' }),
    ),
    ethereum('2022-01-15 11:00:00', { kind: 'send', asset: 'WETH', amount: '0.125', to: 'friend' }),
    // The price moved: the router refuses, and the gas is spent.
    ethereum('2022-06-18 02:00:00', { kind: 'swap', give: 'ETH', amount: '1', take: 'USDC', atLeast: '9000' }),
    ethereum('2025-03-03 03:00:00', { kind: 'swap', give: 'USDC', amount: '10', take: 'ETH', atLeast: '1' }),
    ethereum('2023-08-08 08:00:00', { kind: 'approve', asset: 'USDC', amount: '0' }),
    ethereum('2023-08-08 08:30:00', { kind: 'approve', asset: 'USDC', amount: '5000000' }),
  ]
}

function spending(): Step[] {
  return [
    ...every({ months: 3 }, '2021-05-25', end, (date, index) =>
      ethereum(`${date} 18:45:00`, { kind: 'send', asset: 'ETH', amount: `0.25${index}`, to: 'friend' }),
    ),
    ...every({ months: 3 }, '2021-06-26', end, (date, index) =>
      ethereum(`${date} 19:45:00`, { kind: 'send', asset: 'USDC', amount: `${100 + index}.5`, to: 'friend' }),
    ),
    ethereum('2022-11-11 11:11:11', { kind: 'send', asset: 'ETH', amount: '5', to: 'exchange' }),
    ethereum('2024-04-04 04:04:04', { kind: 'send', asset: 'GUSD', amount: '0.01', to: 'exchange' }),
    ethereum('2022-03-03 03:03:03', { kind: 'send', asset: 'ETH', amount: '0.5', to: 'self' }),
    ethereum('2022-12-24 18:00:00', { kind: 'split', amount: '0.300000000000000001' }),
    ethereum('2024-12-24 18:00:00', { kind: 'split', amount: '0.6' }),
  ]
}

function oddities(): Step[] {
  return [
    ethereum('2021-10-10 10:10:10', { kind: 'call-that-reverts', amount: '0.2' }),
    ethereum('2023-10-10 10:10:10', { kind: 'call-that-reverts', amount: '0' }),
    ethereum('2022-10-10 10:10:10', { kind: 'failing-split', amount: '0.45' }),
    ethereum('2025-10-10 10:10:10', { kind: 'send', asset: 'USDC', amount: '99999999', to: 'friend' }),
    ethereum('2021-11-01 12:00:00', { kind: 'deploy' }),
    ethereum('2021-12-01 12:00:00', { kind: 'mint-collectible', number: 1 }),
    ethereum('2022-02-01 12:00:00', { kind: 'mint-collectible', number: 2 }),
    ethereum('2022-04-01 12:00:00', { kind: 'send-collectible', number: 1 }),
    ethereum('2022-05-01 12:00:00', { kind: 'mint-item', id: 7, count: 100 }),
    ethereum('2022-07-01 12:00:00', { kind: 'mint-items', ids: [7, 8, 9], counts: [5, 1, 2_000_000] }),
    ethereum('2022-08-01 12:00:00', { kind: 'send-item', id: 7, count: 30 }),
    ...every({ months: 5 }, '2022-09-09', end, (date, index) =>
      ethereum(`${date} 01:00:00`, { kind: 'airdrop', token: 'SPAM', amount: String(1_000 + index) }),
    ),
    ...every({ months: 14 }, '2022-10-09', end, (date) =>
      ethereum(`${date} 01:30:00`, { kind: 'airdrop', token: 'FAKE', amount: '50000' }),
    ),
    ethereum('2023-03-04 05:06:07', { kind: 'poison' }),
    ethereum('2025-06-07 08:09:10', { kind: 'poison' }),
  ]
}

function onBase(): Step[] {
  return [
    base('2023-09-01 09:00:00', { kind: 'receive', asset: 'ETH', amount: '6.5' }),
    base('2023-09-01 10:00:00', { kind: 'receive', asset: 'USDC', amount: '20000' }),
    base('2023-09-02 09:00:00', { kind: 'approve', asset: 'USDC', amount: '1000000' }),
    ...every({ months: 1 }, '2023-10-06', end, (date, index) =>
      base(`${date} 07:00:00`, { kind: 'receive', asset: 'USDC', amount: `${40 + index}.123456` }),
    ),
    ...every({ months: 3 }, '2023-10-07', end, (date) =>
      base(`${date} 08:00:00`, { kind: 'receive', asset: 'ETH', amount: '0.05' }),
    ),
    ...every({ months: 3 }, '2023-11-08', end, (date) =>
      base(`${date} 10:00:00`, { kind: 'swap', give: 'USDC', amount: '150.75', take: 'CBBTC' }),
    ),
    ...every({ months: 4 }, '2023-11-09', end, (date) =>
      base(`${date} 11:00:00`, { kind: 'swap', give: 'ETH', amount: '0.033', take: 'USDC' }),
    ),
    ...every({ months: 4 }, '2023-12-10', end, (date) =>
      base(`${date} 12:00:00`, { kind: 'send', asset: 'USDC', amount: '25', to: 'friend' }),
    ),
    base('2024-03-14 15:09:26', { kind: 'wrap', amount: '0.5' }),
    base('2024-06-28 03:18:53', { kind: 'unwrap', amount: '0.25' }),
    base('2024-07-01 00:00:00', { kind: 'payout', amount: '0.777777777777777777' }),
    base('2024-09-09 09:09:09', { kind: 'mint-collectible', number: 1 }),
    base('2025-01-01 00:00:00', { kind: 'call-that-reverts', amount: '0.01' }),
    base('2025-02-02 02:02:02', { kind: 'send', asset: 'ETH', amount: '0.4', to: 'friend' }),
    ...every({ months: 7 }, '2024-01-20', end, (date) =>
      base(`${date} 04:00:00`, { kind: 'airdrop', token: 'SPAM', amount: '777' }),
    ),
    base('2026-05-05 05:05:05', { kind: 'swap', give: 'USDC', amount: '200', take: 'ETH' }),
  ]
}
