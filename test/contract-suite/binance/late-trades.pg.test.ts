/**
 * A trade that Binance shows later than one with a higher id, read by the real engine. The server below answers as
 * Binance does for an account whose only history is what each test shows of one pair.
 */
import { dayMs, minuteMs } from '@assay/core'
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { ownedBySuite } from '../../../apps/server/src/oauth/test-oauth.ts'
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import { openEngine } from '../../../apps/server/src/test-engine.ts'
import { listTransactions, storedKeys } from '../books/reckoning.ts'

interface Trade {
  id: number
  time: number
}

const answers: Readonly<Record<string, unknown>> = {
  apiRestrictions: { enableReading: true },
  account: { balances: ['BTC', 'USDT'].map((asset) => ({ asset, free: '1', locked: '0' })), uid: 1 },
  exchangeInfo: { symbols: [{ symbol: 'BTCUSDT', baseAsset: 'BTC', quoteAsset: 'USDT' }] },
  position: { rows: [], total: 0 },
  rewardsRecord: { rows: [], total: 0 },
  assetDividend: { rows: [], total: 0 },
  dribblet: { total: 0, userAssetDribblets: [] },
  tradeFlow: { list: [], moreData: false },
  orders: { code: '000000', message: 'success', total: 0, success: true },
  payments: { code: '000000', message: 'success', total: 0, success: true },
  hisrec: [],
  history: [],
}

function toRow({ id, time }: Trade): object {
  const price = { price: '50000', qty: '0.01', quoteQty: '500', commission: '0', commissionAsset: 'USDT' }
  return { symbol: 'BTCUSDT', id, orderId: id, ...price, time, isBuyer: true }
}

describe('trades that Binance shows late', async () => {
  const shown: Trade[] = []
  const asked: string[] = []
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const name = pathname.split('/').at(-1) ?? ''
    if (name !== 'myTrades') return response.end(JSON.stringify(answers[name]))
    const fromId = searchParams.get('fromId') ?? ''
    asked.push(fromId)
    const rows = shown.filter(({ id }) => id >= Number(fromId)).toSorted((a, b) => a.id - b.id)
    response.end(JSON.stringify(rows.slice(0, 1_000).map(toRow)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ownedBySuite().after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const engine = await openEngine({ ASSAY_SANDBOX_PACE: 'fastest' }, { providerUrls: { binance: url } })
  const { db, clock } = engine

  async function connect(): Promise<ConnectionRef> {
    const account = { accountId: 'late', apiKey: 'k'.repeat(64), secretKey: 's'.repeat(64) }
    const owner = await engine.newOwner()
    const { connectionId, errors } = await engine.add(owner, account, { providerId: 'binance' })
    assert.ok(connectionId !== null, JSON.stringify(errors))
    const ref = await engine.toRef(owner, connectionId)
    await engine.drain({ delayed: true })
    return ref
  }

  /** The requests for trades that a run after this time makes. */
  async function readAfter(ref: ConnectionRef, ms: number): Promise<string[]> {
    await engine.moveClock(ms)
    const query = 'select key_lane from connections where id = $1'
    const { key_lane: lane } = await db.row<{ key_lane: string }>(query, [ref.connectionId])
    asked.length = 0
    await engine.sync.beginReading(db, ref, lane)
    await engine.drain({ delayed: true })
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
    return [...asked]
  }

  const storedIds = async (ref: ConnectionRef): Promise<string[]> =>
    (await storedKeys(db, ref)).map((key) => /\d+$/.exec(key)?.[0] ?? key)

  it('are stored once by a later run, which makes as many requests as before', async () => {
    shown.push({ id: 100, time: clock.now() - 40 * dayMs })
    const ref = await connect()
    assert.deepEqual(await readAfter(ref, 5 * minuteMs), ['101'])
    const late = { id: 103, time: clock.now() }
    shown.push({ id: 104, time: clock.now() })
    assert.deepEqual(await readAfter(ref, 5 * minuteMs), ['101', '105'])
    shown.push(late)
    assert.deepEqual(await readAfter(ref, 5 * minuteMs), ['101'])
    assert.deepEqual(await storedIds(ref), ['100', '103', '104'])
    assert.equal((await listTransactions(db, ref)).length, 3)
    // The next day begins with a week, and the day after an hour is enough again.
    shown.push({ id: 102, time: late.time - 1 })
    assert.deepEqual(await readAfter(ref, dayMs), ['101'])
    assert.deepEqual(await readAfter(ref, 5 * minuteMs), ['105'])
    assert.deepEqual(await storedIds(ref), ['100', '102', '103', '104'])
    assert.equal((await listTransactions(db, ref)).length, 4)
  })

  it('and one that a later walk lacks stays: a walk by ids does not judge what it does not show', async () => {
    shown.length = 0
    shown.push({ id: 1, time: clock.now() - 1 })
    const ref = await connect()
    shown.length = 0
    for (let runs = 0; runs < 3; runs += 1) await readAfter(ref, 15 * minuteMs)
    assert.deepEqual(await storedIds(ref), ['1'])
  })
})
