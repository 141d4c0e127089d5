/** What a provider writes that PostgreSQL cannot hold, or nobody can read: it stops nothing but itself. */
import type { Connector } from '@assay/connectors'
import { parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { ledgerRow, noonMs, openLedger } from './test-ledger.ts'

const migration = new URL('../db/migrations/0022_safe_text.sql', import.meta.url)

describe('NUL and half a surrogate pair', () => {
  it('in a record become U+FFFD in what is served, and stay in the record as the provider wrote it', async (t) => {
    const { db, ledger, ref, keep, derive, listWritten } = await openLedger(t)
    const odd = ledgerRow('L1', 'R1', { type: 'odd\0type', asset: 'X\ud800Y' })
    await keep(odd, ledgerRow('L2', 'R2'))
    await derive()
    assert.match((await listWritten())[0]?.document ?? '', /"asset_symbol":"X\ufffdY"/)
    assert.deepEqual(await db.row("select body from raw_records where source_key = 'L1'"), { body: odd.body })
    assert.ok((await ledger.listDailyValues(ref, { completeFromMs: 0 })).length > 0)
    assert.deepEqual(await db.rows('select from poison_groups'), [])
  })

  it('in a key, a group or a balance do not keep the rest of the page from being kept', async (t) => {
    const { ledger, ref, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L\0', 'R\0'), ledgerRow('L2', 'S'))
    await derive()
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R\ufffd', 'S'],
    )
    const one = parseDecimal('1')
    const balance = { assetId: 'kraken:X\0', symbol: 'X\0', name: 'X\0', liquid: one, staked: one }
    await ledger.keepHoldings(ref, 'kraken', [balance])
    const [held] = await ledger.listPositions(ref, { limit: 1, after: undefined })
    assert.equal(held?.asset_symbol, 'X\ufffd')
  })

  it('in the reason why a group cannot be read poison that group alone', async (t) => {
    const { db, ledger, connector, ref, keep, listWritten } = await openLedger(t)
    const strict: Connector = {
      ...connector,
      toTransactions(records) {
        if (records[0]?.key === 'L1') throw new Error('what is \0?')
        return connector.toTransactions(records)
      },
    }
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    await ledger.derive(ref, strict, () => true)
    assert.deepEqual(await db.rows('select reason from poison_groups'), [{ reason: 'what is \ufffd?' }])
    assert.equal((await listWritten()).length, 1)
  })

  it('in documents from before are made what deriving makes of them now', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1', { type: 'odd', asset: 'X\0Y' }))
    await derive()
    const [safe] = await listWritten()
    const old = JSON.stringify({ c: 'a\0\ud800z', d: '\\u0000', e: '\\\0' })
    await db.execute("update transactions set document = replace(document, 'X\ufffdY', 'X\\u0000Y')")
    await db.execute(
      `insert into transactions select tenant_id, user_id, occurred_at, 'txn_old', connection_id, provider_id, 'S', type,
         category, updated_at, $1 from transactions`,
      [old.slice(1)],
    )
    await db.execute(await readFile(migration, 'utf8'))
    const [first, second] = await listWritten()
    assert.equal(first?.document, safe?.document)
    assert.deepEqual(JSON.parse(`{${second?.document}`), { c: 'a\ufffd\ufffdz', d: '\\u0000', e: '\\\ufffd' })
  })
})

describe('a transaction at a time that is none', () => {
  it('poisons its own group and no other', async (t) => {
    const { db, ledger, connector, ref, keep, listWritten } = await openLedger(t)
    const times: Record<string, number> = { L1: 8.64e15, L2: NaN, L3: noonMs }
    const timeless: Connector = {
      ...connector,
      toTransactions(records) {
        const occurredAtMs = times[records[0]?.key ?? ''] ?? 0
        return connector.toTransactions(records).map((draft) => ({ ...draft, occurredAtMs }))
      },
    }
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'), ledgerRow('L3', 'R3'))
    await ledger.derive(ref, timeless, () => true)
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
