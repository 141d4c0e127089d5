/**
 * Turns a transaction or a reward into a draft. Pure: the order of the records does not matter.
 *
 * The chain says what changed but not why. A transaction with only incoming amounts is `receive`, one with only
 * outgoing amounts is `send`, one with both is a swap. SOL that moves from the wallet to its own stake account is
 * locked, and unlocked when it comes back. A transaction that changed nothing but the fee is a fee.
 *
 * The deposit of a token account that the wallet opens is a fee beside what the transaction is for. A deposit that comes
 * back is a transaction of its own, so that it is neither the price of a swap nor the reverse of a transfer.
 */
import { sum } from '@assay/core'
import type { Category, FeeLeg, Leg, TransactionDraft, TransactionType } from '@assay/core'
import type { AccountFacts, StoredRecord } from '../../kit/connector.ts'
import { toDraft } from '../../kit/draft.ts'
import { coin, toSol } from '../assets.ts'
import { toCoinLeg, toMoves, type Moves } from './moves.ts'
import { readReward, readTransaction, type Sides } from '../records.ts'
import { readState } from '../state.ts'

export function linkKeys({ stream, partition, key }: StoredRecord): [string] {
  return [stream === 'rewards' ? `reward:${partition}:${key}` : `tx:${key}`]
}

export function toTransactions(
  records: readonly StoredRecord[],
  facts: Pick<AccountFacts, 'state'>,
): TransactionDraft[] {
  const { address, tokens } = readState(facts.state)
  return [...Map.groupBy(records, (record) => linkKeys(record)[0])].flatMap(([naturalKey, story]) => {
    // Every list that contains the transaction has the same record of it.
    const [first] = story.toSorted((a, b) => (a.partition < b.partition ? -1 : 1))
    if (first === undefined) return []
    if (first.stream === 'rewards') return [toReward(naturalKey, first)]
    const lists = new Set(story.map(({ partition }) => partition))
    const own = { address, tokens: lists.intersection(new Set(tokens)), sides: listSides(story) }
    const isPending = story.some(({ pending }) => pending === true)
    return toMoved(naturalKey, first, toMoves(readTransaction(first), own), { address, isPending })
  })
}

function listSides(story: readonly StoredRecord[]): Map<string, Sides> {
  return new Map(
    story.flatMap((record): [string, Sides][] => {
      const { sides } = readTransaction(record)
      return sides === undefined ? [] : [[record.partition, sides]]
    }),
  )
}

function toReward(naturalKey: string, record: StoredRecord): TransactionDraft {
  const { epoch, amount } = readReward(record)
  return toDraft({
    ...{ naturalKey, occurredAtMs: record.occurredAtMs, type: 'input_only', category: 'staking_reward' },
    inputs: [toCoinLeg(BigInt(amount), 'staked')],
    network: 'solana',
    toAddress: record.partition,
    description: `Epoch ${epoch}`,
  })
}

function toMoved(
  naturalKey: string,
  { key: signature, occurredAtMs }: StoredRecord,
  moves: Moves,
  { address, isPending }: { address: string; isPending: boolean },
): TransactionDraft[] {
  const legs = toLegs(moves)
  const common: Pick<TransactionDraft, 'occurredAtMs' | 'method' | 'status'> & Partial<TransactionDraft> = {
    ...{ occurredAtMs, method: 'rule' },
    status: isPending ? 'pending' : moves.isFailed ? 'failed' : 'confirmed',
    // Balances include what is confirmed but not final yet.
    ...(isPending ? { isDebited: true } : {}),
    ...{ network: 'solana', hash: signature, providerReference: signature },
    incomplete: moves.isComplete ? [] : ['inputs', 'outputs'],
  }
  const returned = (key: string, fees: FeeLeg[]): TransactionDraft =>
    toDraft({
      ...{ ...common, naturalKey: key, ...kind('receive', 'transfer', 0.9), fees },
      ...{ inputs: [toCoinLeg(moves.returnedDeposits, 'liquid')], toAddress: address },
      description: 'Deposit of a closed token account',
    })
  const isReturned = moves.returnedDeposits > 0n
  if (isReturned && legs.inputs.length + legs.outputs.length === 0) return [returned(naturalKey, legs.fees)]
  const moved = toDraft({
    ...{ ...common, naturalKey, ...toKind(moves, legs), ...withFeeAlone(legs) },
    ...toSides(moves, legs, address),
    spam: isSpam(moves, legs),
    description:
      moves.paidDeposits > 0n ? `With a deposit of ${toSol(moves.paidDeposits)} SOL for a token account` : null,
  })
  return isReturned ? [moved, returned(`${naturalKey}:deposit`, [])] : [moved]
}

