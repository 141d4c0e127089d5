/** Asks the chain what a token contract says about itself, and what it holds for an address. */
import type { Address } from './addresses.ts'
import { decode, encode } from '../calls.ts'
import type { Chain } from './chain.ts'
import type { TokenTransfer } from './chain-index.ts'

export interface TokenWords {
  name: string
  symbol: string
  decimals: number
}

const known = new WeakMap<Chain, Map<Address, Promise<TokenWords>>>()

export function describeToken(
  chain: Chain,
  contract: Address,
  standard: TokenTransfer['standard'],
): Promise<TokenWords> {
  const ofChain = known.get(chain) ?? new Map<Address, Promise<TokenWords>>()
  known.set(chain, ofChain)
  const words = ofChain.get(contract) ?? readWords(chain, contract, standard)
  ofChain.set(contract, words)
  return words
}

async function readWords(chain: Chain, contract: Address, standard: TokenTransfer['standard']): Promise<TokenWords> {
  return {
    name: String(await ask(chain, contract, ['Token', 'name'])),
    symbol: String(await ask(chain, contract, ['Token', 'symbol'])),
    // Only fungible tokens have decimals.
    decimals: standard === 'erc20' ? Number(await ask(chain, contract, ['Token', 'decimals'])) : 0,
  }
}

/** For an ERC-721, how many of the contract's tokens the address owns. */
export async function readBalance(
  chain: Chain,
  { contract, standard, tokenId }: Pick<TokenTransfer, 'contract' | 'standard' | 'tokenId'>,
  owner: Address,
): Promise<bigint> {
  const held =
    standard === 'erc1155'
      ? await ask(chain, contract, ['Items', 'balanceOf', owner, tokenId])
      : await ask(chain, contract, ['Token', 'balanceOf', owner])
  return BigInt(String(held))
}

async function ask(
  chain: Chain,
  to: Address,
  [contract, functionName, ...args]: readonly ['Token' | 'Items', string, ...unknown[]],
): Promise<unknown> {
  const data = encode(contract, functionName, args)
  return decode(contract, functionName, await chain.node.request<`0x${string}`>('eth_call', { to, data }, 'latest'))
}
