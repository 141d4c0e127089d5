/** What it costs to keep a reading of the balances in which very many changed. */
import type { Balance } from '@assay/connectors'
import { dayMs, parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { openLedger } from './test-ledger.ts'

function toToken(index: number, amount: string): Balance {
  const assetId = `evm:1:${index}`
  return { assetId, symbol: '', name: '', liquid: parseDecimal(amount), staked: parseDecimal('0') }
}

describe('balances', () => {
  it('that all change are looked at once each, whatever the statistics know of their user', async (t) => {
    const opened = await openLedger(t)
    const tokens = (amount: string): Balance[] => Array.from({ length: 300 }, (_, index) => toToken(index, amount))
    const hold = (balances: Balance[]): Promise<boolean> => opened.ledger.keepHoldings(opened.ref, 'kraken', balances)
    await hold(tokens('1'))
    opened.moveClock(dayMs)
    const sent = await recordStatements(() => hold(tokens('2')))
    const written = sent.find(({ text }) => text.includes('insert into observed_balances'))
    assert.ok(written)
    const values = [...written.values]
    values[2] = new Date(Date.parse(String(values[2])) + dayMs).toISOString()
    values[4] = tokens('3').map(({ liquid }) => liquid)
    const literals = values.map((value) => `'${Array.isArray(value) ? `{${value.join()}}` : String(value)}'`)
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      const rolledBack = opened.db.transaction(async (tx) => {
        await tx.execute(`select set_config('plan_cache_mode', $1, true)`, [mode])
        await tx.execute(`prepare reading as ${written.text}`)
        const scanned = await countScanned(tx, { text: `execute reading(${literals.join()})`, values: [] })
        await tx.execute('deallocate reading')
        throw new RangeError(scanned <= 30 * 300 ? 'few' : `${scanned} rows with ${mode}`)
      })
      await assert.rejects(rolledBack, { message: 'few' })
    }
  })
})
