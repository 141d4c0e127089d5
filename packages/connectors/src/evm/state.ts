/**
 * What the connector keeps about a wallet: its address, the chains where it was used, the contracts whose balances are
 * queried, and how far an interrupted read of the balances came. Everything in it is public.
 */
import { isKnownAsset, isSpamAsset, type SourceError } from '@assay/core'
import { z } from 'zod'
import type { ConnectorState } from '../kit/connector.ts'
import { tokenAsset, type Contract } from './assets.ts'
import { getChain, type Chain } from './chains.ts'
import { tries } from './late-rows.ts'

const tokenSchema = z.object({
  address: z.string(),
  symbol: z.string(),
  name: z.string(),
  /** As the contract says. Absent until it has. */
  decimals: z.number().exactOptional(),
  /** Until then: a block in which the token was transferred, and how its contract was asked. */
  unsaid: z.object({ block: z.number(), ...tries.shape }).exactOptional(),
})
const nftSchema = z.object({
  address: z.string(),
  symbol: z.string(),
  name: z.string(),
  tokenId: z.string(),
  standard: z.enum(['erc721', 'erc1155']),
})
const digits = z.string().regex(/^\d+$/)
/** In base units, without zeros; tokens by contract, collectibles by contract and number. */
const unitsSchema = z.object({
  native: digits,
  tokens: z.record(z.string(), digits),
  nfts: z.record(z.string(), digits),
})
/** Faults that concern one chain alone. */
const networkFaults = ['venue_down', 'unreadable_answer', 'data_hole'] as const
const chainSchema = z.object({
  isUsed: z.boolean(),
  /** When an index was last asked whether a chain without coins and without transactions has tokens. */
  checkedAtMs: z.number().nullable(),
  /** All tokens up to this block are in the lists below. */
  scannedTo: z.number(),
  tokens: z.array(tokenSchema),
  nfts: z.array(nftSchema),
  /** What the wallet held when the chain was last read. */
  held: unitsSchema.exactOptional(),
  /** Why the last round could not read the chain: `held` is older than that of the others. */
  failed: z.enum(networkFaults).exactOptional(),
})

/** The lists that name the contracts of tokens and collections. */
export const tokenStreams = ['erc20', 'erc721', 'erc1155'] as const

const scanSchema = z.object({
  /** The next query begins with this block, or asks for a further page of it. */
  block: z.number(),
  page: z.number(),
  /** How many rows a page has, where those of the usual size are too long. */
  size: z.number().exactOptional(),
  questions: z.number(),
  rows: z.number(),
  /** `whole`: the list was read to its end. `cut`: its other rows are left to the next round. */
  ended: z.enum(['whole', 'cut']).exactOptional(),
})
/** Which tokens and collectibles are left, as ranges of their list, and how much was done to find those that fail. */
const unaskedSchema = z.object({ groups: z.array(z.tuple([z.number(), z.number()])), effort: z.number() })
const chainRoundSchema = z.object({
  /** Of the newest block that both the node and the index have. */
  height: z.number(),
  scans: z.partialRecord(z.enum(tokenStreams), scanSchema),
  /** How much was done to find contracts that do not say their decimals, and whether the others were asked. */
  decimals: z.object({ effort: z.number(), hasEnded: z.boolean() }).exactOptional(),
  /** Absent until the chain is asked for its balances. */
  units: unitsSchema.exactOptional(),
  /** Present while `units` is incomplete. Without it, the chain's part of the round has ended. */
  unasked: unaskedSchema.exactOptional(),
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
export type NetworkFault = (typeof networkFaults)[number]
export type Scan = z.infer<typeof scanSchema>
export type Units = z.infer<typeof unitsSchema>
export type Unasked = z.infer<typeof unaskedSchema>
export type ChainRound = z.infer<typeof chainRoundSchema>
export type Round = z.infer<typeof roundSchema>
export type EvmState = z.infer<typeof stateSchema>

export function readState(state: ConnectorState): EvmState {
  return stateSchema.parse(state)
}

export function findNetworkFault({ fault }: SourceError): NetworkFault | undefined {
  return networkFaults.find((name) => name === fault)
}

export const untouched: ChainState = { isUsed: false, checkedAtMs: null, scannedTo: 0, tokens: [], nfts: [] }

/** More than a person has on one chain. */
const tokensMax = 1_500
const nftsMax = 600

/** Known tokens are kept before unknown ones, and those before advertisements; among equals the first one is kept. */
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

// -----------------------------------------------------------------------------------------------------------------
// size

/**
 * A state may have 1 MiB, and a larger one ends every run with an error. Strangers decide how many tokens a wallet
 * meets on each chain and how long their names are: a control character takes six bytes. The limits by number do not
 * suffice, because there are seven chains.
 */
const contractsBytesMax = 900 * 1024
/**
 * What a balance takes, in the round and as what was last held: the contract, the number of a piece, and an amount of
 * up to 78 digits.
 */
const [tokenUnitsBytes, nftUnitsBytes] = [2 * 130, 2 * 210]
/** Tokens have a value more often than collectibles. */
const tokensShare = 0.75

const sizeOf = (contract: Token | Nft): number =>
  Buffer.byteLength(JSON.stringify(contract)) + ('tokenId' in contract ? nftUnitsBytes : tokenUnitsBytes)

const sumOf = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0)

/**
 * Drops contracts until the state has room for the others. A chain with few of them loses none, however many there are
 * on another; among those of one chain the order is that of `withTokens`.
 */
export function withRoom({ chains, round }: { chains: EvmState['chains']; round: Round }): EvmState['chains'] {
  const bytes = new Map(
    Object.entries(chains).map(([id, { tokens, nfts }]) => [id, sumOf([...tokens, ...nfts].map(sizeOf))]),
  )
  const share = findShare([...bytes.values()])
  return Object.fromEntries(
    Object.entries(chains).map(([id, state]) => {
      if ((bytes.get(id) ?? 0) <= share) return [id, state]
      const inOrder = state.tokens.toSorted((a, b) => rankOf(getChain(id), a) - rankOf(getChain(id), b))
      const tokens = cutTo(inOrder, share * tokensShare)
      const nfts = cutTo(state.nfts, share - sumOf(tokens.map(sizeOf)))
      const held = state.held && structuredClone(state.held)
      for (const units of [round.chains[id]?.units, held]) {
        forgetOthers(units, [getChain(id).wrapped, ...tokens], nfts)
      }
      return [id, { ...state, tokens, nfts, ...(held && { held }) }]
    }),
  )
}

/** The most that each chain may have when all of them together fill the room. */
function findShare(sizes: readonly number[]): number {
  let left = contractsBytesMax
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = left / (sizes.length - index)
    if (size > share) return share
    left -= size
  }
  return Infinity
}

function cutTo<One extends Token | Nft>(contracts: readonly One[], bytesMax: number): One[] {
  let bytes = 0
  return contracts.filter((contract) => (bytes += sizeOf(contract)) <= bytesMax)
}

/** The round may have asked for their balances already. */
function forgetOthers(units: Units | undefined, tokens: readonly Pick<Token, 'address'>[], nfts: readonly Nft[]): void {
  if (units === undefined) return
  const kept = new Set([...tokens.map(({ address }) => address), ...nfts.map(keyOf)])
  for (const amounts of [units.tokens, units.nfts]) {
    for (const key of Object.keys(amounts)) if (!kept.has(key)) delete amounts[key]
  }
}
