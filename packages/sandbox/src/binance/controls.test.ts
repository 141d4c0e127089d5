import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openBinanceAccount, type BinanceTestAccount } from '../testing/binance-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startTestSandbox()
})
after(() => sandbox.close())

async function free(account: BinanceTestAccount, wanted: string): Promise<string | undefined> {
  const { balances } = await account.ask<{ balances: { asset: string; free: string }[] }>('/api/v3/account')
  return balances.find(({ asset }) => asset === wanted)?.free
}

function idOf(account: BinanceTestAccount, list: string, has: RegExp): string {
  const records = sandbox.controls.binance.readAccount(account.accountId).records[list] ?? []
  const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
  const found = records.find(({ body }) => has.test(JSON.stringify(body, plain)))
  assert.ok(found, `${list} ${has.source}`)
  return found.id
}

describe('the controls of Binance', () => {
  it('withdraw a record that was shown', async () => {
    const account = await openBinanceAccount(sandbox, 'default', 'withdrawn')
    const id = idOf(account, 'asset/assetDividend', /SGB/)
    sandbox.controls.binance.withdrawRecord(account.accountId, id)
    const range = { startTime: Date.UTC(2021, 8, 1), endTime: Date.UTC(2021, 8, 30) }
    assert.deepEqual(await account.ask('/sapi/v1/asset/assetDividend', range), { rows: [], total: 0 })
    assert.equal(await free(account, 'SGB'), '0.00000000')
    assert.throws(() => sandbox.controls.binance.withdrawRecord(account.accountId, id), RangeError)
  })

  it('refuse to withdraw an amount that was spent afterwards', async () => {
    const account = await openBinanceAccount(sandbox, 'default', 'spent')
    const id = idOf(account, 'capital/deposit/hisrec', /"XRP"/)
    assert.throws(() => sandbox.controls.binance.withdrawRecord(account.accountId, id), /XRP \(spot\) would be -/)
  })

  it('add a late record into the past', async () => {
    const account = await openBinanceAccount(sandbox, 'default', 'late')
    const time = '2023-03-03T03:03:03.000Z'
    const id = sandbox.controls.binance.addLateRecord(account.accountId, { time, asset: 'AAVE', amount: '0.5' })
    assert.equal(idOf(account, 'capital/deposit/hisrec', /AAVE/), id)
    const range = { startTime: Date.UTC(2023, 2, 1), endTime: Date.UTC(2023, 2, 30) }
    const [row] = await account.ask<{ insertTime: number }[]>('/sapi/v1/capital/deposit/hisrec', range)
    assert.equal(row?.insertTime, Date.parse(time))
    assert.equal(await free(account, 'AAVE'), '0.50000000')
  })

  it('correct a record, which keeps its id', async () => {
    const account = await openBinanceAccount(sandbox, 'default', 'corrected')
    const id = idOf(account, 'capital/withdraw/history', /"USDC"/)
    sandbox.controls.binance.correctRecord(account.accountId, id, { amount: '400', fee: '3.5' })
    assert.equal(await free(account, 'USDC'), '2596.50000000')
    const range = { startTime: Date.UTC(2023, 7, 1), endTime: Date.UTC(2023, 7, 30) }
    const [row] = await account.ask<Record<string, string>[]>('/sapi/v1/capital/withdraw/history', range)
    assert.deepEqual([row?.['amount'], row?.['transactionFee']], ['400', '3.5'])
    const trade = idOf(account, 'myTrades', /ETHBTC/)
    assert.throws(() => sandbox.controls.binance.correctRecord(account.accountId, trade, { amount: '1' }), RangeError)
  })

  it('book entries over the control API: deposit, withdrawal, dividend and conversion', async () => {
    const account = await openBinanceAccount(sandbox, 'empty', 'entries')
    const book = (...entries: object[]): Promise<unknown> =>
      control(sandbox, 'POST', `accounts/${account.accountId}/entries`, { entries })
    assert.deepEqual(await book({ type: 'deposit', asset: 'ETH', amount: '2' }), { ids: ['deposit 0'] })
    await book({ type: 'withdrawal', asset: 'ETH', amount: '-0.5', fee: '0.001' })
    await book({ type: 'dividend', asset: 'LDO', amount: '3' })
    await book({ type: 'convert', asset: 'LDO', amount: '-1' }, { type: 'convert', asset: 'ETH', amount: '0.01' })
    assert.deepEqual([await free(account, 'ETH'), await free(account, 'LDO')], ['1.50900000', '2.00000000'])
    await assert.rejects(book({ type: 'withdrawal', asset: 'ETH', amount: '-9' }), /400.*would be/)
    await assert.rejects(book({ type: 'teleport', asset: 'ETH', amount: '1' }), /400/)
    const state = (await control(sandbox, 'GET', `accounts/${account.accountId}/state`)) as {
      balances: Record<string, string>
      records: { kind: string }[]
    }
    assert.deepEqual(state.balances, { ETH: '1.509', LDO: '2' })
    assert.deepEqual(
      state.records.map(({ kind }) => kind),
      ['deposit', 'withdrawal', 'dividend', 'convert'],
    )
  })

  it('leave every other account of the scenario alone', async () => {
    const other = await openBinanceAccount(sandbox, 'default', 'untouched')
    assert.equal(await free(other, 'SGB'), '377.32400000')
  })
})
