/**
 * Turns the rows of one hash into a transaction. Pure: the order of the records does not matter.
 *
 * A chain says what moved but not why. A transaction with only incoming amounts is `receive`, one with only outgoing
 * amounts is `send`, one with both is a swap. Coins for wrapped coins are a conversion, and gas alone is a fee, which
 * the sender paid.
 */
import {
  add,
  compare,
  isPositive,
  isSpamAsset,
  isZero,
  negate,
  sum,
  zero,
  type Category,
  type Decimal,
  type FeeLeg,
  type Leg,
  type TransactionDraft,
  type TransactionType,
} from '@assay/core'
import { getAddress } from 'viem'
import type { AccountFacts, StoredRecord } from '../../kit/connector.ts'
import { nativeAsset, toAmount, tokenAsset, wrappedContract, type NamedAsset } from '../assets.ts'
import { getChain, type Chain } from '../chains.ts'
import { isFailed, listMoves, toFees, zeroAddress, type Fees, type Move, type Rows } from './moves.ts'
import { isReceiptKey, parseInternal, parseReceipt, parseToken, parseTransaction, parseWithdrawal } from '../records.ts'

export function linkKeys({ stream, partition, key, body }: StoredRecord): [string] {
  return [`${partition}:${nameOf(stream, key, body)}`]
}

function nameOf(stream: string, key: string, body: string): string {
  if (stream === 'withdrawals') return `withdrawal:${parseWithdrawal(body).withdrawalIndex}`
  if (stream === 'internal') return parseInternal(body).hash
  if (stream !== 'transactions') return parseToken(body).hash
  return isReceiptKey(key) ? parseReceipt(body).transactionHash : parseTransaction(body).hash
}

export function toTransactions(
  records: readonly StoredRecord[],
  { addresses }: Pick<AccountFacts, 'addresses'>,
): TransactionDraft[] {
  const stories = Map.groupBy(records, (record) => linkKeys(record)[0])
  return [...stories].flatMap(([naturalKey, story]) => {
    const [first] = story
    if (first === undefined) return []
    if (first.stream === 'withdrawals') return [toWithdrawal(naturalKey, first)]
    return toStory(naturalKey, story, addresses)
  })
}

function toRows(records: readonly StoredRecord[]): Rows {
  const bodiesOf = (...streams: readonly string[]): string[] =>
    records
      .filter(({ stream, key }) => streams.includes(stream) && !isReceiptKey(key))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ body }) => body)
  const [transaction] = bodiesOf('transactions').map(parseTransaction)
  const receipt = records.find(({ stream, key }) => stream === 'transactions' && isReceiptKey(key))
  return {
    transaction,
    receipt: receipt && parseReceipt(receipt.body),
    internals: bodiesOf('internal').map(parseInternal),
    tokens: bodiesOf('erc20').map(parseToken),
    nfts: bodiesOf('erc721', 'erc1155').map(parseToken),
  }
}

interface Story {
  chain: Chain
  rows: Rows
  fees: Fees | undefined
  /** What the moves say about all parts. Tens of thousands of moves are hundreds of parts, so it is found out once. */
  whole: {
    /** The address of the other side of all that came and of all that went, where that is one. */
    sender: string | undefined
    recipient: string | undefined
    hasWraps: boolean
    areMinted: boolean
    isSpam: boolean
  }
  own: ReadonlySet<string>
  hash: string
  head: Pick<TransactionDraft, 'naturalKey' | 'status' | 'occurredAtMs' | 'isDebited'>
}

function toStory(naturalKey: string, records: readonly StoredRecord[], own: ReadonlySet<string>): TransactionDraft[] {
  const rows = toRows(records)
  const shown = [rows.transaction, ...rows.internals, ...rows.tokens, ...rows.nfts].filter((row) => row !== undefined)
  const [first] = records
  if (shown.length === 0 || first === undefined) return []
  const chain = getChain(first.partition)
  const isPending = records.some(({ pending }) => pending === true)
  const moves = listMoves(chain, own, rows)
  // The wallet itself sent the transaction.
  const isOwn = rows.transaction !== undefined && own.has(rows.transaction.from)
  const story: Story = {
    ...{ chain, rows, own, fees: toFees(chain, own, rows) },
    whole: { ...toWhole(moves), isSpam: !isOwn && isSpam(moves, rows) },
    hash: naturalKey.slice(naturalKey.indexOf(':') + 1),
    head: {
      naturalKey,
      status: isPending ? 'pending' : isFailed(rows) && moves.length === 0 ? 'failed' : 'confirmed',
      // The balance of the newest block has it already.
      ...(isPending ? { isDebited: true } : {}),
      occurredAtMs: Math.max(...records.map(({ occurredAtMs }) => occurredAtMs)),
    },
  }
  return listParts(toLegs(moves)).map((legs, index) => toDraft(index === 0 ? story : toPart(story, index), legs))
}

