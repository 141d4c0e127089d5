/** Rows of token lists: which contract, how many decimals, which pieces. Amounts are whole numbers of base units until here. */
import { parseDecimal, type Decimal } from '@assay/core'
import { formatUnits } from 'viem'
import { describe, type Contract } from './assets.ts'
import type { Chain } from './chains.ts'
import type { Token } from './records.ts'

/** Blockscout lists collections among the tokens, too. */
export function isFungible({ coinContract }: Chain, { value, tokenID, tokenIDs, contractAddress }: Token): boolean {
  if (contractAddress === coinContract) return false
  return value !== undefined && value !== null && (tokenID ?? tokenIDs ?? null) === null
}

export function toContract({ contractAddress: address, tokenSymbol, tokenName }: Token): Contract {
  return { address, ...describe({ address, symbol: tokenSymbol ?? '', name: tokenName ?? '' }) }
}

/** Decimals are a uint8. Without any, the amount is a whole number. */
export function toDecimals({ tokenDecimal }: Token): number {
  return /^\d{1,3}$/.test(tokenDecimal ?? '') && Number(tokenDecimal) <= decimalsMax ? Number(tokenDecimal) : 0
}

/** As wide as our decimals are. */
const decimalsMax = 77

/** What a row of a collection moved. A single piece of ERC-721 has no amount. */
export function listPieces({
  tokenID,
  tokenValue,
  tokenIDs,
  values,
  value,
}: Token): { tokenId: string; amount: string }[] {
  if (tokenIDs !== undefined && tokenIDs !== null) {
    return tokenIDs.map((tokenId, index) => ({ tokenId, amount: values?.[index] ?? '1' }))
  }
  if (tokenID === undefined || tokenID === null) return []
  return [{ tokenId: tokenID, amount: tokenValue ?? value ?? '1' }]
}

/** Base units to decimal text. */
export function toAmount(units: bigint, decimals: number): Decimal {
  return parseDecimal(formatUnits(units, decimals))
}

const wrappedNames: Readonly<Record<string, readonly [symbol: string, name: string]>> = {
  'crypto:ethereum': ['WETH', 'Wrapped Ether'],
  'crypto:polygon': ['WPOL', 'Wrapped POL'],
  'crypto:bnb': ['WBNB', 'Wrapped BNB'],
  'crypto:avalanche': ['WAVAX', 'Wrapped AVAX'],
}

export function wrappedContract({
  wrapped: { address },
  nativeAssetId,
}: Pick<Chain, 'wrapped' | 'nativeAssetId'>): Contract {
  const [symbol, name] = wrappedNames[nativeAssetId] ?? ['', '']
  return { address, symbol, name }
}
