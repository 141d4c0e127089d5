/**
 * A ccxt client for one exchange and one credential. ccxt signs and parses, and knows endpoints, parameters and error
 * classes. We turn off its throttle (the engine meters calls) and its floats (`number: String`, below), give it the
 * service's clock, and send our own user agent instead of a browser's.
 *
 * kit/ccxt.ts knows how its exchange reports a refusal. This client leaves every status to ccxt, because most exchanges
 * explain a refusal in the body of a 4xx.
 */
import { hourMs, NoAnswer, SourceError, type Fault } from '@assay/core'
import type { Exchange } from 'ccxt'
import { limitDecimals, loadExchange, toSourceError } from '../kit/ccxt.ts'
import { requestTimeoutMs, type Io } from '../kit/connector.ts'
import { fetchAnswer, toStatusError, userAgent, type HttpAnswer } from '../kit/http.ts'
import { isPage } from '../kit/json.ts'
import { conceal } from '../kit/secret.ts'
import { listMembers, nameRows, refuseError, type Row } from './answers.ts'
import { findAbout } from './catalogue/abouts.ts'
import type { CcxtCredential, ExchangeFacts, ListCall } from './catalogue/facts.ts'
import { getEndpoint, keepAnswer } from './endpoints.ts'
import { addUnlisted, findKnownMarket, isOverAllPairs, type KnownMarket } from './known-markets.ts'
import { numberCoins, numberFees } from './numbered-coins.ts'
import { isUndated, keepOddRows, type Unparsed } from './odd-rows.ts'
import { createSharedMarkets } from './shared-markets.ts'
import { assertUsable } from './usable-keys.ts'

/** The user's credentials, by ccxt's names. */
export type CcxtKeys = Readonly<Partial<Record<CcxtCredential, string>>>

export interface Market {
  symbol: string
  base: string
  quote: string
  isSpot: boolean
}

export interface Listed {
  /** As ccxt unifies them; `info` is the exchange's own row. */
  rows: Row[]
  /** The rows of the exchange's own answer, in its order. */
  own: readonly unknown[]
  /** Whether ccxt left out some of the exchange's own rows, because they belong to another list. */
  isPicked: boolean
  /** Unifies one of the exchange's own rows. Returns an object without members if ccxt cannot parse it. */
  parse(own: unknown): Row
  /** The rows of an answer that has a list for each currency, with the currency of theirs. */
  withCurrencies(): Row[]
}

export interface CcxtClient {
  list(
    call: ListCall,
    key: string | undefined,
    sinceMs: number | undefined,
    limit: number | undefined,
    params: Row,
    without?: readonly string[],
  ): Promise<Listed>
  /** With each of these parameters. By these, ccxt picks rows out of one answer of the endpoint, where one is given. */
  balances(wallets: readonly Row[], endpoint?: string): Promise<Row[]>
  /** ccxt's code of a currency that the exchange calls by this name. */
  codeOf(name: string): Promise<string>
  /** An endpoint by ccxt's name for it. */
  ask(endpoint: string): Promise<unknown>
  listMarkets(): Promise<ReadonlyMap<string, Market>>
  /** Lets ccxt read rows of these markets even if the exchange no longer lists them. */
  addMarkets(markets: readonly KnownMarket[]): Promise<void>
  /** The coin markets among these symbols, in the form that `addMarkets` takes. */
  describeMarkets(symbols: ReadonlySet<string>): Promise<KnownMarket[]>
  /** JSON with the exchange's own digits. */
  write(value: unknown): string
}

/** ccxt says that the exchange cannot do this. */
export class Unsupported extends Error {}
/** The exchange does not list this symbol, or has delisted it. */
export class UnknownSymbol extends Error {}

/** ccxt makes about 5 kB of each market, and a worker may have 1 GB (deploy/compose.yaml). */
const sharedMarkets = createSharedMarkets<Exchange>(40_000)

