/** Provider text that PostgreSQL cannot store, or that cannot be parsed, affects only its own record. */
import type { Connector } from '@assay/connectors'
import { parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { ledgerRow, noonMs, openLedger } from '../test-ledger.ts'

describe('NUL and half a surrogate pair', () => {
  it('in a record become U+FFFD in what is served, and stay in the record as the provider wrote it', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    const odd = ledgerRow('L1', 'R1', { type: 'odd\0type', asset: 'X\ud800Y' })
    await keep(odd, ledgerRow('L2', 'R2'))
    await derive()
    assert.match((await listWritten())[0]?.document ?? '', /"asset_symbol":"X\ufffdY"/)
    assert.deepEqual(await db.row("select body from raw_records where source_key = 'L1'"), { body: odd.body })
    // PostgreSQL can read the document as jsonb, which refuses such characters.
    await db.rows(`select ('{' || document)::jsonb from transactions`)
    assert.deepEqual(await db.rows("select symbol from assets where symbol like 'X%Y'"), [{ symbol: 'X\ufffdY' }])
    assert.deepEqual(await db.rows('select from poison_groups'), [])
  })

  it('in a key, a group or a balance do not prevent the rest of the page from being stored', async (t) => {
    const { db, ledger, ref, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L\0', 'R\0'), ledgerRow('L2', 'S'))
    await derive()
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R\ufffd', 'S'],
    )
    const one = parseDecimal('1')
    const balance = { assetId: 'kraken:X\0', symbol: 'X\0', name: 'X\0', liquid: one, staked: one }
    await ledger.keepHoldings(ref, 'kraken', [balance])
    const held = await db.rows('select a.symbol from holdings join assets a using (asset_key)')
    assert.deepEqual(held, [{ symbol: 'X\ufffd' }])
  })

  it('in the reason why a group cannot be read poison that group alone', async (t) => {
    const { db, connector, ref, keep, derive, listWritten } = await openLedger(t)
    const strict: Connector = {
      ...connector,
      toTransactions(records, facts) {
        if (records[0]?.key === 'L1') throw new Error('what is \0?')
        return connector.toTransactions(records, facts)
      },
    }
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    await derive(ref, { by: strict })
    assert.deepEqual(await db.rows('select reason from poison_groups'), [{ reason: 'what is \ufffd?' }])
    assert.equal((await listWritten()).length, 1)
  })
})

describe('text that no index can hold', () => {
  it('in a reference or in the code of an asset affects its own record, and the rest of the page is kept', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    // The text is random, because PostgreSQL compresses repetition.
    const long = randomBytes(6_000).toString('base64')
    await keep(ledgerRow('L1', long), ledgerRow('L2', 'R2', { asset: long }), ledgerRow('L3', 'R3'))
    await derive()
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R3'],
    )
    const unreadable = await db.rows<{ source_key: string; unreadable: string }>(
      'select source_key, unreadable from raw_records where unreadable is not null order by 1',
    )
    assert.deepEqual(
      unreadable.map(({ source_key }) => source_key),
      ['L1', 'L2'],
    )
    assert.equal(unreadable[0]?.unreadable, 'a reference is longer than 300 characters')
  })
})

describe('a transaction at an invalid time', () => {
  it('poisons its own group and no other', async (t) => {
    const { db, connector, ref, keep, derive, listWritten } = await openLedger(t)
    const times: Record<string, number> = { L1: 8.64e15, L2: NaN, L3: noonMs }
    const timeless: Connector = {
      ...connector,
      toTransactions(records, facts) {
        const occurredAtMs = times[records[0]?.key ?? ''] ?? 0
        return connector.toTransactions(records, facts).map((draft) => ({ ...draft, occurredAtMs }))
      },
    }
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'), ledgerRow('L3', 'R3'))
    await derive(ref, { by: timeless })
    const poisoned = await db.rows<{ group_key: string }>('select group_key from poison_groups order by 1')
    assert.deepEqual(
      poisoned.map(({ group_key }) => group_key),
      ['R1', 'R2'],
    )
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R3'],
    )
  })
})
