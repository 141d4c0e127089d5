import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs, SourceError } from '@assay/core'
import { z } from 'zod'
import type { Window } from './connector.ts'
import { keepInside, toPageRows, toRawRecord } from './records.ts'

const startMs = Date.UTC(2026, 0, 1)
const window: Window = { unit: 'ms', start: startMs, end: startMs + 1_000 }
const nowMs = window.end
const row = z.object({ id: z.string(), at: z.number() })

function read(body: string): { key: string; occurredAtMs: number } {
  const { id, at } = row.parse(JSON.parse(body))
  return { key: id, occurredAtMs: at }
}

describe('a raw record', () => {
  it('is the row as it was written, with its key and time', () => {
    const body = `{"id":"a","at":${startMs + 500},"amount":1.10}`
    assert.deepEqual(toRawRecord(body, window, read), { key: 'a', occurredAtMs: startMs + 500, body })
  })

  it('that cannot be parsed is kept inside its window and says which member is wrong, without the value', () => {
    const body = '{"id":"a","at":"hunter2"}'
    const record = toRawRecord(body, window, read, 'L1')
    assert.deepEqual([record.key, record.occurredAtMs, record.body], ['L1', window.end - 1, body])
    assert.match(record.unreadable ?? '', /^at: /)
    assert.doesNotMatch(record.unreadable ?? '', /hunter2/)
  })

  it('that cannot be parsed and has no id is known by its text: the same row is the same record', () => {
    const [first, again, other] = ['nonsense', 'nonsense', 'other'].map((body) => toRawRecord(body, window, read).key)
    assert.match(first ?? '', /^[0-9a-f]{64}$/)
    assert.equal(first, again)
    assert.notEqual(first, other)
  })
})

describe('an id that no index can hold', () => {
  it('makes its own record unreadable, under a key of its text, whether it is in the row or beside it', () => {
    const body = JSON.stringify({ id: 'x'.repeat(5_000), at: startMs + 500 })
    for (const record of [toRawRecord(body, window, read), toRawRecord(body, window, read, 'y'.repeat(5_000))]) {
      assert.match(record.key, /^[0-9a-f]{64}$/)
      assert.equal(record.unreadable, 'the id is longer than 300 characters')
    }
  })
})

it('a record of a time that no provider can have is unreadable, and kept inside its window', () => {
  const seconds = startMs / 1_000
  for (const at of [-1, 0, seconds, Date.UTC(2009, 0, 1) - 1, NaN, startMs * 1_000, 253_402_300_800_000, 8.64e15 + 1]) {
    const record = toRawRecord('{}', window, () => ({ key: 'a', occurredAtMs: at }))
    assert.deepEqual([record.occurredAtMs, record.unreadable], [window.end - 1, 'the time is out of range'])
  }
  const first = toRawRecord('{}', window, () => ({ key: 'a', occurredAtMs: Date.UTC(2009, 0, 1) }))
  assert.equal(first.unreadable, undefined)
})

describe('records outside of their window', () => {
  const toRecord = (at: number) => ({ key: String(at - startMs), occurredAtMs: at, body: '' })

  it('are left to the windows that they belong to: the start is inside, the end is not', () => {
    const records = [-1, 0, 999, 1_000, dayMs].map((after) => toRecord(startMs + after))
    assert.deepEqual(
      keepInside(window, records, nowMs).map(({ key }) => key),
      ['0', '999'],
    )
  })

  it('are kept as unreadable if they are more than a day ahead: no window would have them for years', () => {
    const records = [{ ...toRecord(nowMs + dayMs + 1), pending: true }, toRecord(nowMs + dayMs)]
    assert.deepEqual(keepInside(window, records, nowMs), [
      { key: '86401001', occurredAtMs: window.end - 1, body: '', unreadable: 'the time is out of range' },
    ])
  })
})

it('a page that is far longer than any that we ask for is refused before its rows are read', () => {
  const rows = Array.from({ length: 10_001 }, (_, at) => at)
  assert.throws(
    () => toPageRows(rows),
    (error) => error instanceof SourceError && error.fault === 'unreadable_answer',
  )
  assert.equal(toPageRows(rows.slice(1)).length, 10_000)
})
