import { dayMs } from '@assay/core'
import type { Connector } from '@assay/connectors'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fundingRow, ledgerRow, makeAllDue, noonMs, openLedger } from '../test-ledger.ts'

const laterMs = noonMs + 60_000

describe('a confirmed transaction whose time is corrected', () => {
  it('retires its id and continues under another', async (t) => {
    const { keep, derive, listWritten, listRemovedIds } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    await derive()
    const [first, untouched] = await listWritten()
    await keep(ledgerRow('L1', 'R1', {}, laterMs))
    await derive()
    const after = await listWritten()
    assert.equal(after.length, 2)
    assert.notEqual(after[0]?.id, first?.id)
    assert.match(after[0]?.document ?? '', /"timestamp":"2026-03-02T12:01:00.000Z"/)
    assert.deepEqual(after[1], untouched)
    assert.deepEqual(await listRemovedIds(), [first?.id])
  })

  it('keeps the new id, however often it is derived again', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    await keep(ledgerRow('L1', 'R1', {}, laterMs))
    await derive()
    const corrected = await listWritten()
    await makeAllDue(db)
    await derive()
    assert.deepEqual(await listWritten(), corrected)
    for (const table of ['transactions', 'postings', 'daily_changes']) await db.execute(`delete from ${table}`)
    await makeAllDue(db)
    await derive()
    assert.deepEqual(
      (await listWritten()).map(({ id }) => id),
      corrected.map(({ id }) => id),
    )
  })

  it('never returns to a retired id, not even when the time returns', async (t) => {
    const { keep, derive, listWritten, listRemovedIds } = await openLedger(t)
    const ids: (string | undefined)[] = []
    for (const atMs of [noonMs, laterMs, noonMs]) {
      await keep(ledgerRow('L1', 'R1', {}, atMs))
      await derive()
      ids.push((await listWritten())[0]?.id)
    }
    assert.equal(new Set(ids).size, 3)
    assert.deepEqual(await listRemovedIds(), ids.slice(0, 2).toSorted())
  })

  it('keeps its id when anything else is corrected', async (t) => {
    const { keep, derive, listWritten, listRemovedIds } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    const [before] = await listWritten()
    await keep(ledgerRow('L1', 'R1', { amount: '0.75', asset: 'XETH' }))
    await derive()
    assert.deepEqual(
      (await listWritten()).map(({ id }) => id),
      [before?.id],
    )
    assert.deepEqual(await listRemovedIds(), [])
  })

  it('is unlike a pending one, which keeps its row and id when it is booked at another time', async (t) => {
    const { keep, keepFunding, derive, listWritten, listRemovedIds } = await openLedger(t)
    await keepFunding('deposits', fundingRow('R1', { status: 'Pending' }, noonMs - dayMs))
    await derive()
    const [pending] = await listWritten()
    assert.match(pending?.document ?? '', /"status":"pending"/)
    await keep(ledgerRow('L1', 'R1'))
    await keepFunding('deposits', fundingRow('R1', { status: 'Success' }, noonMs - dayMs))
    await derive()
    const after = await listWritten()
    assert.deepEqual(
      after.map(({ id }) => id),
      [pending?.id],
    )
    assert.match(after[0]?.document ?? '', /"status":"confirmed","timestamp":"2026-03-02T12:00:00.000Z"/)
    assert.deepEqual(await listRemovedIds(), [])
  })
})

describe('deriving what is recent first', () => {
  it('leaves out every group with a record before that time', async (t) => {
    const { db, ref, keep, derive, listWritten } = await openLedger(t)
    await keep(
      ledgerRow('L1', 'older', {}, noonMs - 1),
      ledgerRow('L2', 'cut', { type: 'trade', amount: '-1' }, noonMs - 1),
      ledgerRow('L3', 'cut', { type: 'trade', asset: 'ZUSD' }, noonMs + 1),
      ledgerRow('L4', 'recent'),
    )
    assert.equal(await derive(ref, { part: { sinceMs: noonMs, lists: [] } }), true)
    const groups = async (): Promise<string[]> => (await listWritten()).map(({ group_key }) => group_key)
    assert.deepEqual(await groups(), ['recent'])
    assert.equal((await db.rows('select from due_groups')).length, 2)
    await derive()
    assert.deepEqual(await groups(), ['cut', 'older', 'recent'])
  })
})

describe('a record that changes while its group is being derived', () => {
  it('leaves the group due, and its old state is not written', async (t) => {
    let isChanged = false
    const { db, keep, derive, listWritten } = await openLedger(t, {
      // Prices are requested between reading the records and writing the result.
      async beforePrices() {
        if (isChanged) return
        isChanged = true
        await keep(ledgerRow('L1', 'R1', { amount: '0.75' }), ledgerRow('L3', 'R3', { refid: 'R3' }))
      },
    })
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    await derive()
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R2'],
    )
    const due = await db.rows<{ group_key: string }>('select group_key from due_groups order by 1')
    assert.deepEqual(
      due.map(({ group_key }) => group_key),
      ['R1', 'R3'],
    )
    await derive()
    assert.match((await listWritten())[0]?.document ?? '', /"amount":"0.75"/)
  })

  it('does so even when it is new in the group', async (t) => {
    let isThere = false
    const { keep, derive, listWritten } = await openLedger(t, {
      async beforePrices() {
        if (isThere) return
        isThere = true
        await keep(ledgerRow('L2', 'R1', { type: 'trade', asset: 'ZUSD', amount: '100' }))
      },
    })
    await keep(ledgerRow('L1', 'R1', { type: 'trade', amount: '-1' }))
    await derive()
    await derive()
    assert.match((await listWritten())[0]?.document ?? '', /"type":"input_and_output"/)
  })
})

describe('a group that produces a transaction of another group', () => {
  it('is left out, and takes neither its id nor its awaited prices', async (t) => {
    const {
      db,
      connector,
      ref,
      keep,
      listWritten,
      listRemovedIds,
      derive: deriveBy,
    } = await openLedger(t, {
      price: 'down',
    })
    const thief: Connector = {
      ...connector,
      toTransactions: (...of) => connector.toTransactions(...of).map((draft) => ({ ...draft, naturalKey: 'K' })),
    }
    const derive = (): Promise<boolean> => deriveBy(ref, { by: thief })
    const listAwaited = (): Promise<unknown> => db.rows('select transaction_id, asset_key from awaited_prices')
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    const [before, awaited] = [await listWritten(), await listAwaited()]
    await keep(ledgerRow('L2', 'R2', {}, laterMs))
    await derive()
    assert.deepEqual(await db.rows('select group_key from poison_groups'), [{ group_key: 'R2' }])
    assert.deepEqual(await listAwaited(), awaited)
    await db.execute(
      `insert into due_groups (user_key, connection_key, group_key, stream, partition, occurred_at, oldest_at, mark)
       values (1, 1, 'R1', 'ledger', '', $1, $1, 0)`,
      [db.now()],
    )
    await derive()
    assert.deepEqual(await listWritten(), before)
    assert.deepEqual(await listRemovedIds(), [])
  })
})
