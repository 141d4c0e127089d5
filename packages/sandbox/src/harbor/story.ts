/**
 * The words in which a scenario tells what happened on an account. `history.ts` turns them into entries, and refuses a
 * story in which somebody spends what they do not have.
 */
import { toShortText, toUnits } from '../core/units.ts'
import { dayOf, findCoin, priceInUsd } from '../market/series.ts'
import { getAsset, type Asset } from './assets.ts'

export interface Story {
  events: readonly StoryEvent[]
  /** Part of the balance that is staked, by asset. Moving it there and back leaves no entry. */
  staked?: Readonly<Record<string, string>>
  /** A sign-in's tokens end once it has read so many entries. */
  endsAfterEntries?: number
}

export interface StoryEvent {
  /** ISO 8601, UTC. */
  at: string
  kind: string
  /** One entry each, under one reference. */
  legs: readonly Leg[]
  passage?: Passage
}

export interface Leg {
  asset: string
  amount: string
  fee?: string
}

/**
 * How coins came or went. Over a network, hash and address are made up for each account; withdrawals with the same
 * `batch` left in one transaction. Or both are told to the letter.
 */
export type Passage = { network: string; batch?: string } | { hash: string | null; address: string | null }

/** An amount and, after a space, its asset: leg('-10 SOL'). */
export function leg(text: string, fee?: string): Leg {
  const [amount = '', asset = ''] = text.split(' ')
  return { asset, amount, ...(fee !== undefined && { fee }) }
}

/** Over a bank when no network is named. */
export function deposit(at: string, what: string, network?: string, fee?: string): StoryEvent {
  return { at, kind: 'deposit', legs: [leg(what, fee)], ...(network !== undefined && { passage: { network } }) }
}

export function withdrawal(at: string, what: string, fee: string, passage?: Passage): StoryEvent {
  return { at, kind: 'withdrawal', legs: [leg(`-${what}`, fee)], ...(passage !== undefined && { passage }) }
}

export function reward(at: string, what: string, fee?: string): StoryEvent {
  return { at, kind: 'reward', legs: [leg(what, fee)] }
}

/** At that day's market price, for a fee of a quarter per cent of what is given, or of what is received. */
export function trade(
  at: string,
  given: string,
  received: string,
  feeFrom: 'given' | 'received' = 'given',
): StoryEvent {
  const [amount = '', code = ''] = given.split(' ')
  const [from, to] = [getAsset(code), getAsset(received)]
  const day = dayOf(Date.parse(at))
  const units = toUnits(amount, from.decimals)
  const got =
    (units * priceOf(from, day) * 10n ** BigInt(to.decimals)) / (priceOf(to, day) * 10n ** BigInt(from.decimals))
  const [fromFee, toFee] = feeFrom === 'given' ? [units / 400n, 0n] : [0n, got / 400n]
  return {
    at,
    kind: 'trade',
    legs: [
      { asset: from.code, amount: `-${amount}`, fee: toShortText(fromFee, from.decimals) },
      { asset: to.code, amount: toShortText(got, to.decimals), fee: toShortText(toFee, to.decimals) },
    ],
  }
}

function priceOf({ code, coin }: Asset, day: number): bigint {
  const found = findCoin(coin ?? '')
  if (found === undefined) throw new RangeError(`${code} has no market price`)
  return priceInUsd(found, day)
}

/** The same happening again: once a month from `from` (a date), `count` times. */
export function monthly(from: string, count: number, tell: (date: string, index: number) => StoryEvent): StoryEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const date = new Date(`${from}T00:00:00Z`)
    date.setUTCMonth(date.getUTCMonth() + index)
    return tell(date.toISOString().slice(0, 10), index)
  })
}
