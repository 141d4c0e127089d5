/**
 * What a user's accounts come to, counting none of them twice. Pure.
 *
 * An account may be among them several times: under two brands of one exchange, or with two keys of an exchange that does
 * not tell which account a key belongs to. And of an account that was not read for a while nothing is known. What does
 * not count makes the sum a lower bound: a yes is certain, and so is a no that nothing left out could change.
 */
import { add, compare, isPositive, sum, zero, type Decimal } from '@assay/core'
import type { OwnedAccount } from '../portfolio/index.ts'

type Grade = OwnedAccount['grade']

export interface Counted {
  /** At least this much. */
  least: Decimal
  /** At most this much; undefined when it may be more than is known. */
  most: Decimal | undefined
  /** The worst grade of those that count. */
  grade: Grade
}

/** From worst to best. */
const grades: readonly Grade[] = ['open', 'unprovable', 'explained', 'proved']

/** `accountsOf`: the provider that a brand shares its accounts with, or the provider itself. */
export function count(owned: readonly OwnedAccount[], accountsOf: (providerId: string) => string): Counted {
  const known = owned.filter(({ isKnown }) => isKnown)
  const ofExchanges = [...Map.groupBy(known, ({ providerId }) => accountsOf(providerId)).values()].map(countExchange)
  const isBounded = owned.every(({ isKnown, amount }) => isKnown && amount !== null)
  const counted = ofExchanges.flatMap((one) => one.counted)
  return {
    least: sumOf(counted),
    most: isBounded ? sum(ofExchanges.map(({ most }) => most)) : undefined,
    grade: grades.find((grade) => counted.some((one) => one.grade === grade)) ?? 'unprovable',
  }
}

/**
 * A key without an account may belong to any account of the exchange, also to one that another key names. So either the
 * named accounts count or one of those keys, whichever is more.
 */
function countExchange(owned: readonly OwnedAccount[]): { counted: OwnedAccount[]; most: Decimal } {
  const keys = owned.filter(({ fingerprintOf }) => fingerprintOf === 'key')
  const byAccount = Map.groupBy(
    owned.filter((one) => !keys.includes(one)),
    ({ fingerprint }) => fingerprint,
  )
  const accounts = [...byAccount.values()].flatMap(pickLargest)
  const [key] = pickLargest(keys)
  const most = [...accounts, ...keys].reduce(
    (so, { amount }) => (amount !== null && isPositive(amount) ? add(so, amount) : so),
    zero,
  )
  if (key === undefined) return { counted: accounts, most }
  const isMore = accounts.length === 0 || compare(key.certain, sumOf(accounts)) > 0
  return { counted: isMore ? [key] : accounts, most }
}

function pickLargest([first, ...others]: readonly OwnedAccount[]): OwnedAccount[] {
  if (first === undefined) return []
  return [others.reduce((largest, one) => (compare(one.certain, largest.certain) > 0 ? one : largest), first)]
}

function sumOf(accounts: readonly OwnedAccount[]): Decimal {
  return sum(accounts.map(({ certain }) => certain))
}
