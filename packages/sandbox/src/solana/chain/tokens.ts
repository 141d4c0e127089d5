/**
 * The tokens of the simulated chain. Those with a name of their own in the real world have its mint address and
 * decimals. The others have addresses that belong to this sandbox.
 */
import { createHash } from 'node:crypto'
import type { Address } from '@solana/kit'
import { toBase58 } from './addresses.ts'

export const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' as Address
export const token2022Program = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address

export interface Token {
  mint: Address
  name: string
  symbol: string
  decimals: number
  program: Address
  /** Smallest units that exist. */
  supply: bigint
  /** Token-2022: hundredths of a percent that the mint keeps of every transfer. */
  transferFeeBasisPoints?: number
  /** Token-2022: the name is in the mint, with a text of this length beside it. The others have it at Metaplex. */
  namedInMint?: { moreLength: number }
}

const billions = 10n ** 9n

export const tokens = {
  USDC: {
    ...{ name: 'USD Coin', symbol: 'USDC' },
    mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v' as Address,
    ...{ decimals: 6, program: tokenProgram, supply: 9n * billions * 10n ** 6n },
  },
  USDT: {
    ...{ name: 'USDT', symbol: 'USDT' },
    mint: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB' as Address,
    ...{ decimals: 6, program: tokenProgram, supply: 2n * billions * 10n ** 6n },
  },
  BONK: {
    ...{ name: 'Bonk', symbol: 'Bonk' },
    mint: 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263' as Address,
    ...{ decimals: 5, program: tokenProgram, supply: 88_000n * billions * 10n ** 5n },
  },
  JUP: {
    ...{ name: 'Jupiter', symbol: 'JUP' },
    mint: 'JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN' as Address,
    ...{ decimals: 6, program: tokenProgram, supply: 7n * billions * 10n ** 6n },
  },
  /** Lives under Token-2022. */
  PYUSD: {
    ...{ name: 'PayPal USD', symbol: 'PYUSD' },
    mint: '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo' as Address,
    ...{ decimals: 6, program: token2022Program, supply: billions * 10n ** 6n },
  },
  WSOL: {
    ...{ name: 'Wrapped SOL', symbol: 'SOL' },
    mint: 'So11111111111111111111111111111111111111112' as Address,
    ...{ decimals: 9, program: tokenProgram, supply: 0n },
  },
  /** A collectible in a small edition: no decimals. */
  PICTURE: {
    ...{ name: 'Picture of a Mountain', symbol: 'PIC', mint: ownMint('picture') },
    ...{ decimals: 0, program: tokenProgram, supply: 10_000n },
  },
  /** Calls itself like a token that is worth something, as spam does. */
  SPAM: {
    ...{ name: 'USD Coin - claim at a site', symbol: 'USDC', mint: ownMint('spam') },
    ...{ decimals: 6, program: tokenProgram, supply: billions * 10n ** 6n },
  },
  /** Points of a loyalty programme: whole numbers beyond 2^53. */
  POINTS: {
    ...{ name: 'Loyalty Points', symbol: 'POINTS', mint: ownMint('points') },
    ...{ decimals: 0, program: tokenProgram, supply: 2n ** 64n - 1n },
  },
  /** Eighteen decimals leave room for 18 tokens. */
  FINE: {
    ...{ name: 'Fine Grains', symbol: 'FINE', mint: ownMint('fine') },
    ...{ decimals: 18, program: tokenProgram, supply: 2n ** 64n - 1n },
  },
  /** Its mint keeps one percent of every transfer, its name, and more text than a reader wants. */
  TAXED: {
    ...{ name: 'Taxed', symbol: 'TAX' },
    ...{ mint: ownMint('taxed'), namedInMint: { moreLength: 60_000 } },
    ...{ decimals: 9, program: token2022Program, supply: billions * 10n ** 9n, transferFeeBasisPoints: 100 },
  },
} as const satisfies Record<string, Token>

export type TokenCode = keyof typeof tokens

export function tokenOf(code: TokenCode): Token {
  return tokens[code]
}

export function isTokenProgram(address: string): boolean {
  return address === tokenProgram || address === token2022Program
}

function ownMint(name: string): Address {
  return toBase58(createHash('sha256').update(`sandbox mint\n${name}`).digest()) as Address
}