export function createCcxtClient(facts: ExchangeFacts, keys: CcxtKeys, io: Io): CcxtClient {
  const digits = createDigitReader()
  let last: HttpAnswer | undefined
  let lastParsed: unknown
  const parse = (text: string): unknown => (lastParsed = digits.parse(text))
  const remember = (answer: HttpAnswer): HttpAnswer => (last = answer)
  let opening: Promise<Exchange> | undefined
  let unparsed: Unparsed | undefined
  let unwanted: readonly string[] = []
  let areUsable = false

  async function open(): Promise<Exchange> {
    const exchange = await openExchange(facts, keys, io, parse, remember)
    unparsed = keepOddRows(exchange)
    dropParameters(exchange, () => unwanted)
    exchange.setMarketsFromExchange(await loadMarkets(facts, keys, io))
    return exchange
  }

  async function use<T>(what: string, call: (exchange: Exchange) => Promise<T>): Promise<T> {
    // To look for a private key in the secret takes as long as a call.
    if (!areUsable) assertUsable(keys)
    areUsable = true
    last = undefined
    try {
      opening ??= open()
      return await call(await opening)
    } catch (error) {
      if (last === undefined) opening = undefined
      // ccxt raised no error of its own and nothing was sent, so signing failed. Such an error may quote the key.
      if (last === undefined && isUnsigned(error))
        throw new SourceError('invalid_credentials', `${what}: cannot be signed`)
      throw toFault(error, what, last, io)
    }
  }

  return {
    list: (call, key, sinceMs, limit, params, without = []) =>
      use(call, async (exchange) => {
        unwanted = without
        const methods = exchange as unknown as Record<ListCall, (...args: unknown[]) => Promise<Row[]>>
        lastParsed = undefined
        unparsed?.clear()
        const found = await methods[call](key, sinceMs, limit, params).finally(() => (unwanted = []))
        unparsed?.assertIn(found)
        const answer = lastParsed
        lastParsed = undefined
        return toListed(exchange, call, { found, answer, sinceMs, limit })
      }),
    balances: (wallets, endpoint) =>
      use('fetchBalance', async (exchange) => {
        lastParsed = undefined
        const asked = endpoint === undefined ? exchange : await keepAnswer(exchange, endpoint)
        const all: Row[] = []
        for (const params of wallets) all.push(await asked.fetchBalance(params))
        if (!all.some(({ total }) => hasAmount(total))) refuseError('fetchBalance', lastParsed)
        lastParsed = undefined
        return all
      }),
    codeOf: (name) => use('fetchCurrencies', async (exchange) => exchange.safeCurrencyCode(name) ?? name),
    ask: (endpoint) => use(endpoint, async (exchange) => getEndpoint(exchange, endpoint).call(exchange)),
    listMarkets: () =>
      use('fetchMarkets', async (exchange) => {
        const markets = Object.values(exchange.markets as unknown as Record<string, Row>)
        return new Map(markets.map((market) => [String(market['symbol']), toMarket(market)]))
      }),
    addMarkets: (markets) => use('fetchMarkets', async (exchange) => addUnlisted(exchange, markets)),
    describeMarkets: (symbols) => use('fetchMarkets', async (exchange) => listKnown(exchange, symbols)),
    write: digits.write,
  }
}

/** Before a call is signed, because the signature covers its parameters. */
function dropParameters(exchange: Exchange, listUnwanted: () => readonly string[]): void {
  const sign = exchange.sign.bind(exchange)
  exchange.sign = (path, api, method, params: Row, headers, body) =>
    sign(path, api, method, exchange.omit(params, [...listUnwanted()]) as Row, headers, body)
}

interface Found {
  found: Row[]
  /** The exchange's own. */
  answer: unknown
  sinceMs: number | undefined
  limit: number | undefined
}

/** ccxt writes what follows a page into one of its rows (Bybit, Pacifica). The row is the same on any other page. */
const pageMarks = ['nextPageCursor', 'next_cursor', 'has_more']

function dropPageMarks(info: unknown): void {
  if (typeof info !== 'object' || info === null) return
  for (const name of pageMarks) Reflect.deleteProperty(info, name)
}

function toListed(exchange: Exchange, call: ListCall, { found, answer, sinceMs, limit }: Found): Listed {
  const isRow = (row: Row): boolean => typeof row['info'] === 'object' && row['info'] !== null && !isUndated(row)
  if (!found.some(isRow)) refuseError(call, answer)
  const own = listMembers(answer)
  for (const { info } of found) dropPageMarks(info)
  // ccxt takes the members of an answer without a list for rows.
  const rows = own.length > 0 || sinceMs === undefined ? found : found.filter((row) => !isUndated(row))
  // ccxt cuts what is longer than the limit. The rows behind the cut are on the next page.
  const isCut = limit !== undefined && rows.length >= limit
  const isPicked = !isCut && own.length > rows.length
  const withCurrencies = (): Row[] => {
    const names = nameRows(answer)
    return rows.map((row) => ({ ...row, currency: exchange.safeCurrencyCode(names.get(row['info'])) }))
  }
  return { rows, own, isPicked, parse: (row) => parseOwn(exchange, call, row), withCurrencies }
}

