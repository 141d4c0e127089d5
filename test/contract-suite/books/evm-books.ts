/** What the simulated chains hold for a wallet, from their own books: its balances, and what each block did to them. */
import { toDecimalText } from '../../reconciler.ts'
import type { Held } from '../simulator.ts'

export interface Effect {
  asset: string
  token_id?: string
  amount: string
  hash: string | null
  block_number: number
}

export interface Network {
  chain_id: number
  block_number: number
  balances: { asset: string; standard: string; token_id?: string; decimals: number; balance: string }[]
  effects: Effect[]
}

/** What the registry of assets calls the contracts of the simulated chains. */
const known: Readonly<Record<string, string>> = {
  native: 'crypto:ethereum',
  '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48': 'crypto:usd-coin',
  '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913': 'crypto:usd-coin',
  '0x056fd409e1d7a124bd7017459dfea2f387b6d5cd': 'crypto:gemini-dollar',
  '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2': 'crypto:weth',
  '0x4200000000000000000000000000000000000006': 'crypto:weth',
}

export function toAssetId(chainId: number, asset: string): string {
  return known[asset] ?? `evm:${chainId}:${asset}`
}

/** By id of the asset. */
export function toHeld({ networks }: { networks: readonly Network[] }): Held {
  return {
    records: networks.flatMap(({ chain_id: chainId, effects, balances }) =>
      effects.map(({ asset, token_id: tokenId, amount, hash }, index) => ({
        ...{ stream: 'effects', partition: String(chainId), key: `${hash ?? ''} ${index}` },
        changes: [
          { code: toItemId(chainId, asset, tokenId), amount: toDecimalText(amount, decimalsOf(balances, asset)) },
        ],
      })),
    ),
    balances: networks.flatMap((network) => network.balances.flatMap((one) => toChanges(network, one))),
  }
}

/**
 * A contract of pictures (ERC-721) says how many someone has, and not which: those are the pictures that came and did
 * not leave. If their number is not the contract's, the rest is held without a name.
 */
function toChanges({ chain_id: chainId, effects }: Network, balance: Network['balances'][number]): Held['balances'] {
  const { asset, standard, token_id: tokenId, decimals } = balance
  const all = { code: toItemId(chainId, asset, tokenId), amount: toDecimalText(balance.balance, decimals) }
  if (standard !== 'erc721') return [all]
  const moved = effects.filter((one) => one.asset === asset)
  const named = moved.map(({ token_id: id, amount }) => ({ code: toItemId(chainId, asset, id), amount }))
  const unnamed = moved.map(({ amount }) => ({ code: all.code, amount: String(-BigInt(amount)) }))
  return [...named, ...unnamed, all]
}

function decimalsOf(balances: Network['balances'], asset: string): number {
  return balances.find((one) => one.asset === asset)?.decimals ?? 0
}

function toItemId(chainId: number, asset: string, tokenId: string | undefined): string {
  const assetId = toAssetId(chainId, asset)
  return tokenId === undefined ? assetId : `${assetId}:${tokenId}`
}
