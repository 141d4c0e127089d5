/**
 * Esplora's HTTP API. Sources: https://github.com/Blockstream/esplora/blob/master/API.md, and where it is silent (the
 * order of fields, fields left out rather than null, texts of errors)
 * https://github.com/Blockstream/electrs/blob/new-index/src/rest.rs.
 *
 * Amounts are JSON numbers of satoshis. A transaction in the mempool has no block fields in its status: the document
 * says they are null there, the server leaves them out.
 */
import type { WireAnswer } from '../core/serving/listener.ts'
import type { CallContext } from '../core/serving/provider-server.ts'
import type { Block } from './chain/chain.ts'
import type { Entry, Network } from './chain/network.ts'
import { AddressError, asmOf, findAddress, isSpendable, scriptOfAddress, scriptTypeOf } from './chain/script.ts'
import { noTxid, sizesOf, type TxInput, type TxOutput } from './chain/transaction.ts'

const chainPageSize = 25
const mempoolMax = 50
const blocksMax = 10
/** The lifetimes of answers that can still change, and of those that are ten blocks deep. */
const shortLifeS = 10
const longLifeS = 157_784_630
const finalDepth = 10

/** An answer in plain text that is not 200. */
export class EsploraRefusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

type Endpoint = (network: Network, parts: readonly string[], context: CallContext) => WireAnswer

/** By path; a part that begins with a colon stands for any text. */
const endpoints: readonly [path: string, answer: Endpoint][] = [
  ['blocks/tip/height', ({ chain }) => text(String(chain.tipHeight()))],
  ['blocks/tip/hash', ({ chain }) => text(chain.hashAt(chain.tipHeight()) ?? '')],
  ['blocks', newestBlocks],
  ['blocks/:height', newestBlocks],
  ['block-height/:height', blockHash],
  ['block/:hash', (network, [hash = '']) => json(describeBlock(getBlock(network, hash)), longLifeS)],
  ['block/:hash/status', blockStatus],
  ['address/:address', addressStats],
  ['address/:address/txs', addressHistory],
  ['address/:address/txs/chain', chainPage],
  ['address/:address/txs/chain/:last', chainPage],
  ['address/:address/txs/mempool', mempoolPage],
  ['address/:address/utxo', unspentOutputs],
  ['tx/:txid', (network, [txid = '']) => transaction(network, getEntry(network, txid))],
  ['tx/:txid/status', (network, [txid = '']) => json(statusOf(network, network.find(hashFrom(txid))))],
  ['tx/:txid/hex', (network, [txid = '']) => text(getEntry(network, txid).raw.toString('hex'))],
  [
    'tx/:txid/outspend/:vout',
    (network, [txid = '', vout = '']) => json(spendOf(network, hashFrom(txid), toCount(vout))),
  ],
  [
    'tx/:txid/outspends',
    (network, [txid = '']) =>
      json(getEntry(network, txid).tx.outputs.map((_, vout) => spendOf(network, hashFrom(txid), vout))),
  ],
]

export function answerEsplora(network: Network, method: string, path: string, context: CallContext): WireAnswer {
  const asked = path.slice(1).split('/')
  for (const [shape, answer] of method === 'GET' ? endpoints : []) {
    const parts = findParts(shape.split('/'), asked)
    if (parts !== undefined) return answer(network, parts, context)
  }
  throw new EsploraRefusal(404, `endpoint does not exist ${JSON.stringify(path)}`)
}

export function textAnswer(status: number, body: string): WireAnswer {
  return { status, headers: { 'content-type': 'text/plain' }, body, ...(status === 200 ? {} : { error: body }) }
}

function findParts(shape: readonly string[], asked: readonly string[]): string[] | undefined {
  if (shape.length !== asked.length) return undefined
  const parts: string[] = []
  for (const [index, word] of shape.entries()) {
    const part = asked[index] ?? ''
    if (word.startsWith(':')) parts.push(part)
    else if (word !== part) return undefined
  }
  return parts
}

function blockHash({ chain }: Network, [height = '']: readonly string[]): WireAnswer {
  const hash = chain.hashAt(toCount(height))
  if (hash === undefined) throw new EsploraRefusal(404, 'Block not found')
  return text(hash)
}

