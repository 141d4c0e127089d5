/**
 * What a contract on a chain is called. Its address is the only identity that a token has: another one can be made with
 * the same name. A token that the registry does not know is `evm:<chain>:<contract>`, and one piece of a collection
 * `evm:<chain>:<contract>:<token id>`.
 */
import { findAssetByContract, getAsset, type Asset } from '@assay/core'
import type { Chain } from './chains.ts'

/** As an index or our own state describes a contract. Its author chose the words. */
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

/** One piece. Collections have no price here, whatever a piece was last sold for. */
export function nftAsset(chain: Chain, contract: Contract, tokenId: string): NamedAsset {
  const { symbol, name } = describe(contract)
  return { assetId: `evm:${chain.id}:${contract.address}:${tokenId}`, symbol, name: `${name} #${tokenId}` }
}

/** Cut to what fits into a list; a contract without a symbol is called by its address. */
export function describe({ address, symbol, name }: Contract): { symbol: string; name: string } {
  const given = [...symbol.trim()].slice(0, symbolMax).join('')
  const shown = given === '' ? `${address.slice(0, 6)}…${address.slice(-4)}` : given
  return { symbol: shown, name: [...name.trim()].slice(0, nameMax).join('') || shown }
}

function toNamed({ assetId, symbol, name }: Asset): NamedAsset {
  return { assetId, symbol, name }
}
