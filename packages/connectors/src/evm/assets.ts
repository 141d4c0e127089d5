/**
 * Tokens and collections: which asset a contract is, and what a row of a token list moved. The address of a contract is
 * the only identity that a token has: a second contract may use the same name. A token that the registry does not know
 * is `evm:<chain>:<contract>`, and one piece of a collection `evm:<chain>:<contract>:<token id>`.
 */
import { findAssetByContract, getAsset, parseDecimal, toShortAddress, type Asset, type Decimal } from '@assay/core'
import { formatUnits } from 'viem'
import type { Chain } from './chains.ts'
import type { TokenRow } from './records.ts'

/** A contract as an index or our own state describes it. Its author chose the symbol and the name. */
export interface Contract {
  address: string
  symbol: string
  name: string
}

export type NamedAsset = Pick<Asset, 'assetId' | 'symbol' | 'name'>

const symbolMax = 32
const nameMax = 64

export function nativeAsset({ nativeAssetId }: Chain): NamedAsset {
  return toNamed(getAsset(nativeAssetId))
}

export function tokenAsset(chain: Chain, contract: Contract): NamedAsset {
  const network = `evm:${chain.id}`
  const known = findAssetByContract(network, contract.address)
  if (known !== undefined) return toNamed(known)
  return { assetId: `${network}:${contract.address}`, ...describe(contract) }
}

/** One piece of a collection. Collections have no price here, whatever a piece was last sold for. */
export function nftAsset(chain: Chain, contract: Contract, tokenId: string): NamedAsset {
  const { symbol, name } = describe(contract)
  return { assetId: `evm:${chain.id}:${contract.address}:${tokenId}`, symbol, name: `${name} #${tokenId}` }
}

/** Cut to what fits into a list; a contract without a symbol is called by its address. */
export function describe({ address, symbol, name }: Contract): { symbol: string; name: string } {
  const shown = cut(symbol, symbolMax) || toShortAddress(address)
  return { symbol: shown, name: cut(name, nameMax) || shown }
}

/** A character has two units of text at most. Of a name that fills an answer, only these are taken apart. */
function cut(text: string, lengthMax: number): string {
  return [...text.trim().slice(0, 2 * lengthMax)].slice(0, lengthMax).join('')
}

function toNamed({ assetId, symbol, name }: Asset): NamedAsset {
  return { assetId, symbol, name }
}

// -------------------------------------------------------------------------------------------------------- rows of
// lists

/**
 * A chain may log each transfer of its coin in the form of a token's (EIP-7708). No code can be at this address, so
 * nothing else writes such rows.
 */
const coinLogs = '0xfffffffffffffffffffffffffffffffffffffffe'

/** Blockscout lists collections among the tokens, too. */
export function isFungible({ coinContract }: Chain, { value, tokenID, tokenIDs, contractAddress }: TokenRow): boolean {
  if (contractAddress === coinContract?.address || contractAddress === coinLogs) return false
  return value !== undefined && value !== null && (tokenID ?? tokenIDs ?? null) === null
}

export function toContract({ contractAddress: address, tokenSymbol, tokenName }: TokenRow): Contract {
  return { address, ...describe({ address, symbol: tokenSymbol ?? '', name: tokenName ?? '' }) }
}

/** The decimals that the contract said when the row was read. What the index says about them is not used. */
export function getDecimals({ contractDecimals }: TokenRow): number {
  if (contractDecimals === undefined) throw new RangeError('the decimals of the token are not known')
  return Number(contractDecimals)
}

/** The most decimals that our decimal type has. */
export const decimalsMax = 77

/** What a row of a collection moved. A single piece of ERC-721 has no amount. */
export function listPieces({
  tokenID,
  tokenValue,
  tokenIDs,
  values,
  value,
}: TokenRow): { tokenId: string; amount: string }[] {
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