function listKnown(exchange: Exchange, symbols: ReadonlySet<string>): KnownMarket[] {
  const markets = exchange.markets as unknown as Record<string, Row>
  return [...symbols].flatMap((symbol) => {
    const market = Object.hasOwn(markets, symbol) ? markets[symbol] : undefined
    const known = market?.['spot'] === true ? findKnownMarket(market) : undefined
    return known === undefined ? [] : [known]
  })
}

/** ccxt may also make a balance without any amount of an answer that it does not understand. */
function hasAmount(total: unknown): boolean {
  return Object.values(total ?? {}).some((amount) => amount !== undefined && amount !== null)
}

const parsers: Readonly<Record<ListCall, 'parseTrade' | 'parseLedgerEntry' | 'parseTransaction'>> = {
  fetchMyTrades: 'parseTrade',
  fetchLedger: 'parseLedgerEntry',
  fetchDeposits: 'parseTransaction',
  fetchWithdrawals: 'parseTransaction',
  fetchDepositsWithdrawals: 'parseTransaction',
  fetchTransactions: 'parseTransaction',
}

/**
 * Several lists of an exchange may come from one endpoint, and ccxt picks the rows of a list out of each page. Without
 * the other rows, a page that has none of the list would look like the end of it. The time of a row of another list is
 * found by the parser of that list.
 */
function parseOwn(exchange: Exchange, call: ListCall, row: unknown): Row {
  const parsed = parseBy(exchange, parsers[call], row)
  if (typeof parsed['timestamp'] === 'number') return parsed
  const times = [...new Set(Object.values(parsers))].map((parser) => parseBy(exchange, parser, row)['timestamp'])
  return { ...parsed, timestamp: times.find((atMs) => typeof atMs === 'number') }
}

function parseBy(exchange: Exchange, parser: (typeof parsers)[ListCall], row: unknown): Row {
  const parseRow = (exchange as unknown as Record<string, (row: unknown) => Row | Row[]>)[parser]
  try {
    // A copy, because the row is also part of a record, and a parser could write into it.
    return [parseRow?.call(exchange, structuredClone(row)) ?? {}].flat()[0] ?? {}
  } catch {
    return {}
  }
}

function toMarket(market: Row): Market {
  const { symbol, base, quote, spot } = market
  return { symbol: String(symbol), base: String(base), quote: String(quote), isSpot: spot === true }
}

interface RequestInit {
  method: string
  headers: Record<string, string>
  body?: string
}

/** The ccxt object holds the keys, so this file exports only functions. */
async function openExchange(
  facts: ExchangeFacts,
  keys: CcxtKeys,
  io: Io,
  parse: (text: string) => unknown,
  remember: (answer: HttpAnswer) => HttpAnswer,
): Promise<Exchange> {
  // Waits for the first call: a process that calls no exchange does not pay for it.
  const exchangeClass = await loadExchange(facts.id)
  // Responses are parsed before ccxt asks for them, because ccxt would treat a page that is not JSON as an empty list.
  const parsed = new Map<string, unknown>()
  const exchange = conceal(
    new exchangeClass({
      ...keys,
      enableRateLimit: false,
      userAgent,
      number: String,
      timeout: 2 * (io.requestTimeoutMs ?? requestTimeoutMs),
      options: facts.spot ? { defaultType: 'spot' } : {},
      fetchImplementation: async (url: string, { method, headers, body }: RequestInit) => {
        const answer = remember(
          await fetchAnswer(io, url, { method, headers, ...(body === undefined ? {} : { body }) }),
        )
        const { status, text } = answer
        if (status < 300) parsed.set(text, numberCoins(facts.id, parse(text)))
        return { status, statusText: '', headers: answer.headers, text: async () => text }
      },
    }),
  )
  exchange.parseJson = (text: string): unknown => {
    const known = parsed.get(text)
    parsed.delete(text)
    return known ?? findJson(text, parse)
  }
  if (io.baseUrl !== undefined) exchange.urls['api'] = withHost(exchange.urls['api'], io.baseUrl)
  useClock(exchange, io)
  limitDecimals(exchange)
  numberFees(exchange, facts.id)
  countFeesOnce(exchange, facts.id)
  return exchange
}