/** The ten blocks down from a height, or from the tip when the height is missing or not a number. */
function newestBlocks(network: Network, [start = '']: readonly string[]): WireAnswer {
  const { chain } = network
  const top = /^\d{1,15}$/.test(start) ? Number(start) : chain.tipHeight()
  const heights = Array.from({ length: blocksMax }, (_, below) => top - below).filter((one) => one >= chain.firstHeight)
  if (heights.length === 0) throw new EsploraRefusal(404, 'Block not found')
  return json(heights.map((height) => describeBlock(getBlock(network, chain.hashAt(height) ?? noTxid))))
}

function getBlock({ chain }: Network, hash: string): Block {
  const block = chain.find(hashFrom(hash))
  if (block === undefined) throw new EsploraRefusal(404, 'Block not found')
  return block
}

function blockStatus({ chain }: Network, [hash = '']: readonly string[]): WireAnswer {
  const block = chain.find(hashFrom(hash))
  if (block === undefined || chain.hashAt(block.height) !== block.hash) return json({ in_best_chain: false })
  const next = chain.hashAt(block.height + 1)
  return json({ in_best_chain: true, height: block.height, ...(next === undefined ? {} : { next_best: next }) })
}

function describeBlock(block: Block): object {
  return {
    id: block.hash,
    height: block.height,
    version: block.version,
    timestamp: block.time,
    tx_count: block.txCount,
    size: block.size,
    weight: block.weight,
    merkle_root: block.merkleRoot,
    previousblockhash: block.previousHash ?? null,
    mediantime: block.medianTime,
    nonce: block.nonce,
    bits: block.bits,
    difficulty: difficultyOf(block.bits),
  }
}

/** How much harder than the easiest target of the main network. */
function difficultyOf(bits: number): number {
  return (0xffff / (bits & 0xffffff)) * 256 ** (0x1d - (bits >>> 24))
}

function addressStats(network: Network, [address = '']: readonly string[]): WireAnswer {
  const script = scriptFrom(address)
  const all = network.listOf(script)
  return json({
    address,
    chain_stats: statsOf(all.filter(isConfirmed), script),
    mempool_stats: statsOf(
      all.filter((entry) => !isConfirmed(entry)),
      script,
    ),
  })
}

function statsOf(entries: readonly Entry[], script: string): object {
  const isOwn = (output: TxOutput): boolean => output.script.toString('hex') === script
  const funded = entries.flatMap((entry) => entry.tx.outputs.filter(isOwn))
  const spent = entries.flatMap((entry) => entry.spent.filter(isOwn))
  const sum = (outputs: readonly TxOutput[]): number => outputs.reduce((all, { value }) => all + Number(value), 0)
  return {
    funded_txo_count: funded.length,
    funded_txo_sum: sum(funded),
    spent_txo_count: spent.length,
    spent_txo_sum: sum(spent),
    tx_count: entries.length,
  }
}

function addressHistory(network: Network, [address = '']: readonly string[], context: CallContext): WireAnswer {
  const all = network.listOf(scriptFrom(address))
  const waiting = all.filter((entry) => !isConfirmed(entry)).slice(0, mempoolMax)
  return list(network, [...waiting, ...pageOf(all.filter(isConfirmed), 0, context)])
}

function chainPage(network: Network, [address = '', last]: readonly string[], context: CallContext): WireAnswer {
  const all = network.listOf(scriptFrom(address)).filter(isConfirmed)
  // If this address does not have the last seen transaction, nothing follows. A text that cannot be a txid counts as
  // none.
  if (last === undefined || !isHash(last)) return list(network, pageOf(all, 0, context))
  const place = all.findIndex(({ txid }) => txid === last)
  return list(network, place === -1 ? [] : pageOf(all, place + 1, context))
}

function pageOf(newestFirst: readonly Entry[], offset: number, context: CallContext): Entry[] {
  const cut = (from: number, size: number): Entry[] => newestFirst.slice(from, from + size)
  return context.cutPage({ count: newestFirst.length, cut }, offset, chainPageSize)
}

function mempoolPage(network: Network, [address = '']: readonly string[]): WireAnswer {
  const all = network.listOf(scriptFrom(address))
  return list(network, all.filter((entry) => !isConfirmed(entry)).slice(0, mempoolMax))
}

