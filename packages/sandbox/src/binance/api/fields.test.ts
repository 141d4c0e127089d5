/**
 * Every answer, field by field, against the answers in Binance's documents: the same names, the same types and formats,
 * with the simulator's own values. Addresses are beside each shape.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { openBinanceAccount, type BinanceTestAccount } from '../../testing/binance-client.ts'
import { startTestSandbox } from '../../testing/kraken-client.ts'

let sandbox: Sandbox
let account: BinanceTestAccount
before(async () => {
  sandbox = await startTestSandbox()
  account = await openBinanceAccount(sandbox, 'default')
})
after(() => sandbox.close())

const decimal = /^\d+(\.\d+)?$/
const eightDecimals = /^\d+\.\d{8}$/
const cents = /^\d+\.\d{2}$/
const digits = /^\d+$/
const text = /^/
const moment = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/
const hash32 = /^[0-9a-f]{32}$/

type Shape = Readonly<Record<string, RegExp | 'number' | 'boolean' | 'array' | 'object'>>

/** `optional` may be missing; nothing else may, and nothing further may be there. */
function assertShape(value: unknown, shape: Shape, optional: Shape = {}): void {
  const members = Object.entries(value as Record<string, unknown>)
  const names = members.map(([name]) => name)
  for (const name of Object.keys(shape)) assert.ok(names.includes(name), `${name} is missing`)
  for (const [name, member] of members) {
    const wanted = shape[name] ?? optional[name]
    assert.ok(wanted !== undefined, `${name} is not documented`)
    if (wanted instanceof RegExp) {
      assert.equal(typeof member, 'string', name)
      assert.match(member as string, wanted, name)
    } else if (wanted === 'array') assert.ok(Array.isArray(member), name)
    else assert.equal(typeof member, wanted, name)
  }
}

const april = { startTime: Date.UTC(2021, 3, 1), endTime: Date.UTC(2021, 3, 30) }

// https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md
describe('/api/v3', () => {
  it('exchangeInfo', async () => {
    const info = await account.ask<{ symbols: object[]; rateLimits: object[] }>('/api/v3/exchangeInfo')
    assertShape(info, {
      ...{ timezone: text, serverTime: 'number', rateLimits: 'array', exchangeFilters: 'array', symbols: 'array' },
    })
    for (const limit of info.rateLimits) {
      assertShape(limit, { rateLimitType: text, interval: text, intervalNum: 'number', limit: 'number' })
    }
    for (const symbol of info.symbols) {
      assertShape(symbol, {
        ...{ symbol: /^[A-Z0-9]+$/, status: /^(TRADING|BREAK)$/, baseAsset: text, baseAssetPrecision: 'number' },
        ...{ quoteAsset: text, quotePrecision: 'number', quoteAssetPrecision: 'number' },
        ...{ baseCommissionPrecision: 'number', quoteCommissionPrecision: 'number', orderTypes: 'array' },
        ...{ icebergAllowed: 'boolean', ocoAllowed: 'boolean', otoAllowed: 'boolean', opoAllowed: 'boolean' },
        ...{ quoteOrderQtyMarketAllowed: 'boolean', allowTrailingStop: 'boolean', cancelReplaceAllowed: 'boolean' },
        ...{ amendAllowed: 'boolean', pegInstructionsAllowed: 'boolean', isSpotTradingAllowed: 'boolean' },
        ...{ isMarginTradingAllowed: 'boolean', filters: 'array', permissions: 'array', permissionSets: 'array' },
        ...{ defaultSelfTradePreventionMode: text, allowedSelfTradePreventionModes: 'array' },
      })
    }
  })

  it('account', async () => {
    const answer = await account.ask<{ balances: object[]; commissionRates: object; uid: number }>('/api/v3/account')
    assertShape(answer, {
      ...{ makerCommission: 'number', takerCommission: 'number', buyerCommission: 'number' },
      ...{ sellerCommission: 'number', commissionRates: 'object', canTrade: 'boolean', canWithdraw: 'boolean' },
      ...{ canDeposit: 'boolean', brokered: 'boolean', requireSelfTradePrevention: 'boolean', preventSor: 'boolean' },
      ...{ updateTime: 'number', accountType: /^SPOT$/, balances: 'array', permissions: 'array', uid: 'number' },
    })
    const rate = eightDecimals
    assertShape(answer.commissionRates, { maker: rate, taker: rate, buyer: rate, seller: rate })
    for (const balance of answer.balances) {
      assertShape(balance, { asset: text, free: eightDecimals, locked: eightDecimals })
    }
    assert.match(String(answer.uid), /^\d{9}$/)
  })

  it('myTrades', async () => {
    const trades = await account.ask<object[]>('/api/v3/myTrades', { symbol: 'BTCEUR' })
    assert.ok(trades.length > 0)
    for (const trade of trades) {
      assertShape(trade, {
        ...{ symbol: /^BTCEUR$/, id: 'number', orderId: 'number', orderListId: 'number', price: eightDecimals },
        ...{ qty: eightDecimals, quoteQty: eightDecimals, commission: eightDecimals, commissionAsset: text },
        ...{ time: 'number', isBuyer: 'boolean', isMaker: 'boolean', isBestMatch: 'boolean' },
      })
    }
  })
})

