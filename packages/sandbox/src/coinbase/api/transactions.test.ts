import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { openKey, startCoinbase, type KeyClient, type TestClock } from '../../testing/coinbase-client.ts'
import { control } from '../../testing/kraken-client.ts'

interface Money {
  amount: string
  currency: string
}
interface Transaction {
  id: string
  type: string
  status: string
  amount: Money
  native_amount: Money
  created_at: string
  resource: string
  resource_path: string
  advanced_trade_fill?: Record<string, string>
  trade?: { id: string; fee?: Money; payment_method_name: string }
  buy?: { id: string; fee: Money; subtotal: Money; total: Money }
  sell?: { id: string; fee: Money; subtotal: Money; total: Money }
  network?: { hash?: string; network_name: string; status: string; transaction_fee?: Money }
  to?: Record<string, string>
  from?: Record<string, string>
}
interface Wallet {
  id: string
  name: string
  currency: { code: string }
  balance: Money
}

let sandbox: Sandbox
let clock: TestClock
let nora: KeyClient
let wallets: Wallet[]
before(async () => {
  ;({ sandbox, clock } = await startCoinbase())
  nora = await openKey({ sandbox, clock }, 'default', 'transactions')
  wallets = await nora.readAll<Wallet>('/v2/accounts?limit=100')
})
after(() => sandbox.close())

const listOf = (wallet: Wallet): string => `/v2/accounts/${wallet.id}/transactions`

function walletNamed(name: string): Wallet {
  const wallet = wallets.find((one) => one.name === name)
  assert.ok(wallet, name)
  return wallet
}

async function readEvery(client = nora): Promise<{ wallet: Wallet; transaction: Transaction }[]> {
  const all = []
  for (const wallet of wallets) {
    for (const transaction of await client.readAll<Transaction>(`${listOf(wallet)}?limit=100`)) {
      all.push({ wallet, transaction })
    }
  }
  return all
}

/** Computed in whole steps of 10^-24, independently of the code that made the numbers. */
function steps(text: string): bigint {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,24}))?$/.exec(text) ?? []
  assert.notEqual(whole, '', `${text} is plain digits`)
  return BigInt(`${sign}${whole}${fraction.padEnd(24, '0')}`)
}

/** What a transaction took from or gave to its wallet, by its own fields. */
function movedBy({ type, status, amount, advanced_trade_fill: fill }: Transaction): bigint {
  // The same money is in a `send` of the same second.
  if (type === 'exchange_deposit' || type === 'exchange_withdrawal' || type === 'request') return 0n
  const units = steps(amount.amount)
  if (status === 'pending') return units < 0n ? units : 0n
  if (status !== 'completed') return 0n
  const isQuoteSide = fill?.['product_id']?.endsWith(`-${amount.currency}`) === true
  return isQuoteSide ? units - steps(fill?.['commission'] ?? '0') : units
}

describe('the balance of every wallet', () => {
  it('equals what its transactions moved, to the last digit, and what the control API reports', async () => {
    const sums = new Map(wallets.map(({ id }) => [id, 0n]))
    for (const { wallet, transaction } of await readEvery()) {
      sums.set(wallet.id, (sums.get(wallet.id) ?? 0n) + movedBy(transaction))
    }
    assert.deepEqual(new Map(wallets.map(({ id, balance }) => [id, steps(balance.amount)])), sums)
    const byCode: Record<string, bigint> = {}
    for (const { id, currency } of wallets) byCode[currency.code] = (byCode[currency.code] ?? 0n) + (sums.get(id) ?? 0n)
    const state = (await control(sandbox, 'GET', `accounts/${nora.accountId}/state`)) as {
      balances: Record<string, string>
    }
    const held = Object.entries(state.balances).map(([code, text]): [string, bigint] => [code, steps(text)])
    assert.deepEqual(
      Object.fromEntries(held),
      Object.fromEntries(Object.entries(byCode).filter(([code]) => code in state.balances)),
    )
  })
})

