import { parseDecimal } from '@assay/core'
import { loadConnector, type Connector } from '@assay/connectors'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { countRead, recordStatements } from '../../db/test-statements.ts'
import { addConnection, ledgerRow, makeAllDue, noonMs, openLedger, refOf } from '../test-ledger.ts'

describe('deriving', () => {
  it('again from the same records gives the same bytes, and no row looks changed', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', { asset: 'ZUSD', amount: '100.10' }))
    await derive()
    const before = await listWritten()
    assert.equal(before.length, 2)
    await makeAllDue(db)
    await derive()
    assert.deepEqual(await listWritten(), before)
  })

  it('says of a conversion whose result was too small to book that it only took: the type is that of its legs', async (t) => {
    const { keep, derive, connector, listWritten } = await openLedger(t)
    const dust = {
      operateTime: noonMs,
      transId: 45178372831,
      userAssetDribbletDetails: [
        { serviceChargeAmount: '0', amount: '0.00000001', transferedAmount: '0', fromAsset: 'USDT' },
      ],
    }
    const binance = await loadConnector('binance')
    const toTransactions: Connector['toTransactions'] = (records, facts) =>
      binance.toTransactions(
        records.map((one) => ({ ...one, stream: 'dust', body: JSON.stringify(dust) })),
        facts,
      )
    await keep(ledgerRow('L1', 'R1'))
    await derive(undefined, { by: { ...connector, toTransactions } })
    const [written] = await listWritten()
    assert.match(written?.document ?? '', /"type":"output_only"/)
    assert.match(written?.document ?? '', /"category":"convert"/)
    assert.match(written?.document ?? '', /"inputs":\[\]/)
  })

  it('does nothing for a record that came again unchanged', async (t) => {
    const { db, keep, derive } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L1', 'R1'))
    assert.deepEqual(await db.rows('select from due_groups'), [])
  })

  it('a changed record changes only its own transaction and that one’s time', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    await derive()
    await db.execute("update transactions set updated_at = '2020-01-01T00:00:00Z'")
    const before = await listWritten()
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', { amount: '0.75' }))
    await derive()
    const after = await listWritten()
    assert.deepEqual(after[0], before[0])
    assert.equal(after[1]?.id, before[1]?.id)
    assert.match(after[1]?.document ?? '', /"amount":"0.75"/)
    assert.notEqual(after[1]?.updated_at, before[1]?.updated_at)
  })

  it('takes fewer groups at once when a stranger has made their records large, and derives all of them', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    const note = 'x'.repeat(1_000_000)
    const rows = Array.from({ length: 36 }, (_, index) => ledgerRow(`L${index}`, `R${index}`, { note }, noonMs + index))
    for (let at = 0; at < rows.length; at += 10) await keep(...rows.slice(at, at + 10))
    const statements = await recordStatements(() => derive())
    const taken = statements.filter(({ text }) => text.includes('delete from due_groups'))
    const sizes = taken.map(({ values }) => (values.at(-1) as unknown[]).length)
    assert.ok(Math.max(...sizes) <= 32, `${sizes.join(', ')} megabytes at once`)
    assert.equal((await listWritten()).length, 36)
    assert.deepEqual(await db.rows('select from due_groups'), [])
  })

  it('reports a group with more records than memory has room for, and derives all others', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    const note = 'x'.repeat(1_000_000)
    const rows = Array.from({ length: 70 }, (_, index) => ledgerRow(`L${index}`, 'R1', { note }, noonMs + index))
    for (let at = 0; at < rows.length; at += 10) await keep(...rows.slice(at, at + 10))
    await keep(ledgerRow('M1', 'R2'), ledgerRow('M2', 'R3', {}, noonMs + 1_000))
    await derive()
    assert.equal((await listWritten()).length, 2)
    const faults = await db.rows('select group_key, reason from poison_groups')
    assert.deepEqual(faults, [{ group_key: 'R1', reason: 'more than 67108864 bytes of records belong together' }])
    assert.deepEqual(await db.rows('select from due_groups'), [])
  })

  /** Every record becomes transactions with as many legs together, as a batch of collectibles does. */
  const withLegs = (connector: Connector, countOf: (group: string) => number): Connector => ({
    ...connector,
    toTransactions: (records, facts) =>
      connector.toTransactions(records, facts).flatMap((draft) => {
        const legs = Array.from({ length: countOf(draft.naturalKey) }, (_, index) => ({
          ...{ assetId: `evm:1:piece:${index}`, symbol: 'PIC', name: 'Piece', amount: parseDecimal('1') },
        }))
        return chunk(legs, 250).map((inputs, index) => ({
          ...draft,
          naturalKey: `${draft.naturalKey}#${index}`,
          inputs,
        }))
      }),
  })
  const chunk = <One>(all: readonly One[], size: number): One[][] =>
    all.length === 0 ? [] : [all.slice(0, size), ...chunk(all.slice(size), size)]

  it('takes fewer groups at once when their short records become thousands of legs, and derives all of them', async (t) => {
    const { db, connector, keep, derive, listWritten } = await openLedger(t)
    await keep(...Array.from({ length: 30 }, (_, index) => ledgerRow(`L${index}`, `R${index}`, {}, noonMs + index)))
    const by = withLegs(connector, () => 1_000)
    const statements = await recordStatements(() => derive(undefined, { by }))
    const taken = statements.filter(({ text }) => text.includes('delete from due_groups'))
    const sizes = taken.map(({ values }) => (values.at(-1) as unknown[]).length)
    assert.ok(Math.max(...sizes) <= 10, `${sizes.join(', ')} thousand legs at once`)
    assert.equal((await listWritten()).length, 120)
    assert.deepEqual(await db.rows('select from due_groups'), [])
  })

  it('reports a group with more legs than memory has room for, and derives all others', async (t) => {
    const { db, connector, keep, derive, listWritten } = await openLedger(t)
    await keep(...['R1', 'R2', 'R3'].map((group, index) => ledgerRow(`L${index}`, group, {}, noonMs + index)))
    await derive(undefined, { by: withLegs(connector, (key) => (key.includes('R2') ? 60_000 : 1)) })
    assert.equal((await listWritten()).length, 2)
    const faults = await db.rows('select group_key, reason from poison_groups')
    assert.deepEqual(faults, [{ group_key: 'R2', reason: 'more than 50000 legs belong together' }])
    assert.deepEqual(await db.rows('select from due_groups'), [])
  })

  it('has PostgreSQL analyse new tables before it searches a first history', async (t) => {
    const { db, keep, derive } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    const countUnseen = async (): Promise<number> =>
      (await db.rows("select from pg_class where relname in ('raw_records', 'due_groups') and reltuples < 0")).length
    assert.equal(await countUnseen(), 2)
    await derive(undefined, { part: { sinceMs: noonMs, lists: [] } })
    assert.equal(await countUnseen(), 0)

    // Statistics of one record say nothing about a thousand.
    const more = Array.from({ length: 1_000 }, (_, index) => ledgerRow(`M${index}`, `M${index}`, {}, noonMs + index))
    await keep(...more)
    await derive(undefined, { part: { sinceMs: noonMs, lists: [] } })
    const { reltuples } = await db.row<{ reltuples: number }>(
      "select reltuples::integer from pg_class where relname = 'raw_records'",
    )
    assert.equal(reltuples, 1_001)
  })

  for (const [who, user, count] of [
    ['20,000 users have one record each', 'n + 1', 20_000],
    ['one user has 20,000 records', '2', 20_000],
  ] as const)
    it(`reads only the records of its batch, where ${who} and this history is new`, async (t) => {
      const { db, keep, derive } = await openLedger(t)
      await keep(ledgerRow('L1', 'R1'))
      const copy = (of: string, more: string): Promise<unknown> =>
        db.execute(
          `insert into raw_records (user_key, connection_key, pending, occurred_at, fetched_at, stream, partition,
             source_key, group_key, body)
           select ${of}, 1, false, fetched_at, fetched_at, stream, partition, source_key || '-' || n,
             rpad(group_key || '-' || n, 90, '-'), body
           from raw_records, generate_series(1, ${more}) as n where user_key = 1`,
        )
      await copy(user, String(count))
      await db.execute('analyze raw_records')
      await keep(...Array.from({ length: 100 }, (_, index) => ledgerRow(`M${index}`, `M${index}`)))
      await copy('1', '50')
      const before = await countRead(db, 'raw_records')
      await derive()
      const read = (await countRead(db, 'raw_records')) - before
      assert.ok(read >= 101 && read <= 1_000, `${read} rows for 101 records`)
    })

  it('plans what it writes for any user, before it looks at the first row', async (t) => {
    const { keep, derive } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    const sent = (await recordStatements(() => derive())).map(({ text }) => text.toLowerCase())
    const taken = sent.findIndex((text) => text.includes('delete from due_groups'))
    const begun = sent.lastIndexOf('begin', taken)
    assert.ok(begun >= 0, sent.join('\n'))
    assert.match(sent[begun + 1] ?? '', /^select set_config\('plan_cache_mode', 'force_generic_plan', true\)/)
  })

  it('keeps pages meanwhile, and leaves a group due that a page is changing', async (t) => {
    const { db, ledger, connector, ref, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    const [kept, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const records = [ledgerRow('L1', 'R1', { amount: '0.75' })]
    const page = db.transaction(async (tx) => {
      await ledger.keepRaw(tx, ref, connector, [
        { stream: 'ledger', partition: '', records, withdrawn: [], complete: undefined },
      ])
      kept.resolve()
      await end.promise
    })
    await kept.promise
    const waited = setTimeout(20_000, 'waited for the page', { ref: false })
    const outcome = await Promise.race([derive().then(() => 'derived'), waited])
    end.resolve()
    await page
    assert.equal(outcome, 'derived')
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R2'],
    )
    await derive()
    assert.match((await listWritten())[0]?.document ?? '', /"amount":"0.75"/)
    assert.deepEqual(await db.rows('select from due_groups'), [])
  })

  it('writes the same id for the same connection and key, and another id for another connection', async (t) => {
    const { db, keep, keepAt, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    const other = refOf(1, 2)
    await addConnection(db, other)
    await keepAt(other, 'ledger', ledgerRow('L1', 'R1'))
    await derive(other)
    const written = await listWritten()
    assert.equal(new Set(written.map(({ id }) => id)).size, 2)
    assert.equal(new Set(written.map(({ document }) => document)).size, 1)
  })

  it('retires the id of a transaction that its records no longer produce', async (t) => {
    const { keep, derive, listWritten, listRemovedIds } = await openLedger(t)
    await keep(
      ledgerRow('L1', 'R1', { type: 'rollover', amount: '0', fee: '0.01' }),
      ledgerRow('L2', 'R1', { type: 'rollover', amount: '0', fee: '0.02' }),
    )
    await derive()
    const before = await listWritten()
    assert.equal(before.length, 2)
    await keep(ledgerRow('L2', 'R1', { type: 'deposit' }))
    await derive()
    const after = await listWritten()
    const gone = before.filter(({ id }) => after.every((row) => row.id !== id)).map(({ id }) => id)
    assert.equal(gone.length, 1)
    assert.deepEqual(await listRemovedIds(), gone)
  })

  it('lets a record move to another group and leaves nothing of it in the old one', async (t) => {
    const { db, keep, derive, listWritten, listRemovedIds } = await openLedger(t)
    await keep(
      ledgerRow('L1', 'R1'),
      ledgerRow('L2', 'R2', { type: 'trade', amount: '-1' }),
      ledgerRow('L3', 'R2', { type: 'trade', asset: 'ZUSD' }),
    )
    await derive()
    const before = await listWritten()
    await keep(ledgerRow('L1', 'R9'), ledgerRow('L3', 'R1', { asset: 'ZUSD' }))
    await derive()
    const after = await listWritten()
    assert.deepEqual(
      after.map(({ group_key }) => group_key),
      ['R1', 'R2', 'R9'],
    )
    assert.match(after[0]?.document ?? '', /"asset_symbol":"USD","asset_id":"fiat:usd","amount":"0.5"/)
    assert.match(after[1]?.document ?? '', /"type":"uncategorized"/)
    assert.doesNotMatch(after[1]?.document ?? '', /USD/)
    // R1 and R2 have ids that they had before; no served transaction is also reported as removed.
    const removed = await listRemovedIds()
    assert.deepEqual(
      removed.filter((id) => after.some((row) => row.id === id)),
      [],
    )
    assert.equal(before.length, 2)
    const assets = await db.rows<{ id: string }>('select distinct transaction_id as id from postings order by id')
    assert.deepEqual(
      assets.map(({ id }) => id),
      after.map(({ id }) => id).toSorted(),
    )
  })

  it('ends a group whose last record moved elsewhere, and clears its poison', async (t) => {
    const { db, keep, derive, listWritten, listRemovedIds } = await openLedger(t)
    await keep(ledgerRow('L1', 'unreadable:L1', { amount: 'a lot' }), ledgerRow('L2', 'R2'))
    await derive()
    assert.equal((await db.rows('select from poison_groups')).length, 1)
    const [second] = await listWritten()
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R1'))
    await derive()
    assert.deepEqual(await db.rows('select from poison_groups'), [])
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R1'],
    )
    assert.deepEqual(await listRemovedIds(), [second?.id])
  })
})

