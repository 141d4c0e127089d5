import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countScanned, recordStatements } from '../../db/test-statements.ts'
import { ledgerRow, openLedger } from '../test-ledger.ts'

describe('keeping records', () => {
  it('that list several moves each looks at each of them once', async (t) => {
    const { db, keep } = await openLedger(t)
    const lists = Array.from({ length: 300 }, (_, index) => ({ ...ledgerRow(`L${index}`, `R${index}`), moves: 2 }))
    const sent = await recordStatements(() => keep(...lists))
    const insertion = sent.find(({ text }) => text.includes('insert into raw_records'))
    assert.ok(insertion)
    await db.execute('delete from raw_records')
    const scanned = await countScanned(db, insertion)
    assert.ok(scanned <= 10 * lists.length, `${scanned} rows`)
  })
})
