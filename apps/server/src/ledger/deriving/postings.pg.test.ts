/** Postings and the sums of days: what they must add up to, whatever the records do. */
import { add, dayMs, type Decimal, negate, parseDecimal, zero } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ownedBySuite } from '../../oauth/test-oauth.ts'
import {
  addConnection,
  fundingRow,
  ledgerRow,
  makeAllDue,
  noonMs,
  openLedger,
  refOf,
  type TestLedger,
} from '../test-ledger.ts'
import { parseDocument } from './document.ts'

type Sums = Map<string, Decimal>

/** Sums inputs − outputs − fees of the existing documents by asset and day. */
async function sumDocuments({ db }: TestLedger, userKey: string): Promise<Sums> {
  const sums: Sums = new Map()
  const rows = await db.rows<{ document: string }>('select document from transactions where user_key = $1', [userKey])
  for (const document of rows.map((row) => parseDocument(row.document))) {
    if (document.status === 'pending' || document.spam) continue
    const book = (legs: readonly { asset_id: string; amount: Decimal }[], sign: 1 | -1): void => {
      for (const { asset_id, amount } of legs) {
        const key = `${asset_id} ${document.timestamp.slice(0, 10)}`
        sums.set(key, add(sums.get(key) ?? zero, sign === 1 ? amount : negate(amount)))
      }
    }
    book(document.inputs, 1)
    book(document.outputs, -1)
    book(document.fees.items, -1)
  }
  return sums
}

async function sumRows({ db }: TestLedger, userKey: string, from: string): Promise<Sums> {
  const rows = await db.rows<{ key: string; amount: Decimal }>(
    `select a.id || ' ' || c.day as key, trim_scale(sum(c.amount))::text as amount
     from ${from} c join assets a on a.asset_key = c.asset_key where c.user_key = $1 group by 1`,
    [userKey],
  )
  return new Map(rows.map(({ key, amount }) => [key, amount]))
}

const postingsByDay = `(select user_key, asset_key, (occurred_at at time zone 'UTC')::date as day, amount from postings)`
const withoutZeros = (sums: Sums): [string, Decimal][] =>
  [...sums].filter(([, amount]) => amount !== zero).toSorted(([a], [b]) => (a < b ? -1 : 1))

describe('postings', async () => {
  const opened = await openLedger(ownedBySuite())
  const { db, ledger, keepAt, derive } = opened
  let users = 1

  async function newUser(): Promise<ReturnType<typeof refOf>> {
    users += 1
    const ref = refOf(users, 1)
    await addConnection(db, ref)
    return ref
  }

  const listPostings = (userKey: string): Promise<Record<string, unknown>[]> =>
    db.rows(
      `select a.symbol, p.ordinal, p.side, p.staked, p.spam, trim_scale(p.amount)::text as amount, p.connection_key
       from postings p join assets a on a.asset_key = p.asset_key where p.user_key = $1 order by p.ordinal`,
      [userKey],
    )

  it('are the legs of a transaction in order, with the sign of what they do to a balance', async () => {
    const ref = await newUser()
    await keepAt(
      ref,
      'ledger',
      ledgerRow('L1', 'T1', { type: 'trade', amount: '0.5', fee: '0.001' }),
      ledgerRow('L2', 'T1', { type: 'trade', asset: 'ZUSD', amount: '-32000', fee: '12.5' }),
    )
    await derive(ref)
    const of = { staked: false, spam: false, connection_key: 1 }
    assert.deepEqual(await listPostings(ref.userKey), [
      { symbol: 'BTC', ordinal: 0, side: 'i', amount: '0.5', ...of },
      { symbol: 'USD', ordinal: 1, side: 'o', amount: '-32000', ...of },
      { symbol: 'BTC', ordinal: 2, side: 'f', amount: '-0.001', ...of },
      { symbol: 'USD', ordinal: 3, side: 'f', amount: '-12.5', ...of },
    ])
  })

  it('belong to the part of the balance that they change, even when only that part is corrected', async () => {
    const ref = await newUser()
    const reward = (asset: string): Promise<void> =>
      keepAt(ref, 'ledger', ledgerRow('L1', 'S1', { type: 'staking', asset, amount: '0.1' }))
    const isStaked = async (): Promise<unknown> => (await listPostings(ref.userKey)).map(({ staked }) => staked)
    await reward('DOT.S')
    await derive(ref)
    assert.deepEqual(await isStaked(), [true])
    await reward('DOT')
    await derive(ref)
    assert.deepEqual(await isStaked(), [false])
  })

  it('do not exist while a transaction is pending', async () => {
    const ref = await newUser()
    await keepAt(ref, 'deposits', fundingRow('D1', { status: 'Pending' }))
    await derive(ref)
    assert.deepEqual(await listPostings(ref.userKey), [])
    await keepAt(ref, 'ledger', ledgerRow('L1', 'D1'))
    await derive(ref)
    assert.equal((await listPostings(ref.userKey)).length, 1)
  })

  it('that stay the same are not rewritten', async () => {
    const ref = await newUser()
    const keep = (fee: string): Promise<void> =>
      keepAt(
        ref,
        'ledger',
        ledgerRow('L1', 'T1', { type: 'trade', amount: '0.5' }),
        ledgerRow('L2', 'T1', { type: 'trade', asset: 'ZUSD', amount: '-32000', fee }),
      )
    const places = async (): Promise<unknown[]> =>
      (
        await db.rows<{ ctid: string }>('select ctid from postings where user_key = $1 order by ordinal', [ref.userKey])
      ).map(({ ctid }) => ctid)
    await keep('12.5')
    await derive(ref)
    const before = await places()
    await makeAllDue(db, ref.userKey)
    await derive(ref)
    assert.deepEqual(await places(), before)
    await keep('13')
    await derive(ref)
    const after = await places()
    assert.deepEqual(after.slice(0, 2), before.slice(0, 2))
    assert.notEqual(after[2], before[2])
  })

  it('add up to the documents and to the sums of days, whatever is added, corrected, moved or replayed', async () => {
    const ref = await newUser()
    const one = fc.record({
      key: fc.integer({ min: 1, max: 6 }).map((key) => `L${key}`),
      group: fc.integer({ min: 1, max: 4 }).map((group) => `R${group}`),
      type: fc.constantFrom('trade', 'deposit', 'withdrawal', 'staking', 'rollover', 'transfer', 'unheard of'),
      asset: fc.constantFrom('XXBT', 'ZUSD', 'DOT.S', 'DOT'),
      amount: fc.constantFrom('1', '-1', '0.000000000000000001', '-2.5', '0'),
      fee: fc.constantFrom('0', '0.5', '-0.25'),
      day: fc.integer({ min: 0, max: 2 }),
    })
    const property = fc.asyncProperty(fc.array(one, { minLength: 2, maxLength: 10 }), async (steps) => {
      for (const [index, { key, group, day, ...row }] of steps.entries()) {
        await keepAt(ref, 'ledger', ledgerRow(key, group, row, noonMs - day * dayMs))
        if (index % 2 === 1) await derive(ref)
      }
      await derive(ref)
      const wanted = withoutZeros(await sumDocuments(opened, ref.userKey))
      for (const table of [postingsByDay, 'daily_changes']) {
        assert.deepEqual(withoutZeros(await sumRows(opened, ref.userKey, table)), wanted, table)
      }
    })
    await fc.assert(property, { numRuns: 15 })
    await db.execute('update postings set amount = amount + 1 where user_key = $1', [ref.userKey])
    await ledger.replay({ connectionId: ref.connectionId, apply: true, onProgress: () => undefined })
    const wanted = withoutZeros(await sumDocuments(opened, ref.userKey))
    assert.deepEqual(withoutZeros(await sumRows(opened, ref.userKey, postingsByDay)), wanted)
  })
})

