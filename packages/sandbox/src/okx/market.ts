/**
 * Public data: the clock, the status, the pairs, the coins.
 * Sources: https://www.okx.com/docs-v5/en/#public-data-rest-api-get-instruments, …-get-system-time,
 * …/#status-get-status, …/#funding-account-rest-api-get-currencies
 */
import type { CallContext } from '../core/serving/provider-server.ts'
import { findCoin } from '../market/series.ts'
import { assets, pairs, type Pair } from '../spot/assets.ts'
import type { Network } from '../spot/story.ts'
import { OkxRefusal } from './wire.ts'

const instrumentTypes = new Set(['SPOT', 'MARGIN', 'SWAP', 'FUTURES', 'OPTION', 'EVENTS'])

export function instrumentTypeOf(query: URLSearchParams): string {
  const type = query.get('instType') ?? ''
  if (type === '') throw new OkxRefusal(50014, 'Parameter instType cannot be empty.')
  if (!instrumentTypes.has(type)) throw new OkxRefusal(51000, 'Parameter instType error')
  return type
}

export function instrumentOf({ base, quote }: Pick<Pair, 'base' | 'quote'>): string {
  return `${base}-${quote}`
}

const chains: Readonly<Record<Network, string>> = {
  bitcoin: 'Bitcoin',
  ethereum: 'ERC20',
  tron: 'TRC20',
  solana: 'Solana',
  ripple: 'Ripple',
  polkadot: 'Polkadot',
  dogecoin: 'Dogecoin',
  litecoin: 'Litecoin',
  cardano: 'Cardano',
}

/** "USDT-TRC20": OKX names a chain together with the coin. */
export function chainOf(asset: string, network: Network): string {
  return `${asset}-${chains[network]}`
}

export function time(_: URLSearchParams, { nowMs }: CallContext): object[] {
  return [{ ts: String(Math.floor(nowMs)) }]
}

/** This exchange has only spot pairs; ccxt also requests derivatives before it reads anything. */
export function instruments(query: URLSearchParams): object[] {
  const type = instrumentTypeOf(query)
  const instId = query.get('instId')
  const listed = type === 'SPOT' ? pairs.filter((pair) => instId === null || instrumentOf(pair) === instId) : []
  return listed.map(describePair)
}

function describePair(pair: Pair): object {
  const step = (decimals: number): string => (decimals === 0 ? '1' : `0.${'1'.padStart(decimals, '0')}`)
  return {
    alias: '',
    auctionEndTime: '',
    baseCcy: pair.base,
    category: '1',
    ctMult: '',
    ctType: '',
    ctVal: '',
    ctValCcy: '',
    contTdSwTime: '1704876947000',
    expTime: '',
    futureSettlement: false,
    groupId: '1',
    instFamily: '',
    instId: instrumentOf(pair),
    instType: 'SPOT',
    lever: '10',
    listTime: '1606468572000',
    lotSz: step(pair.qtyDecimals),
    maxIcebergSz: '9999999999.0000000000000000',
    maxLmtAmt: '20000000',
    maxLmtSz: '9999999999',
    maxMktAmt: '1000000',
    maxMktSz: '',
    maxStopSz: '',
    maxTriggerSz: '9999999999.0000000000000000',
    maxTwapSz: '9999999999.0000000000000000',
    minSz: step(pair.qtyDecimals),
    optType: '',
    openType: 'call_auction',
    preMktSwTime: '',
    quoteCcy: pair.quote,
    tradeQuoteCcyList: [pair.quote],
    settleCcy: '',
    state: 'live',
    ruleType: 'normal',
    stk: '',
    tickSz: step(pair.priceDecimals),
    uly: '',
    instIdCode: 1_000_000_000 + pairs.indexOf(pair),
    instCategory: '1',
    initPxLmtPct: '0.05',
    floatPxLmtPct: '0.03',
    maxPxLmtPct: '0.15',
    upcChg: [],
  }
}

/** One row for each chain of each coin. */
export function currencies(query: URLSearchParams): object[] {
  const asked = query.get('ccy')?.split(',')
  return assets
    .filter(({ code }) => asked === undefined || asked.includes(code))
    .flatMap(({ code, coin, networks }) =>
      networks.map((network, index) => ({
        burningFeeRate: '',
        canDep: true,
        canInternal: true,
        canWd: true,
        ccy: code,
        chain: chainOf(code, network),
        ctAddr: '',
        depEstOpenTime: '',
        depQuotaFixed: '',
        depQuoteDailyLayer2: '',
        fee: '0.1',
        logoLink: '',
        mainNet: index === 0,
        maxFee: '0.1',
        maxFeeForCtAddr: '',
        maxWd: '500000',
        minDep: '0.0005',
        minDepArrivalConfirm: '1',
        minFee: '0.1',
        minFeeForCtAddr: '',
        minInternal: '0.0001',
        minWd: '0.0005',
        minWdUnlockConfirm: '2',
        name: findCoin(coin)?.name ?? code,
        needTag: network === 'ripple',
        usedDepQuotaFixed: '',
        usedWdQuota: '0',
        wdEstOpenTime: '',
        wdQuota: '10000000',
        wdTickSz: '8',
      })),
    )
}
