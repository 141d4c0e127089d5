/** The simulator as ccxt sees it: its own client, written by others against the real exchange, with other addresses. */
import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Decimal } from '@assay/core'
import ccxt, { type bybit as BybitClient } from 'ccxt'
import type { Sandbox } from '../index.ts'
import { openBybitAccount, type BybitTestAccount } from '../testing/bybit-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'
import { decimalOf, movedBy, totals } from '../testing/spot-sums.ts'

const fromMs = Date.UTC(2025, 0, 1)
const toMs = Date.UTC(2026, 10, 1)
const begunMs = Date.now()
/** The account goes on for years, and what is read here is what it holds by then. */
const now = (): number => toMs + Date.now() - begunMs

let sandbox: Sandbox
let account: BybitTestAccount
let client: BybitClient
let ledger: (Unified & { id?: unknown })[]

function connect(key: { apiKey: string; secret: string }): BybitClient {
  // `number: String` lets ccxt give every digit instead of binary floats.
  const made = new ccxt.bybit({ apiKey: key.apiKey, secret: key.secret, enableRateLimit: false, number: String })
  made.urls['api'] = { public: sandbox.urls.bybit, private: sandbox.urls.bybit }
  made.milliseconds = now
  return made
}

before(async () => {
  sandbox = await startTestSandbox({ now })
  account = await openBybitAccount(sandbox, 'default', 'ccxt')
  client = connect(account)
  await client.loadMarkets()
  ledger = await readAll(7, (since, more) => client.fetchLedger(undefined, since, 50, more))
})
after(() => sandbox.close())

interface Unified {
  info: Record<string, unknown>
}

/** Every window from the first day to the last, and every page of each. */
async function readAll<Read extends Unified>(
  days: number,
  read: (since: number, more: { endTime: number; cursor?: string }) => Promise<Read[]>,
): Promise<Read[]> {
  const all: Read[] = []
  for (let since = fromMs; since < toMs; since += days * dayMs) {
    const endTime = Math.min(since + days * dayMs, toMs) - 1
    let cursor: string | undefined
    do {
      const page = await read(since, { endTime, ...(cursor !== undefined && { cursor }) })
      // ccxt sorts by time, and writes the cursor into whichever row came first.
      cursor = page.map(({ info }) => info['nextPageCursor'] as string | undefined).find((text) => text !== undefined)
      all.push(...page)
    } while (cursor !== undefined && cursor !== '')
  }
  return all
}

/** What ccxt says is held, in every digit. */
async function held(type: string): Promise<Record<string, Decimal>> {
  const { total } = (await client.fetchBalance({ type })) as unknown as { total: Record<string, string> }
  return Object.fromEntries(Object.entries(total).map(([asset, amount]) => [asset, decimalOf(amount)]))
}

describe('ccxt reads the market', () => {
  it('fetchTime, fetchStatus, loadMarkets', async () => {
    assert.ok(Math.abs(((await client.fetchTime()) ?? 0) - now()) < 60_000)
    assert.equal((await client.fetchStatus())['status'], 'ok')
    assert.equal(client.market('BTC/USDT')['active'], true)
    assert.deepEqual(Object.keys(client.currency('USDT')['networks'] as object).sort(), ['ERC20', 'TRC20'])
  })
})

