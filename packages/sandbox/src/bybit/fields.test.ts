/**
 * Every answer, field by field, against the answers in Bybit's documents: the same names, the same types and formats,
 * with the simulator's own values. Addresses are beside each shape, under https://bybit-exchange.github.io/docs/v5.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openBybitAccount, type BybitTestAccount } from '../testing/bybit-client.ts'
import { startTestSandbox } from '../testing/kraken-client.ts'
import {
  all,
  assertShape,
  decimal,
  digits,
  milliseconds,
  nothing,
  signedDecimal,
  text,
  uuid,
} from '../testing/shape.ts'

let sandbox: Sandbox
let account: BybitTestAccount
before(async () => {
  sandbox = await startTestSandbox()
  account = await openBybitAccount(sandbox, 'default')
})
after(() => sandbox.close())

const symbol = /^[A-Z]+$/
const week = { startTime: Date.UTC(2025, 3, 14), endTime: Date.UTC(2025, 3, 21) }
const month = { startTime: Date.UTC(2025, 4, 1), endTime: Date.UTC(2025, 4, 31) }

interface List {
  list: object[]
  rows: object[]
}

async function ask(
  path: string,
  parameters: Record<string, string | number> = {},
): Promise<List & Record<string, unknown>> {
  const body = await account.ask<List & Record<string, unknown>>(path, parameters)
  // guide, "Common response parameters"
  assertShape(body, {
    retCode: 'number',
    retMsg: /^(OK|success|ok|)$/,
    result: 'object',
    retExtInfo: 'object',
    time: 'number',
  })
  assert.equal(body.retCode, 0)
  return body.result
}

describe('the market', () => {
  it('market/time', async () => {
    assertShape(await ask('/v5/market/time'), { timeSecond: /^\d{10}$/, timeNano: /^\d{19}$/ })
  })

  it('market/instrument', async () => {
    const spot = await ask('/v5/market/instruments-info', { category: 'spot' })
    assertShape(spot, { category: /^spot$/, list: 'array' })
    for (const one of spot.list as Record<string, unknown>[]) {
      assertShape(one, {
        ...{ symbolId: 'number', symbol, baseCoin: symbol, quoteCoin: symbol, innovation: /^0$/, status: /^Trading$/ },
        ...{ marginTrading: /^utaOnly$/, stTag: /^0$/, lotSizeFilter: 'object', priceFilter: 'object' },
        ...{ riskParameters: 'object', symbolType: nothing },
      })
      assertShape(one['lotSizeFilter'], {
        ...all('basePrecision quotePrecision minOrderQty maxOrderQty minOrderAmt maxOrderAmt', decimal),
        ...all('maxLimitOrderQty maxMarketOrderQty postOnlyMaxLimitOrderSize', decimal),
      })
      assertShape(one['priceFilter'], { tickSize: decimal })
      assertShape(one['riskParameters'], { priceLimitRatioX: decimal, priceLimitRatioY: decimal })
    }
    assert.deepEqual((await ask('/v5/market/instruments-info', { category: 'linear' })).list, [])
  })

  it('asset/coin-info', async () => {
    for (const row of (await ask('/v5/asset/coin/query-info')).rows as { chains: object[] }[]) {
      assertShape(row, { name: text, coin: symbol, remainAmount: decimal, chains: 'array' })
      for (const chain of row.chains) {
        assertShape(chain, {
          ...{ chain: symbol, chainType: text, contractAddress: nothing, chainDeposit: /^1$/, chainWithdraw: /^1$/ },
          ...all('confirmation withdrawFee depositMin withdrawMin minAccuracy withdrawPercentageFee', decimal),
          ...all('safeConfirmNumber withdrawMax', decimal),
        })
      }
    }
  })
})

describe('the account', () => {
  it('user/apikey-info', async () => {
    const key = await ask('/v5/user/query-api')
    assertShape(key, {
      ...{ id: digits, note: text, apiKey: /^[A-Za-z0-9]{18}$/, readOnly: 'number', secret: nothing },
      ...{ permissions: 'object', ips: 'array', type: 'number', deadlineDay: 'number' },
      ...all('expiredAt createdAt', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      ...all('unified uta userID inviterID affiliateID', 'number'),
      ...{ vipLevel: /^No VIP$/, mktMakerLevel: /^0$/, rsaPublicKey: nothing, isMaster: 'boolean', parentUid: /^0$/ },
      ...{ kycLevel: /^LEVEL_1$/, kycRegion: /^[A-Z]{3}$/ },
      ...all('userIDInt64 inviterIDInt64 affiliateIDInt64', digits),
    })
    assertShape(key['permissions'], {
      ...all(
        'ContractTrade Spot Wallet Options Derivatives CopyTrading BlockTrade Exchange NFT Affiliate Earn',
        'array',
      ),
      ...all('FiatP2P FiatConvertBroker FiatGlobalPay FiatBitPay BitCard ByXPost', 'array'),
    })
    const granted = Object.entries(key['permissions'] as Record<string, string[]>).filter(([, list]) => list.length > 0)
    assert.deepEqual(
      [key['readOnly'], key['uta'], key['deadlineDay'], Object.fromEntries(granted)],
      [1, 1, 82, { Spot: ['SpotTrade'], Wallet: ['AccountTransfer'], Exchange: ['ExchangeHistory'] }],
    )
  })

  it('user/apikey-info of a key with too many rights', async () => {
    const rich = await openBybitAccount(sandbox, 'can_trade')
    const { result } = await rich.ask<{ readOnly: number; permissions: Record<string, string[]> }>('/v5/user/query-api')
    assert.equal(result.readOnly, 0)
    assert.deepEqual(result.permissions['Wallet'], ['AccountTransfer', 'SubMemberTransfer', 'Withdraw'])
  })

  it('account/account-info', async () => {
    assertShape(await ask('/v5/account/info'), {
      ...{
        marginMode: /^REGULAR_MARGIN$/,
        updatedTime: milliseconds,
        unifiedMarginStatus: 'number',
        dcpStatus: /^OFF$/,
      },
      ...{ timeWindow: 'number', smpGroup: 'number', isMasterTrader: 'boolean', spotHedgingStatus: /^OFF$/ },
    })
  })

  it('account/wallet-balance', async () => {
    const [whole] = (await ask('/v5/account/wallet-balance', { accountType: 'UNIFIED' })).list as { coin: object[] }[]
    assertShape(whole, {
      ...all('totalEquity accountIMRate accountIMRateByMp totalMarginBalance totalInitialMargin', decimal),
      ...all('totalInitialMarginByMp totalAvailableBalance accountMMRate accountMMRateByMp totalPerpUPL', decimal),
      ...all('totalWalletBalance accountLTV totalMaintenanceMargin totalMaintenanceMarginByMp', decimal),
      ...{ accountType: /^UNIFIED$/, coin: 'array' },
    })
    assert.equal(whole?.coin.length, 12)
    for (const coin of whole?.coin ?? []) {
      assertShape(coin, {
        ...all('bonus accruedInterest totalOrderIM equity totalPositionMM usdValue spotHedgingQty', decimal),
        ...all('unrealisedPnl borrowAmount totalPositionIM walletBalance cumRealisedPnl locked spotBorrow', decimal),
        ...{ coin: symbol, collateralSwitch: 'boolean', marginCollateral: 'boolean' },
        ...all('availableToBorrow availableToWithdraw', nothing),
      })
    }
  })

  it('account/transaction-log', async () => {
    const log = await ask('/v5/account/transaction-log', week)
    assertShape(log, { nextPageCursor: /^\d+%3A1%2C\d+%3A1$/, list: 'array' })
    for (const row of log.list) {
      assertShape(row, {
        ...{ transSubType: nothing, id: /^\d+_[A-Z]+_\d+$/, symbol: /^[A-Z]*$/, side: /^(Buy|Sell|None)$/ },
        ...{ funding: nothing, orderLinkId: nothing, orderId: uuid, transactionTime: milliseconds },
        ...{
          type: /^(TRADE|TRANSFER_IN|INTEREST|AIRDROP|FLEXIBLE_STAKING_SUBSCRIPTION)$/,
          bonusChange: nothing,
          category: /^(spot)?$/,
          tradeId: /^(\d{19})?$/,
        },
        ...all('fee change cashFlow feeRate size qty cashBalance tradePrice', signedDecimal),
        ...{ currency: symbol, extraFees: nothing },
      })
    }
  })

  it('order/execution', async () => {
    const answer = await ask('/v5/execution/list', { category: 'spot', ...week })
    assertShape(answer, { nextPageCursor: text, category: /^spot$/, list: 'array' })
    assert.equal(answer.list.length, 3)
    for (const row of answer.list) {
      assertShape(row, {
        ...{ symbol, orderType: /^(Market|Limit)$/, side: /^(Buy|Sell)$/, orderId: uuid, execId: /^\d{19}$/ },
        ...all('underlyingPrice orderLinkId indexPrice stopOrderType tradeIv blockTradeId markIv closedSize', nothing),
        ...all('leavesQty markPrice execPrice orderQty orderPrice execValue execQty', decimal),
        ...{ execTime: milliseconds, feeCurrency: symbol, isMaker: 'boolean', execFee: signedDecimal },
        ...{ feeRate: signedDecimal, execType: /^Trade$/, extraFees: nothing, seq: 'number' },
      })
    }
  })

  it('asset/convert/get-convert-history', async () => {
    const { list } = await ask('/v5/asset/exchange/query-convert-history')
    assert.equal(list.length, 7)
    for (const row of list) {
      assertShape(row, {
        ...{ accountType: /^eb_convert_uta$/, exchangeTxId: text, userId: digits, exchangeStatus: /^success$/ },
        ...{ fromCoin: symbol, toCoin: symbol, fromCoinType: /^crypto$/, toCoinType: /^crypto$/, extInfo: 'object' },
        ...{ fromAmount: decimal, toAmount: decimal, convertRate: decimal, createdAt: milliseconds },
      })
    }
  })
})

describe('the funding account', () => {
  it('asset/balance/all-balance', async () => {
    const answer = await ask('/v5/asset/transfer/query-account-coins-balance', { accountType: 'FUND' })
    assertShape(answer, { memberId: digits, accountType: /^FUND$/, balance: 'array' })
    for (const one of answer['balance'] as object[]) {
      assertShape(one, { coin: symbol, transferBalance: decimal, walletBalance: decimal, bonus: nothing })
    }
  })

  it('asset/fund-history', async () => {
    const range = { createTimeFrom: Date.UTC(2025, 1, 1) / 1000, createTimeTo: Date.UTC(2025, 1, 8) / 1000 }
    const answer = await ask('/v5/asset/fundinghistory', range)
    assertShape(answer, { nextPageCursor: /^[A-Za-z0-9+/]+=*$/, list: 'array' })
    for (const row of answer.list) {
      assertShape(row, {
        ...{ memberId: digits, currency: symbol, ioDirection: /^[IO]$/, txnAmt: decimal, afterAmt: decimal },
        ...{ createTime: /^\d{10}$/, showBusiType: /^fundingAccountRecord\w+$/, showBusiTypeEn: text },
        ...{ description: /^fundingAccountRecord\w+$/, descriptionEn: text },
      })
    }
    const types = answer.list.map((row) => (row as { showBusiTypeEn: string }).showBusiTypeEn)
    assert.deepEqual(types, ['Transfer', 'Deposit', 'Earn'])
  })

  it('asset/deposit/deposit-record', async () => {
    const { rows, nextPageCursor } = await ask('/v5/asset/deposit/query-record', month)
    assert.match(Buffer.from(String(nextPageCursor), 'base64').toString(), /^\{"minID":\d+,"maxID":\d+\}$/)
    assert.equal(rows.length, 1)
    assertShape(rows[0], {
      ...{ coin: symbol, chain: symbol, amount: decimal, txID: /^[0-9a-f]{64}$/, status: 'number', toAddress: text },
      ...{ tag: nothing, depositFee: nothing, successAt: /^\d{10}000$/, confirmations: digits, txIndex: digits },
      ...{ blockHash: /^[0-9a-f]{64}$/, batchReleaseLimit: /^-1$/, depositType: /^0$/, fromAddress: text },
      ...{ taxDepositRecordsId: /^0$/, taxStatus: 'number', id: digits },
    })
  })

  it('asset/deposit/internal-deposit-record', async () => {
    const { rows } = await ask('/v5/asset/deposit/query-internal-record', month)
    assert.equal(rows.length, 1)
    assertShape(rows[0], {
      ...{ id: digits, amount: decimal, type: 'number', coin: symbol, address: /\*\*\*@/, status: 'number' },
      ...{ createdTime: /^\d{10}$/, fromMemberId: digits, txID: uuid, complianceStatus: 'number' },
      ...{ taxDepositRecordsId: /^0$/, taxStatus: 'number' },
    })
  })

  it('asset/withdraw/withdraw-record', async () => {
    for (const at of [Date.UTC(2025, 4, 1), Date.UTC(2026, 2, 1), Date.UTC(2026, 4, 1)]) {
      const range = { startTime: at, endTime: at + 30 * 86_400_000, withdrawType: 2 }
      const { rows } = await ask('/v5/asset/withdraw/query-record', range)
      assert.equal(rows.length, 1)
      assertShape(rows[0], {
        ...{ coin: symbol, chain: /^[A-Z]*$/, amount: decimal, txID: text, toAddress: text, tag: nothing },
        ...{ status: /^(success|CancelByUser)$/, withdrawFee: decimal, createTime: milliseconds },
        ...{ updateTime: milliseconds, withdrawId: digits, withdrawType: 'number' },
        ...all('fee tax taxRate taxType', nothing),
      })
    }
  })
})