// https://github.com/binance/binance-connector-typescript/tree/master/tests/mock_values/restful/wallet
describe('/sapi/v1, the wallet', () => {
  it('capital/deposit/hisrec', async () => {
    const rows = await account.ask<object[]>('/sapi/v1/capital/deposit/hisrec', april)
    assert.equal(rows.length, 1)
    assertShape(rows[0], {
      ...{ id: digits, amount: decimal, coin: text, network: text, status: 'number', address: text, addressTag: text },
      ...{ txId: text, insertTime: 'number', transferType: 'number', confirmTimes: /^\d\/\d$/ },
      ...{ unlockConfirm: 'number', walletType: 'number' },
    })
  })

  it('capital/withdraw/history', async () => {
    const shape: Shape = {
      ...{ id: hash32, amount: decimal, transactionFee: decimal, coin: text, status: 'number', address: text },
      ...{
        applyTime: moment,
        transferType: 'number',
        info: text,
        confirmNo: 'number',
        walletType: 'number',
        txKey: text,
      },
    }
    const maybe: Shape = { txId: text, network: text, completeTime: moment }
    for (const [year, month] of [
      [2021, 3],
      [2023, 7],
      [2024, 2],
      [2026, 9],
    ] as const) {
      const range = { startTime: Date.UTC(year, month, 1), endTime: Date.UTC(year, month + 2, 28) }
      const rows = await account.ask<object[]>('/sapi/v1/capital/withdraw/history', range)
      assert.ok(rows.length > 0)
      for (const row of rows) assertShape(row, shape, maybe)
    }
  })

  it('asset/assetDividend', async () => {
    const range = { startTime: Date.UTC(2022, 11, 1), endTime: Date.UTC(2023, 2, 1) }
    const answer = await account.ask<{ rows: object[]; total: number }>('/sapi/v1/asset/assetDividend', range)
    assert.deepEqual([answer.rows.length, answer.total], [4, 4])
    // `direction`: https://developers.binance.com/docs/zh-CN/wallet/asset/assets-divided-record
    for (const row of answer.rows) {
      assertShape(row, {
        ...{ id: 'number', amount: eightDecimals, asset: text, divTime: 'number', enInfo: text, tranId: 'number' },
        direction: 'number',
      })
    }
  })

  it('asset/dribblet', async () => {
    const log = await account.ask<{ userAssetDribblets: { userAssetDribbletDetails: object[] }[] }>(
      '/sapi/v1/asset/dribblet',
    )
    assertShape(log, { total: 'number', userAssetDribblets: 'array' })
    for (const sweep of log.userAssetDribblets) {
      assertShape(sweep, {
        ...{ operateTime: 'number', totalTransferedAmount: decimal, totalServiceChargeAmount: decimal },
        ...{ transId: 'number', userAssetDribbletDetails: 'array' },
      })
      for (const detail of sweep.userAssetDribbletDetails) {
        assertShape(detail, {
          ...{ transId: 'number', serviceChargeAmount: decimal, amount: decimal, operateTime: 'number' },
          ...{ transferedAmount: decimal, fromAsset: text },
        })
      }
    }
  })

  it('account/apiRestrictions, account/status', async () => {
    const flags: Shape = {
      ...{ ipRestrict: 'boolean', createTime: 'number', enableWithdrawals: 'boolean' },
      ...{ enableInternalTransfer: 'boolean', permitsUniversalTransfer: 'boolean', enableVanillaOptions: 'boolean' },
      ...{ enableReading: 'boolean', enableFutures: 'boolean', enableMargin: 'boolean' },
      ...{ enableSpotAndMarginTrading: 'boolean', enablePortfolioMarginTrading: 'boolean' },
    }
    assertShape(await account.ask('/sapi/v1/account/apiRestrictions'), flags)
    const trading = await openBinanceAccount(sandbox, 'can_trade')
    const rights = await trading.ask<Record<string, unknown>>('/sapi/v1/account/apiRestrictions')
    assertShape(rights, { ...flags, tradingAuthorityExpirationTime: 'number' })
    assert.deepEqual([rights['enableWithdrawals'], rights['enableSpotAndMarginTrading']], [true, true])
    assert.deepEqual(await account.ask('/sapi/v1/account/status'), { data: 'Normal' })
  })

  // https://github.com/binance/binance-api-swagger/blob/master/spot_api.yaml
  it('capital/config/getall', async () => {
    for (const coin of await account.ask<object[]>('/sapi/v1/capital/config/getall')) {
      assertShape(coin, {
        ...{ coin: text, depositAllEnable: 'boolean', free: eightDecimals, freeze: eightDecimals },
        ...{ ipoable: eightDecimals, ipoing: eightDecimals, isLegalMoney: 'boolean', locked: eightDecimals },
        ...{ name: text, networkList: 'array', storage: eightDecimals, trading: 'boolean' },
        ...{ withdrawAllEnable: 'boolean', withdrawing: eightDecimals },
      })
    }
  })
})

