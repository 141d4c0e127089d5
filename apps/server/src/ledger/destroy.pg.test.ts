import { parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addConnection, fundingRow, ledgerRow, noonMs, openLedger, refOf, type TestLedger } from './test-ledger.ts'

const ofConnection = `raw_records due_groups poison_groups transactions postings daily_changes transaction_revisions
  transfer_legs awaited_prices holdings observed_values`.split(/\s+/)

/** Tables that still have rows of the connection. */
async function listLeft({ db }: TestLedger, connectionKey = 1): Promise<string[]> {
  const left: string[] = []
  for (const table of ofConnection) {
    const rows = await db.rows(`select from ${table} where connection_key = $1`, [connectionKey])
    if (rows.length > 0) left.push(table)
  }
  return left
}

/** Something in every table: a corrected deposit, a pending one, an unreadable row, and one that is not derived yet. */
async function fill({ ledger, ref, keep, keepFunding, derive }: TestLedger): Promise<void> {
  await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', { amount: 'a lot' }))
  await keepFunding('deposits', fundingRow('D1', { status: 'Pending' }))
  await derive()
  await keep(ledgerRow('L1', 'R1', {}, noonMs + 1_000))
  await derive()
  await keep(ledgerRow('L3', 'R3'))
  const bitcoin = { assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin' }
  await ledger.keepHoldings(ref, 'kraken', [{ ...bitcoin, liquid: parseDecimal('1'), staked: parseDecimal('0') }])
}

describe('destroying a connection', () => {
  it('leaves nothing of it, and everything of another one', async (t) => {
    const opened = await openLedger(t, { price: 'down' })
    const { db, ledger, ref, keepAt, derive } = opened
    const other = refOf(1, 2)
    await addConnection(db, other)
    await keepAt(other, 'ledger', ledgerRow('L1', 'R1'))
    await derive(other)
    const others = await listLeft(opened, 2)
    await fill(opened)
    assert.deepEqual(await listLeft(opened), ofConnection)
    const next = ledger.startDestroying(ref, { hiddenSeq: null })
    assert.equal(await db.transaction(next), true)
    assert.deepEqual(await listLeft(opened), [])
    assert.deepEqual(await listLeft(opened, 2), others)
  })

  it('that was shown records its transactions as removed at the time it was hidden, in their order', async (t) => {
    const { db, ledger, ref, keep, derive } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    await derive()
    const former = await db.rows<{ id: string; change_seq: string }>(
      'select id, change_seq from transactions order by 1',
    )
    const hiddenAt = Date.parse('2026-11-16T01:02:03.004Z')
    const hiddenSeq = String((BigInt(hiddenAt) << 20n) + 5n)
    await db.transaction(ledger.startDestroying(ref, { hiddenSeq }))
    assert.deepEqual(
      await db.rows('select id, change_seq, former_seq, removed_at, tenant_key from removed_transactions order by 1'),
      former.map(({ id, change_seq }) => ({
        id,
        change_seq: hiddenSeq,
        former_seq: change_seq,
        removed_at: '2026-11-16T01:02:03.004Z',
        tenant_key: 1,
      })),
    )
  })

  it('that was never shown forgets them', async (t) => {
    const { db, ledger, ref, keep, derive, listRemovedIds } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    await db.transaction(ledger.startDestroying(ref, { hiddenSeq: null }))
    assert.deepEqual(await listRemovedIds(), [])
  })

  it('with a long history takes several transactions, and a history of 5,000 rows takes one', async (t) => {
    const opened = await openLedger(t)
    const { db, ledger, ref, keep, derive } = opened
    // Each makes a record, a transaction and a posting, and all of them a sum.
    const read = async (count: number): Promise<void> => {
      const rows = Array.from({ length: count }, (_, index) =>
        ledgerRow(`L${index}`, `R${index}`, { type: 'reward' }, noonMs + index),
      )
      await keep(...rows)
      await derive()
    }
    const destroy = async (): Promise<number> => {
      const next = ledger.startDestroying(ref, { hiddenSeq: '7' })
      let batches = 1
      while (!(await db.transaction(next))) batches += 1
      assert.deepEqual(await listLeft(opened), [])
      return batches
    }
    await read(1_666)
    assert.equal(await destroy(), 1)
    await read(1_800)
    assert.equal(await destroy(), 2)
    assert.equal((await db.rows('select from removed_transactions')).length, 1_800)
  })

  it('looks at the rows of one batch, where the statistics know other users only', async (t) => {
    const { db, ledger, ref, keep } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    const copy = (user: number): Promise<unknown> =>
      db.execute(
        `insert into raw_records (user_key, connection_key, pending, occurred_at, fetched_at, stream, partition,
           source_key, group_key, body)
         select $1, 1, false, occurred_at, fetched_at, stream, partition, n::text, n::text, body
         from raw_records, generate_series(1, 16000) as n where source_key = 'L1'`,
        [user],
      )
    await copy(2)
    await db.execute('analyze raw_records')
    await copy(1)
    const looked = await db.transaction(async (tx) => {
      assert.equal(await ledger.startDestroying(ref, { hiddenSeq: null })(tx), false)
      const { rows } = await tx.row<{ rows: string }>(
        "select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = 'raw_records'",
      )
      return Number(rows)
    })
    assert.ok(looked < 8_000, `${looked} rows for a batch of 5,000`)
  })

  it('deletes the proofs of a wallet that has more assets than a batch has rows in several batches', async (t) => {
    const { db, ledger, ref } = await openLedger(t)
    await db.execute(
      `insert into due_proofs (user_key, connection_key, asset_key, since)
       select 1, 1, n, $1::timestamptz from generate_series(1, 6000) as n`,
      [db.now()],
    )
    await db.execute(
      `insert into proofs (user_key, connection_key, asset_key, grade, spam, uninvited, opening, posted, causes, changed_at)
       select 1, 1, n, 'open', false, true, 0, 0, '[]', $1::timestamptz from generate_series(1, 6000) as n`,
      [db.now()],
    )
    const next = ledger.startDestroying(ref, { hiddenSeq: null })
    const left: number[] = []
    for (let isDone = false; !isDone;) {
      isDone = await db.transaction(next)
      const rows = await db.rows('select from due_proofs union all select from proofs')
      left.push(rows.length)
    }
    assert.deepEqual(left, [6_999, 1_998, 0])
  })

  it('continues to the end of its transactions when nothing else is left', async (t) => {
    const opened = await openLedger(t)
    const { db, ledger, ref, keep, derive } = opened
    await keep(...Array.from({ length: 1_500 }, (_, index) => ledgerRow(`L${index}`, `R${index}`, {}, noonMs + index)))
    await derive()
    for (const table of ['raw_records', 'postings', 'transfer_legs']) await db.execute(`delete from ${table}`)
    assert.equal(await db.transaction(ledger.startDestroying(ref, { hiddenSeq: '7' })), true)
    assert.deepEqual(await listLeft(opened), [])
  })
})