describe('pages of transactions', () => {
  it('are newest first, 25 rows by default and at most 100, and lose or repeat no row at any size', async () => {
    const list = listOf(walletNamed('EUR Wallet'))
    const all = await nora.readAll<Transaction>(`${list}?limit=100`)
    assert.ok(all.length > 150)
    assert.deepEqual(
      all.map(({ created_at }) => created_at),
      all.map(({ created_at }) => created_at).toSorted((a, b) => b.localeCompare(a)),
    )
    for (const query of ['', '?limit=7', '?limit=40', '?limit=250']) {
      assert.deepEqual(await nora.readAll<Transaction>(list + query), all)
    }
    assert.deepEqual(await nora.readAll<Transaction>(`${list}?order=asc&limit=33`), all.toReversed())
  })

  it('a page may be shorter than its limit although more follow', async () => {
    const sizes = new Set<number>()
    let next: string | null = `${listOf(walletNamed('EUR Wallet'))}?limit=20`
    while (next !== null) {
      const page: { data: unknown[]; pagination: { next_uri: string | null } } = await nora.read(next)
      next = page.pagination.next_uri
      if (next !== null) sizes.add(page.data.length)
    }
    assert.ok(sizes.has(20) && sizes.size > 1, [...sizes].join())
  })

  // https://docs.cdp.coinbase.com/coinbase-app/api-architecture/pagination
  it('have the documented `pagination`', async () => {
    const list = listOf(walletNamed('EUR Wallet'))
    const { pagination, data } = await nora.read<{ pagination: Record<string, unknown>; data: Transaction[] }>(
      `${list}?limit=5`,
    )
    const last = data.at(-1)?.id ?? ''
    assert.deepEqual(pagination, {
      ending_before: null,
      starting_after: null,
      previous_ending_before: null,
      next_starting_after: last,
      limit: 5,
      order: 'desc',
      previous_uri: null,
      next_uri: `${list}?limit=5&starting_after=${last}`,
    })
    const following = await nora.read<{ pagination: Record<string, unknown>; data: Transaction[] }>(
      String(pagination['next_uri']),
    )
    const back = await nora.read<{ data: Transaction[] }>(String(following.pagination['previous_uri']))
    assert.deepEqual(back.data, data)
  })

  it('rows that are booked between two pages neither hide one nor show one twice', async () => {
    const own = await openKey({ sandbox, clock }, 'default', 'moving')
    const [{ id = '' } = {}] = (await own.readAll<Wallet>('/v2/accounts?limit=100')).filter(
      ({ name }) => name === 'EUR Wallet',
    )
    const expected = await own.readAll<Transaction>(`/v2/accounts/${id}/transactions?limit=100`)
    const first = await own.read<{ data: Transaction[]; pagination: { next_uri: string } }>(
      `/v2/accounts/${id}/transactions?limit=60`,
    )
    const entries = [{ type: 'fiat_deposit', asset: 'EUR', amount: '5' }]
    await control(sandbox, 'POST', `accounts/${own.accountId}/entries`, { entries })
    const rest = await own.readAll<Transaction>(first.pagination.next_uri)
    assert.deepEqual([...first.data, ...rest], expected)
  })

  it('a malformed request is a 400; an unused wallet has no rows', async () => {
    const list = listOf(walletNamed('EUR Wallet'))
    for (const query of ['limit=0', 'limit=x', 'order=up', 'starting_after=x', `starting_after=${wallets[0]?.id}`]) {
      const response = await nora.get(`${list}?${query}`)
      assert.deepEqual(
        [response.status, ((await response.json()) as { errors: { id: string }[] }).errors[0]?.id],
        [400, 'invalid_request'],
        query,
      )
    }
    const { data, pagination } = await nora.read<{ data: object[]; pagination: { next_uri: null } }>(
      '/v2/accounts/XRP/transactions',
    )
    assert.deepEqual([data, pagination.next_uri], [[], null])
  })
})

