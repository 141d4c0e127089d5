/**
 * Every answer, field by field, against the answers in OKX's documents: the same names, the same types and formats,
 * with the simulator's own values. The section of https://www.okx.com/docs-v5/en/ is beside each shape.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { startTestSandbox } from '../testing/kraken-client.ts'
import { openOkxAccount, type OkxTestAccount } from '../testing/okx-client.ts'
import { all, assertShape, decimal, digits, milliseconds, nothing, signedDecimal, text } from '../testing/shape.ts'

let sandbox: Sandbox
let account: OkxTestAccount
before(async () => {
  sandbox = await startTestSandbox()
  account = await openOkxAccount(sandbox, 'default')
})
after(() => sandbox.close())

const code = /^[A-Z]+$/
const decimalOrNothing = /^(\d+(\.\d+)?)?$/

async function ask(path: string, parameters: Record<string, string | number> = {}): Promise<Record<string, unknown>[]> {
  const body = await account.ask<Record<string, unknown>>(`/api/v5/${path}`, parameters)
  assertShape(body, { code: /^0$/, msg: nothing, data: 'array' })
  return body.data
}

describe('the market', () => {
  it('#public-data-rest-api-get-system-time', async () => {
    assertShape((await ask('public/time'))[0], { ts: milliseconds })
  })

  it('#public-data-rest-api-get-instruments', async () => {
    const pairs = await ask('public/instruments', { instType: 'SPOT' })
    assert.equal(pairs.length, 13)
    for (const pair of pairs) {
      assertShape(pair, {
        ...all(
          'alias auctionEndTime ctMult ctType ctVal ctValCcy expTime instFamily maxMktSz maxStopSz optType',
          nothing,
        ),
        ...all('preMktSwTime settleCcy stk uly', nothing),
        ...{ baseCcy: code, quoteCcy: code, instId: /^[A-Z]+-[A-Z]+$/, instType: /^SPOT$/, state: /^live$/ },
        ...{ category: /^1$/, groupId: /^1$/, futureSettlement: 'boolean', openType: text, ruleType: /^normal$/ },
        ...{ contTdSwTime: milliseconds, listTime: milliseconds, tradeQuoteCcyList: 'array', upcChg: 'array' },
        ...all('lever lotSz maxIcebergSz maxLmtAmt maxLmtSz maxMktAmt maxTriggerSz maxTwapSz minSz tickSz', decimal),
        ...all('initPxLmtPct floatPxLmtPct maxPxLmtPct', decimal),
        ...{ instIdCode: 'number', instCategory: /^1$/ },
      })
    }
    assert.deepEqual(await ask('public/instruments', { instType: 'SWAP' }), [])
  })

  it('#funding-account-rest-api-get-currencies', async () => {
    for (const one of await ask('asset/currencies')) {
      assertShape(one, {
        ...all('burningFeeRate ctAddr depEstOpenTime depQuotaFixed depQuoteDailyLayer2 logoLink', nothing),
        ...all('maxFeeForCtAddr minFeeForCtAddr usedDepQuotaFixed wdEstOpenTime', nothing),
        ...all('canDep canInternal canWd mainNet needTag', 'boolean'),
        ...{ ccy: code, chain: /^[A-Z]+-\w+$/, name: text },
        ...all('fee maxFee maxWd minDep minDepArrivalConfirm minFee minInternal minWd minWdUnlockConfirm', decimal),
        ...all('usedWdQuota wdQuota wdTickSz', decimal),
      })
    }
  })
})

describe('the trading account', () => {
  it('#trading-account-rest-api-get-account-configuration', async () => {
    const [config] = await ask('account/config')
    assertShape(config, {
      ...all('acctLv feeType type kycLv opAuth roleType spotRoleType stgyType', digits),
      ...{ acctStpMode: text, autoLoan: 'boolean', ctIsoMode: text, enableSpotBorrow: 'boolean', greeksType: text },
      ...{ ip: nothing, label: text, level: /^Lv1$/, levelTmp: nothing, liquidationGear: /^-1$/ },
      ...{ mainUid: /^\d{17}$/, uid: /^\d{17}$/, mgnIsoMode: text, perm: /^read_only$/, posMode: text },
      ...{ spotBorrowAutoRepay: 'boolean', spotOffsetType: nothing, spotTraderInsts: 'array', traderInsts: 'array' },
      ...{ settleCcy: code, settleCcyList: 'array' },
    })
    const [rich] = (await (await openOkxAccount(sandbox, 'can_trade')).ask('/api/v5/account/config')).data
    assert.equal(rich?.['perm'], 'read_only,withdraw,trade')
  })

  it('#trading-account-rest-api-get-balance', async () => {
    const [whole] = await ask('account/balance')
    assertShape(whole, {
      ...all(
        'adjEq availEq borrowFroz delta deltaLever deltaNeutralStatus imr isoEq mgnRatio mmr notionalUsd',
        nothing,
      ),
      ...all('notionalUsdForBorrow notionalUsdForFutures notionalUsdForOption notionalUsdForSwap ordFroz upl', nothing),
      ...{ details: 'array', totalEq: decimal, uTime: milliseconds },
    })
    const details = whole?.['details'] as object[]
    assert.equal(details.length, 12)
    for (const one of details) {
      assertShape(one, {
        ...all('availEq borrowFroz crossLiab imr interest isoEq isoLiab isoUpl liab maxLoan mgnRatio mmr', nothing),
        ...all('notionalLever spotInUseAmt clSpotInUseAmt maxSpotInUse twap upl uplLiab openAvgPx accAvgPx', nothing),
        ...all('spotUpl spotUplRatio totalPnl totalPnlRatio disEq autoLendMtAmt', nothing),
        ...all('availBal cashBal eq eqUsd smtSyncEq spotCopyTradingEq fixedBal frozenBal ordFrozen rewardBal', decimal),
        ...all('spotIsoBal stgyEq spotBal', decimal),
        ...{ autoLendStatus: /^off$/, ccy: code, colRes: /^0$/, colBorrAutoConversion: /^0$/, frpType: /^0$/ },
        ...{ collateralEnabled: 'boolean', collateralRestrict: 'boolean', uTime: milliseconds },
      })
    }
  })

  it('#trading-account-rest-api-get-bills-details-last-3-months', async () => {
    const bills = await ask('account/bills-archive')
    assert.equal(bills.length, 100)
    for (const bill of bills) {
      assertShape(bill, {
        ...all('clOrdId fillFwdPx fillMarkPx fillMarkVol fillPxUsd fillPxVol notes tag', nothing),
        ...all('earnAmt earnApr', bill['type'] === '381' ? decimal : nothing),
        ...{ bal: decimal, balChg: signedDecimal, fee: signedDecimal, sz: decimal, billId: /^\d{18}$/, ccy: code },
        ...{ execType: /^[TM]?$/, fillIdxPx: decimalOrNothing, px: decimalOrNothing, fillTime: /^(\d{13})?$/ },
        ...{ from: /^(6|18)?$/, to: /^(6|18)?$/, instId: /^([A-Z]+-[A-Z]+)?$/, instType: /^(SPOT)?$/ },
        ...{ interest: /^0$/, mgnMode: /^(cash)?$/, ordId: /^(\d{18})?$/, tradeId: /^(\d{9})?$/, ts: milliseconds },
        ...all('pnl posBal posBalChg', /^0$/),
        ...{ type: /^(1|2|26|27|28|250|381)$/, subType: /^(1|2|11|12|236|237|280|297|298|318|319|381)$/ },
      })
    }
  })

  it('#order-book-trading-trade-get-transaction-details-last-3-months', async () => {
    const fills = await ask('trade/fills-history', { instType: 'SPOT' })
    assert.equal(fills.length, 100)
    for (const fill of fills) {
      assertShape(fill, {
        ...{ side: /^(buy|sell)$/, fillSz: decimal, fillPx: decimal, fee: signedDecimal, feeRate: signedDecimal },
        ...all('fillPxVol fillFwdPx fillPxUsd clOrdId fillMarkVol tag fillIdxPx fillMarkPx', nothing),
        ...{ fillPnl: /^0$/, ordId: /^\d{18}$/, instType: /^SPOT$/, instId: /^[A-Z]+-[A-Z]+$/, posSide: /^net$/ },
        ...{ billId: /^\d{18}$/, subType: /^[12]$/, fillTime: milliseconds, ts: milliseconds, execType: /^[TM]$/ },
        ...{ tradeId: digits, feeCcy: code, tradeQuoteCcy: code },
      })
    }
  })
})

describe('the funding account', () => {
  it('#funding-account-rest-api-get-balance', async () => {
    for (const one of await ask('asset/balances')) {
      assertShape(one, { availBal: decimal, bal: decimal, ccy: code, frozenBal: /^0$/ })
    }
  })

  it('#funding-account-rest-api-asset-bills-details and …-asset-bills-history', async () => {
    for (const path of ['asset/bills', 'asset/bills-history']) {
      for (const bill of await ask(path)) {
        assertShape(bill, {
          ...{ billId: digits, ccy: code, clientId: nothing, balChg: signedDecimal, bal: decimal },
          ...{ type: /^(1|2|89|130|131|229)$/, ts: milliseconds, notes: nothing },
        })
      }
    }
  })

  it('#funding-account-rest-api-get-deposit-history', async () => {
    const rows = await ask('asset/deposit-history')
    assert.equal(rows.length, 35)
    for (const row of rows) {
      assertShape(row, {
        ...{ actualDepBlkConfirm: digits, amt: decimal, areaCodeFrom: nothing, ccy: code, chain: /^[A-Z]+-\w+$/ },
        ...{
          depId: digits,
          from: text,
          fromWdId: /^\d*$/,
          state: /^(0|2|12)$/,
          to: text,
          ts: milliseconds,
          txId: text,
        },
      })
    }
  })

  it('#funding-account-rest-api-get-withdrawal-history', async () => {
    const rows = await ask('asset/withdrawal-history')
    assert.equal(rows.length, 7)
    for (const row of rows) {
      assertShape(row, {
        ...all('note clientId areaCodeFrom areaCodeTo', nothing),
        ...{ chain: /^[A-Z]+-\w+$/, fee: decimal, feeCcy: code, ccy: code, toAddrType: /^1$/, amt: decimal },
        ...{ txId: text, from: text, to: text, state: /^-?[012]$/, ts: milliseconds, nonTradableAsset: 'boolean' },
        ...{ wdId: digits },
      })
    }
  })

  it('#funding-account-rest-api-get-convert-history', async () => {
    const rows = await ask('asset/convert/history')
    // Seven, and one every 20 days since June 2026.
    assert.ok(rows.length >= 15, `${rows.length}`)
    for (const row of rows) {
      assertShape(row, {
        ...{ clTReqId: nothing, instId: /^USDC-USDT$/, side: /^buy$/, fillPx: decimal, baseCcy: code, quoteCcy: code },
        ...{ fillBaseSz: decimal, fillQuoteSz: decimal, state: /^fullyFilled$/, tradeId: /^trader\d+$/ },
        ...{ ts: milliseconds },
      })
    }
  })
})
