/**
 * What exchanges have in common that are brands or regions of one company, and lists that an exchange has twice. Data
 * only. Each entry names its source.
 */
import type { About, ListAbout } from './about.ts'

// bybit-exchange.github.io/docs/v5: deposits and withdrawals 30 days and 50 rows, executions 7 days within 2 years and
// 100 rows, transaction log 7 days and 50 rows; user/apikey-info for the rights, "readOnly: 0 read and write, 1 read
// only". It was founded in March 2018.
//
// account/wallet-balance: "equity = walletBalance - spotBorrow + unrealisedPnl + Asset Option Value". ccxt takes the debt
// from `borrowAmount`, "spot liabilities + derivatives liabilities", but `walletBalance` does not contain the latter. They
// are what a loss on contracts owes, and make it negative. enum: "BORROW Manual loan borrow and auto loan borrow", "REPAY
// Manual loan repay and auto loan repay"; in the change log of 23 October 2025, these are four types.
export const bybit: About = {
  accountsOf: 'bybit',
  countsInClaims: true,
  permissions: ['Read-Only', 'Unified Trading', 'Assets - Wallet'],
  leaveEmpty: ['Read-Write', 'Withdrawal', 'Account Transfer'],
  menu: ['Account & Security', 'API Management', 'Create New Key', 'System-generated API Keys'],
  lists: {
    deposits: { spanDays: 30, limit: 50, leavesOut: 'Deposits from other Bybit accounts are not read.' },
    // "withdrawType: 0 on chain (default), 1 off chain, 2 all".
    withdrawals: { spanDays: 30, limit: 50, params: { withdrawType: 2 } },
    trades: { retentionDays: 730, limit: 100 },
    // "change = cashFlow + funding - fee".
    ledger: {
      ...{ until: 'endTime', spanDays: 7, retentionDays: 730, limit: 50 },
      loans: [
        ...['BORROW', 'MANUAL_LOANS_BORROW', 'AUTO_LOANS_BORROW'],
        ...['REPAY', 'MANUAL_LOANS_REPAY', 'AUTO_LOANS_REPAY'],
      ],
      feesAreWithin: true,
      leavesOut:
        'Transfers to or from sub-accounts at Bybit are not read, and neither are conversions and rewards in its funding wallet.',
    },
  },
  launched: '2018-03-01',
  wallets: [{}, { type: 'funding' }],
  borrowed: { rows: 'result.list.0.coin', currency: 'coin', amount: 'spotBorrow' },
  // `unrealisedPnl` lacks options: their seller has the premium in the balance, and what they are worth beside it.
  openLosses: {
    shown: { rows: 'result.list.0.coin', left: 'equity', balance: 'walletBalance', borrowed: 'spotBorrow' },
  },
  rights: {
    kind: 'flag',
    endpoint: 'privateGetV5UserQueryApi',
    place: 'result.readOnly',
    readOnly: '1',
    readWrite: '0',
    name: 'Read-Write',
    account: 'result.userID',
    expires: 'result.expiredAt',
  },
  limits: ['Bybit reports only the last two years of trades.', 'Interest from Earn at Bybit is not read.'],
}

