/** The simulator as ccxt sees it: its own client, written by others against the real exchange, with other addresses. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Decimal } from '@assay/core'
import ccxt, { type okx as OkxClient } from 'ccxt'
import type { Sandbox } from '../index.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'
import { openOkxAccount, type OkxKey, type OkxTestAccount } from '../testing/okx-client.ts'
import { decimalOf, movedBy, totals } from '../testing/spot-sums.ts'

interface Unified {
  timestamp?: number | undefined
  info: Record<string, unknown>
}

let sandbox: Sandbox
let account: OkxTestAccount
let client: OkxClient
let ledger: Unified[]
/** How often each kind of thing happened; the account goes on from day to day. */
let happened: (kind: string) => number

function connect(key: OkxKey): OkxClient {
  // `number: String` lets ccxt give every digit instead of binary floats.
  const made = new ccxt.okx({
    ...{ apiKey: key.apiKey, secret: key.secret, password: key.passphrase },
    ...{ enableRateLimit: false, number: String },
  })
  made.urls['api'] = { rest: sandbox.urls.okx }
  return made
}

before(async () => {
  // ccxt stamps calls with this machine's time.
  sandbox = await startTestSandbox({ now: Date.now })
  account = await openOkxAccount(sandbox, 'default', 'ccxt')
  const { records } = sandbox.controls.okx.readAccount(account.accountId)
  happened = (kind) => records[kind]?.length ?? 0
  client = connect(account)
  await client.loadMarkets()
  ledger = await readAll(async (after) => {
    const { data } = (await client.privateGetAccountBillsArchive(after)) as { data: Record<string, unknown>[] }
    return data.map((info) => ({ info }))
  })
})
after(() => sandbox.close())

const billIdOf = ({ info }: Unified): bigint => BigInt(String(info['billId']))

/** Every page, by the id of the oldest bill so far. ccxt sorts by time, and two bills of a fill have the same one. */
async function readAll<Read extends Unified>(read: (after: { after?: string }) => Promise<Read[]>): Promise<Read[]> {
  const all: Read[] = []
  for (let cursor: string | undefined; ;) {
    const page = await unhurried(() => read(cursor === undefined ? {} : { after: cursor }))
    if (page.length === 0) return all
    const oldestFirst = page.toSorted((a, b) => (billIdOf(a) < billIdOf(b) ? -1 : 1))
    all.unshift(...oldestFirst)
    cursor = String(oldestFirst[0]?.info['billId'])
  }
}

/** The limits are those of the documents, a hundred times faster; ccxt's own pacing is off. */
async function unhurried<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof ccxt.RateLimitExceeded)) throw error
    }
  }
}

/** What ccxt says is held, in every digit. */
async function held(type: string): Promise<Record<string, Decimal>> {
  const read = await unhurried(() => client.fetchBalance({ type }))
  const { total } = read as unknown as { total: Record<string, string> }
  return Object.fromEntries(Object.entries(total).map(([asset, amount]) => [asset, decimalOf(amount)]))
}

const isHeld = ([, amount]: [string, Decimal]): boolean => String(amount) !== '0'
const changesOf = (rows: readonly Unified[]): Record<string, Decimal> =>
  totals(rows.map(({ info }) => [String(info['ccy']), decimalOf(info['balChg'])]))

describe('ccxt reads the market', () => {
  it('fetchTime, fetchStatus, loadMarkets', async () => {
    assert.ok(Math.abs(((await client.fetchTime()) ?? 0) - Date.now()) < 60_000)
    assert.equal((await client.fetchStatus())['status'], 'ok')
    assert.equal(client.market('BTC/USDT')['active'], true)
    assert.deepEqual(Object.keys(client.currency('USDT')['networks'] as object).sort(), ['ERC20', 'TRC20'])
  })
})