describe('/sapi/v1, exchanged for something else', () => {
  // https://github.com/binance/binance-connector-typescript/blob/master/tests/mock_values/restful/convert/getConvertTradeHistory.ts;
  // orderType and side: https://github.com/ccxt/ccxt/pull/22277
  it('convert/tradeFlow, whose order ids have more digits than a float holds', async () => {
    const body = await (await account.call('/sapi/v1/convert/tradeFlow', april)).text()
    const answer = JSON.parse(body) as { list: object[] }
    assertShape(answer, {
      ...{ list: 'array', startTime: 'number', endTime: 'number', limit: 'number', moreData: 'boolean' },
    })
    assertShape(answer.list[0], {
      ...{ quoteId: hash32, orderId: 'number', orderStatus: /^SUCCESS$/, fromAsset: text, fromAmount: decimal },
      ...{ toAsset: text, toAmount: decimal, ratio: decimal, inverseRatio: decimal, createTime: 'number' },
      ...{ orderType: text, side: text },
    })
    const [, id = ''] = /"orderId":(\d+),/.exec(body) ?? []
    assert.equal(id.length, 18)
    assert.notEqual(String(Number(id)), id)
  })

  // https://developers.binance.com/docs/fiat/rest-api/Get-Fiat-Deposit-Withdraw-History
  it('fiat/orders, which leaves data out when there is none (rotki, _api_query_list)', async () => {
    const range = { transactionType: 0, beginTime: april.startTime, endTime: april.endTime }
    const answer = await account.ask<{ data: object[] }>('/sapi/v1/fiat/orders', range)
    assertShape(answer, { code: /^000000$/, message: /^success$/, data: 'array', total: 'number', success: 'boolean' })
    assertShape(answer.data[0], {
      ...{ orderNo: hash32, fiatCurrency: text, indicatedAmount: cents, amount: cents, totalFee: cents },
      ...{ method: text, status: text, createTime: 'number', updateTime: 'number' },
    })
    const early = { transactionType: 1, beginTime: 0, endTime: 1 }
    assert.deepEqual(await account.ask('/sapi/v1/fiat/orders', early), {
      ...{ code: '000000', message: 'success', total: 0, success: true },
    })
  })

  // https://developers.binance.com/docs/zh-CN/fiat/rest-api/Get-Fiat-Payments-History
  it('fiat/payments, with the method of purchases alone', async () => {
    const shape: Shape = {
      ...{ orderNo: hash32, sourceAmount: decimal, fiatCurrency: text, obtainAmount: decimal, cryptoCurrency: text },
      ...{ totalFee: decimal, price: decimal, status: text, createTime: 'number', updateTime: 'number' },
    }
    const ask = async (transactionType: number): Promise<{ data: object[] }> =>
      account.ask('/sapi/v1/fiat/payments', { transactionType, beginTime: 0, endTime: Date.UTC(2026, 10, 1) })
    const [bought, sold] = [await ask(0), await ask(1)]
    assert.deepEqual([bought.data.length, sold.data.length], [3, 1])
    for (const row of bought.data) assertShape(row, { ...shape, paymentMethod: text })
    for (const row of sold.data) assertShape(row, shape)
  })
})

