/**
 * Counts of what was asked and answered, for tests. Holds paths, statuses and error words; never a header or a body.
 */
interface JournalLine {
  provider_id: string
  account_id: string | null
  endpoint: string
  status: number
  /** The provider's own error word, or the fault that took the call. */
  error: string | null
  count: number
}

export interface Journal {
  note(line: Omit<JournalLine, 'count'>): void
  /** A call has begun; the returned function ends it. Overlapping calls of one account are counted. */
  beginRequest(accountId: string | undefined): () => void
  /** How often a call of an account began before the last of its calls had ended. */
  overlaps(accountId?: string): number
  list(accountId?: string): JournalLine[]
  clear(): void
}

// Callers choose the paths. Beyond this many different lines, further ones are counted together.
const linesMax = 5_000

export function createJournal(): Journal {
  const lines = new Map<string, JournalLine>()
  const underWay = new Map<string, number>()
  const met = new Map<string, number>()
  return {
    beginRequest(accountId) {
      if (accountId === undefined) return () => undefined
      const others = underWay.get(accountId) ?? 0
      underWay.set(accountId, others + 1)
      if (others > 0) met.set(accountId, (met.get(accountId) ?? 0) + 1)
      return () => {
        const left = (underWay.get(accountId) ?? 1) - 1
        if (left === 0) underWay.delete(accountId)
        else underWay.set(accountId, left)
      }
    },
    overlaps(accountId) {
      if (accountId !== undefined) return met.get(accountId) ?? 0
      return [...met.values()].reduce((sum, count) => sum + count, 0)
    },
    note(line) {
      const key = JSON.stringify([line.provider_id, line.account_id, line.endpoint, line.status, line.error])
      const known = lines.get(key)
      if (known !== undefined) known.count += 1
      else if (lines.size < linesMax) lines.set(key, { ...line, count: 1 })
      else countFurther(lines, line)
    },
    list: (accountId) => [...lines.values()].filter((line) => accountId === undefined || line.account_id === accountId),
    clear() {
      lines.clear()
      met.clear()
    },
  }
}

function countFurther(lines: Map<string, JournalLine>, line: Omit<JournalLine, 'count'>): void {
  const further = lines.get('further') ?? { ...line, account_id: null, endpoint: 'further', error: null, count: 0 }
  further.count += 1
  lines.set('further', further)
}
