/** The calls have names for developers; a person wants to know what was read. */
import type { Access } from '../api/manage-api.ts'
import type { TextKey } from '../texts/index.ts'

/** The first that fits: the history of assets is not their balances. */
const kinds: readonly (readonly [RegExp, TextKey])[] = [
  [/history/i, 'manage.what_history'],
  [/transaction|changes/i, 'manage.what_transactions'],
  [/asset|balance/i, 'manage.what_assets'],
  [/provider|coverage|account/i, 'manage.what_providers'],
  [/proof/i, 'manage.what_proof'],
  [/claim/i, 'manage.what_claim'],
  [/refresh/i, 'manage.what_refresh'],
  [/user/i, 'manage.what_user'],
]

/** `endpoint` is the id of a call in the contract. One that this page does not know yet is "other data". */
export function whatOf(endpoint: string): TextKey {
  return kinds.find(([pattern]) => pattern.test(endpoint))?.[1] ?? 'manage.what_other'
}

export interface AccessLine {
  /** Its hour and its kind, which no other line has. */
  key: string
  what: TextKey
  count: number
  lastAt: string
}

/** Newest first. Calls that read the same kind of data in the same hour are one line, because they have one name. */
export function toAccessLines(accesses: readonly Access[]): AccessLine[] {
  const lines = new Map<string, AccessLine>()
  for (const { hour, endpoint, count, last_at: lastAt } of accesses) {
    const what = whatOf(endpoint)
    const key = `${hour} ${what}`
    const before = lines.get(key) ?? { key, what, count: 0, lastAt }
    const latest = before.lastAt < lastAt ? lastAt : before.lastAt
    lines.set(key, { ...before, count: before.count + count, lastAt: latest })
  }
  return [...lines.values()].toSorted((a, b) => (a.lastAt < b.lastAt ? 1 : -1))
}

/**
 * At most `max` lines, the newest first, and among them the newest of each kind of data: what is read every hour must
 * not hide what was read once.
 */
export function pickNewest(lines: readonly AccessLine[], max: number): AccessLine[] {
  const newestOfKind = new Set(lines.filter((line) => line === lines.find(({ what }) => what === line.what)))
  const others = lines.filter((line) => !newestOfKind.has(line)).slice(0, Math.max(0, max - newestOfKind.size))
  const picked = new Set([...newestOfKind, ...others])
  return lines.filter((line) => picked.has(line))
}
