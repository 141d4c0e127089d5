import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hasIdShape, newId, transactionId } from './ids.ts'

describe('ids', () => {
  it('random ones carry their prefix, differ, and sort by the time they were made', () => {
    const ids = Array.from({ length: 100 }, () => newId('con'))
    assert.equal(new Set(ids).size, 100)
    for (const id of ids) assert.ok(hasIdShape('con', id), id)
    assert.ok((ids[0] ?? '') < newId('con'))
  })

  it("a transaction's id depends only on its connection and the provider's key", () => {
    const id = transactionId('con_a', 'exchange:TJKLXF-PGMUI-4NTLXU')
    assert.equal(id, transactionId('con_a', 'exchange:TJKLXF-PGMUI-4NTLXU'))
    assert.notEqual(id, transactionId('con_b', 'exchange:TJKLXF-PGMUI-4NTLXU'))
    assert.notEqual(id, transactionId('con_a', 'exchange:TJKLXF-PGMUI-4NTLXV'))
    assert.ok(hasIdShape('txn', id))
  })

  it('this exact id never changes, because integrators store it', () => {
    assert.equal(transactionId('con_a', 'key'), 'txn_df2839edcb6660d42eae8b1ad48442ff')
  })

  it('connection and key cannot be split differently to give the same id', () => {
    assert.notEqual(transactionId('con_a', 'b'), transactionId('con_', 'ab'))
  })

  it('shapes of other kinds, lengths and alphabets are refused', () => {
    for (const text of ['', 'con_', 'usr_01', 'con_01!', 'CON_01', `con_${'a'.repeat(80)}`, 'con_01\n', "con_'--"]) {
      assert.equal(hasIdShape('con', text), false, text)
    }
  })
})
