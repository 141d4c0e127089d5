/**
 * Following changes. A feed is read page by page in the order of the changes; applied in that order, a copy equals the
 * list after the last page. Every page ends with a cursor, from which the feed continues later.
 */
import { toQuery, type CallOptions, type Calls } from './calling/calls.ts'
import { ProblemError } from './errors.ts'
import type { ErrorItem } from './types.ts'

export interface ChangesOptions {
  /** Where an earlier reading ended; without it, the feed starts with everything. */
  cursor?: string | undefined
}

export interface ChangesPage<Change> {
  data: Change[]
  /** Where to continue, now or later. */
  cursor: string
  /** Nothing follows for now. */
  isLast: boolean
  /** One for each connection whose data is stale or still being read. */
  errors: ErrorItem[]
}

/** Changes as they are read, page after page. */
export interface Changes<Change> extends AsyncIterable<Change> {
  /** Where to continue later. It moves when all changes of a page were consumed, so it can be saved at any time. */
  readonly cursor: string | undefined
}

/** Storage for a copy of the list. */
export interface Copy<Change> {
  /** The cursor that was saved last; undefined the first time. */
  loadCursor: () => string | undefined | Promise<string | undefined>
  /**
   * Writes these changes in their order and saves the cursor, in one transaction if the store has transactions.
   * Otherwise, write the changes first: applying them again changes nothing.
   */
  apply: (changes: readonly Change[], cursor: string) => void | Promise<void>
  /**
   * Empties the copy and forgets the cursor. Called when the saved cursor has expired: then removals would be missed.
   */
  reset: () => void | Promise<void>
}

interface WireChanges<Change> {
  page: { next: string }
  cursor: string
  data: Change[]
  errors: ErrorItem[]
}

const pageSize = '100'

export function createFeed<Change>({ get }: Pick<Calls, 'get'>, path: string) {
  async function page({ cursor }: ChangesOptions, more: CallOptions): Promise<ChangesPage<Change>> {
    const answer = await get<WireChanges<Change>>(`${path}${toQuery({ limit: pageSize, cursor })}`, more)
    return { data: answer.data, cursor: answer.cursor, isLast: answer.page.next === '', errors: answer.errors }
  }

  return {
    page,
    changes({ cursor: start }: ChangesOptions, more: CallOptions): Changes<Change> {
      let cursor = start
      return {
        get cursor() {
          return cursor
        },
        async *[Symbol.asyncIterator]() {
          for (let isLast = false; !isLast;) {
            const read = await page({ cursor }, more)
            yield* read.data
            cursor = read.cursor
            isLast = read.isLast
          }
        },
      }
    },
    /** Returns how many changes were applied. */
    async syncCopy(copy: Copy<Change>, more: CallOptions): Promise<number> {
      let cursor = await copy.loadCursor()
      let applied = 0
      for (;;) {
        const read = await page({ cursor }, more).catch(async (error: unknown) => {
          if (cursor === undefined || !hasExpired(error)) throw error
          await copy.reset()
          return undefined
        })
        if (read === undefined) {
          cursor = undefined
          continue
        }
        await copy.apply(read.data, read.cursor)
        applied += read.data.length
        cursor = read.cursor
        if (read.isLast) return applied
      }
    },
  }
}

function hasExpired(error: unknown): boolean {
  return error instanceof ProblemError && error.errors.some(({ cause }) => cause === 'cursor_expired')
}
