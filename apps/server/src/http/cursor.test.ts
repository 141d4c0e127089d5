import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createCursors } from './cursor.ts'

const oldKey = new Uint8Array(32).fill(1)
const newKey = new Uint8Array(32).fill(2)
const cursors = createCursors([newKey, oldKey])
const walk = { list: 'listTransactions', subject: 'ann at cli_1' }

const filters = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.array(fc.string())))
const position = fc.array(fc.string())

describe('cursors', () => {
  it('come back as they were written, for any filters and position', () => {
    fc.assert(
      fc.property(filters, position, (someFilters, somePosition) => {
        const found = cursors.find(walk, cursors.write(walk, someFilters, somePosition))
        assert.deepEqual(JSON.stringify(found), JSON.stringify({ filters: someFilters, position: somePosition }))
      }),
    )
  })

  it('come back as they were written when they hold a hundred ids, and are not longer than these', () => {
    const ids = Array.from({ length: 100 }, (_, index) => `con_${String(index * 7_919).padStart(26, '0')}`)
    const text = cursors.write(walk, { connection_ids: ids }, ['x'])
    assert.deepEqual(cursors.find(walk, text), { filters: { connection_ids: ids }, position: ['x'] })
    assert.ok(text.length < ids.join(',').length)
  })

  it('are refused when any one byte is changed', () => {
    const bytes = Buffer.from(
      cursors.write(walk, { types: ['send'] }, ['2026-03-02T10:11:12.345Z', 'txn_1']),
      'base64url',
    )
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (index, change) => {
        const altered = Buffer.from(bytes)
        altered.writeUInt8((altered[index] ?? 0) ^ change, index)
        assert.equal(cursors.find(walk, altered.toString('base64url')), undefined)
      }),
    )
  })

  it('are refused in any other spelling of the same bytes', () => {
    const cursor = cursors.write(walk, {}, ['x'])
    for (const other of [`${cursor}=`, `${cursor} `, ` ${cursor}`, `${cursor}!`, cursor.slice(0, -1), '']) {
      assert.equal(cursors.find(walk, other), undefined, JSON.stringify(other))
    }
  })

  it('are refused when cut or extended', () => {
    const cursor = cursors.write(walk, { search: 'kraken' }, ['x', 'y'])
    for (let length = 0; length < cursor.length; length += 1) {
      assert.equal(cursors.find(walk, cursor.slice(0, length)), undefined)
    }
    assert.equal(cursors.find(walk, `${cursor}AAAA`), undefined)
  })

  it('are refused for any text that is not ours', () => {
    fc.assert(fc.property(fc.string(), (text) => assert.equal(cursors.find(walk, text), undefined)))
  })

  it('work for the list and the subject they were given to, and no other', () => {
    const cursor = cursors.write(walk, {}, ['x'])
    assert.ok(cursors.find(walk, cursor))
    assert.equal(cursors.find({ ...walk, list: 'listAssets' }, cursor), undefined)
    assert.equal(cursors.find({ ...walk, subject: 'bob at cli_1' }, cursor), undefined)
    assert.equal(cursors.find({ list: 'listTransactionsann', subject: ' at cli_1' }, cursor), undefined)
  })

  it('outlive a rotation while the old key is still in the ring', () => {
    const before = createCursors([oldKey]).write(walk, {}, ['x'])
    assert.ok(cursors.find(walk, before))
    assert.equal(createCursors([newKey]).find(walk, before), undefined)
    assert.equal(createCursors([oldKey]).find(walk, cursors.write(walk, {}, ['x'])), undefined)
  })
})
