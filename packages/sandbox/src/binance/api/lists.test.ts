import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { AccountContents } from '../../core/controls.ts'
import type { Sandbox } from '../../index.ts'
import { openBinanceAccount, type BinanceTestAccount } from '../../testing/binance-client.ts'
import { control, startTestSandbox } from '../../testing/kraken-client.ts'

let sandbox: Sandbox
let account: BinanceTestAccount
let held: AccountContents
before(async () => {
  sandbox = await startTestSandbox()
  account = await openBinanceAccount(sandbox, 'default')
  held = sandbox.controls.binance.readAccount(account.accountId)
})
after(() => sandbox.close())

interface Trade {
  symbol: string
  id: number
  time: number
}

function bodiesOf<T>(list: string): T[] {
  return (held.records[list] ?? []).map(({ body }) => body as T)
}

async function codeOf(path: string, parameters: Record<string, string | number> = {}): Promise<number> {
  return (await account.ask<{ code: number }>(path, parameters)).code
}

describe('myTrades', () => {
  const path = '/api/v3/myTrades'
  const ofSymbol = (symbol: string): Trade[] => bodiesOf<Trade>('myTrades').filter((trade) => trade.symbol === symbol)
  const ask = (parameters: Record<string, string | number>): Promise<Trade[]> => account.ask(path, parameters)

  it('requires a known symbol', async () => {
    assert.equal(await codeOf(path), -1102)
    assert.equal(await codeOf(path, { symbol: 'BTCDOGE' }), -1121)
    assert.deepEqual(await ask({ symbol: 'AAVEUSDT' }), [])
  })

  it('gives the newest in order of rising id, at most a thousand', async () => {
    const all = ofSymbol('BTCEUR')
    assert.deepEqual(await ask({ symbol: 'BTCEUR' }), all)
    assert.deepEqual(await ask({ symbol: 'BTCEUR', limit: 5 }), all.slice(-5))
    const robot = await openBinanceAccount(sandbox, 'large')
    assert.equal((await robot.ask<Trade[]>(path, { symbol: 'BTCUSDT' })).length, 500)
    assert.equal((await robot.ask<Trade[]>(path, { symbol: 'BTCUSDT', limit: 5000 })).length, 1000)
  })

  it('is walked from fromId, which is included, every trade once', async () => {
    const robot = await openBinanceAccount(sandbox, 'large')
    const records = sandbox.controls.binance.readAccount(robot.accountId).records['myTrades'] ?? []
    const expected = records.map(({ body }) => body as Trade).filter(({ symbol }) => symbol === 'ETHUSDT')
    const walked: Trade[] = []
    for (let fromId = 0; ;) {
      const page = await robot.ask<Trade[]>(path, { symbol: 'ETHUSDT', fromId, limit: 1000 })
      walked.push(...page)
      if (page.length < 1000) break
      fromId = (page.at(-1)?.id ?? 0) + 1
    }
    assert.ok(expected.length > 2000)
    assert.deepEqual(walked, expected)
  })

  it('accepts at most a day between two times, both included, and no id with them', async () => {
    const [first] = ofSymbol('ETHBTC')
    assert.ok(first)
    const range = { symbol: 'ETHBTC', startTime: first.time, endTime: first.time }
    assert.deepEqual(await ask(range), [first])
    assert.deepEqual(await ask({ symbol: 'ETHBTC', startTime: first.time - dayMs, endTime: first.time }), [first])
    assert.equal(await codeOf(path, { ...range, startTime: first.time - dayMs - 1 }), -1127)
    assert.equal(await codeOf(path, { ...range, fromId: 1 }), -1128)
    assert.deepEqual(await ask({ symbol: 'BTCEUR', startTime: 0, limit: 2 }), ofSymbol('BTCEUR').slice(0, 2))
  })

  it('still answers for a symbol on BREAK; a delisted symbol is answered here or not at all, and nowhere else', async () => {
    const gone = await openBinanceAccount(sandbox, 'delisted')
    const { symbols } = await gone.ask<{ symbols: { symbol: string; status: string }[] }>('/api/v3/exchangeInfo')
    assert.equal(symbols.find(({ symbol }) => symbol === 'MATICUSDT')?.status, 'BREAK')
    assert.ok(symbols.every(({ symbol }) => symbol !== 'LENDUSDT' && symbol !== 'BUSDUSDT'))
    assert.equal((await gone.ask<Trade[]>(path, { symbol: 'MATICUSDT' })).length, 1)
    assert.equal((await gone.ask<Trade[]>(path, { symbol: 'LENDUSDT' })).length, 2)
    for (const symbol of ['LENDUSDT', 'BUSDUSDT']) {
      const refused = await gone.ask<{ code: number }>('/api/v3/exchangeInfo', { symbol })
      assert.equal(refused.code, -1121, symbol)
    }
    assert.equal((await gone.ask<{ code: number }>(path, { symbol: 'BUSDUSDT' })).code, -1121)
  })
})

