/** Copies of lists that applications keep through the feeds, and where they differ from the lists. */
import { isDeepStrictEqual } from 'node:util'
import type {
  Copy,
  EnterpriseChange,
  EnterpriseTransaction,
  Transaction,
  TransactionChange,
} from '../../../packages/sdk/src/index.ts'

export interface KeptCopy<Change, Row> extends Copy<Change> {
  readonly rows: ReadonlyMap<string, Row>
  /** Pages that are still applied before the reader stops in the middle of the feed; undefined: all. */
  pagesLeft: number | undefined
  /** How often its cursor had expired. */
  resets: number
}

/** A reader that stops where it is, as a program that is restarted does. */
export class ReaderStopped extends Error {}

export function keepAccountCopy(): KeptCopy<TransactionChange, Transaction> {
  return keep<TransactionChange, Transaction>((rows, change) => {
    if (change.op === 'upsert') rows.set(change.transaction.id, change.transaction)
    else rows.delete(change.id)
  })
}

export function keepTenantCopy(): KeptCopy<EnterpriseChange, EnterpriseTransaction> {
  return keep<EnterpriseChange, EnterpriseTransaction>((rows, change) => {
    if (change.op === 'upsert') rows.set(change.transaction.id, change.transaction)
    else if (change.op === 'remove') rows.delete(change.id)
    else for (const [id, row] of rows) if (row.user_id === change.user_id) rows.delete(id)
  })
}

function keep<Change, Row>(apply: (rows: Map<string, Row>, change: Change) => void): KeptCopy<Change, Row> {
  const rows = new Map<string, Row>()
  let saved: string | undefined
  const copy: KeptCopy<Change, Row> = {
    rows,
    pagesLeft: undefined,
    resets: 0,
    loadCursor: () => saved,
    apply(changes, cursor) {
      if (copy.pagesLeft === 0) throw new ReaderStopped()
      if (copy.pagesLeft !== undefined) copy.pagesLeft -= 1
      for (const change of changes) apply(rows, change)
      saved = cursor
    },
    reset() {
      rows.clear()
      saved = undefined
      copy.resets += 1
    },
  }
  return copy
}

/** In words; empty when they are the same. */
export function compareRows(
  whose: string,
  copy: ReadonlyMap<string, object>,
  list: ReadonlyMap<string, object>,
): string[] {
  const missing = [...list.keys()].filter((id) => !copy.has(id))
  const extra = [...copy.keys()].filter((id) => !list.has(id))
  const stale = [...list].filter(([id, row]) => copy.has(id) && !isDeepStrictEqual(copy.get(id), row)).map(([id]) => id)
  const tell = (ids: readonly string[], what: string): string[] =>
    ids.length === 0 ? [] : [`${whose}: the copy differs from the list: ${ids.length} ${what}, such as ${ids[0]}`]
  return [...tell(missing, 'missing'), ...tell(extra, 'that the list does not have'), ...tell(stale, 'that are stale')]
}
