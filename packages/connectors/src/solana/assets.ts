/**
 * What a token is called. The address of its mint is its only identity: another mint can be made with the same name. A
 * token that the registry does not know is `solana:<mint>`.
 */
import { findAssetByContract, getAsset, parseDecimal, toShortAddress, type Asset, type Decimal } from '@assay/core'

export type NamedAsset = Pick<Asset, 'assetId' | 'symbol' | 'name'>

/** The symbol and the name that the author of a token chose. */
export interface TokenName {
  symbol: string
  name: string
}

export const coin = toNamed(getAsset('crypto:solana'))
const coinDecimals = 9

/** Wrapped SOL of the token program; its tokens are read as SOL. */
export const nativeMint = 'So11111111111111111111111111111111111111112'
/** Wrapped SOL of Token-2022. */
const native2022Mint = '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXej9'

export function isWrappedSol(mint: string): boolean {
  return mint === nativeMint || mint === native2022Mint
}

const symbolMax = 32
const nameMax = 64

export function findKnownToken(mint: string): NamedAsset | undefined {
  const known = findAssetByContract('solana', mint)
  return known && toNamed(known)
}

/** Without a name a token is called by its mint. */
export function tokenAsset(mint: string, given: TokenName | undefined): NamedAsset {
  const known = findKnownToken(mint)
  if (known !== undefined) return known
  const { symbol: givenSymbol, name } = toTokenName(given ?? { symbol: '', name: '' })
  const symbol = givenSymbol || toShortAddress(mint)
  return { assetId: `solana:${mint}`, symbol, name: name || symbol }
}

/** Token-2022 sets no limit to a name, and each record of the token stores it. */
export function toTokenName({ symbol, name }: TokenName): TokenName {
  return { symbol: cut(symbol, symbolMax), name: cut(name, nameMax) }
}

function cut(text: string, lengthMax: number): string {
  return [...text.trim().slice(0, 2 * lengthMax)].slice(0, lengthMax).join('')
}

function toNamed({ assetId, symbol, name }: Asset): NamedAsset {
  return { assetId, symbol, name }
}

/** The most decimals that our decimal type has. A mint may declare up to 255, which no wallet shows. */
const decimalsMax = 77

/** Base units to decimal text. */
export function toAmount(units: bigint, decimals: number): Decimal {
  if (decimals === 0 || decimals > decimalsMax) return parseDecimal(String(units))
  const text = String(units).padStart(decimals + 1, '0')
  return parseDecimal(`${text.slice(0, -decimals)}.${text.slice(-decimals)}`)
}

export function toSol(lamports: bigint): Decimal {
  return toAmount(lamports, coinDecimals)
}
