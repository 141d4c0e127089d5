/**
 * Reads a block with transactions from the node into the index: its transactions, receipts, logs and, later, traces.
 */
import type { Address } from './addresses.ts'
import type { ChainIndex, DataFee, IndexedBlock, IndexedTransaction, InternalTransfer } from './chain-index.ts'
import { toQuantity, type EvmNode } from './node.ts'

type Hex = `0x${string}`

interface NodeBlock {
  hash: string
  number: Hex
  timestamp: Hex
  transactions: NodeTransaction[]
}

interface NodeTransaction {
  hash: string
  nonce: Hex
  from: Address
  to: Address | null
  value: Hex
  gas: Hex
  input: string
}

interface NodeReceipt {
  transactionIndex: Hex
  status: Hex
  gasUsed: Hex
  cumulativeGasUsed: Hex
  effectiveGasPrice: Hex
  contractAddress: Address | null
  logs: NodeLog[]
}

interface NodeLog {
  address: Address
  topics: string[]
  data: string
  logIndex: Hex
}

/** The first topic is the hash of the event's signature. */
const topics = {
  transfer: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  transferSingle: '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62',
  transferBatch: '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb',
  deposit: '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c',
  withdrawal: '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65',
}

export async function readBlock(
  node: EvmNode,
  index: ChainIndex,
  number: number,
  dataFeeOf: (input: string) => DataFee | undefined,
): Promise<{ block: IndexedBlock; transactions: IndexedTransaction[] }> {
  const found = await node.request<NodeBlock>('eth_getBlockByNumber', toQuantity(number), true)
  const block: IndexedBlock = { number, hash: found.hash, timeS: Number(found.timestamp) }
  const receipts = await Promise.all(
    found.transactions.map(({ hash }) => node.request<NodeReceipt>('eth_getTransactionReceipt', hash)),
  )
  const transactions: IndexedTransaction[] = []
  for (const [at, sent] of found.transactions.entries()) {
    const receipt = receipts[at]
    if (receipt === undefined) throw new Error(`the node has no receipt of ${sent.hash}`)
    const transaction: IndexedTransaction = {
      block,
      hash: sent.hash,
      nonce: Number(sent.nonce),
      position: Number(receipt.transactionIndex),
      from: sent.from,
      to: sent.to,
      value: BigInt(sent.value),
      gas: BigInt(sent.gas),
      gasPrice: BigInt(receipt.effectiveGasPrice),
      input: sent.input,
      isSuccess: receipt.status === '0x1',
      gasUsed: BigInt(receipt.gasUsed),
      cumulativeGasUsed: BigInt(receipt.cumulativeGasUsed),
      createdContract: receipt.contractAddress,
      dataFee: dataFeeOf(sent.input),
    }
    transactions.push(transaction)
    index.addTransaction(transaction)
    for (const log of receipt.logs) addLog(index, transaction, log)
  }
  return { block, transactions }
}

function addLog(index: ChainIndex, transaction: IndexedTransaction, log: NodeLog): void {
  const [topic, first = '', second = '', third = ''] = log.topics
  const common = { transaction, contract: log.address, logIndex: Number(log.logIndex) }
  if (topic === topics.transfer && log.topics.length === 3) {
    const ends = { from: toAddress(first), to: toAddress(second) }
    index.addTransfer({ standard: 'erc20', ...common, ...ends, value: BigInt(log.data), tokenId: undefined })
  } else if (topic === topics.transfer && log.topics.length === 4) {
    const ends = { from: toAddress(first), to: toAddress(second) }
    index.addTransfer({ standard: 'erc721', ...common, ...ends, value: 1n, tokenId: BigInt(third) })
  } else if (topic === topics.transferSingle || topic === topics.transferBatch) {
    const ends = { from: toAddress(second), to: toAddress(third) }
    for (const [tokenId, value] of itemsOf(wordsOf(log.data), topic === topics.transferBatch)) {
      index.addTransfer({ standard: 'erc1155', ...common, ...ends, value, tokenId })
    }
  } else if (topic === topics.deposit || topic === topics.withdrawal) {
    const amount = BigInt(log.data)
    index.addWrapping({ ...common, owner: toAddress(first), change: topic === topics.deposit ? amount : -amount })
  }
}

/** A batch is two arrays: where each begins, then its length and its items. */
function itemsOf(words: readonly bigint[], isBatch: boolean): [id: bigint, value: bigint][] {
  if (!isBatch) return [[words[0] ?? 0n, words[1] ?? 0n]]
  const arrayAt = (place: number): readonly bigint[] => {
    const start = Number((words[place] ?? 0n) / 32n)
    return words.slice(start + 1, start + 1 + Number(words[start] ?? 0n))
  }
  const values = arrayAt(1)
  return arrayAt(0).map((id, at) => [id, values[at] ?? 0n])
}

function wordsOf(data: string): bigint[] {
  return (data.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))
}

function toAddress(topic: string): Address {
  return `0x${topic.slice(-40)}`
}

interface Frame {
  type: string
  from: Address
  to?: Address
  value?: Hex
  gas: Hex
  gasUsed: Hex
  error?: string
  calls?: Frame[]
}

/** Internal transfers are the calls inside a transaction that carry ether, and the contracts that it creates. */
export async function readTrace(node: EvmNode, transaction: IndexedTransaction): Promise<InternalTransfer[]> {
  const root = await node.request<Frame>('debug_traceTransaction', transaction.hash, { tracer: 'callTracer' })
  const found: InternalTransfer[] = []
  let number = 0
  const walk = (frame: Frame, path: string, isUndone: boolean): void => {
    const type = frame.type.toLowerCase()
    const value = BigInt(frame.value ?? '0x0')
    const isListed = type.startsWith('create') || (value > 0n && (type === 'call' || type === 'selfdestruct'))
    if (path !== '' && isListed) {
      found.push({
        ...{ transaction, number, traceId: path, from: frame.from, to: frame.to ?? frame.from, value },
        ...{ type: type as InternalTransfer['type'], gas: BigInt(frame.gas), gasUsed: BigInt(frame.gasUsed) },
        ...{ isSuccess: !isUndone && frame.error === undefined, error: frame.error ?? '' },
      })
    }
    number += 1
    for (const [at, call] of (frame.calls ?? []).entries()) {
      walk(call, path === '' ? String(at) : `${path}_${at}`, isUndone || frame.error !== undefined)
    }
  }
  walk(root, '', false)
  return found
}

/**
 * Whether code can call or create at all. What cannot needs no trace. Data after PUSH instructions does not count as
 * code.
 */
export function canCallOut(code: string): boolean {
  const bytes = Buffer.from(code.slice(2), 'hex')
  const callers = new Set([0xf0, 0xf1, 0xf2, 0xf4, 0xf5, 0xff])
  for (let at = 0; at < bytes.length; at += 1) {
    const instruction = bytes[at] ?? 0
    if (callers.has(instruction)) return true
    if (instruction >= 0x60 && instruction <= 0x7f) at += instruction - 0x5f
  }
  return false
}