describe('deposits and withdrawals', () => {
  const deposits = '/sapi/v1/capital/deposit/hisrec'
  const withdrawals = '/sapi/v1/capital/withdraw/history'

  it('are of the last 90 days by default, and of 90 days at most', async () => {
    assert.deepEqual(
      (await account.ask<{ status: number }[]>(deposits)).map(({ status }) => status),
      [0, 6],
    )
    const startTime = Date.UTC(2021, 2, 1)
    for (const path of [deposits, withdrawals]) {
      assert.equal(await codeOf(path, { startTime }), -4047)
      assert.equal(await codeOf(path, { startTime, endTime: startTime + 90 * dayMs + 1 }), -4047)
      assert.ok(Array.isArray(await account.ask(path, { startTime, endTime: startTime + 90 * dayMs })))
    }
  })

  it('are read window by window, newest first, every one once', async () => {
    for (const [path, list] of [
      [deposits, 'capital/deposit/hisrec'],
      [withdrawals, 'capital/withdraw/history'],
    ] as const) {
      const read: object[] = []
      const windowMs = 89 * dayMs
      for (let startTime = Date.UTC(2021, 0, 1); startTime < Date.UTC(2026, 10, 15); startTime += windowMs) {
        const rows = await account.ask<object[]>(path, { startTime, endTime: startTime + windowMs - 1 })
        read.push(...rows.toReversed())
      }
      assert.deepEqual(read, bodiesOf(list))
    }
  })

  it('page by offset and filter by coin and status', async () => {
    const range = { startTime: Date.UTC(2025, 0, 1), endTime: Date.UTC(2025, 0, 31) }
    const both = await account.ask<object[]>(deposits, range)
    assert.equal(both.length, 2)
    assert.deepEqual(await account.ask(deposits, { ...range, limit: 1, offset: 1 }), both.slice(1))
    assert.deepEqual(await account.ask(deposits, { ...range, coin: 'PEPE' }), both.slice(1))
    assert.deepEqual(await account.ask(deposits, { ...range, status: 2 }), [])
  })

  it('of all kinds: inside the exchange, without a transaction id, without a network, called off, under way', () => {
    const rows = bodiesOf<Record<string, unknown>>('capital/withdraw/history')
    assert.ok(rows.some((row) => row['status'] === 6 && !('txId' in row)))
    assert.ok(rows.some((row) => row['status'] === 6 && !('network' in row)))
    assert.ok(rows.some((row) => row['transferType'] === 1 && /^Internal transfer \d+$/.test(String(row['txId']))))
    assert.deepEqual(new Set(rows.map((row) => row['status'])), new Set([1, 3, 4, 5, 6]))
  })
})

