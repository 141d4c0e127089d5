/** A wallet on the chain of test-chain.ts, with coins, a token and collections, and how the engine reads it. */
import type { TestContext } from 'node:test'
import { SourceError } from '@assay/core'
import { encodeFunctionData, erc20Abi, erc721Abi, parseAbi, type Address } from 'viem'
import type { AccountReader, Balances, ConnectorState, WalletCredentials } from '../kit/connector.ts'
import { connector } from './connector.ts'
import { startChain, timeOf, type TestChain } from './test-chain.ts'

export const address = '0x52908400098527886E0F7030069857D2E4169EE7'
export const own = address.toLowerCase()
export const coin = '0x1111111111111111111111111111111111111111'
export const picture = '0x2222222222222222222222222222222222222222'
export const game = '0x3333333333333333333333333333333333333333'
export const weth = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'

export async function openWallet(
  t: TestContext,
  more: Partial<WalletCredentials> = {},
): Promise<{ chain: TestChain; reader: AccountReader }> {
  const chain = await startChain(t)
  return { chain, reader: connector.open({ type: 'wallet', address, ...more }, chain.io) }
}

export function row(block: number, contract: string, more: object) {
  return {
    blockNumber: String(block),
    timeStamp: String(timeOf(block)),
    hash: `0x${block.toString(16).padStart(64, '0')}`,
    from: coin,
    to: own,
    contractAddress: contract,
    tokenName: 'Some Coin',
    tokenSymbol: 'SOME',
    tokenDecimal: '6',
    ...more,
  }
}

export const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`
export const balanceOf = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [own as Address] })
const ownerOf = (id: bigint) => encodeFunctionData({ abi: erc721Abi, functionName: 'ownerOf', args: [id] })
const pieces = (id: bigint) =>
  encodeFunctionData({
    abi: parseAbi(['function balanceOf(address account, uint256 id) view returns (uint256)']),
    args: [own as Address, id],
  })

export function hold(chain: TestChain): void {
  chain.balances.set(own, 1_000_000_000_000_000_001n)
  chain.lists.set('tokentx', [row(10, coin, { value: '5' })])
  chain.lists.set('tokennfttx', [row(11, picture, { tokenID: '7' }), row(12, picture, { tokenID: '8' })])
  chain.lists.set('token1155tx', [row(13, game, { tokenID: '1', tokenValue: '9' })])
  chain.calls.set(`${coin} ${balanceOf}`, word(2_500_000n))
  chain.calls.set(`${weth} ${balanceOf}`, word(3n))
  chain.calls.set(`${picture} ${ownerOf(7n)}`, word(BigInt(own)))
  chain.calls.set(`${picture} ${ownerOf(8n)}`, 'revert')
  chain.calls.set(`${game} ${pieces(1n)}`, word(4n))
}

export const callsMax = 20

/**
 * Reads like the engine does: it calls until all parts are there. If `isPatient`, it also calls again after a fault.
 */
export async function readToEnd(
  reader: AccountReader,
  { state: given = {}, isPatient = false }: { state?: ConnectorState; isPatient?: boolean } = {},
): Promise<Balances> {
  let state = given
  for (let calls = 0; calls < callsMax; calls += 1) {
    try {
      const answer = await reader.fetchBalances(state)
      state = answer.state ?? state
      const [failed] = answer.failed ?? []
      if (failed !== undefined) throw failed.error
      if (answer.isPartial !== true) return { ...answer, state }
    } catch (error) {
      if (!isPatient || !(error instanceof SourceError)) throw error
    }
  }
  throw new Error(`the balances were not read within ${callsMax} calls`)
}

export function isFault(fault: string): (error: unknown) => boolean {
  return (error) => error instanceof SourceError && error.fault === fault
}