describe('a transaction', () => {
  // Field names and formats: https://docs.cdp.coinbase.com/coinbase-app/track-apis/transactions, and the fixtures in
  // https://github.com/jbelanger/exitbook/tree/main/packages/ingestion/src/sources/exchanges/coinbase/__tests__/fixtures
  it('has the common fields, and can be requested by its id', async () => {
    for (const { wallet, transaction } of await readEvery()) {
      const { id, amount, native_amount: native } = transaction
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.match(transaction.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      assert.match(amount.amount, /^-?\d+(\.\d+)?$/)
      assert.match(native.amount, /^-?\d+\.\d\d$/)
      assert.equal(native.currency, 'EUR')
      assert.equal(amount.currency, wallet.currency.code)
      assert.equal(transaction.resource, 'transaction')
      assert.equal(transaction.resource_path, `/v2/accounts/${wallet.id}/transactions/${id}`)
    }
    const [{ transaction } = {}] = await readEvery()
    assert.deepEqual(await nora.read(transaction?.resource_path ?? ''), { data: transaction })
    const elsewhere = `${listOf(walletNamed('SOL Wallet'))}/${transaction?.id ?? ''}`
    assert.equal((await nora.get(elsewhere)).status, 404)
  })

  it('of every documented type occurs, and one that is not documented', async () => {
    const types = new Set((await readEvery()).map(({ transaction }) => transaction.type))
    // https://docs.cdp.coinbase.com/coinbase-app/track-apis/transactions#transaction-types, without the two of futures,
    // and those that readers of real accounts have met besides (github.com/rotki/rotki,
    // rotkehlchen/exchanges/coinbase.py).
    const documented = `advanced_trade_fill buy clawback derivatives_settlement earn_payout fiat_deposit fiat_withdrawal
      incentives_rewards_payout incentives_shared_clawback intx_deposit intx_withdrawal receive request
      retail_simple_dust sell send staking_transfer subscription_rebate subscription trade transfer tx
      unstaking_transfer unsupported_asset_recovery unwrap_asset vault_withdrawal wrap_asset`
    const met = `staking_reward inflation_reward interest cardspend cardbuyback exchange_deposit exchange_withdrawal
      pro_deposit pro_withdrawal`
    const expected = [...documented.split(/\s+/), ...met.split(/\s+/), 'quantum_settlement']
    assert.deepEqual([...types].toSorted(), expected.toSorted())
  })

  it('send: the network’s fee is inside the amount, and hash and address are those of the other side', async () => {
    const [bitcoin] = (await nora.readAll<Transaction>(`${listOf(walletNamed('BTC Wallet'))}?limit=100`)).filter(
      ({ created_at }) => created_at === '2021-03-19T07:23:11Z',
    )
    assert.equal(bitcoin?.amount.amount, '-0.41260000')
    assert.deepEqual(bitcoin?.network, {
      hash: '5c1f0e8a7b6d3942e1a0c4f7d8b92536417e0fa3c5b8d6291e4f7a0b3c6d9e82',
      network_name: 'bitcoin',
      status: 'confirmed',
      transaction_fee: { amount: '0.0001', currency: 'BTC' },
    })
    assert.deepEqual(bitcoin?.to, { address: 'bc1q7x2m9k4c8v5t3w6r0y1p9d7f5g3h2j4n6k8s0a', resource: 'address' })
  })

  it('send with a positive amount: is incoming', async () => {
    const [ether] = (await nora.readAll<Transaction>(`${listOf(walletNamed('ETH Wallet'))}?limit=100`)).filter(
      ({ type, amount, network }) => type === 'send' && network?.hash !== undefined && !amount.amount.startsWith('-'),
    )
    assert.equal(ether?.amount.amount, '2.500000000000000000')
    assert.deepEqual(Object.keys(ether?.network ?? {}), ['hash', 'network_name', 'status'])
    assert.match(ether?.network?.hash ?? '', /^0x[0-9a-f]{64}$/)
    assert.equal(ether?.to, undefined)
  })

  it('advanced_trade_fill: amount = size × price in both wallets, with a separate commission, and parts share the order', async () => {
    const fills = (await readEvery()).flatMap(({ transaction }) =>
      transaction.advanced_trade_fill === undefined ? [] : [{ ...transaction, fill: transaction.advanced_trade_fill }],
    )
    for (const { fill } of fills) {
      const keys = Object.keys(fill).filter((key) => key !== 'order_side')
      assert.deepEqual(keys, ['commission', 'fill_price', 'order_id', 'product_id'])
    }
    assert.ok(fills.some(({ fill }) => fill['order_side'] === undefined))
    assert.ok(fills.some(({ fill }) => fill['order_side'] === 'sell'))
    const orders = Map.groupBy(fills, ({ fill }) => fill['order_id'])
    assert.ok([...orders.values()].some(({ length }) => length === 6))
    for (const parts of orders.values()) {
      const [base = '', quote = ''] = (parts[0]?.fill['product_id'] ?? '').split('-')
      const sum = (code: string): bigint =>
        parts
          .filter(({ amount }) => amount.currency === code)
          .reduce((total, { amount }) => total + steps(amount.amount), 0n)
      const price = steps(parts[0]?.fill['fill_price'] ?? '')
      assert.equal(-sum(quote) * 10n ** 24n, sum(base) * price)
    }
    const [exact] = fills
      .filter(({ amount, fill }) => fill['product_id'] === 'ONDO-USDC' && amount.currency === 'USDC')
      .slice(-1)
    assert.equal(exact?.amount.amount, '-24.6843493')
  })

  it('trade, buy and sell: rows in two wallets share an id, and money adds up', async () => {
    const all = (await readEvery()).map(({ transaction }) => transaction)
    const trades = Map.groupBy(
      all.filter(({ trade }) => trade !== undefined),
      ({ trade }) => trade?.id,
    )
    assert.ok(trades.size >= 6)
    for (const legs of trades.values()) {
      assert.equal(legs.length, 2)
      assert.notEqual(legs[0]?.amount.currency, legs[1]?.amount.currency)
      assert.deepEqual(Object.keys(legs[0]?.trade ?? {}), ['fee', 'id', 'payment_method_name'])
    }
    for (const { buy } of all.filter(({ type }) => type === 'buy')) {
      assert.equal(steps(buy?.total.amount ?? ''), steps(buy?.subtotal.amount ?? '') + steps(buy?.fee.amount ?? ''))
    }
    for (const { sell } of all.filter(({ type }) => type === 'sell')) {
      assert.equal(steps(sell?.total.amount ?? ''), steps(sell?.subtotal.amount ?? '') - steps(sell?.fee.amount ?? ''))
    }
    const buys = Map.groupBy(
      all.filter(({ type }) => type === 'buy'),
      ({ buy }) => buy?.id,
    )
    assert.deepEqual(
      new Set([...buys.values()].map(({ length }) => length)),
      new Set([1, 2]),
      'by card and from a wallet',
    )
  })

  it('staking_transfer: leaves one wallet and reaches the staked one in the same second', async () => {
    const moves = (await readEvery()).filter(({ transaction }) => /^(un)?staking_transfer$/.test(transaction.type))
    const pairs = Map.groupBy(moves, ({ transaction }) => transaction.created_at)
    for (const pair of pairs.values()) {
      assert.equal(pair.length, 2)
      assert.equal(
        pair.reduce((sum, { transaction }) => sum + steps(transaction.amount.amount), 0n),
        0n,
      )
      assert.ok(pair.some(({ wallet }) => wallet.name.startsWith('Staked ')))
    }
  })
})

describe('a send in progress', () => {
  it('has left the balance and has no hash; then it completes, or is canceled and comes back', async () => {
    const own = await startCoinbase()
    try {
      const client = await openKey(own, 'default', 'under way')
      const read = async (name: string): Promise<{ balance: bigint; send: Transaction | undefined }> => {
        const [wallet] = (await client.readAll<Wallet>('/v2/accounts?limit=100')).filter((one) => one.name === name)
        const path = `/v2/accounts/${wallet?.id ?? ''}/transactions`
        const [newest] = (await client.read<{ data: Transaction[] }>(path)).data
        return { balance: steps(wallet?.balance.amount ?? ''), send: newest }
      }
      const before = [await read('BTC Wallet'), await read('ETH Wallet'), await read('EUR Wallet')]
      assert.deepEqual(
        before.map(({ send }) => send?.status),
        ['pending', 'pending', 'pending'],
      )
      assert.equal(before[0]?.send?.network?.hash, undefined)
      assert.equal(before[0]?.send?.network?.status, 'pending')
      own.clock.nowMs = Date.UTC(2030, 0, 4)
      const after = [await read('BTC Wallet'), await read('ETH Wallet'), await read('EUR Wallet')]
      assert.deepEqual(
        after.map(({ send }) => send?.status),
        ['completed', 'canceled', 'completed'],
      )
      assert.deepEqual(
        after.map(({ send }) => send?.id),
        before.map(({ send }) => send?.id),
      )
      assert.match(after[0]?.send?.network?.hash ?? '', /^[0-9a-f]{64}$/)
      const gained = after.map(({ balance }, index) => balance - (before[index]?.balance ?? 0n))
      assert.deepEqual(gained, [0n, steps('0.05'), steps('120')])
    } finally {
      await own.sandbox.close()
    }
  })
})

describe('the fills of v3', () => {
  // Field names: https://github.com/coinbase/coinbase-advanced-py/blob/master/coinbase/rest/types/orders_types.py
  it('list each fill once, with the commission that v2 reports', async () => {
    const { fills, cursor } = await nora.read<{ fills: Record<string, unknown>[]; cursor: string }>(
      '/api/v3/brokerage/orders/historical/fills?limit=50',
    )
    assert.deepEqual(Object.keys(fills[0] ?? {}).toSorted(), [
      ...['commission', 'entry_id', 'liquidity_indicator', 'order_id', 'price', 'product_id', 'retail_portfolio_id'],
      ...['sequence_timestamp', 'side', 'size', 'size_in_quote', 'trade_id', 'trade_time', 'trade_type', 'user_id'],
    ])
    const rest = await nora.read<{ fills: Record<string, unknown>[]; cursor: string }>(
      `/api/v3/brokerage/orders/historical/fills?limit=50&cursor=${cursor}`,
    )
    assert.equal(rest.cursor, '')
    const seen = [...fills, ...rest.fills]
    const told = (await readEvery()).flatMap(({ transaction: { advanced_trade_fill: fill, amount } }) =>
      fill?.['product_id']?.endsWith(`-${amount.currency}`) === true
        ? [`${fill['order_id']} ${fill['commission']}`]
        : [],
    )
    assert.deepEqual(
      seen.map((fill) => `${String(fill['order_id'])} ${String(fill['commission'])}`).toSorted(),
      told.toSorted(),
    )
    const onlyOndo = await nora.read<{ fills: object[] }>(
      '/api/v3/brokerage/orders/historical/fills?product_id=ONDO-USDC',
    )
    assert.equal(onlyOndo.fills.length, 2)
  })
})