describe('the other lists', () => {
  it('convert/tradeFlow wants both times; more than 30 days is an empty list, not an error', async () => {
    const path = '/sapi/v1/convert/tradeFlow'
    const startTime = Date.UTC(2021, 3, 1)
    assert.equal(await codeOf(path, { startTime }), -1102)
    const ask = (days: number): Promise<{ list: object[]; moreData: boolean }> =>
      account.ask(path, { startTime, endTime: startTime + days * dayMs })
    assert.equal((await ask(30)).list.length, 1)
    // https://github.com/ccxt/ccxt/issues/22289
    assert.deepEqual(await ask(31), { ...(await ask(31)), list: [], moreData: false })
  })

  it('convert/tradeFlow says when there is more than fits', async () => {
    const own = await openBinanceAccount(sandbox, 'default', 'converts')
    for (const amount of ['1', '2']) {
      const entries = [
        { type: 'convert', asset: 'USDT', amount: `-${amount}`, time: '2021-04-10T00:00:00Z' },
        { type: 'convert', asset: 'EUR', amount },
      ]
      await control(sandbox, 'POST', `accounts/${own.accountId}/entries`, { entries })
    }
    const range = { startTime: Date.UTC(2021, 3, 1), endTime: Date.UTC(2021, 3, 30), limit: 2 }
    const page = await own.ask<{ list: { fromAmount: string }[]; moreData: boolean }>(
      '/sapi/v1/convert/tradeFlow',
      range,
    )
    assert.deepEqual([page.list.map(({ fromAmount }) => fromAmount), page.moreData], [['2', '1'], true])
  })

  it('Simple Earn: 30 days at most (−6021), beside the edge that was sent, ten rows a page by default', async () => {
    const path = '/sapi/v1/simple-earn/locked/history/rewardsRecord'
    const startTime = Date.UTC(2024, 9, 2)
    assert.equal(await codeOf(path, { startTime, endTime: startTime + 30 * dayMs + 1 }), -6021)
    assert.equal(await codeOf('/sapi/v1/simple-earn/flexible/history/rewardsRecord', { startTime }), -1102, 'type')
    interface Page {
      rows: { time: number }[]
      total: number
    }
    const first = await account.ask<Page>(path, { startTime })
    assert.deepEqual([first.rows.length, first.total], [10, 30])
    const all = await account.ask<Page>(path, { startTime, size: 100 })
    const third = await account.ask<Page>(path, { startTime, current: 3 })
    assert.deepEqual(third.rows, all.rows.slice(20))
    assert.ok((all.rows[0]?.time ?? 0) > (all.rows[1]?.time ?? 0))
  })

  it('assetDividend: twenty rows by default, 180 days at most', async () => {
    const path = '/sapi/v1/asset/assetDividend'
    const endTime = Date.UTC(2024, 9, 1)
    assert.equal(await codeOf(path, { startTime: endTime - 181 * dayMs, endTime }), -1130)
    const { rows, total } = await account.ask<{ rows: { direction: number }[]; total: number }>(path, {
      ...{ startTime: endTime - 60 * dayMs, endTime, limit: 1 },
    })
    assert.deepEqual([rows.length, total, rows[0]?.direction], [1, 2, -1])
  })

  it('fiat/orders: of the last 30 days by default, page by page', async () => {
    const path = '/sapi/v1/fiat/orders'
    const recent = await account.ask<{ total: number }>(path, { transactionType: 0 })
    assert.equal(recent.total, 0)
    const ask = (page: number): Promise<{ total: number; data: { createTime: number }[] }> =>
      account.ask(path, { transactionType: 0, beginTime: 0, endTime: Date.UTC(2026, 10, 1), rows: 40, page })
    const [first, second] = [await ask(1), await ask(2)]
    assert.deepEqual([first.data.length, second.data.length, first.total], [40, 29, 69])
    assert.equal(await codeOf(path, { transactionType: 2 }), -1130)
  })
})

describe('balances', () => {
  interface Balance {
    asset: string
    free: string
    locked: string
  }

  it('list zeros by default, mirror flexible Earn as LD codes, and LDO is a coin', async () => {
    const all = (await account.ask<{ balances: Balance[] }>('/api/v3/account')).balances
    const some = (await account.ask<{ balances: Balance[] }>('/api/v3/account', { omitZeroBalances: 'true' })).balances
    assert.ok(all.some(({ asset, free }) => asset === 'AAVE' && free === '0.00000000'))
    assert.deepEqual(
      some,
      all.filter(({ free, locked }) => !/^0\.0+$/.test(free) || !/^0\.0+$/.test(locked)),
    )
    const names = new Set(some.map(({ asset }) => asset))
    for (const name of ['LDO', 'LDLDO', 'LDUSDT', 'LDBTC']) assert.ok(names.has(name), name)
    const { rows } = await account.ask<{ rows: { asset: string; totalAmount: string }[] }>(
      '/sapi/v1/simple-earn/flexible/position',
    )
    for (const { asset, totalAmount } of rows) {
      assert.equal(some.find((balance) => balance.asset === `LD${asset}`)?.free, totalAmount)
    }
    assert.deepEqual(some.find(({ asset }) => asset === 'USDT')?.locked, '50.00000000')
  })
})
