/**
 * Finds out what ccxt does by running it: each method is called on a real instance whose requests are recorded instead
 * of sent. We use ccxt's own tables (`has`, `features`) only for numbers, because they list methods that throw and do
 * not say which arguments ccxt drops on the way to the exchange.
 */
import { dayMs } from '@assay/core'
import ccxt, { type Exchange } from 'ccxt'
import type { CcxtCredential, ExchangeFacts, ListCall, ListFacts, StreamName } from './facts.ts'

const nowMs = Date.UTC(2026, 0, 1)
const [earlier, later] = [nowMs - 20 * dayMs, nowMs - 19 * dayMs]
const [sooner, farther] = [nowMs - 16 * dayMs, nowMs - 15 * dayMs]

/** More requests than any first call needs to find its account. */
const requestsMax = 8

interface Sent {
  path: string
  params: Record<string, unknown>
  cost: number
}

type Outcome = { kind: 'sent'; sent: readonly Sent[] } | { kind: 'refused' }

interface Probe {
  exchange: Exchange
  call(method: string, ...args: unknown[]): Promise<Outcome>
}

function openProbe(exchangeId: string): Probe {
  const exchangeClass = (ccxt as unknown as Record<string, new (config: object) => Exchange>)[exchangeId]
  if (exchangeClass === undefined) throw new RangeError(`ccxt has no exchange ${exchangeId}`)
  const credentials = { apiKey: 'k', secret: 's', password: 'p', uid: '1', login: 'l', accountId: '1' }
  const wallet = { walletAddress: `0x${'1'.repeat(40)}` }
  // Coinbase International looks up the portfolio in a response, which is empty here.
  const options = { portfolio: '1' }
  const exchange = new exchangeClass({ ...credentials, ...wallet, options, enableRateLimit: false })
  if (isSpot(exchange)) exchange.options['defaultType'] = 'spot'
  exchange.milliseconds = () => nowMs
  exchange.seconds = () => nowMs / 1_000
  exchange.microseconds = () => nowMs * 1_000
  let sent: Sent[] = []
  exchange.fetch2 = async (
    path: string,
    api: string,
    method: string,
    params = {},
    ...more: unknown[]
  ): Promise<object> => {
    const cost = Number(exchange.calculateRateLimiterCost(api, method, path, params, more[2] ?? {}))
    sent.push({ path, params, cost })
    if (sent.length > requestsMax) throw new Error('enough')
    return {}
  }
  exchange.request = exchange.fetch2.bind(exchange)
  exchange.setMarkets(toMarkets(exchange))
  return {
    exchange,
    async call(method, ...args) {
      sent = []
      const methods = exchange as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
      try {
        await methods[method]?.(...args)
      } catch (error) {
        if (error instanceof ccxt.NotSupported || error instanceof ccxt.ArgumentsRequired) return { kind: 'refused' }
        if (error instanceof ccxt.BadSymbol || error instanceof ccxt.AuthenticationError) return { kind: 'refused' }
        // Every other error is caused by the empty responses.
      }
      return sent.length === 0 ? { kind: 'refused' } : { kind: 'sent', sent }
    },
  }
}

function isSpot(exchange: Exchange): boolean {
  return exchange.has['spot'] === true
}

function toMarkets(exchange: Exchange): object[] {
  const pair = { base: 'BTC', quote: 'USDT', baseId: 'BTC', quoteId: 'USDT', active: true, info: {}, limits: {} }
  const spot = { id: 'BTCUSDT', symbol: 'BTC/USDT', type: 'spot', spot: true, swap: false, contract: false }
  const swap = { id: 'BTCUSDTM', symbol: 'BTC/USDT:USDT', type: 'swap', spot: false, swap: true, contract: true }
  const settled = { settle: 'USDT', settleId: 'USDT', linear: true, inverse: false, contractSize: 1 }
  const none = { future: false, option: false, precision: { amount: 1e-8, price: 1e-8 } }
  const structure = (market: object): object => exchange.safeMarketStructure(market) as object
  return [structure({ ...pair, ...none, ...spot }), structure({ ...pair, ...none, ...swap, ...settled })]
}

export async function probeExchange(exchangeId: string): Promise<ExchangeFacts | undefined> {
  const probe = openProbe(exchangeId)
  const { exchange } = probe
  const balance = await probe.call('fetchBalance')
  if (balance.kind !== 'sent') return undefined
  const { name, urls, rateLimit, requiredCredentials } = exchange as unknown as {
    name: string
    urls: { www: string | string[] }
    rateLimit: number
    requiredCredentials: Record<string, boolean>
  }
  const website = typeof urls.www === 'string' ? urls.www : (urls.www[0] ?? '')
  return {
    id: exchangeId,
    name,
    website: website.replace(/\/$/, ''),
    credentials: toCredentials(exchangeId, requiredCredentials),
    spot: isSpot(exchange),
    intervalMs: rateLimit,
    balanceCost: balance.sent.reduce((sum, { cost }) => sum + cost, 0),
    hosts: listHosts(exchange),
    lists: await probeLists(probe),
  }
}

