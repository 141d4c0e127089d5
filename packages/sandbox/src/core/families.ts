/**
 * What became of each signing in: which refresh token is next, and whether its tokens have ended. Kept in memory alone.
 * A family from before this process began is taken at its word, so a restart forgives what was spent before it.
 */
import type { Claims } from './tokens.ts'

// Far above any test; beyond it the oldest is forgotten, and so forgiven.
const rememberedMax = 10_000

interface Family {
  account: string
  ended: boolean
  /** True from the start for a family met by one of its tokens: the code had its use in an earlier process. */
  codeSpent: boolean
  /** Refresh tokens before this serial are spent. */
  nextSerial: number
  entriesRead: number
}

export interface Families {
  isEnded(claims: Claims): boolean
  /** The code's one use. A second one ends the family and is false, as is one of an ended family. */
  spendCode(claims: Claims): boolean
  /** A refresh token's one use, by the same rule. */
  spendRefresh(claims: Claims): boolean
  /** Everything that came of one signing in. */
  end(claims: Claims): void
  /** Every present token of an account. A later sign-in starts a new family. */
  endAll(account: string): void
  /** Ends the family once it has read this many. */
  countEntries(claims: Claims, count: number, endsAfter: number | undefined): void
}

export function createFamilies(): Families {
  const families = new Map<string, Family>()
  // Families that are older than this process and that it has not met yet end with their account's others.
  const endedAccounts = new Set<string>()

  function familyOf({ family: id, account, serial }: Claims, isNew = false): Family {
    const known = families.get(id)
    if (known !== undefined) return known
    const ended = !isNew && endedAccounts.has(account)
    const family = { account, ended, codeSpent: !isNew, nextSerial: serial, entriesRead: 0 }
    families.set(id, family)
    forgetOldest(families)
    return family
  }

  return {
    isEnded: (claims) => familyOf(claims).ended,
    spendCode(claims) {
      const family = familyOf(claims, true)
      if (family.codeSpent) family.ended = true
      family.codeSpent = true
      return !family.ended
    },
    spendRefresh(claims) {
      const family = familyOf(claims)
      if (claims.serial < family.nextSerial) family.ended = true
      family.nextSerial = Math.max(family.nextSerial, claims.serial + 1)
      return !family.ended
    },
    end(claims) {
      familyOf(claims).ended = true
    },
    endAll(account) {
      endedAccounts.add(account)
      forgetOldest(endedAccounts)
      for (const family of families.values()) if (family.account === account) family.ended = true
    },
    countEntries(claims, count, endsAfter) {
      const family = familyOf(claims)
      family.entriesRead += count
      if (endsAfter !== undefined && family.entriesRead >= endsAfter) family.ended = true
    },
  }
}

function forgetOldest(remembered: Map<string, unknown> | Set<string>): void {
  const [oldest] = remembered.keys()
  if (remembered.size > rememberedMax && oldest !== undefined) remembered.delete(oldest)
}
