/**
 * How many decimals a token has, by its contract alone (EIP-20, `decimals()`). An index leaves them out for a token that
 * it has not catalogued yet, or is wrong about them, and both the history and the balances would follow it: with six
 * decimals too few, a dollar is a million dollars.
 *
 * A contract need not have this function. Its tokens are then counted in base units. A known token has decimals, so
 * while its contract does not say them, its amounts cannot be read.
 */
import { findAssetByContract } from '@assay/core'
import { encodeFunctionData, erc20Abi, type Address } from 'viem'
import { askContracts, startAsking, withCount, type Asking, type Question } from './ask-contracts.ts'
import { decimalsMax } from './assets.ts'
import type { Chain } from './chains.ts'
import type { ChainClient } from './client.ts'
import type { Token } from './state.ts'

/** Decimals are asked for once, so the search for contracts that fail may take longer than that of balances. */
const effortMax = 500
/** Each has as many requests as one call for balances. A page of a stranger's tokens must end. */
const roundsMax = 5

const data = encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' })

export interface DecimalsSearch {
  contracts: readonly string[]
  /** What was done to find contracts that fail. */
  search: { effort: number }
  /** Receives the decimals as they are found, by contract. */
  found: Map<string, number>
}

/** False when this call has made enough requests. */
export async function findDecimals(
  client: ChainClient,
  asking: Pick<Asking, 'spent' | 'hasProgressed'>,
  { contracts, search, found }: DecimalsSearch,
): Promise<boolean> {
  const questions = contracts
    .map((contract) => toQuestion(client.chain, contract, found))
    .toSorted((a, b) => Number(b.isKnown) - Number(a.isKnown))
  const unasked = { ...startAsking(questions), effort: search.effort }
  // A contract that uses up the gas of a group makes those after it fail. This one answers unless that happened.
  const last = { to: client.chain.wrapped.address as Address, data }
  try {
    return await askContracts(client, asking, questions, unasked, { last, effortMax })
  } finally {
    search.effort = unasked.effort
  }
}

function toQuestion(chain: Chain, contract: string, found: Map<string, number>): Question {
  const isKnown = findAssetByContract(`evm:${chain.id}`, contract) !== undefined
  return {
    ...{ to: contract as Address, data, isKnown },
    keep(word) {
      if (word !== undefined && word <= decimalsMax) found.set(contract, Number(word))
      else if (!isKnown) found.set(contract, 0)
    },
  }
}

/** The decimals of these contracts: those of the state, and of others that a reader asks for once. */
export type FindDecimals = (
  tokens: readonly Token[],
  contracts: readonly string[],
) => Promise<ReadonlyMap<string, number>>

export function rememberDecimals(client: ChainClient): FindDecimals {
  const found = new Map<string, number>()
  return async (tokens, contracts) => {
    for (const { address, decimals } of tokens) if (decimals !== undefined) found.set(address, decimals)
    const search = { effort: 0 }
    let hasEnded = false
    for (let round = 0; round < roundsMax && !hasEnded; round += 1) {
      const asked = contracts.filter((contract) => !found.has(contract))
      const spent = { requests: 0 }
      const asking = { spent, hasProgressed: false }
      hasEnded = await findDecimals(withCount(client, spent), asking, { contracts: asked, search, found })
    }
    return found
  }
}
