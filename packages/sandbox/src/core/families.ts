/**
 * The state of each sign-in: which refresh token is next, and whether its tokens have ended. It is kept in memory only.
 * Tokens of a family from an earlier process are accepted, so a restart allows a spent token to be used again.
 */
import type { Claims } from './tokens.ts'

// Far more than any test needs. Beyond it the oldest family is dropped, and its spent tokens work again.
const rememberedMax = 10_000

interface Family {
  account: string
  ended: boolean
  /** True from the start for a family that is first seen by a token: its code was used in an earlier process. */
  codeSpent: boolean
  /** Refresh tokens before this serial are spent. */
  nextSerial: number
  entriesRead: number
}

export interface Families {
  isEnded(claims: Claims): boolean
  /**
   * Uses the code, which works once. A second use returns false and ends the family; a code of an ended family returns
   * false.
   */
  spendCode(claims: Claims): boolean
  /** Uses a refresh token, which works once, by the same rule. */
  spendRefresh(claims: Claims): boolean
  /** Ends everything that resulted from one sign-in. */
  end(claims: Claims): void
  /** Ends every present token of an account. A later sign-in starts a new family. */
  endAll(account: string): void
  /** Ends the family once it has read this many. */
  countEntries(claims: Claims, count: number, endsAfter: number | undefined): void
}

export function createFamilies(): Families {
  const families = new Map<string, Family>()
  // Families from earlier processes that were not seen yet end with the others of their account.
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