/** Makes the record L2 produce the transaction that the group R1 produces. */
function twinOf(connector: Connector): Connector {
  return {
    ...connector,
    toTransactions: (records, facts) =>
      connector.toTransactions(records, facts).map((draft) => {
        const naturalKey = draft.naturalKey.replace('R2', 'R1')
        return records[0]?.key === 'L2' ? { ...draft, naturalKey } : draft
      }),
  }
}

describe('a group that cannot be read', () => {
  it('stops only itself, and says why', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', { amount: 'a lot' }), ledgerRow('L3', 'R3'))
    assert.equal(await derive(), true)
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R1', 'R3'],
    )
    const poison = await db.rows<{ group_key: string; reason: string }>('select group_key, reason from poison_groups')
    assert.deepEqual(
      poison.map(({ group_key }) => group_key),
      ['?ledger//L2'],
    )
    assert.match(poison[0]?.reason ?? '', /not a decimal number/)
  })

  it('keeps its earlier transaction, and recovers when the provider corrects the record', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    const before = await listWritten()
    await keep(ledgerRow('L1', 'R1', { amount: 'a lot' }))
    await derive()
    assert.deepEqual(await listWritten(), before)
    await keep(ledgerRow('L1', 'R1', { amount: '0.25' }))
    await derive()
    assert.match((await listWritten())[0]?.document ?? '', /"amount":"0.25"/)
    assert.deepEqual(await db.rows('select from poison_groups'), [])
  })

  it('includes one that produces a transaction of another group', async (t) => {
    const { db, connector, ref, keep, derive, listWritten } = await openLedger(t)
    // The newest group is derived first.
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', {}, noonMs - 1), ledgerRow('L3', 'R3'))
    await derive(ref, { by: twinOf(connector) })
    assert.deepEqual(
      (await listWritten()).map(({ group_key }) => group_key),
      ['R1', 'R3'],
    )
    assert.equal((await db.rows('select from poison_groups')).length, 1)
  })

  it('leaves the transaction with the first group, even when that one was derived long before', async (t) => {
    const { db, connector, ref, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    const before = await listWritten()
    await keep(ledgerRow('L2', 'R2', { amount: '7' }))
    await derive(ref, { by: twinOf(connector) })
    assert.deepEqual(await listWritten(), before)
    assert.deepEqual(await db.rows('select group_key from poison_groups'), [{ group_key: 'R2' }])
  })
})

