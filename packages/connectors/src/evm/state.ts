/**
 * What the connector keeps about a wallet: its address, the chains where it was used, the contracts whose balance is worth
 * asking for, and how far a read of the balances came that was interrupted. Everything in it is public.
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

/** The lists that name the contracts of tokens and collections. */
export const tokenStreams = ['erc20', 'erc721', 'erc1155'] as const

const scanSchema = z.object({
  /** The next question begins with this block, or is for a further page of it. */
  block: z.number(),
  page: z.number(),
  questions: z.number(),
  rows: z.number(),
  /** `whole`: the list was read to its end. `cut`: its other rows are left to the next round. */
  ended: z.enum(['whole', 'cut']).exactOptional(),
})
const digits = z.string().regex(/^\d+$/)
/** In base units, without zeros; tokens by contract, collectibles by contract and number. */
const unitsSchema = z.object({
  native: digits,
  tokens: z.record(z.string(), digits),
  nfts: z.record(z.string(), digits),
})
const chainRoundSchema = z.object({
  height: z.number(),
  scans: z.partialRecord(z.enum(tokenStreams), scanSchema),
  /** Absent until the chain was asked for its balances, which ends its part of the round. */
  units: unitsSchema.exactOptional(),
})
const roundSchema = z.object({ startedAtMs: z.number(), chains: z.record(z.string(), chainRoundSchema) })

const stateSchema = z.object({
  address: z.string().catch(''),
  chains: z.record(z.string(), chainSchema).catch({}),
  /** A read of the balances that has begun and not ended. */
  round: roundSchema.exactOptional(),
})

export type Token = z.infer<typeof tokenSchema>
export type Nft = z.infer<typeof nftSchema>
export type ChainState = z.infer<typeof chainSchema>
export type Scan = z.infer<typeof scanSchema>
export type Units = z.infer<typeof unitsSchema>
export type ChainRound = z.infer<typeof chainRoundSchema>
export type Round = z.infer<typeof roundSchema>
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

export function keyOf({ address, tokenId }: Nft): string {
  return `${address}:${tokenId}`
}

export function withNfts(before: readonly Nft[], found: readonly Nft[]): Nft[] {
  const known = new Set(before.map(keyOf))
  const added = [...new Map(found.map((one) => [keyOf(one), one])).values()].filter((one) => !known.has(keyOf(one)))
  return [...before, ...added].slice(0, nftsMax)
}

function rankOf(chain: Chain, contract: Contract): number {
  const asset = tokenAsset(chain, contract)
  if (isKnownAsset(asset.assetId)) return 0
  return isSpamAsset(asset) ? 2 : 1
}