describe('a trade for money', () => {
  interface Rendered {
    inputs: { price_in_usd: string; value_in_usd: string }[]
    outputs: { value_in_usd: string }[]
    fees: { total_in_usd: string | null }
    incomplete: string[]
  }

  it('has the price that was paid, and does not wait for another', async (t) => {
    const { db, keep, derive, listWritten } = await openLedger(t, { price: 'down' })
    await keep(
      ledgerRow('L1', 'T1', { type: 'trade', amount: '0.5' }),
      ledgerRow('L2', 'T1', { type: 'trade', asset: 'ZUSD', amount: '-32000' }),
    )
    await derive()
    const [{ document } = { document: '' }] = await listWritten()
    const { inputs, outputs, incomplete } = JSON.parse(`{${document}`) as Rendered
    assert.deepEqual(
      [inputs[0]?.price_in_usd, inputs[0]?.value_in_usd, outputs[0]?.value_in_usd],
      ['64000', '32000', '32000'],
    )
    assert.deepEqual(incomplete, [])
    assert.deepEqual(await db.rows('select from awaited_prices'), [])
  })

  it('whose fee has no price names the asset, until the price comes', async (t) => {
    const opened = await openLedger(t, { price: 'down' })
    const { ledger, prices, keep, derive, listWritten } = opened
    const read = async (): Promise<Rendered> => {
      const [{ document } = { document: '' }] = await listWritten()
      return JSON.parse(`{${document}`) as Rendered
    }
    await keep(
      ledgerRow('L1', 'T1', { type: 'trade', amount: '0.5' }),
      ledgerRow('L2', 'T1', { type: 'trade', asset: 'ZUSD', amount: '-32000' }),
      ledgerRow('L3', 'T1', { type: 'trade', asset: 'XETH', amount: '0', fee: '0.01' }),
    )
    await derive()
    const without = await read()
    assert.equal(without.fees.total_in_usd, null)
    assert.deepEqual(without.incomplete, ['fees.total_in_usd:crypto:ethereum'])
    opened.setPrice(parseDecimal('3000'))
    opened.moveClock(dayMs)
    await prices.backfill()
    await ledger.reprice()
    const priced = await read()
    assert.equal(priced.fees.total_in_usd, '30')
    assert.deepEqual(priced.incomplete, [])
    assert.equal(priced.inputs[0]?.price_in_usd, '64000')
  })
})