// www.okx.com/docs-v5: fills-history 3 months, bills-archive 3 months, deposit and withdrawal history 100 rows;
// account/config has `perm` ("read_only,withdraw,trade") and `uid`. `types` are those of bills-archive. A simple trade
// and a spread trade are named as trades, because a bill of a trade must never count beside its fill.
export const okx: About = {
  accountsOf: 'okx',
  countsInClaims: true,
  permissions: ['Read'],
  leaveEmpty: ['Trade', 'Withdraw'],
  menu: ['Profile', 'API', 'Create API key'],
  third: 'Passphrase',
  lists: {
    deposits: { limit: 100 },
    withdrawals: { limit: 100 },
    trades: { retentionDays: 90, limit: 100 },
    ledger: {
      since: 'begin',
      until: 'end',
      limit: 100,
      retentionDays: 90,
      // In the documented bill of a purchase, `balChg` is `sz` with the negative `fee` added.
      feesAreWithin: true,
      leavesOut:
        'Transfers to or from sub-accounts at OKX are not read, and neither are interest, conversions and rewards in its funding account.',
      // ccxt asks for the bills of spot trades alone. Interest and conversions have no instrument type.
      params: { method: 'privateGetAccountBillsArchive' },
      without: ['instType'],
      types: {
        ...{ 1: 'transfer', 2: 'trade', 3: 'delivery', 4: 'forced repayment trade', 5: 'liquidation' },
        ...{ 6: 'margin transfer', 7: 'interest deduction', 8: 'funding fee', 9: 'ADL position', 10: 'clawback' },
        ...{ 11: 'system token conversion', 12: 'strategy transfer', 13: 'DDH trade', 14: 'block trade' },
        ...{ 15: 'quick margin', 16: 'borrowing', 22: 'repayment', 24: 'spread trade', 26: 'structured products' },
        ...{ 27: 'convert', 28: 'easy convert', 29: 'one-click repayment', 30: 'simple trade', 32: 'position move' },
        ...{ 33: 'loans', 34: 'settlement', 250: 'profit sharing expenses', 251: 'profit sharing refund' },
        381: 'auto earn',
      },
    },
  },
  wallets: [{}, { type: 'funding' }],
  rights: {
    kind: 'words',
    endpoint: 'privateGetAccountConfig',
    place: 'data.0.perm',
    harmless: ['read_only'],
    needed: ['read_only'],
    account: 'data.0.uid',
  },
  limits: [
    'OKX reports only the last three months of trades, conversions and Auto Earn interest. Older ones are in the files of its Report center.',
  ],
}

// hitbtc.com's API v3, which BeQuant and FMFW.io share: `till`, and 1,000 rows.
export const hitbtc: About = {
  accountsOf: 'hitbtc',
  lists: {
    trades: { until: 'till', limit: 1000 },
    deposits: { until: 'till', limit: 1000 },
    withdrawals: { until: 'till', limit: 1000 },
  },
}

// WOOFI Pro and Mode Trade are brands of Orderly: ccxt calls api-evm.orderly.org for both, and signs with the same key and
// the same account id (`orderly-account-id`).
export const orderly: About = { accountsOf: 'woofipro', third: 'Account ID' }

// gate.com's API v4: deposits, withdrawals and the account book refuse more than 30 days ("Time span shall not exceed 30
// days"). Its times are in seconds, which ccxt forgets for the account book. Trades have milliseconds. It is not documented
// whether `available` of a unified account contains what is `borrowed`.
export const gate: About = {
  accountsOf: 'gate',
  launched: '2013-01-01',
  lists: {
    deposits: { unit: 's', spanDays: 30 },
    withdrawals: { unit: 's', spanDays: 30 },
    trades: { unit: 's' },
    ledger: { since: 'from', until: 'to', unit: 's', spanDays: 30 },
  },
  limits: ['Balances at Gate are not proved while its unified account owes borrowed coins.'],
}

/** ccxt lists the transfers of the spot wallet. The futures wallet is filled from that one, and its ledger says so. */
export const binanceFutures: About = {
  walletsOf: 'binance',
  lists: { deposits: { isLeftOut: true }, withdrawals: { isLeftOut: true } },
  namesWallets: true,
}

// ccxt asks for getcoinins and getcoinouts; yen are in getdeposits and getwithdrawals.
export const bitflyerTransfers: ListAbout = { leavesOut: 'Deposits and withdrawals of yen at bitFlyer are not read.' }

// bitget.com/api-doc: "Get Deposit Records (Not include Fiat deposit record)".
export const bitgetTransfers: ListAbout = {
  spanDays: 30,
  leavesOut: 'Fiat deposits and withdrawals at Bitget are not read.',
}

// apidocs.bithumb.com: `page`, `limit` (at most 100) and `order_by` (`desc` by default). Won have lists of their own,
// which ccxt reads only if it is asked for that currency alone.
export const bithumbTransfers: ListAbout = {
  paging: { kind: 'page', param: 'page', first: 1, newestFirst: true },
  limit: 100,
  leavesOut: 'Deposits and withdrawals of won at Bithumb are not read.',
}

// exchange-docs.crypto.com: private/fiat/fiat-deposit-history and fiat-withdraw-history, which ccxt does not have.
export const cryptocomTransfers: ListAbout = {
  leavesOut: 'Fiat deposits and withdrawals at the Crypto.com Exchange are not read.',
}
