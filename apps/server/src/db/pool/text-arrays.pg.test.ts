import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { testDatabase } from '../../../../../test/postgres.ts'
import { errorCodeOf } from '../error-code.ts'
import { findTextArrays, writeTextArray } from './text-arrays.ts'

describe('a list of texts', () => {
  it('arrives as it was sent, whatever is in it', async (t) => {
    const { db } = await testDatabase(t)
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.stringMatching(/^[{}",\\ n]*$/),
      fc.constantFrom('', 'NULL', 'null', '{}', '\\', '"', 'ü€😀'),
    )
    const lists = fc.array(fc.option(text.filter((one) => !one.includes('\0'))), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(lists, async (texts) => {
        const found = await db.row('select $1::text[] as texts, array_ndims($1) as dimensions', [texts])
        assert.deepEqual(found, { texts, dimensions: texts.length === 0 ? null : 1 })
      }),
    )
  })

  it('is refused with a zero byte, like a single text', async (t) => {
    const { db } = await testDatabase(t)
    for (const [text, value] of [
      ['select $1::text', 'a\0b'],
      ['select $1::text[]', ['a\0b']],
    ] as const) {
      await assert.rejects(db.rows(text, [value]), (error) => errorCodeOf(error) === '22021')
    }
  })

  it('is written in binary form where the statement says that it is one, and nothing else is', () => {
    assert.deepEqual([...findTextArrays('select $1::text, $12::text[], any($3::bigint[]), $4')], [11])
    assert.ok(Buffer.isBuffer(writeTextArray(['a', null])))
    for (const value of ['a', null, 7, ['a', 7], [['a']], { a: 'b' }]) assert.equal(writeTextArray(value), undefined)
  })
})
