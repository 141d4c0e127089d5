/**
 * Own transfers: amounts that left one connection of a user and reached another. Pure, and a function of the set of
 * legs alone: neither their order nor earlier matches matter.
 *
 * Two legs are a candidate pair when nothing contradicts it, as strong as their evidence. A leg considers only its
 * strongest candidates, and of these only those for which it is among the strongest too; it is matched when exactly one
 * is left, seen from both sides. Anything else is not matched: a person can correct a transfer that is shown as a
 * deposit and a withdrawal, but would not find two that were mixed up. So the match of a leg depends on legs at most
 * `fateReach` candidate pairs away, and only legs near a change must be judged again.
 */
import { compare, isPositive, multiply, parseDecimal, subtract, sum, type Decimal } from './decimal.ts'
import { dayMs, hourMs } from './durations.ts'
import type { TransactionDraft } from './transactions.ts'

/** One side of what may be an own transfer. `hash` and `toAddress` as `findTransferLeg` writes them. */
export interface TransferLeg {
  /** The id of the transaction. */
  id: string
  connectionId: string
  direction: 'out' | 'in'
  assetId: string
  amount: Decimal
  /** Paid beside the amount, in the same asset. */
  fee: Decimal
  hash: string | null
  toAddress: string | null
  occurredAtMs: number
}

export interface TransferMatch {
  outgoingId: string
  incomingId: string
  /** 0 to 1. */
  confidence: number
}

/** How long after its departure a transfer may arrive if only amount and time identify it. */
export const arrivalMaxMs = dayMs
/**
 * How long before its departure it may arrive: venues stamp the request, the block or the booking, and their clocks
 * differ.
 */
export const clockToleranceMs = hourMs
/** With this many candidates by amount and time, none can be chosen. */
export const crowdSize = 10
export const fateReach = 4

/**
 * From this confidence on, a match counts as a fact; below, it is a suggestion. Amount and time alone stay below,
 * because a payment and a deposit of one round amount on one day look exactly like a transfer.
 */
export const certainFrom = 0.5

/**
 * The strongest comes first. A hash names one transfer on a chain, but one hash can carry several withdrawals, which
 * differ by address, then by amount. Less than was sent may arrive, because of a fee that the venue does not report. If
 * the sender states a fee in the same asset, there is no other: a Bitcoin payment has several recipients, and what did
 * not arrive here was paid to someone else.
 */
const evidences = {
  hash_address_amount: { rank: 0, confidence: 1 },
  hash_amount: { rank: 1, confidence: 1 },
  hash_less: { rank: 2, confidence: 0.9 },
  address_amount_time: { rank: 3, confidence: 0.95 },
  hash_part: { rank: 4, confidence: 0.4 },
  amount_time: { rank: 5, confidence: 0.4 },
} as const
type Evidence = (typeof evidences)[keyof typeof evidences]

/** If two transfers have the same hash, at least this part arrives: a fee that takes more makes no sense. */
const partArriving = parseDecimal('0.5')

/** Money is left out: between two venues it goes over a bank account, which is not connected. */
export function findTransferLeg(draft: TransactionDraft): Omit<TransferLeg, 'id' | 'connectionId'> | undefined {
  const direction = draft.type === 'send' ? 'out' : draft.type === 'receive' ? 'in' : undefined
  if (direction === undefined || draft.status === 'failed' || draft.spam) return undefined
  const [moved, ...others] = direction === 'out' ? draft.outputs : draft.inputs
  const backwards = direction === 'out' ? draft.inputs : draft.outputs
  if (moved === undefined || others.length > 0 || backwards.length > 0) return undefined
  const { assetId, amount } = moved
  if (assetId.startsWith('fiat:')) return undefined
  return {
    direction,
    assetId,
    amount,
    fee: sum(draft.fees.filter((fee) => fee.assetId === assetId).map((fee) => fee.amount)),
    hash: draft.hash === null ? null : toOneHash(draft.hash),
    toAddress: draft.toAddress === null ? null : toOneAddress(draft.toAddress),
    occurredAtMs: draft.occurredAtMs,
  }
}

export function matchTransfers(legs: readonly TransferLeg[]): TransferMatch[] {
  const pairs = listPairs(legs)
  const strongest = new Map<string, number>()
  for (const { outgoing, incoming, evidence } of pairs) {
    for (const { id } of [outgoing, incoming]) {
      strongest.set(id, Math.min(evidence.rank, strongest.get(id) ?? evidence.rank))
    }
  }
  const standing = pairs.filter(
    ({ outgoing, incoming, evidence }) =>
      strongest.get(outgoing.id) === evidence.rank && strongest.get(incoming.id) === evidence.rank,
  )
  const counts = countById(standing)
  return standing
    .filter(({ outgoing, incoming }) => counts.get(outgoing.id) === 1 && counts.get(incoming.id) === 1)
    .map(({ outgoing, incoming, evidence }) => ({
      outgoingId: outgoing.id,
      incomingId: incoming.id,
      confidence: evidence.confidence,
    }))
}

interface Pair {
  outgoing: TransferLeg
  incoming: TransferLeg
  evidence: Evidence
}

