/**
 * The identity of assets. An id distinguishes what a symbol cannot: two coins with one ticker are two assets.
 *
 * Ids: `crypto:<name>` and `fiat:<code>` for assets that the registry knows (known-assets.ts, tokens.json),
 * `<provider>:<code>` for everything else. codes.ts says which of a provider's codes means which known asset.
 */
import { findMeaning, isShareAssetCode } from './codes.ts'
import contracts from './contracts.json' with { type: 'json' }
import { curatedAssets, type Asset } from './known-assets.ts'
import tokens from './tokens.json' with { type: 'json' }

export type { Asset }

const listedAssets: readonly Asset[] = tokens.map(([symbol, name, coingeckoId]) => ({
  assetId: `crypto:${coingeckoId}`,
  symbol,
  name,
  coingeckoId,
  kind: 'crypto',
}))

/** Curated ones first, so that they win where a token has the same symbol. */
export const knownAssets: readonly Asset[] = [...curatedAssets, ...listedAssets]

const byId = new Map(knownAssets.map((asset) => [asset.assetId, asset]))

const curatedIds = new Map(curatedAssets.map(({ coingeckoId, assetId }) => [coingeckoId, assetId]))
const byContract = new Map(
  [
    ...tokens.map(([, , coingeckoId, addresses]) => [`crypto:${coingeckoId}`, addresses] as const),
    ...contracts.map(([coingeckoId, addresses]) => [curatedIds.get(coingeckoId) ?? '', addresses] as const),
  ].flatMap(([assetId, addresses]) =>
    Object.entries(addresses).map(([network, address]) => [contractKey(network, address), assetId]),
  ),
)

/**
 * The known token behind a contract, such as `evm:1` and its address. The only identity that a token on a chain has.
 */
export function findAssetByContract(network: string, address: string): Asset | undefined {
  const assetId = byContract.get(contractKey(network, address))
  return assetId === undefined ? undefined : byId.get(assetId)
}

/** Addresses of EVM chains are hexadecimal, whose case is a checksum; Solana's are not. */
function contractKey(network: string, address: string): string {
  return `${network} ${network.startsWith('evm:') ? address.toLowerCase() : address}`
}

/** Whether it has its own identity here, beyond the code of the provider that named it. */
export function isKnownAsset(assetId: string): boolean {
  return byId.has(assetId)
}

const scopedCode = /^([a-z0-9_-]+):(.+)$/s

/**
 * Whether an asset can have this id. Codes of providers and tokens on chains are not listed here, so any of them can.
 */
export function isAssetId(text: string): boolean {
  const [, scope] = scopedCode.exec(text) ?? []
  return byId.has(text) || (scope !== undefined && scope !== 'crypto' && scope !== 'fiat')
}

/** One piece of a collection: chain, contract and the number of the piece. */
const onePiece = /^evm:\d+:0x[0-9a-f]{40}:\d+$/

/** Codes have some characters, and a piece of a collection on a chain 140. No index holds some thousand. */
const idLengthMax = 300

/** Whether a provider's code can be that of an asset of its own. */
export function isAssetCode(providerId: string, assetCode: string): boolean {
  return assetCode !== '' && providerId.length + 1 + assetCode.length <= idLengthMax
}

export function getAsset(assetId: string): Asset {
  const known = byId.get(assetId)
  if (known !== undefined) return known
  const [, scope, code] = scopedCode.exec(assetId) ?? []
  if (scope === undefined || code === undefined || !isAssetId(assetId) || assetId.length > idLengthMax) {
    throw new RangeError(`unknown asset id: ${JSON.stringify(assetId.slice(0, 80))}`)
  }
  const kind = isShareAssetCode(scope, code) ? 'share' : onePiece.test(assetId) ? 'nft' : 'crypto'
  return { assetId, symbol: code, name: code, coingeckoId: null, kind }
}

/**
 * What a provider meant by its code at that time: a known asset if the code is listed, otherwise an asset of its own.
 */
export function assetOf(providerId: string, assetCode: string, atMs: number): Asset {
  return getAsset(findMeaning(providerId, assetCode, atMs) ?? `${providerId}:${assetCode}`)
}