/** ccxt adds a part of a fee to the fee that contains it. The row itself stays as the exchange wrote it. */
function countFeesOnce(exchange: Exchange, providerId: string): void {
  const { partOfFee } = findAbout(providerId)
  if (partOfFee === undefined) return
  const parse = exchange.parseTrade.bind(exchange)
  exchange.parseTrade = (trade: Row, market) => {
    const rest = exchange.omit(trade, partOfFee) as Row
    return { ...parse(rest, market), info: trade }
  }
}

/** The body of an error may not be JSON. ccxt then decides by the status. */
function findJson(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof SourceError) return undefined
    throw error
  }
}

/**
 * A nonce in milliseconds or finer must grow with every call, even within one millisecond. A nonce in seconds is a
 * timestamp that the exchange compares with its clock, so it stays unchanged.
 */
function useClock(exchange: Exchange, io: Io): void {
  exchange.milliseconds = () => Math.floor(io.now())
  exchange.seconds = () => Math.floor(io.now() / 1_000)
  exchange.microseconds = () => Math.floor(io.now() * 1_000)
  const ownNonce = exchange.nonce.bind(exchange)
  let last = 0
  exchange.nonce = () => {
    const nonce = ownNonce()
    if (nonce < 1e11) return nonce
    last = Math.max(last + 1, nonce)
    return last
  }
}

async function loadMarkets(facts: ExchangeFacts, keys: CcxtKeys, io: Io): Promise<Exchange> {
  const host = `${facts.id} ${io.baseUrl ?? ''}`
  const share = (source: Promise<Exchange>): Promise<Exchange> => sharedMarkets.share(host, source, io.now())
  const known = sharedMarkets.find(host)
  const isFresh = known !== undefined && io.now() - known.loadedAtMs < hourMs
  try {
    return await (isFresh ? known.source : share(fetchMarkets(facts, {}, io, known?.source)))
  } catch (error) {
    if (!(error instanceof NeedsKey)) throw error
  }
  // Shared only once they are there: a key that is refused concerns its own user alone.
  return share(Promise.resolve(await fetchMarkets(facts, keys, io, known?.source)))
}

/** The exchange lists its markets only for a key (Alpaca). */
class NeedsKey extends Error {}

/** All users share the result, so it holds no keys, even where listing markets requires one. */
async function fetchMarkets(
  facts: ExchangeFacts,
  keys: CcxtKeys,
  io: Io,
  before: Promise<Exchange> | undefined,
): Promise<Exchange> {
  let last: HttpAnswer | undefined
  const { parse } = createDigitReader(marketsMax)
  const open = (given: CcxtKeys): Promise<Exchange> =>
    openExchange(facts, given, io, parse, (answer) => (last = answer))
  const asking = await open(keys)
  try {
    await loadSpotMarkets(asking, facts)
  } catch (error) {
    const isKeyless = Object.keys(keys).length === 0
    if (isKeyless && last === undefined && isCcxtError(error)) throw new NeedsKey()
    const fault = toFault(error, 'fetchMarkets', last, io)
    // All lists need the markets. An exchange that refuses them as unknown or unsupported has not named one list. And a
    // request without a key says nothing about anyone's key.
    const isAboutKey = isKeyless && fault instanceof SourceError && ownersFaults.has(fault.fault)
    if (fault instanceof SourceError && !isAboutKey) throw fault
    throw new SourceError('unreadable_answer', `fetchMarkets: refused, HTTP ${last?.status ?? 'none'}`)
  }
  if (Object.keys(asking.markets ?? {}).length === 0) {
    // Every list of a symbol would count as gone, for all users.
    throw new SourceError('unreadable_answer', 'fetchMarkets: the exchange lists no market')
  }
  const exchange = await open({})
  exchange.setMarketsFromExchange(asking)
  if (isOverAllPairs(facts)) addUnlisted(exchange, listCoinMarkets(await before?.catch(() => undefined)))
  return exchange
}

/** Without contracts: they expire every day, and their fills move no coin. */
function listCoinMarkets(exchange: Exchange | undefined): Row[] {
  const { markets = {} } = exchange ?? {}
  return Object.values(markets as Record<string, Row>).filter(({ spot }) => spot === true)
}

async function loadSpotMarkets(exchange: Exchange, facts: ExchangeFacts): Promise<void> {
  // Listing currencies often requires a key, and we do not need the list: every row names its currency.
  exchange.has['fetchCurrencies'] = false
  const { fetchMarkets: choice } = exchange.options as { fetchMarkets?: { types?: unknown } }
  if (facts.spot && Array.isArray(choice?.types) && choice.types.includes('spot')) choice.types = ['spot']
  await exchange.loadMarkets()
}