function countById(pairs: readonly Pair[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { outgoing, incoming } of pairs) {
    for (const { id } of [outgoing, incoming]) counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

function listPairs(legs: readonly TransferLeg[]): Pair[] {
  const departures = legs.filter(({ direction }) => direction === 'out')
  const arrivals = legs.filter(({ direction }) => direction === 'in')
  return [...listPairsByHash(departures, arrivals), ...listPairsByTime(departures, arrivals)]
}

function listPairsByHash(departures: readonly TransferLeg[], arrivals: readonly TransferLeg[]): Pair[] {
  const byHash = Map.groupBy(arrivals, ({ hash }) => hash)
  return departures.flatMap((outgoing) =>
    (outgoing.hash === null ? [] : (byHash.get(outgoing.hash) ?? [])).flatMap((incoming) => {
      const evidence = findEvidence(outgoing, incoming)
      return evidence === undefined ? [] : [{ outgoing, incoming, evidence }]
    }),
  )
}

/** Legs in a crowd are found from either side and have none of these pairs; only the size of a crowd matters. */
function listPairsByTime(departures: readonly TransferLeg[], arrivals: readonly TransferLeg[]): Pair[] {
  const arriving = indexByAmount(arrivals, ({ amount }) => [amount])
  const departing = indexByAmount(departures, arrivingAmounts)
  const crowded = new Set<string>()
  for (const incoming of arrivals) {
    const found = findInTime(incoming, [incoming.amount], departing, -arrivalMaxMs, clockToleranceMs)
    if (found.length >= crowdSize) crowded.add(incoming.id)
  }
  return departures.flatMap((outgoing) => {
    const found = findInTime(outgoing, arrivingAmounts(outgoing), arriving, -clockToleranceMs, arrivalMaxMs)
    return found.length >= crowdSize ? [] : found.filter(({ incoming }) => !crowded.has(incoming.id))
  })
}

/** Legs by asset, amount and whether there is a hash; oldest first. */
type ByAmount = ReadonlyMap<string, TransferLeg[]>

function indexByAmount(legs: readonly TransferLeg[], amountsOf: (leg: TransferLeg) => readonly Decimal[]): ByAmount {
  const index = new Map<string, TransferLeg[]>()
  for (const leg of legs.toSorted((a, b) => a.occurredAtMs - b.occurredAtMs)) {
    for (const amount of new Set(amountsOf(leg))) {
      const key = toAmountKey(leg.assetId, amount, leg.hash !== null)
      const list = index.get(key)
      if (list === undefined) index.set(key, [leg])
      else list.push(leg)
    }
  }
  return index
}

function toAmountKey(assetId: string, amount: Decimal, hasHash: boolean): string {
  return `${assetId} ${amount} ${hasHash}`
}

/** At most `crowdSize` of them. */
function findInTime(
  leg: TransferLeg,
  amounts: readonly Decimal[],
  index: ByAmount,
  fromMs: number,
  toMs: number,
): Pair[] {
  const found: Pair[] = []
  for (const amount of new Set(amounts)) {
    for (const hasHash of leg.hash === null ? [false, true] : [false]) {
      const list = index.get(toAmountKey(leg.assetId, amount, hasHash)) ?? []
      for (let at = findFirst(list, leg.occurredAtMs + fromMs); at < list.length; at += 1) {
        const other = list[at]
        if (other === undefined || other.occurredAtMs > leg.occurredAtMs + toMs) break
        const [outgoing, incoming] = leg.direction === 'out' ? [leg, other] : [other, leg]
        const evidence = findEvidence(outgoing, incoming)
        if (evidence !== undefined) found.push({ outgoing, incoming, evidence })
        if (found.length >= crowdSize) return found
      }
    }
  }
  return found
}

/** The index of the first that is not earlier. */
function findFirst(list: readonly TransferLeg[], timeMs: number): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle]?.occurredAtMs ?? Infinity) < timeMs) low = middle + 1
    else high = middle
  }
  return low
}

/** The whole amount, or the amount minus the fee where the venue includes it. */
function arrivingAmounts({ amount, fee }: TransferLeg): [Decimal, Decimal] {
  return [amount, subtract(amount, fee)]
}

function findEvidence(outgoing: TransferLeg, incoming: TransferLeg): Evidence | undefined {
  if (outgoing.assetId !== incoming.assetId || outgoing.connectionId === incoming.connectionId) return undefined
  const addressesKnown = outgoing.toAddress !== null && incoming.toAddress !== null
  if (addressesKnown && outgoing.toAddress !== incoming.toAddress) return undefined
  const amountFits = arrivingAmounts(outgoing).includes(incoming.amount)
  if (outgoing.hash !== null && incoming.hash !== null) {
    if (outgoing.hash !== incoming.hash) return undefined
    if (amountFits) return addressesKnown ? evidences.hash_address_amount : evidences.hash_amount
    const arrives = compare(incoming.amount, multiply(outgoing.amount, partArriving)) >= 0
    if (!arrives || compare(incoming.amount, outgoing.amount) >= 0) return undefined
    const [, lessFee] = arrivingAmounts(outgoing)
    const isPart = isPositive(outgoing.fee) && compare(incoming.amount, lessFee) < 0
    return isPart ? evidences.hash_part : evidences.hash_less
  }
  const tookMs = incoming.occurredAtMs - outgoing.occurredAtMs
  if (!amountFits || tookMs > arrivalMaxMs || tookMs < -clockToleranceMs) return undefined
  return addressesKnown ? evidences.address_amount_time : evidences.amount_time
}

/**
 * A hash of 32 bytes is written with and without `0x`, in either case. Others, such as Solana's, are case-sensitive.
 */
function toOneHash(hash: string): string {
  const [, digits] = /^(?:0x)?([0-9a-f]{64})$/i.exec(hash.trim()) ?? []
  return digits?.toLowerCase() ?? hash.trim()
}

/** Hexadecimal and bech32 addresses mean the same in either case; a recipient's tag is not part of the address. */
function toOneAddress(address: string): string {
  const [bare = ''] = address.trim().split('?')
  return /^(0x[0-9a-f]+|(bc|tb|bcrt|ltc)1[0-9a-z]+)$/i.test(bare) ? bare.toLowerCase() : bare
}