function toWhole(moves: readonly Move[]): Omit<Story['whole'], 'isSpam'> {
  return {
    ...{ sender: findOther(moves, true), recipient: findOther(moves, false) },
    hasWraps: moves.some(({ isWrap }) => isWrap),
    // Tokens that did not exist before were given away by their contract.
    areMinted: moves.every(({ isIn, counterpart }) => isIn && counterpart === zeroAddress),
  }
}

function findOther(moves: readonly Move[], isIn: boolean): string | undefined {
  const others = new Set(moves.filter((move) => move.isIn === isIn).map(({ counterpart }) => counterpart))
  return others.size === 1 ? [...others][0] : undefined
}

/**
 * The most legs of one transaction. A contract can write ten thousand collectibles to a wallet in one transaction. Its
 * text would have megabytes, and a page of a hundred such texts would end the process that serves it.
 */
const legsMax = 250

interface Legs {
  inputs: readonly Leg[]
  outputs: readonly Leg[]
}

/** Nothing is left out: what does not fit into one transaction becomes further ones with the same hash. */
function listParts({ inputs, outputs }: Legs): Legs[] {
  const all = [...outputs.map((leg) => ({ leg, isIn: false })), ...inputs.map((leg) => ({ leg, isIn: true }))]
  const parts: Legs[] = []
  for (let at = 0; at === 0 || at < all.length; at += legsMax) {
    const { in: ins = [], out = [] } = Object.groupBy(all.slice(at, at + legsMax), ({ isIn }) => (isIn ? 'in' : 'out'))
    parts.push({ inputs: ins.map(({ leg }) => leg), outputs: out.map(({ leg }) => leg) })
  }
  return parts
}

/** The fees are those of the first part. */
function toPart(story: Story, index: number): Story {
  const { head } = story
  return { ...story, fees: undefined, head: { ...head, naturalKey: `${head.naturalKey}#${index + 1}` } }
}

function toDraft(story: Story, { inputs, outputs }: Legs): TransactionDraft {
  const fees = toFeeLegs(story)
  const { hash } = story
  const common = {
    ...story.head,
    method: 'rule' as const,
    network: story.chain.network,
    hash,
    ...toSides(story, { inputs, outputs }),
    spam: story.whole.isSpam,
    providerReference: hash,
    description: toDescription(story.rows),
    incomplete: listIncomplete(story),
  }
  if (inputs.length + outputs.length > 0) {
    return { ...common, ...toKind(story, inputs, outputs), inputs: [...inputs], outputs: [...outputs], fees }
  }
  if (fees.length > 0) {
    const amount = sum(fees.map((fee) => fee.amount))
    const paid = { ...nativeAsset(story.chain), amount }
    return { ...common, ...kind('output_only', 'fee', 1), inputs: [], outputs: [paid], fees: [] }
  }
  return { ...common, ...kind('uncategorized', 'other', 0), inputs: [], outputs: [], fees: [] }
}

/** What is not known of a transaction that the wallet sent: its fees, and what the first layer gave for a free one. */
function listIncomplete({ fees, rows }: Story): ('fees' | 'inputs')[] {
  if (fees === undefined || fees.isComplete) return []
  return rows.transaction?.gasPrice === '0' ? ['inputs', 'fees'] : ['fees']
}

type Kind = Pick<TransactionDraft, 'type' | 'category' | 'confidence'>

function kind(type: TransactionType, category: Category, confidence: number): Kind {
  return { type, category, confidence }
}

function toKind({ chain, whole }: Story, inputs: readonly Leg[], outputs: readonly Leg[]): Kind {
  if (inputs.length > 0 && outputs.length > 0) {
    // In one transaction, coins may also be wrapped to pay with them.
    const { assetId: wrappedId } = tokenAsset(chain, wrappedContract(chain))
    const isWrap =
      whole.hasWraps &&
      inputs.length === 1 &&
      outputs.length === 1 &&
      [...inputs, ...outputs].some(({ assetId }) => assetId === wrappedId)
    return isWrap ? kind('input_and_output', 'convert', 1) : kind('input_and_output', 'trade', 0.9)
  }
  if (outputs.length > 0) return kind('send', 'withdrawal', 0.9)
  return whole.areMinted ? kind('input_only', 'airdrop', 0.5) : kind('receive', 'deposit', 0.9)
}