// https://github.com/binance/binance-connector-typescript/tree/master/tests/mock_values/restful/simpleEarn
describe('/sapi/v1/simple-earn', () => {
  const november = { startTime: Date.UTC(2024, 10, 1), endTime: Date.UTC(2024, 10, 30) }
  const rowsOf = async (path: string, parameters = {}): Promise<object[]> => {
    const answer = await account.ask<{ rows: object[]; total: number }>(`/sapi/v1/simple-earn/${path}`, parameters)
    assertShape(answer, { rows: 'array', total: 'number' })
    assert.ok(answer.rows.length > 0)
    return answer.rows
  }

  it('flexible/position', async () => {
    for (const row of await rowsOf('flexible/position')) {
      assertShape(row, {
        ...{ totalAmount: eightDecimals, tierAnnualPercentageRate: 'object', latestAnnualPercentageRate: decimal },
        ...{ yesterdayAirdropPercentageRate: decimal, asset: text, airDropAsset: text, canRedeem: 'boolean' },
        ...{ collateralAmount: decimal, productId: text, yesterdayRealTimeRewards: decimal },
        ...{ cumulativeBonusRewards: decimal, cumulativeRealTimeRewards: decimal, cumulativeTotalRewards: decimal },
        autoSubscribe: 'boolean',
      })
    }
  })

  it('locked/position', async () => {
    for (const row of await rowsOf('locked/position')) {
      assertShape(row, {
        ...{ positionId: 'number', parentPositionId: 'number', projectId: text, asset: text, amount: decimal },
        ...{ purchaseTime: digits, duration: digits, accrualDays: digits, rewardAsset: text, APY: decimal },
        ...{ rewardAmt: decimal, extraRewardAsset: text, extraRewardAPR: decimal, estExtraRewardAmt: decimal },
        ...{ nextPay: decimal, nextPayDate: digits, payPeriod: digits, redeemAmountEarly: decimal },
        ...{ rewardsEndDate: digits, deliverDate: digits, redeemPeriod: digits, redeemingAmt: decimal },
        ...{ redeemTo: text, partialAmtDeliverDate: digits, canRedeemEarly: 'boolean', canFastRedemption: 'boolean' },
        ...{ autoSubscribe: 'boolean', type: text, status: /^HOLDING$/, canReStake: 'boolean' },
      })
    }
  })

  it('rewardsRecord', async () => {
    for (const row of await rowsOf('flexible/history/rewardsRecord', { ...november, type: 'ALL' })) {
      assertShape(row, { asset: text, rewards: eightDecimals, projectId: text, type: /^REALTIME$/, time: 'number' })
    }
    for (const row of await rowsOf('locked/history/rewardsRecord', november)) {
      assertShape(row, { positionId: digits, time: 'number', asset: text, lockPeriod: digits, amount: eightDecimals })
    }
  })

  it('subscriptionRecord, redemptionRecord', async () => {
    const january = { startTime: Date.UTC(2023, 0, 1), endTime: Date.UTC(2023, 0, 31) }
    const bought: Shape = {
      ...{ amount: decimal, asset: text, time: 'number', purchaseId: 'number', type: text, sourceAccount: text },
      ...{ amtFromSpot: decimal, amtFromFunding: decimal, status: /^SUCCESS$/ },
    }
    for (const row of await rowsOf('flexible/history/subscriptionRecord', january)) {
      assertShape(row, { ...bought, productId: text })
    }
    const october = { startTime: Date.UTC(2024, 9, 1), endTime: Date.UTC(2024, 9, 31) }
    for (const row of await rowsOf('locked/history/subscriptionRecord', october)) {
      assertShape(row, { ...bought, positionId: digits, projectId: text, lockPeriod: digits })
    }
    const august = { startTime: Date.UTC(2024, 7, 1), endTime: Date.UTC(2024, 7, 31) }
    for (const row of await rowsOf('flexible/history/redemptionRecord', august)) {
      assertShape(row, {
        ...{ amount: decimal, asset: text, time: 'number', projectId: text, redeemId: 'number' },
        ...{ destAccount: text, status: /^PAID$/ },
      })
    }
    const december = { startTime: Date.UTC(2024, 11, 1), endTime: Date.UTC(2024, 11, 31) }
    for (const row of await rowsOf('locked/history/redemptionRecord', december)) {
      assertShape(row, {
        ...{ positionId: 'number', redeemId: 'number', time: 'number', asset: text, lockPeriod: digits },
        ...{ amount: decimal, originalAmount: decimal, type: text, deliverDate: digits, lossAmount: decimal },
        ...{ isComplete: 'boolean', rewardAsset: text, rewardAmt: decimal, extraRewardAsset: text },
        ...{ estExtraRewardAmt: decimal, status: /^PAID$/ },
      })
    }
  })
})
