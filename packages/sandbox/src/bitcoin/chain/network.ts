/**
 * The simulated network: which transactions there are, in which blocks or in the mempool, and which outputs are
 * unspent. A transaction is accepted as a node would accept it: its inputs exist and are unspent, it creates no money,
 * and every signature is right. Each transaction names the wallet whose story it belongs to.
 */
import { createChain, type Chain } from './chain.ts'
import { isSpendable } from './script.ts'
import { isSigned } from './signatures.ts'
import { isCoinbase, parseTransaction, serialize, txidOf, type Tx, type TxInput, type TxOutput } from './transaction.ts'

export interface Entry {
  txid: string
  tx: Tx
  raw: Buffer
  /** The outputs that the inputs spend; empty for a coinbase transaction. */
  spent: readonly TxOutput[]
  fee: bigint
  /** The account whose story or control made it. */
  accountId: string
  /** When the network first saw it, in seconds since 1970. */
  seenSeconds: number
  /** Counts up: the order within a block and within the mempool. */
  arrival: number
  /** Undefined while it waits in the mempool. */
  height: number | undefined
}

export interface Spend {
  txid: string
  vin: number
}

export interface Coin {
  entry: Entry
  vout: number
  output: TxOutput
}

export interface Network {
  chain: Chain
  /** Throws a RangeError that says why a node would refuse the transaction. `height`: the block that holds it. */
  accept(raw: Buffer, from: { accountId: string; seenSeconds: number; height: number | undefined }): Entry
  find(txid: string): Entry | undefined
  findSpend(txid: string, vout: number): Spend | undefined
  /** Everything that pays to a script or spends from it: the mempool first, then the newest block first. */
  listOf(script: string): Entry[]
  coinsOf(script: string): Coin[]
  /** Takes a transaction out of the network, and every transaction that spends its outputs. Returns their txids. */
  drop(txid: string): string[]
  /** Puts a transaction, and every transaction that spends its outputs, back into the mempool. Returns their txids. */
  unconfirm(txid: string): string[]
  /** Puts a transaction and the unconfirmed ones that it spends from into this block. */
  confirm(txid: string, height: number): void
}

/** Outputs of a coinbase transaction can be spent this many blocks later. */
export const maturityBlocks = 100
const moneyMax = 21_000_000n * 100_000_000n
// The largest scenario has some two thousand.
const entriesMax = 500_000

export function createNetwork(seed: string): Network {
  const chain = createChain(seed)
  const books = createBooks()
  let arrivals = 0
  const nextArrival = (): number => (arrivals += 1)

  function confirm(txid: string, height: number): void {
    const entry = books.get(txid)
    if (entry.height !== undefined) return
    for (const { txid: parent } of entry.tx.inputs) confirm(parent, height)
    entry.height = height
    entry.arrival = nextArrival()
  }

  return {
    chain,
    accept(raw, { accountId, seenSeconds, height }) {
      const tx = parseTransaction(raw)
      const txid = txidOf(tx)
      const spent = checkTransaction(books, tx, txid, { height, tipHeight: chain.tipHeight() })
      const fee = isCoinbase(tx) ? 0n : sumOf(spent) - sumOf(tx.outputs)
      const bytes = serialize(tx, { witness: true })
      const entry: Entry = { txid, tx, raw: bytes, spent, fee, accountId, seenSeconds, arrival: nextArrival(), height }
      books.add(entry)
      return entry
    },
    find: (txid) => books.entries.get(txid),
    findSpend: (txid, vout) => books.spends.get(`${txid}:${vout}`),
    listOf(script) {
      const order = (entry: Entry): number => entry.height ?? Number.POSITIVE_INFINITY
      return [...(books.byScript.get(script) ?? [])].toSorted((a, b) =>
        order(a) === order(b) ? b.arrival - a.arrival : order(b) - order(a),
      )
    },
    coinsOf: (script) => [...(books.unspentOf.get(script)?.values() ?? [])],
    drop(txid) {
      const gone = [...withDescendants(books, txid)]
      for (const entry of gone) books.remove(entry)
      return gone.map((entry) => entry.txid)
    },
    unconfirm(txid) {
      const back = [...withDescendants(books, txid)].filter((entry) => entry.height !== undefined)
      for (const entry of back) entry.height = undefined
      return back.map((entry) => entry.txid)
    },
    confirm,
  }
}

/** The state of the network: the transactions, and the three ways to find them. */
interface Books {
  entries: Map<string, Entry>
  byScript: Map<string, Set<Entry>>
  /** By outpoint, "txid:vout". */
  spends: Map<string, Spend>
  /** By script, then by outpoint. */
  unspentOf: Map<string, Map<string, Coin>>
  get(txid: string): Entry
  add(entry: Entry): void
  /** Removes a transaction whose outputs are unspent; the outputs that it spent are unspent again. */
  remove(entry: Entry): void
}