interface Legs {
  inputs: Leg[]
  outputs: Leg[]
  fees: FeeLeg[]
  /** Lamports that went to own stake accounts; negative when they came back. */
  locked: bigint
}

function toLegs({ liquid, staked, fee, paidDeposits, tokens }: Moves): Legs {
  const isInside = liquid > 0n !== staked > 0n && liquid !== 0n && staked !== 0n
  const inside = !isInside ? 0n : staked > 0n ? least(staked, -liquid) : -least(-staked, liquid)
  const coins = [
    { lamports: liquid + inside, place: 'liquid' as const },
    { lamports: staked - inside, place: 'staked' as const },
  ]
  const lock = inside === 0n ? [] : [inside > 0n ? inside : -inside]
  const [from, to] = inside > 0n ? (['liquid', 'staked'] as const) : (['staked', 'liquid'] as const)
  const ofTokens = (isIn: boolean): Leg[] =>
    tokens.filter((move) => move.isIn === isIn).map(({ asset, amount }) => ({ ...asset, amount }))
  return {
    inputs: [
      ...lock.map((lamports) => toCoinLeg(lamports, to)),
      ...coins.flatMap(({ lamports, place }) => (lamports > 0n ? [toCoinLeg(lamports, place)] : [])),
      ...ofTokens(true),
    ],
    outputs: [
      ...lock.map((lamports) => toCoinLeg(lamports, from)),
      ...coins.flatMap(({ lamports, place }) => (lamports < 0n ? [toCoinLeg(-lamports, place)] : [])),
      ...ofTokens(false),
    ],
    fees: [...toFees(fee, 'network'), ...toFees(paidDeposits, 'other')],
    locked: inside,
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function toFees(lamports: bigint, kind: FeeLeg['kind']): FeeLeg[] {
  return lamports <= 0n ? [] : [{ assetId: coin.assetId, symbol: coin.symbol, amount: toSol(lamports), kind }]
}

/** A fee alone is one output. */
function withFeeAlone({ inputs, outputs, fees }: Legs): Pick<TransactionDraft, 'inputs' | 'outputs' | 'fees'> {
  if (inputs.length + outputs.length > 0 || fees.length === 0) return { inputs, outputs, fees }
  return { inputs, outputs: [{ ...coin, amount: sum(fees.map(({ amount }) => amount)) }], fees: [] }
}

type Kind = Pick<TransactionDraft, 'type' | 'category' | 'confidence'>

function kind(type: TransactionType, category: Category, confidence: number): Kind {
  return { type, category, confidence }
}

function toKind(moves: Moves, { inputs, outputs, fees, locked }: Legs): Kind {
  if (inputs.length + outputs.length === 0) {
    return fees.length > 0 ? kind('output_only', 'fee', 1) : kind('uncategorized', 'other', 0)
  }
  if (locked !== 0n && inputs.length === 1 && outputs.length === 1) {
    return kind('input_and_output', locked > 0n ? 'staking_lock' : 'staking_unlock', 1)
  }
  if (inputs.length > 0 && outputs.length > 0) return kind('input_and_output', 'trade', 0.9)
  const isWithoutOthers = moves.tokens.length > 0 && moves.tokens.every(({ others }) => others.length === 0)
  // Tokens that came from no account were made by their mint; those that went to none were burned.
  if (outputs.length > 0) return isWithoutOthers ? kind('output_only', 'other', 0.7) : kind('send', 'withdrawal', 0.9)
  // Validators share tips with their stakers, in transactions that the wallet has no part in.
  if (!moves.isOwn && !moves.isStakeNew && inputs.every(({ place }) => place === 'staked'))
    return kind('input_only', 'staking_reward', 0.8)
  return isWithoutOthers ? kind('input_only', 'airdrop', 0.5) : kind('receive', 'deposit', 0.9)
}

/** The two sides of a transfer; for everything else the signer. */
function toSides(
  moves: Moves,
  { inputs, outputs }: Legs,
  address: string,
): Pick<TransactionDraft, 'fromAddress' | 'toAddress'> {
  const isIn = inputs.length > 0
  if (isIn === outputs.length > 0) return { fromAddress: moves.isOwn ? address : null, toAddress: null }
  const fromTokens = moves.tokens.flatMap(({ others }) => others)
  const others = new Set(fromTokens.length > 0 ? fromTokens : moves.others)
  const [other = null] = others.size === 1 ? others : []
  return isIn ? { fromAddress: other, toAddress: address } : { fromAddress: address, toAddress: other }
}

/** Spam that core's rule does not find: some senders write a wallet into a transaction that moves nothing of it. */
function isSpam({ isOwn, isFailed, isComplete }: Moves, { inputs, outputs, fees }: Legs): boolean {
  return !isOwn && !isFailed && isComplete && inputs.length + outputs.length + fees.length === 0
}