function unspentOutputs(network: Network, [address = '']: readonly string[]): WireAnswer {
  const coins = network.coinsOf(scriptFrom(address))
  return json(
    coins.map(({ entry, vout, output }) => ({
      txid: entry.txid,
      vout,
      status: statusOf(network, entry),
      value: Number(output.value),
    })),
  )
}

function transaction(network: Network, entry: Entry): WireAnswer {
  const isFinal = entry.height !== undefined && network.chain.tipHeight() - entry.height >= finalDepth
  return json(describeTransaction(network, entry), isFinal ? longLifeS : shortLifeS)
}

export function describeTransaction(network: Network, entry: Entry): object {
  const { tx, txid, fee, spent } = entry
  return {
    txid,
    version: tx.version,
    locktime: tx.locktime,
    vin: tx.inputs.map((input, index) => describeInput(input, spent[index])),
    vout: tx.outputs.map(describeOutput),
    ...sizesOf(tx),
    fee: Number(fee),
    status: statusOf(network, entry),
  }
}

function describeInput(input: TxInput, spent: TxOutput | undefined): object {
  const { txid, vout, scriptSig, witness, sequence } = input
  // A nested SegWit input pushes the script that its output holds the hash of.
  const redeem = spent !== undefined && scriptTypeOf(spent.script) === 'p2sh' ? scriptSig.subarray(1) : undefined
  return {
    txid,
    vout,
    prevout: spent === undefined ? null : describeOutput(spent),
    scriptsig: scriptSig.toString('hex'),
    scriptsig_asm: asmOf(scriptSig),
    ...(witness.length === 0 ? {} : { witness: witness.map((item) => item.toString('hex')) }),
    is_coinbase: txid === noTxid,
    sequence,
    ...(redeem === undefined ? {} : { inner_redeemscript_asm: asmOf(redeem) }),
  }
}

function describeOutput({ script, value }: TxOutput): object {
  const address = findAddress(script)
  return {
    scriptpubkey: script.toString('hex'),
    scriptpubkey_asm: asmOf(script),
    scriptpubkey_type: scriptTypeOf(script),
    ...(address === undefined ? {} : { scriptpubkey_address: address }),
    value: Number(value),
  }
}

export function statusOf({ chain }: Network, entry: Entry | undefined): object {
  if (entry?.height === undefined) return { confirmed: false }
  const { height } = entry
  return {
    confirmed: true,
    block_height: height,
    block_hash: chain.hashAt(height),
    block_time: chain.timeAt(height),
  }
}

function spendOf(network: Network, txid: string, vout: number): object {
  const output = network.find(txid)?.tx.outputs[vout]
  const spend = output !== undefined && isSpendable(output.script) ? network.findSpend(txid, vout) : undefined
  if (spend === undefined) return { spent: false }
  return { spent: true, ...spend, status: statusOf(network, network.find(spend.txid)) }
}

function getEntry(network: Network, txid: string): Entry {
  const entry = network.find(hashFrom(txid))
  if (entry === undefined) throw new EsploraRefusal(404, 'Transaction not found')
  return entry
}

function isConfirmed(entry: Entry): boolean {
  return entry.height !== undefined
}

function scriptFrom(address: string): string {
  try {
    return scriptOfAddress(decodeURIComponent(address)).toString('hex')
  } catch (error) {
    if (error instanceof AddressError) throw new EsploraRefusal(400, error.message)
    throw error
  }
}

function isHash(word: string): boolean {
  return /^[0-9a-f]{64}$/i.test(word)
}

function hashFrom(word: string): string {
  if (!isHash(word)) throw new EsploraRefusal(400, 'Invalid hex string')
  return word.toLowerCase()
}

function toCount(word: string): number {
  if (!/^\d{1,15}$/.test(word)) throw new EsploraRefusal(400, 'Invalid number')
  return Number(word)
}

function list(network: Network, entries: readonly Entry[]): WireAnswer {
  return json(entries.map((entry) => describeTransaction(network, entry)))
}

function json(body: unknown, lifeS = shortLifeS): WireAnswer {
  const headers = { 'content-type': 'application/json', 'cache-control': `public, max-age=${lifeS}` }
  return { status: 200, headers, body: JSON.stringify(body) }
}

function text(body: string): WireAnswer {
  const headers = { 'content-type': 'text/plain', 'cache-control': `public, max-age=${shortLifeS}` }
  return { status: 200, headers, body }
}
