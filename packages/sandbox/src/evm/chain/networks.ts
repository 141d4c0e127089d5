/**
 * The two simulated networks: one shaped like Ethereum, one like Base (an OP stack chain). Well-known tokens are at
 * their real addresses, so that a reader recognises them; the impersonator has another address, as it would in the real
 * world. A block's number follows from its time, so a restarted sandbox has the same heights.
 */
import { placeOf, type Address } from './addresses.ts'

export type ChainId = 1 | 8453

/** What a story calls a token. `FAKE` shows itself as USDC, and the symbol of `SPAM` is a web address. */
export type TokenCode = 'USDC' | 'GUSD' | 'CBBTC' | 'WETH' | 'SPAM' | 'FAKE'

export interface TokenFacts {
  address: Address
  name: string
  symbol: string
  decimals: number
  /** Units of the token for one ether, at the router. */
  unitsForEther: bigint
}

export interface Network {
  chainId: ChainId
  genesisS: number
  blockS: number
  /** When the contracts were placed: before anything in a story. */
  setupAt: string
  tokens: Readonly<Partial<Record<TokenCode, TokenFacts>>>
  weth: Address
  contracts: Readonly<Record<'Collectible' | 'Items' | 'Splitter' | 'Reverter' | 'Router', Address>>
  /** The base fee is `base` units and up to `swing` more. */
  fees: { base: bigint; swing: bigint; unitWei: bigint; tipWei: bigint; maxWei: bigint }
  /** Whether a transaction also pays for its data on the chain below. */
  hasDataFee: boolean
  /** Blocks between the newest one and the one that the tag names. */
  depth: { safe: number; finalized: number }
}

const contracts = {
  Collectible: placeOf('Collectible'),
  Items: placeOf('Items'),
  Splitter: placeOf('Splitter'),
  Reverter: placeOf('Reverter'),
}

const usdc = { name: 'USD Coin', symbol: 'USDC', decimals: 6, unitsForEther: 2_500_000_000n }
const weth = { name: 'Wrapped Ether', symbol: 'WETH', decimals: 18, unitsForEther: 10n ** 18n }
const spam: TokenFacts = {
  address: placeOf('SPAM'),
  name: '$ USDC Bonus: visit usdc-bonus.example',
  symbol: 'https://usdc-bonus.example',
  decimals: 0,
  unitsForEther: 0n,
}
const fake: TokenFacts = { ...usdc, address: placeOf('FAKE'), unitsForEther: 0n }

export const networks: readonly Network[] = [
  {
    chainId: 1,
    genesisS: Date.parse('2015-07-30T15:26:13Z') / 1000,
    blockS: 12,
    setupAt: '2021-01-01T00:00:00Z',
    tokens: {
      USDC: { ...usdc, address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48' },
      GUSD: {
        ...{ address: '0x056fd409e1d7a124bd7017459dfea2f387b6d5cd', name: 'Gemini dollar', symbol: 'GUSD' },
        ...{ decimals: 2, unitsForEther: 249_000n },
      },
      WETH: { ...weth, address: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2' },
      SPAM: spam,
      FAKE: fake,
    },
    weth: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
    contracts: { ...contracts, Router: '0x7a250d5630b4cf539739df2c5dacb4c659f2488d' },
    fees: { base: 8n, swing: 30n, unitWei: 10n ** 9n, tipWei: 10n ** 9n, maxWei: 200n * 10n ** 9n },
    hasDataFee: false,
    depth: { safe: 32, finalized: 64 },
  },
  {
    chainId: 8453,
    genesisS: Date.parse('2023-06-15T12:35:47Z') / 1000,
    blockS: 2,
    setupAt: '2023-08-01T00:00:00Z',
    tokens: {
      USDC: { ...usdc, address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' },
      CBBTC: {
        ...{ address: '0xcbb7c0000ab88b473b1f5afd9ef808440eed33bf', name: 'Coinbase Wrapped BTC', symbol: 'cbBTC' },
        ...{ decimals: 8, unitsForEther: 3_700_000n },
      },
      WETH: { ...weth, address: '0x4200000000000000000000000000000000000006' },
      SPAM: spam,
      FAKE: fake,
    },
    weth: '0x4200000000000000000000000000000000000006',
    contracts: { ...contracts, Router: '0x4752ba5dbc23f44d87826276bf6fd6b1c372ad24' },
    fees: { base: 5n, swing: 20n, unitWei: 10n ** 6n, tipWei: 10n ** 6n, maxWei: 10n ** 9n },
    hasDataFee: true,
    depth: { safe: 60, finalized: 600 },
  },
]

export function findNetwork(chainId: string | undefined): Network | undefined {
  return networks.find((network) => String(network.chainId) === chainId)
}
