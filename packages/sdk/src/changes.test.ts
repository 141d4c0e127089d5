import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFeed, type Copy } from './changes.ts'
import { ProblemError } from './errors.ts'
import type { Problem } from './types.ts'

type Change = { op: 'upsert'; id: number } | { op: 'remove'; id: number }

/** A feed of these changes, two on a page; a cursor is how many were read. Cursors below `kept` have expired. */
function serve(changes: Change[], { kept = 0 } = {}) {
  const asked: string[] = []
  const get = async <T>(path: string): Promise<T> => {
    asked.push(path)
    const query = new URLSearchParams(path.split('?')[1])
    const at = Number(query.get('cursor') ?? kept)
    if (at < kept) throw new ProblemError(expired, undefined)
    const end = Math.min(at + 2, changes.length)
    const page = { next: end < changes.length ? `/changes?cursor=${end}` : '' }
    return { page, cursor: String(end), data: changes.slice(at, end), errors: [] } as T
  }
  return { feed: createFeed<Change>({ get }, '/changes'), asked, changes }
}

const expired: Problem = {
  ...{ type: '', title: '', status: 400, code: 'invalid_request', detail: '', request_id: 'req_1' },
  errors: [{ cause: 'cursor_expired', parameter: 'cursor', message: 'has expired' }],
}

const upserts = (count: number): Change[] => Array.from({ length: count }, (_, id) => ({ op: 'upsert', id }))

/** A copy in memory. */
function keep(): Copy<Change> & { ids: Set<number>; cursor: string | undefined; resets: number } {
  const copy = {
    ids: new Set<number>(),
    cursor: undefined as string | undefined,
    resets: 0,
    loadCursor: () => copy.cursor,
    apply(changes: readonly Change[], cursor: string) {
      for (const { op, id } of changes) {
        if (op === 'upsert') copy.ids.add(id)
        else copy.ids.delete(id)
      }
      copy.cursor = cursor
    },
    reset() {
      copy.ids.clear()
      copy.cursor = undefined
      copy.resets += 1
    },
  }
  return copy
}

describe('changes', () => {
  it('are read page after page, from the start or from a cursor', async () => {
    const { feed, asked } = serve(upserts(5))
    const ids: number[] = []
    for await (const { id } of feed.changes({}, {})) ids.push(id)
    assert.deepEqual(ids, [0, 1, 2, 3, 4])
    assert.deepEqual(asked, ['/changes?limit=100', '/changes?limit=100&cursor=2', '/changes?limit=100&cursor=4'])
    const later: number[] = []
    for await (const { id } of feed.changes({ cursor: '3' }, {})) later.push(id)
    assert.deepEqual(later, [3, 4])
  })

  it('have a cursor that is safe to save: it moves when a page was consumed completely', async () => {
    const { feed } = serve(upserts(5))
    const changes = feed.changes({}, {})
    assert.equal(changes.cursor, undefined)
    const seen: (string | undefined)[] = []
    for await (const { op } of changes) {
      assert.equal(op, 'upsert')
      seen.push(changes.cursor)
    }
    assert.deepEqual(seen, [undefined, undefined, '2', '2', '4'])
    assert.equal(changes.cursor, '5')
  })

  it('stop being fetched when the reader stops reading', async () => {
    const { feed, asked } = serve(upserts(5))
    for await (const { op } of feed.changes({}, {})) {
      assert.equal(op, 'upsert')
      break
    }
    assert.equal(asked.length, 1)
  })
})

describe('a copy', () => {
  it('is brought up to date, and later only by what is new', async () => {
    const { feed, asked, changes } = serve(upserts(3))
    const copy = keep()
    assert.equal(await feed.syncCopy(copy, {}), 3)
    assert.deepEqual([...copy.ids], [0, 1, 2])
    changes.push({ op: 'remove', id: 1 }, { op: 'upsert', id: 7 })
    asked.length = 0
    assert.equal(await feed.syncCopy(copy, {}), 2)
    assert.deepEqual([...copy.ids], [0, 2, 7])
    assert.equal(asked.length, 1)
    assert.equal(await feed.syncCopy(copy, {}), 0)
  })

  it('continues after the last applied page when applying fails', async () => {
    const { feed } = serve(upserts(5))
    const copy = keep()
    let pages = 0
    const failing: Copy<Change> = {
      ...copy,
      apply(changes, cursor) {
        pages += 1
        if (pages === 2) throw new Error('the disk is full')
        return copy.apply(changes, cursor)
      },
    }
    await assert.rejects(feed.syncCopy(failing, {}), /disk/)
    assert.deepEqual([[...copy.ids], copy.cursor], [[0, 1], '2'])
    assert.equal(await feed.syncCopy(copy, {}), 3)
    assert.deepEqual([...copy.ids], [0, 1, 2, 3, 4])
  })

  it('is emptied and rebuilt when its cursor has expired; other refusals are thrown', async () => {
    const { feed } = serve(upserts(5), { kept: 3 })
    const copy = keep()
    await copy.apply([{ op: 'upsert', id: 99 }], '1')
    assert.equal(await feed.syncCopy(copy, {}), 2)
    assert.deepEqual([[...copy.ids], copy.resets], [[3, 4], 1])
    const refusing = createFeed<Change>(
      {
        get: () => {
          throw new ProblemError({ ...expired, errors: [] }, undefined)
        },
      },
      '/changes',
    )
    await assert.rejects(refusing.syncCopy(copy, {}), ProblemError)
    assert.equal(copy.resets, 1)
  })
})