function isUnsigned(error: unknown): boolean {
  const isOurs = error instanceof SourceError || error instanceof Unsupported || error instanceof UnknownSymbol
  return !isOurs && !(error instanceof RangeError) && !isCcxtError(error)
}

/** Compares class names, as kit/ccxt.ts does, because ccxt is loaded only at the first call. */
function isCcxtError(error: unknown): boolean {
  for (let of: unknown = error; of instanceof Error; of = Object.getPrototypeOf(of)) {
    if (of.constructor.name === 'BaseError') return true
  }
  return false
}

/** ccxt's message quotes the whole answer, of any length. Refusals have a sentence. */
const wordsMax = 2_000

/** "API key doesn't exist", "Invalid API key". */
const aboutKey =
  /(?:api|access)[\s_-]?key[^"]{0,40}(?:not exist|n't exist|invalid|not found|incorrect|revoked|deleted)|invalid[\s_](?:api|access)[\s_-]?key/i
/** "This API key doesn't have permission to use this function". */
const aboutRights =
  /(?:\bno|lack(?:s|ing)?|n't have|not have|without|insufficient)[^"]{0,30}permission|permission[^"]{0,20}denied/i

/** "System error. Please try again later", "Server Timeout": ccxt has no class for these either, and a retry helps. */
const aboutItself =
  /system (?:error|busy)|internal (?:server )?error|server (?:error|busy|timeout)|try again|maintenance/i

/** "This key does not allow access from this IP", "Unmatched IP, please check your API key's bound IP addresses". */
const aboutAddress =
  /\bip\b[^"]{0,60}(?:allow|white|bound|bind|match|restrict|trusted)|(?:allow|white|match|trusted)[^"]{0,40}\bip\b/i

function isTrouble(status: number): boolean {
  return status === 429 || status === 418 || status >= 500
}

/**
 * Bitfinex refuses with HTTP 500 and an error code in the body. Taking that for an outage would retry a revoked key
 * forever, and a few refused accounts would open the circuit for every user. Gateways do not write such bodies, but ccxt
 * takes their 511 for a wrong key; so this trusts ccxt for 500 alone.
 */
function isRefusal(status: number, fault: Error): boolean {
  return status === 500 && (!(fault instanceof SourceError) || refusals.has(fault.fault))
}

const refusals: ReadonlySet<Fault> = new Set([
  'invalid_credentials',
  'missing_permission',
  'needs_reauth',
  'clock_skew',
  'unreadable_answer',
])

/** Faults that only the owner of the key can fix. */
const ownersFaults: ReadonlySet<Fault> = new Set([
  'invalid_credentials',
  'missing_permission',
  'ip_not_allowed',
  'key_expired',
  'needs_reauth',
])

/** A person would have to make another key. */
function needsKey({ fault }: SourceError): boolean {
  return fault === 'invalid_credentials' || fault === 'missing_permission'
}

/** Many exchanges refuse in plain text; this began as JSON. */
function isCutOff(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return false
  } catch {
    return true
  }
}

function toFault(error: unknown, what: string, last: HttpAnswer | undefined, io: Io): Error {
  if (error instanceof SourceError || error instanceof Unsupported || error instanceof UnknownSymbol) return error
  const name = error instanceof Error ? error.constructor.name : 'Error'
  const words = error instanceof Error ? error.message.slice(0, wordsMax) : ''
  if (name === 'NotSupported') return new Unsupported(what)
  if (name === 'BadSymbol') return new UnknownSymbol(what)
  const detail = `${what}: ${name}, HTTP ${last?.status ?? 'none'}`
  const fault = toSourceError(error, detail)
  if (last !== undefined && isTrouble(last.status) && !isRefusal(last.status, fault)) return toStatusError(last, io)
  if (!(fault instanceof SourceError)) {
    // The exchange did not accept the arguments, or ccxt could not parse the answer.
    return new SourceError('unreadable_answer', detail)
  }
  // ccxt goes by the status where it cannot read the body. The half that is missing may say that only the time was
  // wrong.
  if (needsKey(fault) && last !== undefined && isCutOff(last.text)) return new SourceError('unreadable_answer', detail)
  // ccxt takes the status where it does not know the body: it calls a gateway's 401 a wrong key, and a gateway's 403 or
  // 404 an exchange that is away. A 401 without a body is believed (RFC 9110 §15.5.2): as an outage, it would be retried
  // forever, and the person would not learn of a revoked key.
  const isByStatus = fault.fault === 'venue_down' || needsKey(fault)
  if (isByStatus && last !== undefined && isPage(last.text)) return toStatusError(last, io)
  // ccxt has no class for refusals that it does not know (such as OKX's 50119 and 50120), which we would retry forever.
  if (name === 'ExchangeError') {
    if (aboutKey.test(words)) return new SourceError('invalid_credentials', detail)
    if (aboutRights.test(words)) return new SourceError('missing_permission', detail)
    if (aboutItself.test(words)) return new SourceError('venue_down', detail)
  }
  // ccxt has no error classes for these two. We inspect the message but do not pass it on, because it may quote the
  // whole response.
  if (needsKey(fault)) {
    if (aboutAddress.test(words)) return new SourceError('ip_not_allowed', detail)
    if (/\bexpired?\b/i.test(words) && /key/i.test(words)) return new SourceError('key_expired', detail)
  }
  return fault
}

/** ccxt's URLs are text or groups of texts, with templates such as `{hostname}` in the host. */
function withHost<T>(urls: T, baseUrl: string): T
function withHost(urls: unknown, baseUrl: string): unknown {
  if (typeof urls === 'string') return urls.replace(/^[a-z]+:\/\/[^/]+/, baseUrl.replace(/\/$/, ''))
  if (typeof urls !== 'object' || urls === null) return urls
  return Object.fromEntries(Object.entries(urls).map(([name, value]) => [name, withHost<unknown>(value, baseUrl)]))
}

// Parses JSON for ccxt without losing a digit. A number that JavaScript would print exactly as it was sent stays a
// number, because ccxt compares codes such as `0` with numbers. Every other number becomes text, which ccxt's parsers
// accept too. We remember the original text, so that a record is stored as the exchange wrote it.

// TypeScript's library does not know these two yet (6.0).
type Reviver = (this: object, key: string, value: unknown, context: { source?: string }) => unknown
const { parse, rawJSON } = JSON as unknown as {
  parse: (this: void, text: string, reviver: Reviver) => unknown
  rawJSON: (this: void, text: string) => object
}

interface DigitReader {
  /** Throws a SourceError for text that is not JSON. */
  parse(text: string): unknown
  /** Writes a value that contains parts of a parsed answer. Those parts keep the numbers exactly as they were sent. */
  write(value: unknown): string
}

// ccxt uses texts of an answer (currencies, rates, ids) as names of members of plain objects. These names lead to what
// all objects of the process share, where one exchange could change it for everyone. ccxt gets them altered.
const sharedNames = new RegExp(
  `__proto__|^(?:prototype|${Object.getOwnPropertyNames(Object.prototype).join('|')})$`,
  'gi',
)

/**
 * ccxt makes some kilobytes of each market, all at once, and they are kept: 16 MiB of the shortest rows took half a
 * minute and 2 GB. No exchange is known to have half as many as this.
 */
const marketsMax = 20_000

function createDigitReader(listMax = Infinity): DigitReader {
  // What ccxt was given in place of a number or a text, by the object or array it is in. ccxt passes the exchange's
  // objects on as `info`.
  const sources = new WeakMap<object, Map<string, { given: string; source: string }>>()
  return {
    parse(text) {
      try {
        return parse(text, function (key, value, { source }) {
          if (key.search(sharedNames) >= 0) return undefined
          if (typeof value === 'object' && value !== null && countMembers(value) > listMax) {
            throw new SourceError('unreadable_answer', `a list of more than ${listMax} members`)
          }
          const given = toHarmless(value, source)
          if (given === value || typeof given !== 'string' || source === undefined) return value
          const known = sources.get(this) ?? new Map<string, { given: string; source: string }>()
          sources.set(this, known.set(key, { given, source }))
          return given
        })
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        const size = `${text.length} characters`
        if (isPage(text)) throw new NoAnswer(`HTML instead of JSON (${size})`)
        throw new SourceError('unreadable_answer', `truncated or malformed JSON (${size})`)
      }
    },
    write: (value) =>
      JSON.stringify(value, function (this: object, key: string, member: unknown) {
        const known = sources.get(this)?.get(key)
        return known !== undefined && known.given === member ? rawJSON(known.source) : member
      }),
  }
}

function countMembers(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length
}

/** A number as text where JavaScript would lose digits, and a text that names nothing shared. */
function toHarmless(value: unknown, source: string | undefined): unknown {
  if (typeof value === 'number' && source !== undefined && String(value) !== source) return source
  return typeof value === 'string' ? value.replace(sharedNames, (name) => `(${name.replaceAll('_', '')})`) : value
}