describe('a rendered transaction', () => {
  it('has the price of its day and exact values, and a total only when every part has a value', async (t) => {
    const { keep, derive, listWritten } = await openLedger(t, { price: parseDecimal('64000.123456789') })
    const unpriced = ledgerRow('L2', 'R2', { asset: 'ZQNT', amount: '0.000000000000000001', fee: '3' })
    await keep(ledgerRow('L1', 'R1', { amount: '0.00000001', fee: '0.00000001' }), unpriced)
    await derive()
    const [priced, other] = (await listWritten()).map(({ document }) => JSON.parse(`{${document}`) as Rendered)
    assert.deepEqual(priced?.inputs[0], {
      asset_symbol: 'BTC',
      asset_id: 'crypto:bitcoin',
      amount: '0.00000001',
      price_in_usd: '64000.123456789',
      value_in_usd: '0.00064000123456789',
    })
    assert.equal(priced?.fees.total_in_usd, '0.00064000123456789')
    assert.deepEqual(other?.inputs[0], {
      asset_symbol: 'ZQNT',
      asset_id: 'kraken:ZQNT',
      amount: '0.000000000000000001',
      price_in_usd: null,
      value_in_usd: null,
    })
    assert.equal(other?.fees.total_in_usd, null)
  })

  it('is served without a price while the price source is down', async (t) => {
    const { keep, derive, listWritten } = await openLedger(t, { price: 'down' })
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', { asset: 'ZUSD' }))
    assert.equal(await derive(), true)
    const prices = (await listWritten()).map(({ document }) => /"price_in_usd":([^,]*)/.exec(document)?.[1])
    assert.deepEqual(prices, ['null', '"1"'])
  })

  interface Rendered {
    inputs: object[]
    fees: { total_in_usd: string | null }
  }
})

