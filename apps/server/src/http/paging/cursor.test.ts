import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { createCursors, createMac, toSubject } from './cursor.ts'
import { createHmac } from 'node:crypto'

const oldKey = new Uint8Array(32).fill(1)
const newKey = new Uint8Array(32).fill(2)
const cursors = createCursors([newKey, oldKey])
const bob = toSubject('bob at cli_1')
const walk = { list: 'listTransactions', subject: toSubject('ann at cli_1') }

const filters = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.array(fc.string())))
const point = fc.array(fc.string())

describe('cursors', () => {
  it('decode to what was encoded, for any filters and point', () => {
    fc.assert(
      fc.property(filters, point, (someFilters, somePoint) => {
        const found = cursors.find(walk.list, cursors.write(walk, someFilters, somePoint))
        assert.deepEqual(JSON.stringify(found), JSON.stringify({ filters: someFilters, point: somePoint }))
        assert.ok(found?.isOf(walk.subject))
      }),
    )
  })

  it('decode to what was encoded when they hold a hundred ids, and are not longer than the ids', () => {
    const ids = Array.from({ length: 100 }, (_, index) => `con_${String(index * 7_919).padStart(26, '0')}`)
    const text = cursors.write(walk, { connection_ids: ids }, ['x'])
    const found = cursors.find(walk.list, text)
    assert.deepEqual([found?.filters, found?.point], [{ connection_ids: ids }, ['x']])
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
        assert.equal(cursors.find(walk.list, altered.toString('base64url')), undefined)
      }),
    )
  })

  it('are refused in any other spelling of the same bytes', () => {
    const cursor = cursors.write(walk, {}, ['x'])
    for (const other of [`${cursor}=`, `${cursor} `, ` ${cursor}`, `${cursor}!`, cursor.slice(0, -1), '']) {
      assert.equal(cursors.find(walk.list, other), undefined, JSON.stringify(other))
    }
  })

  it('are refused when cut or extended', () => {
    const cursor = cursors.write(walk, { search: 'kraken' }, ['x', 'y'])
    for (let length = 0; length < cursor.length; length += 1) {
      assert.equal(cursors.find(walk.list, cursor.slice(0, length)), undefined)
    }
    assert.equal(cursors.find(walk.list, `${cursor}AAAA`), undefined)
  })

  it('are refused when the text is not one of ours', () => {
    fc.assert(fc.property(fc.string(), (text) => assert.equal(cursors.find(walk.list, text), undefined)))
  })

  it('work only for the list that they were issued for', () => {
    const cursor = cursors.write(walk, {}, ['x'])
    assert.ok(cursors.find(walk.list, cursor))
    for (const other of ['listAssets', 'listTransactionsann', '']) assert.equal(cursors.find(other, cursor), undefined)
  })

  it('name their owner, and a caller cannot forge one for another user', () => {
    const cursor = cursors.write(walk, {}, ['x'])
    const found = cursors.find(walk.list, cursor)
    assert.deepEqual([found?.isOf(walk.subject), found?.isOf(bob), found?.isOf(toSubject(''))], [true, false, false])
    // The digest of the subject is under the signature.
    const theirs = Buffer.from(cursors.write({ ...walk, subject: bob }, {}, ['x']), 'base64url')
    const mixed = Buffer.from(cursor, 'base64url')
    theirs.copy(mixed, 18, 18, 30)
    assert.equal(cursors.find(walk.list, mixed.toString('base64url')), undefined)
  })

  it('are checked before they are unpacked, so unsigned text is never inflated', () => {
    // This is a deflated megabyte of text behind the mark of packed cursors.
    const bomb = Buffer.concat([Buffer.alloc(30), Buffer.of(0), deflateRawSync(Buffer.alloc(1_000_000, 'x'))])
    assert.equal(cursors.find(walk.list, bomb.toString('base64url')), undefined)
    const long = cursors.write(walk, { search: 'x'.repeat(100_000) }, [])
    assert.throws(() => cursors.find(walk.list, long), RangeError)
  })

  it('survive a rotation while the old key is still in the ring', () => {
    const before = createCursors([oldKey]).write(walk, {}, ['x'])
    assert.ok(cursors.find(walk.list, before))
    assert.equal(createCursors([newKey]).find(walk.list, before), undefined)
    assert.equal(createCursors([oldKey]).find(walk.list, cursors.write(walk, {}, ['x'])), undefined)
  })
})

describe('the HMAC of a cursor', () => {
  it('RFC 2104: for any text and key, equals the result of Node’s own HMAC', () => {
    const key = fc.uint8Array({ maxLength: 64 })
    fc.assert(
      fc.property(key, fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }), (secret, texts) => {
        const mac = createMac(secret)
        // The codes are computed one after another, because none may depend on the one before.
        for (const text of texts) assert.equal(mac(text), createHmac('sha256', secret).update(text).digest('base64url'))
      }),
    )
  })

  it('refuses a key that is longer than a block', () => {
    assert.throws(() => createMac(new Uint8Array(65)), RangeError)
  })
})
