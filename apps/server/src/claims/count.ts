/**
 * What a user's accounts come to, counting no coin twice. Pure.
 *
 * Coins move from one account of an exchange to another at once, and most exchanges do not list how: by an internal
 * transfer, from the spot wallet to the futures wallet, or to another person's account and from there. No two accounts
 * are read in the same second, so each of them could show the same coins. And what looks like two accounts may be one:
 * under two brands, or with two keys of an exchange that does not tell which account a key belongs to. So at most one
 * account of such an exchange counts. Coins take longer from one exchange to another, and both list them.
 *
 * Of an account that was not read for a while nothing is known. What does not count makes the sum a lower bound: a yes
 * is certain, and so is a no that nothing left out could change.
 */
import { add, compare, isNegative, isPositive, sum, zero, type Decimal } from '@assay/core'
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

/** `exchangeOf`: the exchange of which a provider reads a brand, a region or some wallets; or the provider itself. */
export function count(owned: readonly OwnedAccount[], exchangeOf: (providerId: string) => string): Counted {
  const known = owned.filter(({ isKnown }) => isKnown)
  const ofExchanges = [...Map.groupBy(known, ({ providerId }) => exchangeOf(providerId)).values()].map(countExchange)
  const isBounded = owned.every(({ isKnown, amount }) => isKnown && amount !== null)
  const counted = ofExchanges.flatMap((one) => one.counted)
  return {
    least: sumOf(counted),
    most: isBounded ? sum(ofExchanges.map(({ most }) => most)) : undefined,
    grade: grades.find((grade) => counted.some((one) => one.grade === grade)) ?? 'unprovable',
  }
}

/**
 * Accounts whose movements are all known add up, where the exchange names them: a key without an account may belong to
 * any of them. Either these count or one of the others, whichever is more. What an account owes is taken off in each case.
 */
function countExchange(owned: readonly OwnedAccount[]): { counted: OwnedAccount[]; most: Decimal } {
  const followed = owned.filter(({ isFollowed, fingerprintOf }) => isFollowed && fingerprintOf === 'account')
  const others = owned.filter((one) => !followed.includes(one))
  const accounts = [...Map.groupBy(followed, ({ fingerprint }) => fingerprint).values()].flatMap(pickLargest)
  const [other] = pickLargest(others)
  const isOther = other !== undefined && (accounts.length === 0 || compare(other.certain, sumOf(accounts)) > 0)
  const debts = owned.filter(({ certain }) => isNegative(certain))
  return {
    counted: [...new Set([...(isOther ? [other] : accounts), ...debts])],
    most: [...accounts, ...others].reduce(
      (so, { amount }) => (amount !== null && isPositive(amount) ? add(so, amount) : so),
      zero,
    ),
  }
}

function pickLargest([first, ...others]: readonly OwnedAccount[]): OwnedAccount[] {
  if (first === undefined) return []
  return [others.reduce((largest, one) => (compare(one.certain, largest.certain) > 0 ? one : largest), first)]
}

function sumOf(accounts: readonly OwnedAccount[]): Decimal {
  return sum(accounts.map(({ certain }) => certain))
}