describe('what was read', () => {
  it('is counted from its earliest time, even when the earliest record is removed', async (t) => {
    const { db, keep, derive } = await openLedger(t)
    const count = (): Promise<unknown> => db.row('select history_from, transaction_count from connections')
    assert.deepEqual(await count(), { history_from: null, transaction_count: '0' })
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', {}, noonMs - 5_000))
    await derive()
    assert.deepEqual(await count(), { history_from: '2026-03-02T11:59:55.000Z', transaction_count: '2' })
    await keep(ledgerRow('L2', 'R1'))
    await derive()
    assert.deepEqual(await count(), { history_from: '2026-03-02T12:00:00.000Z', transaction_count: '1' })
  })

  it('is new once, however often it is read', async (t) => {
    const { db, ledger, connector, ref } = await openLedger(t)
    const keep = async (...keys: string[]): Promise<number> => {
      const records = keys.map((key) => ledgerRow(key, key))
      const page = { stream: 'ledger', partition: '', records, withdrawn: [] }
      return (await db.transaction((tx) => ledger.keepRaw(tx, ref, connector, [page]))).added
    }
    assert.equal(await keep('L1', 'L2'), 2)
    assert.equal(await keep('L2', 'L3', 'L3'), 1)
  })

  it('is kept only while the connection exists', async (t) => {
    const { db, keep } = await openLedger(t)
    await db.execute('delete from connections')
    await assert.rejects(keep(ledgerRow('L1', 'R1')), { name: 'ConnectionGone' })
    assert.deepEqual(await db.rows('select from raw_records'), [])
  })
})
