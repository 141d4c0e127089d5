/**
 * What the connector keeps about a wallet: its address, the chains where it was used, and the contracts whose balance is
 * worth asking for. Everything in it is public.
 */
import { isKnownAsset, isSpamAsset } from '@assay/core'
import { z } from 'zod'
import type { ConnectorState } from '../kit/connector.ts'
import { tokenAsset, type Contract } from './assets.ts'
import type { Chain } from './chains.ts'

const tokenSchema = z.object({
  address: z.string(),
  symbol: z.string(),
  name: z.string(),
  decimals: z.number(),
})
const nftSchema = z.object({
  address: z.string(),
  symbol: z.string(),
  name: z.string(),
  tokenId: z.string(),
  standard: z.enum(['erc721', 'erc1155']),
})
const chainSchema = z.object({
  isUsed: z.boolean(),
  /** When an index was last asked whether a chain without coins and without transactions has tokens. */
  checkedAtMs: z.number().nullable(),
  /** All tokens up to this block are in the lists below. */
  scannedTo: z.number(),
  tokens: z.array(tokenSchema),
  nfts: z.array(nftSchema),
})
const stateSchema = z.object({
  address: z.string().catch(''),
  chains: z.record(z.string(), chainSchema).catch({}),
})

export type Token = z.infer<typeof tokenSchema>
export type Nft = z.infer<typeof nftSchema>
export type ChainState = z.infer<typeof chainSchema>
export type EvmState = z.infer<typeof stateSchema>

export function readState(state: ConnectorState): EvmState {
  return stateSchema.parse(state)
}

export const untouched: ChainState = { isUsed: false, checkedAtMs: null, scannedTo: 0, tokens: [], nfts: [] }

/** With names of the longest kind in the widest letters, these fill two thirds of the state. */
const tokensMax = 1_500
const nftsMax = 600

/** Known tokens stay before unknown ones, and those before advertisements; among equals the first to come stays. */
export function withTokens(chain: Chain, before: readonly Token[], found: readonly Token[]): Token[] {
  const all = [...new Map([...found.toReversed(), ...before.toReversed()].map((one) => [one.address, one])).values()]
  const inOrder = all.toReversed()
  if (inOrder.length <= tokensMax) return inOrder
  return inOrder.toSorted((a, b) => rankOf(chain, a) - rankOf(chain, b)).slice(0, tokensMax)
}

export function withNfts(before: readonly Nft[], found: readonly Nft[]): Nft[] {
  const keyOf = ({ address, tokenId }: Nft): string => `${address}:${tokenId}`
  const known = new Set(before.map(keyOf))
  const added = [...new Map(found.map((one) => [keyOf(one), one])).values()].filter((one) => !known.has(keyOf(one)))
  return [...before, ...added].slice(0, nftsMax)
}

function rankOf(chain: Chain, contract: Contract): number {
  const asset = tokenAsset(chain, contract)
  if (isKnownAsset(asset.assetId)) return 0
  return isSpamAsset(asset) ? 2 : 1
}
