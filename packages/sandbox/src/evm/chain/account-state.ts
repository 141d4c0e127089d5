/**
 * Everything that a wallet holds and that happened to it, for an independent check: per network, each balance according
 * to the chain and every effect on it, in the asset's smallest units. The balance is the sum of its effects.
 */
import type { Address } from './addresses.ts'
import type { Chain } from './chain.ts'
import type { AddressRows, IndexedBlock, IndexedTransaction, TokenTransfer } from './chain-index.ts'
import { describeToken, readBalance } from './token-facts.ts'

export interface Effect {
  /** "native", or the contract's address. */
  asset: string
  /** Only for ERC-1155 and ERC-721 tokens. */
  token_id?: string
  kind: 'transfer' | 'internal' | 'token' | 'wrap' | 'withdrawal' | 'fee' | 'data_fee'
  /** Signed, in the smallest units. */
  amount: string
  /** Null for a validator's withdrawal. */
  hash: string | null
  block_number: number
  time: string
  log_index?: number
}

export interface Balance {
  asset: string
  standard: 'native' | TokenTransfer['standard']
  token_id?: string
  name: string
  symbol: string
  decimals: number
  balance: string
}

export interface NetworkState {
  chain_id: number
  block_number: number
  balances: Balance[]
  /** Oldest first. */
  effects: Effect[]
}

export async function readNetworkState(chain: Chain, address: Address): Promise<NetworkState> {
  await chain.readTraces()
  const rows = chain.index.rowsOf(address)
  return {
    chain_id: chain.network.chainId,
    block_number: chain.headNumber(),
    balances: await readBalances(chain, address, rows),
    effects: effectsOf(rows, address),
  }
}

async function readBalances(chain: Chain, address: Address, rows: Readonly<AddressRows>): Promise<Balance[]> {
  const wei = BigInt(await chain.node.request('eth_getBalance', address, 'latest'))
  const ether = { asset: 'native', standard: 'native', name: 'Ether', symbol: 'ETH', decimals: 18 } as const
  const balances: Balance[] = [{ ...ether, balance: wei.toString() }]
  const tokens = new Map<string, Pick<TokenTransfer, 'contract' | 'standard' | 'tokenId'>>()
  for (const { contract, standard, tokenId } of rows.transfers) {
    const isItem = standard === 'erc1155'
    tokens.set(`${contract} ${isItem ? tokenId : ''}`, { contract, standard, tokenId: isItem ? tokenId : undefined })
  }
  for (const { contract } of rows.wrappings)
    tokens.set(`${contract} `, { contract, standard: 'erc20', tokenId: undefined })
  for (const token of tokens.values()) {
    const { contract, standard, tokenId } = token
    balances.push({
      ...{ asset: contract, standard, ...(tokenId !== undefined && { token_id: tokenId.toString() }) },
      ...(await describeToken(chain, contract, standard)),
      balance: (await readBalance(chain, token, address)).toString(),
    })
  }
  return balances
}

function effectsOf(rows: Readonly<AddressRows>, address: Address): Effect[] {
  const effects: { effect: Effect; position: number }[] = []
  const add = (
    effect: Pick<Effect, 'asset' | 'kind' | 'log_index' | 'token_id'>,
    amount: bigint,
    from: { block: IndexedBlock; transaction?: IndexedTransaction },
  ): void => {
    const { block, transaction } = from
    const at = { block_number: block.number, time: new Date(block.timeS * 1000).toISOString() }
    const hash = transaction?.hash ?? null
    // Withdrawals come after the transactions of their block.
    const position = transaction?.position ?? Number.MAX_SAFE_INTEGER
    effects.push({ effect: { ...effect, amount: amount.toString(), hash, ...at }, position })
  }
  /** Both sides, when the wallet paid itself. */
  const move = (
    effect: Pick<Effect, 'asset' | 'kind' | 'log_index' | 'token_id'>,
    {
      from,
      to,
      value,
      transaction,
    }: { from: string; to: string | null; value: bigint; transaction: IndexedTransaction },
  ): void => {
    if (from === address) add(effect, -value, { block: transaction.block, transaction })
    if (to === address) add(effect, value, { block: transaction.block, transaction })
  }
  for (const transaction of rows.transactions) {
    const { block, dataFee, from, gasPrice, gasUsed, isSuccess, value } = transaction
    if (from === address) add({ asset: 'native', kind: 'fee' }, -gasUsed * gasPrice, { block, transaction })
    if (from === address && dataFee !== undefined) {
      add({ asset: 'native', kind: 'data_fee' }, -dataFee.fee, { block, transaction })
    }
    if (isSuccess && value > 0n) move({ asset: 'native', kind: 'transfer' }, { ...transaction, transaction })
  }
  for (const internal of rows.internals) {
    if (internal.isSuccess && internal.value > 0n) move({ asset: 'native', kind: 'internal' }, internal)
  }
  for (const transfer of rows.transfers) {
    const { contract, logIndex, tokenId } = transfer
    const id = tokenId === undefined ? {} : { token_id: tokenId.toString() }
    move({ asset: contract, kind: 'token', log_index: logIndex, ...id }, transfer)
  }
  for (const { contract, logIndex, change, transaction } of rows.wrappings) {
    add({ asset: contract, kind: 'wrap', log_index: logIndex }, change, { block: transaction.block, transaction })
  }
  for (const { block, gwei } of rows.withdrawals) {
    add({ asset: 'native', kind: 'withdrawal' }, gwei * 10n ** 9n, { block })
  }
  return effects
    .toSorted((a, b) => a.effect.block_number - b.effect.block_number || a.position - b.position)
    .map(({ effect }) => effect)
}
