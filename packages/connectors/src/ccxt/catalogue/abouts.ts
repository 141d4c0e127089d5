/**
 * What is known about each exchange beyond ccxt. Data only. Each entry names its source; an entry without one comes from
 * the exchange's own website or app.
 */
import type { About } from './about.ts'
import {
  bybit,
  okx,
  hitbtc,
  orderly,
  gate,
  binanceFutures,
  bitflyerTransfers,
  bitgetTransfers,
  bithumbTransfers,
  cryptocomTransfers,
} from './families.ts'

const abouts: Readonly<Record<string, About>> = {
  alpaca: { aliases: ['Alpaca Markets'] },
  bequant: hitbtc,
  binancecoinm: {
    ...binanceFutures,
    name: 'Binance Futures (COIN-M)',
    aliases: ['Binance Coin Futures', 'dapi'],
    limits: ['Only the COIN-M futures wallet is read. Connect Binance for the spot wallet.'],
  },
  binanceus: {
    name: 'Binance.US',
    aliases: ['Binance US', 'BAM Trading'],
    rank: 17,
    color: '#f0b90b',
    permissions: ['Can Read'],
    leaveEmpty: ['Enable Spot Trading', 'Enable Withdrawals'],
    // docs.binance.us: "fromId: trade id to fetch from", which lifts the limit of 24 hours. Deposits and withdrawals are
    // listed for less than 90 days at a time, in pages of at most 1,000. ccxt does not pass on a later end.
    launched: '2019-09-01',
    lists: {
      trades: { paging: { kind: 'id', param: 'fromId' } },
      deposits: { spanDays: 90, limit: 1000 },
      withdrawals: { until: 'endTime', spanDays: 90, limit: 1000 },
    },
  },
  binanceusdm: {
    ...binanceFutures,
    name: 'Binance Futures (USDⓈ-M)',
    aliases: ['Binance USDT Futures', 'Binance USD-M', 'fapi'],
    limits: ['Only the USDⓈ-M futures wallet is read. Connect Binance for the spot wallet.'],
  },
  // bingx-api.github.io, "Query transaction details": `startTime`, `endTime` and 1,000 rows at most. ccxt says that it keeps
  // one day, but was shown trades of two weeks before (ccxt/ccxt#20801): a day is the widest range of one call.
  bingx: {
    lists: { trades: { retentionDays: 90, isRetentionOurs: true, isSlow: true } },
    limits: [
      'Trades at BingX are read for the last 90 days. Those of a pair may appear within four weeks if the account shows only one of its two assets.',
    ],
  },
  bitbank: { name: 'Bitbank', aliases: ['ビットバンク'] },
  bitfinex: {
    countsInClaims: true,
    aliases: ['Bfx', 'iFinex'],
    rank: 14,
    color: '#16b157',
    permissions: [
      'Account History - Get historical balances entries and trade information',
      'Wallets - Get wallet balances and addresses',
    ],
    leaveEmpty: [
      'Orders - Create and cancel orders',
      'Wallets - Transfer between your wallets',
      'Withdraw - Create a new withdrawal',
    ],
    menu: ['Account', 'API Keys', 'Create New Key'],
    // docs.bitfinex.com: rest-auth-trades (start, end, limit 2500), rest-auth-movements (start, end, limit 1000),
    // rest-auth-ledgers (limit 2500), key-permissions ([scope, read, write]).
    lists: {
      trades: { until: 'end', limit: 2500 },
      transfers: { until: 'end', limit: 1000 },
      ledger: { limit: 2500 },
    },
    limits: ['Open margin positions at Bitfinex are not part of the holdings.'],
    // rest-auth-wallets: ccxt's debt is the "unsettled interest", which the balance and the ledger do not have yet. What
    // finances a position is in no wallet.
    borrowed: 'excluded',
    // Positions have a list of their own, which a key without the right to read it does not see.
    openLosses: { wallet: { type: 'margin' } },
    wallets: [{ type: 'exchange' }, { type: 'margin' }, { type: 'funding' }],
    walletsIn: 'privatePostAuthRWallets',
    namesWallets: true,
    rights: {
      kind: 'table',
      endpoint: 'privatePostAuthRPermissions',
      place: '',
      harmless: [
        'account: read',
        'history: read',
        'orders: read',
        'positions: read',
        'funding: read',
        'settings: read',
        'wallets: read',
        'withdraw: read',
        'ui_withdraw: read',
      ],
      needed: ['history: read', 'wallets: read'],
      // docs.bitfinex.com, rest-auth-info-user: [0] is the "Account ID"; a sub-account has its own.
      account: { endpoint: 'privatePostAuthRInfoUser', place: '0', right: 'account: read' },
    },
  },
  bitflyer: {
    aliases: ['ビットフライヤー'],
    lists: { deposits: bitflyerTransfers, withdrawals: bitflyerTransfers },
  },
  bitget: {
    aliases: ['BGB'],
    rank: 12,
    color: '#00c2d6',
    permissions: ['Read-only'],
    leaveEmpty: ['Read-write', 'Withdraw'],
    third: 'Passphrase',
    // bitget.com/api-doc: at most 90 days, and 30 days for unified accounts. "Get Fills" has "the data within 90days" (100
    // rows), and refuses an earlier start with 43111, which ccxt takes for a missing permission. The financial records of a
    // unified account have 90 days too.
    lists: {
      deposits: bitgetTransfers,
      withdrawals: bitgetTransfers,
      trades: { spanDays: 30, retentionDays: 90 },
      ledger: { spanDays: 30, retentionDays: 90 },
    },
    launched: '2018-01-01',
    // uta/account/Get-Account: of a unified account, ccxt's total is the "Coin equity", beside `balance` and `debt`.
    borrowed: 'excluded',
    limits: ['Bitget reports only the last 90 days of trades. Older ones can be downloaded from its website.'],
  },
  bithumb: {
    aliases: ['빗썸'],
    rank: 23,
    lists: { deposits: bithumbTransfers, withdrawals: bithumbTransfers },
  },
  bitopro: { aliases: ['幣託'] },
  bitso: { aliases: ['Nvio'], rank: 27 },
  bitstamp: {
    aliases: ['Bitstamp by Robinhood'],
    rank: 16,
    color: '#0b7a3b',
    // www.bitstamp.net/api: user_transactions has `offset` (at most 200,000), `limit` (at most 1,000) and `sort`
    // (by date and time, `desc` by default).
    lists: {
      trades: { paging: { kind: 'offset', param: 'offset', newestFirst: true }, limit: 1000 },
      transfers: { paging: { kind: 'offset', param: 'offset', newestFirst: true }, limit: 1000 },
      ledger: { paging: { kind: 'offset', param: 'offset', newestFirst: true }, limit: 1000 },
    },
    permissions: ['Account balance', 'User transactions'],
  },
  bitteam: { name: 'BIT.TEAM', aliases: ['Bit Team'] },
  bitvavo: {
    rank: 18,
    color: '#0a3cff',
    permissions: ['Read-only'],
    leaveEmpty: ['Trade digital assets', 'Withdraw digital assets'],
    lists: { deposits: { until: 'end', limit: 1000 }, withdrawals: { until: 'end', limit: 1000 } },
  },
  btcturk: { name: 'BtcTurk', aliases: ['BtcTurk Kripto', 'BTC Türk'] },
  bybit: { ...bybit, aliases: ['BitDAO', 'Mantle'], rank: 8, color: '#f7a600' },
  bybiteu: { ...bybit, website: 'https://www.bybit.eu', aliases: ['Bybit Europe'] },
  bybitid: { ...bybit, aliases: ['NOBI'] },
  // ccxt on developers.bydfi.com: "the maximum range is 7 days" for all three lists; 500 trades, of the last 6 months.
  // BYDFi opened in November 2019, as BitYard.
  bydfi: {
    aliases: ['BitYard'],
    launched: '2019-11-01',
    lists: {
      trades: { spanDays: 7, retentionDays: 182, limit: 500, leavesOut: 'Spot trades at BYDFi are not read.' },
      deposits: { spanDays: 7 },
      withdrawals: { spanDays: 7 },
    },
  },
  cex: { aliases: ['CEX', 'CEXIO'] },
  coinbaseexchange: {
    walletsOf: 'coinbase',
    color: '#0052ff',
    third: 'Passphrase',
    permissions: ['View'],
    leaveEmpty: ['Trade', 'Transfer'],
    limits: ['For institutions. Connect Coinbase for a personal account.'],
  },
  coinbaseinternational: {
    walletsOf: 'coinbase',
    aliases: ['Coinbase INTX', 'INTX'],
    color: '#0052ff',
    third: 'Passphrase',
    limits: ['Profits and losses on contracts are not in the history.'],
  },
  coincheck: { aliases: ['コインチェック'] },
  coinex: {
    rank: 26,
    lists: {
      deposits: { paging: { kind: 'page', param: 'page', first: 1 }, limit: 100 },
      withdrawals: { paging: { kind: 'page', param: 'page', first: 1 }, limit: 100 },
    },
  },
  coinmate: { name: 'Coinmate', third: 'Client ID' },
  coinone: { name: 'Coinone', aliases: ['코인원'] },
  coinsph: { aliases: ['Coins Philippines', 'Coins Pro'] },
  coinspot: { permissions: ['Read Only API'] },
  cryptocom: {
    name: 'Crypto.com Exchange',
    aliases: ['cdc', 'CRO', 'Crypto com', 'MCO', 'Monaco'],
    website: 'https://crypto.com/exchange',
    rank: 10,
    color: '#002d74',
    permissions: ['Can Read'],
    leaveEmpty: ['Enable Trading', 'Enable Withdrawal'],
    // exchange-docs.crypto.com: get-trades "the maximum duration between start and end is 24 hours"; it keeps six
    // months. ccxt reads the status of a withdrawal as that of a deposit unless it was requested with an id of its own.
    lists: {
      deposits: cryptocomTransfers,
      withdrawals: {
        ...cryptocomTransfers,
        statuses: {
          ...{ 0: 'pending', 1: 'pending', 2: 'failed', 3: 'pending', 4: 'failed' },
          ...{ 5: 'ok', 6: 'canceled' },
        },
      },
      trades: { retentionDays: 180 },
      ledger: { retentionDays: 180 },
    },
    limits: [
      'The Crypto.com App is a separate product. Its history can only be exported by hand.',
      'Crypto.com reports only the last six months of trades.',
    ],
  },
  cryptomus: { limits: ['Only balances can be read.'] },
  deepcoin: { third: 'Passphrase' },
  delta: { limits: ['Profits and losses on contracts are not in the history.'] },
  deribit: { rank: 25, aliases: ['Deribit by Coinbase'] },
  digifinex: { aliases: ['DFT'] },
  fmfwio: { ...hitbtc, aliases: ['Bitcoin.com Exchange', 'FMFW'] },
  gate: {
    ...gate,
    name: 'Gate',
    aliases: ['Gate.io', 'Gateio', 'GT'],
    website: 'https://www.gate.com',
    rank: 13,
    color: '#2354e6',
    permissions: ['Read Only'],
  },
  gateeu: { ...gate, name: 'Gate Europe', aliases: ['Gate EU', 'Gate.io EU'] },
  gemini: {
    rank: 15,
    color: '#00dcfa',
    aliases: ['GUSD', 'Winklevoss'],
    permissions: ['Auditor'],
    leaveEmpty: ['Trading', 'Fund Management', 'Administrator'],
    // docs.gemini.com: transfers has `limit_transfers` (10 unless it is given, at most 50) and `timestamp`, and returns the
    // newest after it first.
    lists: { transfers: { limit: 50 } },
    limits: ['Gemini reports at most 50 transfers after a date, so a long history may lack some of them.'],
  },
  hashkey: { name: 'HashKey Global', aliases: ['HashKey Exchange'] },
  hitbtc: { ...hitbtc, name: 'HitBTC' },
  hollaex: { aliases: ['HollaEx Pro'] },
  htx: {
    aliases: ['Huobi', 'Huobi Global', 'HT'],
    website: 'https://www.htx.com',
    rank: 19,
    color: '#0173e5',
    permissions: ['Read'],
    leaveEmpty: ['Trade', 'Withdraw'],
    // huobiapi.github.io: the ledger is listed for ten days at a time, within 180 days.
    lists: { ledger: { spanDays: 10, retentionDays: 180, limit: 500 } },
  },
  hyperliquid: {
    aliases: ['HYPE', 'HL'],
    rank: 21,
    // Info endpoint, "userFillsByTime": "only the 10000 most recent fills are available". `userNonFundingLedgerUpdates` has
    // deposits, withdrawals and transfers. In ccxt's rows they have no currency, and an amount only where it is in dollars;
    // most move the wallet for contracts, which is not read; and anyone may send such a row. Each would be a hole that
    // nothing can close.
    lists: {
      ...{ deposits: { isLeftOut: true }, withdrawals: { isLeftOut: true }, ledger: { isLeftOut: true } },
      trades: { leavesOut: 'Hyperliquid reports only the 10,000 most recent trades.' },
    },
    // "HIP-1: Native token standard": a name has "no uniqueness constraints". Info endpoint: `spotMetaAndAssetCtxs` and
    // `spotClearinghouseState`.
    numberedCoins: {
      lists: { tokens: { name: 'name', number: 'index' }, balances: { name: 'coin', number: 'token' } },
      all: 'tokens',
      ofContracts: { name: 'USDC', number: 0 },
    },
    // Info endpoint, "userFillsByTime": `fee` is "the total fee, inclusive of builderFee".
    partOfFee: 'builderFee',
    limits: [
      'The account is read by its public address. Transfers, and profits and losses on contracts, are not in the history.',
    ],
  },
  dydx: {
    aliases: ['dYdX Chain', 'dYdX v4'],
    limits: ['The account is read by its public address. Profits and losses on contracts are not in the history.'],
  },
  nado: {
    limits: ['The account is read by its public address. Profits and losses on contracts are not in the history.'],
  },
  pacifica: {
    limits: ['The account is read by its public address. Profits and losses on contracts are not in the history.'],
  },
  indodax: {
    name: 'Indodax',
    aliases: ['Bitcoin Indonesia'],
    // github.com/btcid/indodax-official-api-docs, "transHistory": `start` and `end` as Y-m-d, "validation maximum 7 days",
    // which a range of dates exceeds sooner than one of hours; 500 rows of a kind. It opened in 2014.
    launched: '2014-01-01',
    lists: { transfers: { until: 'end', unit: 'day', spanDays: 5, isByCurrency: true } },
  },
  independentreserve: { aliases: ['IR'] },
  krakenfutures: {
    walletsOf: 'kraken',
    aliases: ['Crypto Facilities', 'Cryptofacilities'],
    color: '#7132f5',
    limits: ['Only Kraken Futures is read. Connect Kraken for the spot account.'],
    namesWallets: true,
  },
  kucoin: {
    aliases: ['KCS', 'Ku coin'],
    rank: 9,
    color: '#24ae8f',
    launched: '2017-08-24',
    third: 'API passphrase',
    permissions: ['General'],
    leaveEmpty: ['Spot Trading', 'Margin Trading', 'Futures Trading', 'Transfer', 'Withdrawal'],
    // www.kucoin.com/docs: fills 7 days, deposits and withdrawals 500 rows; "Get V1 Historical Deposits List" has those
    // from before 18 February 2019; api/v1/user/api-key has `permission`.
    //
    // KuCoin has moved spot trading from `trade` to high-frequency accounts, `trade_hf`, and lets users change to unified
    // accounts (UTA). ccxt asks for the account's mode by itself. It would also find out whether the spot account is a
    // high-frequency one, but only while it loads the markets with the user's key, which we load without one.
    lists: {
      deposits: { splitAt: '2019-02-18' },
      withdrawals: { splitAt: '2019-02-18' },
      // `api/v1/fills` has the trades of the old spot account, of whatever mode the account is now. Those of the others are
      // in `api/v1/hf/fills` and `api/ua/v1/unified/order/execution`, both "symbol: required"; 100 and 200 rows at most.
      // The oldest entry in the change log of docs.kucoin.com/spot-hf is of October 2022. It is not documented whether
      // `api/v1/fills` also has high-frequency trades; transactions.ts counts a fill of both lists once.
      trades: {
        params: { hf: false, uta: false },
        leavesOut:
          'KuCoin may not list trades that are more than a year old. For a unified account, high-frequency trades from before its upgrade are not read.',
        bySymbol: { params: { hf: true }, limit: 100, launched: '2022-10-01', isSlow: true },
      },
      // "The start and end time range cannot exceed 24 hours", within one year. The ledger of a high-frequency account is
      // not read: it has trades, their fees and transfers inside the account, of the last days only.
      ledger: { spanDays: 1, retentionDays: 365, limit: 200 },
    },
    // The spot wallet is `trade_hf`, or `trade`, or that of a unified account. They are not added up, because it is not
    // documented whether KuCoin shows a wallet that it has moved in its former place as well, nor whether the balance of a
    // unified account contains its `liability`.
    wallets: [{ type: 'main' }, [{ hf: true }, { hf: false }]],
    namesWallets: true,
    limits: [
      'Holdings in margin, futures, Earn and trading bots at KuCoin are not read, and neither are margin and futures trades. For a unified account, the funding and unified wallets are read.',
      'For a unified account, interest and rewards that arrive in the funding wallet are not read.',
      'High-frequency trades of a pair at KuCoin may appear within four weeks if the account shows only one of its two assets.',
      'Balances at KuCoin are not proved while its unified account owes borrowed coins.',
    ],
    rights: {
      kind: 'words',
      endpoint: 'privateGetUserApiKey',
      place: 'data.permission',
      harmless: ['General'],
      needed: ['General'],
      account: 'data.uid',
    },
  },
  kucoinfutures: {
    walletsOf: 'kucoin',
    aliases: ['KuMEX'],
    color: '#24ae8f',
    third: 'API passphrase',
    limits: [
      'Only KuCoin Futures is read. Connect KuCoin for the spot account, and for a unified account, which has no wallet of its own at KuCoin Futures.',
    ],
    namesWallets: true,
    // For a unified account, ccxt reads the unified wallet and its trades here as well. They are KuCoin's.
    elsewhere: {
      ...{ endpoint: 'utaPrivateGetAccountMode', place: 'data.selfAccountMode', is: 'UNIFIED' },
      ...{ cost: 60, reason: 'unified_account' },
    },
    lists: { trades: { params: { uta: false } }, ledger: { params: { uta: false } } },
  },
  latoken: { name: 'LATOKEN' },
  lbank: {
    aliases: ['LBK'],
    launched: '2015-01-01',
    // www.lbank.com/docs: transaction_history has `start_date` and `end_date`, two days at most, and 100 rows. ccxt asks
    // for the day of the start and the next one. It is not documented where a day begins; in China, 16 hours are left of
    // them at least. deposit_history and withdraws have `startTime` and `endTime`, which are 90 days unless given.
    lists: {
      // All years would be five thousand calls for each pair.
      trades: {
        ...{ spanDays: 2 / 3, endsItself: true, limit: 100, isSlow: true },
        ...{ retentionDays: 90, isRetentionOurs: true },
        leavesOut: 'LBank lists at most 100 trades of a pair within two days.',
      },
      deposits: { until: 'endTime', spanDays: 90 },
      withdrawals: { until: 'endTime', spanDays: 90 },
    },
    limits: [
      'Trades at LBank are read for the last 90 days. Those of a pair may appear within four weeks if the account shows only one of its two assets.',
    ],
  },
  luno: { aliases: ['BitX'], rank: 28 },
  mercado: { aliases: ['Mercado', 'MB'] },
  mexc: {
    name: 'MEXC',
    aliases: ['MEXC Global', 'MX'],
    rank: 11,
    color: '#1972e2',
    limits: ['MEXC reports only the last 30 days of trades.'],
    // mexc.com/api-docs, "Deposit History": "8: REFUND, 9: PRE_SUCCESS, 10: INVALID, 11: RESTRICTED, 12: COMPLETED".
    lists: {
      deposits: {
        ...{ until: 'endTime', spanDays: 7, retentionDays: 90, limit: 1000 },
        statuses: { 8: 'failed', 9: 'pending', 10: 'failed', 11: 'pending', 12: 'ok' },
      },
      withdrawals: { until: 'endTime', spanDays: 7, retentionDays: 90, limit: 1000 },
    },
  },
  modetrade: orderly,
  myokx: { ...okx, name: 'OKX Europe', aliases: ['My OKX', 'OKX EEA', 'OKX EU'], website: 'https://my.okx.com' },
  okx: { ...okx, aliases: ['OKEx', 'OKB', 'OK'], rank: 7, color: '#000000' },
  okxus: { ...okx, name: 'OKX US', aliases: ['OKCoin', 'OKX America'], website: 'https://app.okx.com' },
  p2b: {
    name: 'P2B',
    aliases: ['P2PB2B'],
    // github.com/P2B-team/p2b-api-docs, "market_deal_history": "The time between startTime and endTime can't be longer
    // than 24 hours"; 100 rows at most. It opened in 2018.
    launched: '2018-01-01',
    // All years would be three thousand calls for each pair.
    lists: {
      trades: {
        ...{ until: 'endTime', unit: 's', spanDays: 1, limit: 100, isSlow: true },
        ...{ retentionDays: 90, isRetentionOurs: true },
      },
    },
    limits: [
      'Trades at P2B are read for the last 90 days. Those of a pair may appear within four weeks if the account shows only one of its two assets.',
    ],
  },
  paymium: { aliases: ['Bitcoin Central'] },
  phemex: { rank: 24 },
  poloniex: {
    launched: '2014-01-01',
    aliases: ['Polo'],
    rank: 22,
    // api-docs.poloniex.com: error 21355, "Interval between startTime and endTime in trade/order history has exceeded 7
    // day limit".
    lists: {
      deposits: { until: 'end', unit: 's' },
      withdrawals: { until: 'end', unit: 's' },
      trades: { spanDays: 7 },
    },
  },
  // developer.revolut.com/docs/api/revolut-x-crypto-exchange: "The difference between start_date and end_date must be
  // <= 30 days." Pages grew from 100 to 1,900 rows in 2026; the smaller number is right for both. It opened in May
  // 2024.
  revolutx: {
    aliases: ['Revolut', 'RevX'],
    limits: ['Revolut X does not report the fee of a trade.'],
    launched: '2024-05-01',
    lists: { trades: { spanDays: 30, retentionDays: null, limit: 100 } },
  },
  // tokocrypto.com's API answers like Binance's, for less than 90 days at a time. It opened in 2018.
  tokocrypto: {
    aliases: ['Toko'],
    launched: '2018-01-01',
    lists: { deposits: { until: 'endTime', spanDays: 90 }, withdrawals: { until: 'endTime', spanDays: 90 } },
  },
  upbit: {
    aliases: ['업비트', 'Dunamu'],
    rank: 20,
    color: '#093687',
    // docs.upbit.com: `page`, `limit` (at most 100) and `order_by` (`desc` by default).
    lists: {
      deposits: { paging: { kind: 'page', param: 'page', first: 1, newestFirst: true }, limit: 100 },
      withdrawals: { paging: { kind: 'page', param: 'page', first: 1, newestFirst: true }, limit: 100 },
    },
  },
  weex: { name: 'WEEX' },
  whitebit: {
    name: 'WhiteBIT',
    aliases: ['White Bit'],
    // docs.whitebit.com/concepts/balances: deposits arrive in the main balance, and are moved to another one for trading.
    wallets: [{ account: 'main' }, { account: 'trade' }],
    namesWallets: true,
    limits: ['Holdings in the collateral balance and in Earn at WhiteBIT are not read.'],
    // docs.whitebit.com, "Query executed order history": `limit` is 50 unless it is given, which ccxt does not do, and at
    // most 500 (100 in earlier versions). `startDate` and `endDate` are not used, although every run reads the whole list:
    // it is not documented whether they are compared with the time of a trade or of its order. If it is the order's, a
    // trade of an order that had waited for weeks would never be read.
    lists: {
      trades: { paging: { kind: 'offset', param: 'offset' }, limit: 100, params: { limit: 100 } },
      deposits: { paging: { kind: 'offset', param: 'offset' }, limit: 100 },
      withdrawals: { paging: { kind: 'offset', param: 'offset' }, limit: 100, since: false },
    },
  },
  woo: { aliases: ['WOO Network', 'Wootrade'] },
  woofipro: { ...orderly, aliases: ['Orderly'] },
  xt: { name: 'XT.com', aliases: ['XT Exchange'] },
  zebpay: { name: 'ZebPay' },
}

export function findAbout(exchangeId: string): About {
  return Object.hasOwn(abouts, exchangeId) ? (abouts[exchangeId] ?? {}) : {}
}