describe('ccxt reads the account', () => {
  it('fetchLedger: its sum is the balance of the unified account, and every entry has the balance after it', async () => {
    assert.equal(ledger.length, 482)
    assert.equal(new Set(ledger.map(({ id }) => id)).size, ledger.length)
    assert.deepEqual(
      totals(ledger.map(({ info }) => [String(info['currency']), decimalOf(info['change'])])),
      await held('unified'),
    )
    const last = new Map(ledger.map(({ info }) => [info['currency'], info['cashBalance']]))
    assert.deepEqual(
      Object.fromEntries([...last].map(([asset, balance]) => [asset, decimalOf(balance)])),
      await held('unified'),
    )
  })

  it('fetchBalance: both wallets together equal the computed balance, and the part in orders is not free', async () => {
    const { balances } = sandbox.controls.bybit.readAccount(account.accountId)
    const both = [...Object.entries(await held('unified')), ...Object.entries(await held('funding'))]
    const read = totals(both)
    for (const [asset, amount] of Object.entries(balances)) assert.deepEqual(read[asset], decimalOf(amount), asset)
    const { used } = (await client.fetchBalance()) as unknown as { used: Record<string, string> }
    assert.deepEqual([used['USDT'], used['BTC']], ['50', '0.001'])
  })

  it('fetchMyTrades: price times amount is the cost, and the ledger moved by amount, cost and fee', async () => {
    const trades = await readAll(7, (since, more) =>
      client.fetchMyTrades(undefined, since, 100, { ...more, type: 'spot' }),
    )
    const { records } = sandbox.controls.bybit.readAccount(account.accountId)
    assert.equal(trades.length, records['trade']?.length)
    assert.equal(trades.length, 174)
    const traded = ledger.filter(({ info }) => info['type'] === 'TRADE')
    const told = totals(traded.map(({ info }) => [String(info['currency']), decimalOf(info['change'])]))
    assert.deepEqual(movedBy(trades), told)
  })

  it('fetchDeposits and fetchWithdrawals: all on chain, with hash, address and fee', async () => {
    const deposits = await readAll(30, (since, more) => client.fetchDeposits(undefined, since, 50, more))
    assert.equal(deposits.length, 34)
    assert.deepEqual(
      deposits.filter(({ status }) => status !== 'ok').map((one) => [one.currency, one.amount, one.status]),
      [
        ['SOL', '12', 'fail'],
        ['ETH', '0.3', 'pending'],
      ],
    )
    const big = deposits.find(({ currency }) => currency === 'PEPE')
    assert.deepEqual([big?.amount, big?.network], ['987654321.098765', 'ERC20'])
    const withdrawals = await readAll(30, (since, more) => client.fetchWithdrawals(undefined, since, 50, more))
    assert.deepEqual(
      withdrawals.map((one) => [one.currency, one.amount, one.fee?.cost, one.status]),
      [
        ['BTC', '0.15', '0.0002', 'ok'],
        ['ETH', '1.5', '0.0016', 'ok'],
        ['USDC', '500', '4', 'ok'],
        ['BTC', '0.2', '0.0002', 'canceled'],
        ['XRP', '300', '0.25', 'failed'],
        ['BTC', '0.02', '0.0002', 'pending'],
      ],
    )
    assert.match(withdrawals[1]?.txid ?? '', /^0x[0-9a-f]{64}$/)
    assert.match(withdrawals[1]?.addressTo ?? '', /^0x[0-9a-f]{40}$/)
  })
})

describe('errors are those of ccxt', () => {
  const once = (fault: object): Promise<unknown> =>
    control(sandbox, 'POST', 'providers/bybit/faults', { ...fault, times: 1 })

  it('AuthenticationError for a key that is not known and for a wrong secret', async () => {
    const refused = connect(await openBybitAccount(sandbox, 'invalid_credentials'))
    await assert.rejects(refused.privateGetV5UserQueryApi(), ccxt.AuthenticationError)
    const wrong = connect({ apiKey: account.apiKey, secret: 'f'.repeat(36) })
    await assert.rejects(wrong.privateGetV5UserQueryApi(), ccxt.AuthenticationError)
  })

  it('PermissionDenied for a key that is bound to another address, InvalidNonce for a wrong clock', async () => {
    const bound = connect(await openBybitAccount(sandbox, 'ip_not_allowed'))
    await assert.rejects(bound.privateGetV5UserQueryApi(), ccxt.PermissionDenied)
    await once({ kind: 'clock_skew', skew_ms: 600_000 })
    await assert.rejects(client.privateGetV5UserQueryApi(), ccxt.InvalidNonce)
  })

  it('RateLimitExceeded for too many calls, ExchangeNotAvailable for an exchange that is away', async () => {
    await once({ kind: 'rate_limited' })
    await assert.rejects(client.privateGetV5UserQueryApi(), ccxt.RateLimitExceeded)
    await once({ kind: 'down' })
    await assert.rejects(client.privateGetV5UserQueryApi(), ccxt.ExchangeNotAvailable)
    await once({ kind: 'service_unavailable' })
    await assert.rejects(client.privateGetV5UserQueryApi(), /"retCode":10016/)
  })
})