/**
 * ccxt's URLs are text or groups of texts. `{hostname}` stands for a host that depends on the region, or on the product
 * if there is a list of `hostnames` (HTX).
 */
function listHosts(exchange: Exchange): string[] {
  const listTexts = (urls: unknown): string[] => {
    if (typeof urls === 'string') return [urls]
    return typeof urls === 'object' && urls !== null ? Object.values(urls).flatMap(listTexts) : []
  }
  const { api, hostnames } = exchange.urls as { api: unknown; hostnames?: unknown }
  const addresses = listTexts(api).map((url) => new URL(exchange.implodeHostname(url)))
  const hosts = addresses.filter(({ protocol }) => protocol === 'https:').map(({ host }) => host)
  return [...new Set([...hosts, ...listTexts(hostnames)])]
}

/**
 * Exchanges whose `privateKey` in ccxt is half of an API key: the user creates a key pair, registers the public key and
 * signs requests with the private key. The private key has the permissions of the API key and cannot spend on a chain.
 * Source for Revolut X: developer.revolut.com/docs/api/revolut-x-crypto-exchange, "Generate an Ed25519 key pair".
 */
export const registeredKeyPairs: ReadonlySet<string> = new Set(['revolutx'])

/** If users of a venue sign with their wallet's key, we read the venue by the wallet's address instead. */
function toCredentials(id: string, required: Readonly<Record<string, boolean>>): CcxtCredential[] {
  const asked = Object.keys(required).filter((key) => required[key])
  if (registeredKeyPairs.has(id)) return asked as CcxtCredential[]
  return asked.length === 0 || asked.includes('privateKey') ? ['walletAddress'] : (asked as CcxtCredential[])
}

async function probeLists(probe: Probe): Promise<ListFacts[]> {
  const probeAs = (stream: StreamName, call: ListCall): Promise<ListFacts | undefined> => probeList(probe, stream, call)
  const deposits = await probeAs('deposits', 'fetchDeposits')
  const withdrawals = await probeAs('withdrawals', 'fetchWithdrawals')
  const transfers =
    deposits !== undefined && withdrawals !== undefined
      ? undefined
      : ((await probeAs('transfers', 'fetchDepositsWithdrawals')) ?? (await probeAs('transfers', 'fetchTransactions')))
  const trades = await probeAs('trades', 'fetchMyTrades')
  const ledger = await probeAs('ledger', 'fetchLedger')
  // A list of both kinds is better than a list of one kind.
  const funding = transfers === undefined ? [deposits, withdrawals] : [transfers]
  return [...funding, ledger, trades].filter((list) => list !== undefined)
}

async function probeList(probe: Probe, stream: StreamName, call: ListCall): Promise<ListFacts | undefined> {
  const { has, features } = probe.exchange as unknown as { has: Record<string, unknown>; features?: Features }
  if (has[call] === undefined || has[call] === false) return undefined
  const key = call === 'fetchMyTrades' ? 'BTC/USDT' : 'BTC'
  const isPlain = (await probe.call(call, undefined, earlier, undefined, {})).kind === 'sent'
  const ask = (sinceMs: number, params: object): Promise<Outcome> =>
    probe.call(call, isPlain ? undefined : key, sinceMs, undefined, params)
  const first = await ask(earlier, {})
  if (first.kind !== 'sent') return undefined
  const bounded = await ask(earlier, { until: sooner })
  // ccxt passes unknown parameters on unchanged, and the exchange does not understand them.
  const isHandedOn = bounded.kind === 'sent' && bounded.sent.some(({ params }) => 'until' in params)
  const limits = features?.['spot']?.[call] ?? features?.['default']?.[call] ?? {}
  return {
    stream,
    call,
    by: isPlain ? null : call === 'fetchMyTrades' ? 'symbol' : 'code',
    since: textOf(first) !== textOf(await ask(later, {})),
    until: !isHandedOn && textOf(bounded) !== textOf(await ask(earlier, { until: farther })),
    limit: limits.limit ?? null,
    spanDays: toLimitDays(limits.untilDays),
    retentionDays: toLimitDays(limits.daysBack),
    cost: first.sent.reduce((sum, { cost }) => sum + cost, 0),
  }
}

interface Limits {
  limit?: number
  untilDays?: number
  daysBack?: number
}
type Features = Readonly<Record<string, Readonly<Record<string, Limits | undefined>> | undefined>>

/** ccxt writes 10,000 days and more for "no limit". */
function toLimitDays(days: number | undefined): number | null {
  return days === undefined || days >= 3_650 ? null : days
}

function textOf(outcome: Outcome): string {
  return outcome.kind === 'sent' ? JSON.stringify(outcome.sent) : outcome.kind
}