/** The net amount of each asset: a router that returns what it did not need made the swap smaller. */
function toLegs(moves: readonly Move[]): { inputs: Leg[]; outputs: Leg[] } {
  const nets = new Map<string, { asset: NamedAsset; amount: Decimal }>()
  for (const { asset, amount, isIn } of moves) {
    const before = nets.get(asset.assetId)?.amount ?? zero
    nets.set(asset.assetId, { asset, amount: add(before, isIn ? amount : negate(amount)) })
  }
  const all = [...nets.values()].toSorted((a, b) => (a.asset.assetId < b.asset.assetId ? -1 : 1))
  return {
    inputs: all.filter(({ amount }) => isPositive(amount)).map(({ asset, amount }) => ({ ...asset, amount })),
    outputs: all
      .filter(({ amount }) => compare(amount, zero) < 0)
      .map(({ asset, amount }) => ({ ...asset, amount: negate(amount) })),
  }
}

function toFeeLegs({ chain, fees }: Story): FeeLeg[] {
  const paid = fees === undefined ? [] : [fees.gas, fees.data]
  return paid
    .filter((amount) => !isZero(amount))
    .map((amount) => ({ ...nativeAsset(chain), amount, kind: 'network' as const }))
}

/** The two sides of a transfer; otherwise the caller and the contract that it called. */
function toSides(
  { rows: { transaction }, whole, own }: Story,
  { inputs, outputs }: { inputs: readonly Leg[]; outputs: readonly Leg[] },
): Pick<TransactionDraft, 'fromAddress' | 'toAddress'> {
  const isIn = inputs.length > 0
  if (isIn !== outputs.length > 0) {
    const [wallet] = own
    const sides = { wallet: toShown(wallet), other: toShown(isIn ? whole.sender : whole.recipient) }
    return isIn
      ? { fromAddress: sides.other, toAddress: sides.wallet }
      : { fromAddress: sides.wallet, toAddress: sides.other }
  }
  return { fromAddress: toShown(transaction?.from), toAddress: toShown(transaction?.to) }
}

/** The address with its checksum (EIP-55), as wallets show it. */
function toShown(address: string | undefined): string | null {
  return address === undefined || address === '' ? null : getAddress(address)
}

/**
 * Spam that core's rule does not find: rows that another sender wrote into the wallet's history without moving anything
 * (a transfer of zero from the wallet to an address that looks like a friend's), and transfers out that only an
 * advertisement claims.
 */
function isSpam(moves: readonly Move[], rows: Rows): boolean {
  if (moves.length > 0) return moves.every(({ asset }) => isSpamAsset(asset))
  return !isFailed(rows)
}

/** The name of the function that was called, as the index knows it. The contract's author chose it. */
function toDescription({ transaction }: Rows): string | null {
  const [, name] = /^([A-Za-z_$][\w$]{0,60})\(/.exec(transaction?.functionName ?? '') ?? []
  return name ?? null
}

/** A full exit pays back what was staked; smaller withdrawals are rewards that were swept. */
const exitFrom = toAmount(8_000_000_000n, 9)

function toWithdrawal(naturalKey: string, { partition, body, occurredAtMs, pending }: StoredRecord): TransactionDraft {
  const chain = getChain(partition)
  const { amount: gwei, address, validatorIndex, withdrawalIndex } = parseWithdrawal(body)
  const amount = toAmount(BigInt(gwei), 9)
  const isExit = compare(amount, exitFrom) >= 0
  return {
    naturalKey,
    ...(isExit ? kind('receive', 'staking_unlock', 0.8) : kind('input_only', 'staking_reward', 0.9)),
    method: 'rule',
    status: pending === true ? 'pending' : 'confirmed',
    ...(pending === true ? { isDebited: true } : {}),
    occurredAtMs,
    inputs: [{ ...nativeAsset(chain), amount }],
    outputs: [],
    fees: [],
    network: chain.network,
    hash: null,
    fromAddress: null,
    toAddress: toShown(address),
    spam: false,
    providerReference: withdrawalIndex,
    description: `Validator ${validatorIndex}`,
    incomplete: [],
  }
}