describe('ccxt reads the account', () => {
  it('the bills of the trading account: their sum is the balance, and every bill has the balance after it', async () => {
    const single = ledger.filter(({ info }) => /^(?:1|26|250|381)$/.test(String(info['type']))).length
    assert.equal(ledger.length, single + 2 * (happened('trade') + happened('convert')))
    assert.equal(happened('charge'), ledger.filter(({ info }) => info['type'] === '250').length)
    assert.equal(new Set(ledger.map(billIdOf)).size, ledger.length)
    const trading = await held('trading')
    assert.deepEqual(changesOf(ledger), trading)
    const last = ledger.map(({ info }) => [String(info['ccy']), decimalOf(info['bal'])] as const)
    assert.deepEqual(Object.fromEntries(last), trading)
  })

  it('fetchLedger: the bills of spot trades alone, because ccxt always names an instrument type', async () => {
    const method = 'privateGetAccountBillsArchive'
    const read: Unified[] = await readAll((more) => client.fetchLedger(undefined, undefined, 100, { method, ...more }))
    const traded = ledger.filter(({ info }) => info['type'] === '2')
    assert.deepEqual(
      read.map(({ info }) => info),
      traded.map(({ info }) => info),
    )
    assert.equal(traded.length, 2 * happened('trade'))
  })

  it('fetchLedger of the funding account: its sum is the balance', async () => {
    const rows = await unhurried(() =>
      client.fetchLedger(undefined, undefined, 100, { method: 'privateGetAssetBills' }),
    )
    assert.equal(rows.length, 90)
    const sums = Object.entries(changesOf(rows as Unified[])).filter(isHeld)
    assert.deepEqual(Object.fromEntries(sums), await held('funding'))
  })

  it('fetchBalance: both accounts together equal the computed balance, and the part in orders is not free', async () => {
    const { balances } = sandbox.controls.okx.readAccount(account.accountId)
    const read = totals([...Object.entries(await held('trading')), ...Object.entries(await held('funding'))])
    for (const [asset, amount] of Object.entries(balances)) assert.deepEqual(read[asset], decimalOf(amount), asset)
    const { used } = (await unhurried(() => client.fetchBalance())) as unknown as { used: Record<string, string> }
    assert.deepEqual([used['USDT'], used['BTC']], ['50', '0.001'])
  })

  it('fetchMyTrades: price times amount is the cost, and the ledger moved by amount, cost and fee', async () => {
    const trades = await readAll((more) => client.fetchMyTrades(undefined, undefined, 100, more))
    assert.equal(trades.length, happened('trade'))
    assert.deepEqual(movedBy(trades), changesOf(ledger.filter(({ info }) => info['type'] === '2')))
  })

  it('fetchDeposits and fetchWithdrawals: on chain and within OKX, with hash, address and fee', async () => {
    const deposits = await unhurried(() => client.fetchDeposits())
    assert.equal(deposits.length, 35)
    assert.deepEqual(
      deposits.filter(({ status }) => status !== 'ok').map((one) => [one.currency, one.amount, one.status]),
      [
        ['SOL', '12', 'pending'],
        ['ETH', '0.3', 'pending'],
      ],
    )
    const big = deposits.find(({ currency }) => currency === 'PEPE')
    assert.deepEqual([big?.amount, big?.network], ['987654321.098765', 'ERC20'])
    const withdrawals = await unhurried(() => client.fetchWithdrawals())
    assert.deepEqual(
      withdrawals.map((one) => [one.currency, one.amount, one.fee?.cost, one.status]),
      [
        ['BTC', '0.15', '0.0002', 'ok'],
        ['ETH', '1.5', '0.0016', 'ok'],
        ['USDC', '500', '4', 'ok'],
        ['USDT', '100', '0', 'ok'],
        ['BTC', '0.2', '0.0002', 'canceled'],
        ['XRP', '300', '0.25', 'failed'],
        ['BTC', '0.02', '0.0002', 'pending'],
      ],
    )
    assert.match(withdrawals[1]?.txid ?? '', /^0x[0-9a-f]{64}$/)
    assert.match(withdrawals[1]?.addressTo ?? '', /^0x[0-9a-f]{40}$/)
    const since = Date.UTC(2025, 4, 1)
    const spring = await unhurried(() =>
      client.fetchDeposits('USDT', since, undefined, { until: Date.UTC(2025, 5, 1) }),
    )
    assert.deepEqual(
      spring.map(({ amount }) => amount),
      ['250', '1000'],
    )
  })
})

describe('errors are those of ccxt', () => {
  const once = (fault: object): Promise<unknown> =>
    control(sandbox, 'POST', 'providers/okx/faults', { ...fault, times: 1 })

  it('AuthenticationError for a key that is not known, a wrong secret and a wrong passphrase', async () => {
    const refused = connect(await openOkxAccount(sandbox, 'invalid_credentials'))
    // ccxt knows 50119 as an exchange error.
    await assert.rejects(refused.privateGetAccountConfig(), /"code":"50119"/)
    for (const wrong of [{ secret: 'F'.repeat(32) }, { passphrase: 'Forgotten-1!' }]) {
      await assert.rejects(connect({ ...account, ...wrong }).privateGetAccountConfig(), ccxt.AuthenticationError)
    }
  })

  it('PermissionDenied for a key that is bound to another address, InvalidNonce for a wrong clock', async () => {
    const bound = connect(await openOkxAccount(sandbox, 'ip_not_allowed'))
    await assert.rejects(bound.privateGetAccountConfig(), ccxt.PermissionDenied)
    await once({ kind: 'clock_skew', skew_ms: 600_000 })
    await assert.rejects(client.privateGetAccountConfig(), ccxt.InvalidNonce)
  })

  it('RateLimitExceeded for too many calls, ExchangeNotAvailable for an exchange that is away or in trouble', async () => {
    await once({ kind: 'rate_limited' })
    await assert.rejects(client.privateGetAccountConfig(), ccxt.RateLimitExceeded)
    for (const kind of ['down', 'service_unavailable']) {
      await once({ kind })
      await assert.rejects(client.privateGetAccountConfig(), ccxt.ExchangeNotAvailable)
    }
  })
})