function createBooks(): Books {
  const entries = new Map<string, Entry>()
  const byScript = new Map<string, Set<Entry>>()
  const spends = new Map<string, Spend>()
  const unspentOf = new Map<string, Map<string, Coin>>()

  function addCoin(entry: Entry, vout: number): void {
    const output = entry.tx.outputs[vout]
    if (output === undefined || !isSpendable(output.script)) return
    const script = output.script.toString('hex')
    const coins = unspentOf.get(script) ?? new Map<string, Coin>()
    unspentOf.set(script, coins.set(`${entry.txid}:${vout}`, { entry, vout, output }))
  }

  return {
    entries,
    byScript,
    spends,
    unspentOf,
    get(txid) {
      const entry = entries.get(txid)
      if (entry === undefined) throw new RangeError(`the network does not know ${txid}`)
      return entry
    },
    add(entry) {
      entries.set(entry.txid, entry)
      entry.tx.inputs.forEach(({ txid, vout }, vin) => {
        spends.set(`${txid}:${vout}`, { txid: entry.txid, vin })
        unspentOf.get(entry.spent[vin]?.script.toString('hex') ?? '')?.delete(`${txid}:${vout}`)
      })
      entry.tx.outputs.forEach((_, vout) => addCoin(entry, vout))
      for (const script of scriptsOf(entry)) byScript.set(script, (byScript.get(script) ?? new Set()).add(entry))
    },
    remove(entry) {
      entries.delete(entry.txid)
      entry.tx.outputs.forEach(({ script }, vout) => {
        unspentOf.get(script.toString('hex'))?.delete(`${entry.txid}:${vout}`)
      })
      for (const { txid, vout } of entry.tx.inputs) {
        spends.delete(`${txid}:${vout}`)
        const parent = entries.get(txid)
        if (parent !== undefined) addCoin(parent, vout)
      }
      for (const script of scriptsOf(entry)) byScript.get(script)?.delete(entry)
    },
  }
}

function scriptsOf(entry: Entry): Set<string> {
  return new Set([...entry.spent, ...entry.tx.outputs].map(({ script }) => script.toString('hex')))
}

/** The transaction itself last, those that spend its outputs before it. */
function withDescendants(books: Books, txid: string, found = new Set<Entry>()): Set<Entry> {
  const entry = books.get(txid)
  entry.tx.outputs.forEach((_, vout) => {
    const spend = books.spends.get(`${txid}:${vout}`)
    if (spend !== undefined) withDescendants(books, spend.txid, found)
  })
  return found.add(entry)
}

interface Confirmation {
  /** The block that will hold the transaction; undefined for the mempool. */
  height: number | undefined
  tipHeight: number
}

/** Returns the outputs that the transaction spends; none for a coinbase transaction. */
function checkTransaction(books: Books, tx: Tx, txid: string, confirmation: Confirmation): TxOutput[] {
  if (books.entries.size >= entriesMax) throw new RangeError(`the network holds ${entriesMax} transactions already`)
  if (books.entries.has(txid)) throw new RangeError(`${txid} is known already`)
  if (tx.inputs.length === 0 || tx.outputs.length === 0) throw new RangeError('inputs or outputs are missing')
  if (tx.outputs.some(({ value }) => value > moneyMax)) throw new RangeError('an amount is out of range')
  if (isCoinbase(tx)) return []
  if (new Set(tx.inputs.map((input) => `${input.txid}:${input.vout}`)).size !== tx.inputs.length) {
    throw new RangeError('an output is spent twice')
  }
  const spent = tx.inputs.map((input) => getUnspent(books, input, confirmation))
  if (sumOf(spent) < sumOf(tx.outputs)) throw new RangeError('the outputs are worth more than the inputs')
  const unsigned = tx.inputs.findIndex((_, index) => !isSigned(tx, index, spent))
  if (unsigned !== -1) throw new RangeError(`the signature of input ${unsigned} is wrong`)
  return spent
}

function getUnspent(books: Books, { txid, vout }: TxInput, { height, tipHeight }: Confirmation): TxOutput {
  const parent = books.entries.get(txid)
  const output = parent?.tx.outputs[vout]
  if (parent === undefined || output === undefined) throw new RangeError(`there is no output ${txid}:${vout}`)
  if (books.spends.has(`${txid}:${vout}`)) throw new RangeError(`${txid}:${vout} was spent already`)
  if (!isSpendable(output.script)) throw new RangeError(`${txid}:${vout} cannot be spent`)
  if (height !== undefined && (parent.height === undefined || parent.height > height)) {
    throw new RangeError(`${txid} is not confirmed by block ${height}`)
  }
  const reached = height ?? tipHeight + 1
  if (isCoinbase(parent.tx) && reached - (parent.height ?? reached) < maturityBlocks) {
    throw new RangeError(`${txid} is a reward that cannot be spent yet`)
  }
  return output
}

export function sumOf(outputs: readonly TxOutput[]): bigint {
  return outputs.reduce((sum, { value }) => sum + value, 0n)
}
