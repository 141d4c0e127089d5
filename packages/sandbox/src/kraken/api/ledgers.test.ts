import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { control, openAccount, startTestSandbox, type TestAccount } from '../../testing/kraken-client.ts'

interface Entry {
  id: string
  refid: string
  time: number
  type: string
  asset: string
}

let sandbox: Sandbox
let account: TestAccount
/** Newest first, as the control API computes it. */
let held: Entry[]
let trades: { id: string; time: number; ledgers: string[] }[]

before(async () => {
  sandbox = await startTestSandbox()
  account = await openAccount(sandbox, 'default')
  const state = (await control(sandbox, 'GET', `accounts/${account.accountId}/state`)) as {
    ledger: Entry[]
    trades: typeof trades
  }
  held = state.ledger.reverse()
  trades = state.trades.reverse()
})
after(() => sandbox.close())

async function ledgers(parameters: Record<string, string> = {}): Promise<{ ids: string[]; count: number | undefined }> {
  const { error, result } = await account.ask('Ledgers', parameters)
  assert.deepEqual(error, [])
  const { ledger, count } = result as { ledger: object; count?: number }
  return { ids: Object.keys(ledger), count }
}

const ids = (entries: readonly { id: string }[]): string[] => entries.map((entry) => entry.id)

describe('Ledgers', () => {
  it('gives 50 entries at a time, newest first, and all of them once by offset', async () => {
    const read: string[] = []
    for (let offset = 0; ; offset += 50) {
      const page = await ledgers({ ofs: String(offset) })
      assert.equal(page.count, held.length)
      assert.equal(page.ids.length, Math.min(50, held.length - offset))
      read.push(...page.ids)
      if (page.ids.length < 50) break
    }
    assert.deepEqual(read, ids(held))
    assert.deepEqual((await ledgers({ ofs: '100000' })).ids, [])
  })

  it('leaves the count out when asked to', async () => {
    assert.equal((await ledgers({ without_count: 'true' })).count, undefined)
  })

  it('excludes start and includes end, by time', async () => {
    const [start, end] = [held[40], held[20]]
    assert.ok(start && end)
    const expected = held.filter((entry) => entry.time > start.time && entry.time <= end.time)
    const page = await ledgers({ start: String(start.time), end: String(end.time) })
    assert.deepEqual(page.ids, ids(expected))
    assert.equal(page.count, expected.length)
  })

  it('excludes start and includes end, by id, even between the legs of one trade', async () => {
    assert.deepEqual(
      (await ledgers({ start: held[30]?.id ?? '', end: held[10]?.id ?? '' })).ids,
      ids(held.slice(10, 30)),
    )
    const leg = held.findIndex((entry, index) => entry.refid === held[index + 1]?.refid && entry.type === 'trade')
    assert.deepEqual((await ledgers({ start: held[leg + 1]?.id ?? '', end: held[leg]?.id ?? '' })).ids, [held[leg]?.id])
  })

  it('filters by type and by assets; "sale" means spend and receive', async () => {
    const sale = held.filter((entry) => entry.type === 'spend' || entry.type === 'receive')
    assert.deepEqual((await ledgers({ type: 'sale' })).ids, ids(sale.slice(0, 50)))
    const coins = held.filter((entry) => entry.asset === 'XXBT' || entry.asset === 'DOT.S')
    const page = await ledgers({ asset: 'XBT,DOT.S', ofs: '50' })
    assert.equal(page.count, coins.length)
    assert.deepEqual(page.ids, ids(coins.slice(50, 100)))
  })

  it('refuses an asset, an id or an offset that it does not know', async () => {
    const errorOf = async (parameters: Record<string, string>): Promise<string[]> =>
      (await account.ask('Ledgers', parameters)).error
    assert.deepEqual(await errorOf({ asset: 'NOPE' }), ['EQuery:Unknown asset'])
    assert.deepEqual(await errorOf({ start: 'LAAAAA-AAAAA-AAAAAA' }), ['EGeneral:Invalid arguments:start'])
    assert.deepEqual(await errorOf({ ofs: '-1' }), ['EGeneral:Invalid arguments:ofs'])
  })

  it('writes times as numbers with four decimals and amounts as text with every decimal', async () => {
    const text = await (await account.call('Ledgers', { asset: 'XBT' })).text()
    assert.match(text, /"time":1791192\d{3}\.04\d7,/)
    assert.match(text, /"amount":"0\.\d{10}"/)
  })
})

describe('QueryLedgers', () => {
  it('gives the entries of up to 20 ids', async () => {
    const wanted = ids(held.slice(0, 20))
    const { result } = await account.ask('QueryLedgers', { id: wanted.join(',') })
    assert.deepEqual(Object.keys(result as object), wanted)
    const tooMany = ids(held.slice(0, 21)).join(',')
    assert.deepEqual((await account.ask('QueryLedgers', { id: tooMany })).error, ['EGeneral:Invalid arguments:id'])
    assert.deepEqual((await account.ask('QueryLedgers', { id: 'LAAAAA-AAAAA-AAAAAA' })).error, [
      'EGeneral:Invalid arguments:id',
    ])
  })

  it("does not know another account's ids", async () => {
    const other = await openAccount(sandbox, 'default', 'somebody else')
    assert.deepEqual((await other.ask('QueryLedgers', { id: held[0]?.id ?? '' })).error, [
      'EGeneral:Invalid arguments:id',
    ])
  })
})

describe('TradesHistory', () => {
  it('pages by 50 and names the ledger entries of a trade when asked to', async () => {
    const { result } = await account.ask('TradesHistory', { ofs: '50', ledgers: 'true' })
    const page = result as { count: number; trades: Record<string, { ledgers: string[] }> }
    assert.equal(page.count, trades.length)
    assert.deepEqual(Object.keys(page.trades), ids(trades.slice(50, 100)))
    for (const [id, trade] of Object.entries(page.trades)) {
      const booked = held.filter((entry) => entry.refid === id)
      assert.deepEqual(trade.ledgers.toSorted(), ids(booked).toSorted())
    }
  })

  it('excludes start and includes end, by id', async () => {
    const { result } = await account.ask('TradesHistory', { start: trades[9]?.id ?? '', end: trades[5]?.id ?? '' })
    assert.deepEqual(Object.keys((result as { trades: object }).trades), ids(trades.slice(5, 9)))
  })
})
