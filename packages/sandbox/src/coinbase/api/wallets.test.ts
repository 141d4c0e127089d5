import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { openKey, startCoinbase, type KeyClient, type TestClock } from '../../testing/coinbase-client.ts'

interface Wallet {
  id: string
  name: string
  primary: boolean
  type: string
  currency: Record<string, unknown>
  balance: { amount: string; currency: string }
  created_at: string | null
  updated_at: string | null
}

let sandbox: Sandbox
let clock: TestClock
let nora: KeyClient
before(async () => {
  ;({ sandbox, clock } = await startCoinbase())
  nora = await openKey({ sandbox, clock }, 'default', 'wallets')
})
after(() => sandbox.close())

describe('/v2/accounts', () => {
  // Field names and formats: https://docs.cdp.coinbase.com/coinbase-app/track-apis/accounts and
  // https://github.com/ccxt/ccxt/blob/master/ts/src/coinbase.ts (fetchAccountsV2, fetchBalance)
  it('has the documented fields', async () => {
    const wallets = await nora.readAll<Wallet>('/v2/accounts?limit=100')
    const fields =
      'id name primary type currency balance created_at updated_at resource resource_path allow_deposits allow_withdrawals'
    for (const wallet of wallets) {
      assert.deepEqual(Object.keys(wallet), fields.split(' '))
      assert.equal(wallet.balance.currency, wallet.currency['code'])
    }
    const named = (name: string): Wallet | undefined => wallets.find((wallet) => wallet.name === name)
    const crypto = 'code name color sort_index exponent type address_regex asset_id slug'
    assert.deepEqual(Object.keys(named('BTC Wallet')?.currency ?? {}), crypto.split(' '))
    assert.deepEqual(
      Object.keys(named('EUR Wallet')?.currency ?? {}),
      'code name color sort_index exponent type'.split(' '),
    )
    assert.match(named('BTC Wallet')?.balance.amount ?? '', /^\d+\.\d{8,}$/)
    assert.deepEqual(
      [named('EUR Wallet')?.type, named('BTC Wallet')?.type, named('BTC Vault')?.type],
      ['fiat', 'wallet', 'vault'],
    )
    assert.deepEqual(
      wallets.filter(({ primary }) => primary).map(({ name }) => name),
      ['BTC Wallet'],
    )
  })

  it('has empty wallets with a history, separate staked ones, and unused ones whose id is a currency code', async () => {
    const wallets = await nora.readAll<Wallet>('/v2/accounts?limit=100')
    const byName = new Map(wallets.map((wallet) => [wallet.name, wallet]))
    for (const name of ['LINK Wallet', 'NMR Wallet', 'ONDO Wallet']) {
      assert.match(byName.get(name)?.balance.amount ?? '', /^0\.0+$/, name)
      const { data } = await nora.read<{ data: object[] }>(`/v2/accounts/${byName.get(name)?.id}/transactions`)
      assert.equal(data.length, 2, name)
    }
    assert.deepEqual(
      ['SOL Wallet', 'Staked SOL', 'Staked ETH'].map((name) => byName.get(name)?.currency['code']),
      ['SOL', 'SOL', 'ETH2'],
    )
    const unused = wallets.filter(({ created_at }) => created_at === null)
    assert.deepEqual(
      unused.map(({ id, updated_at }) => [id, updated_at]),
      [
        ['BCH', null],
        ['ETC', null],
        ['XRP', null],
      ],
    )
    assert.deepEqual(await nora.read('/v2/accounts/XRP'), { data: byName.get('XRP Wallet') })
  })

  it('has pages of any size in both orders, and one account by its id', async () => {
    const all = await nora.readAll<Wallet>('/v2/accounts?limit=100')
    assert.deepEqual(await nora.readAll<Wallet>('/v2/accounts?limit=4'), all)
    assert.deepEqual(await nora.readAll<Wallet>('/v2/accounts?limit=5&order=asc'), all.toReversed())
    const first = await nora.read<{ data: Wallet[]; pagination: { limit: number } }>('/v2/accounts')
    assert.deepEqual([first.data.length, first.pagination.limit], [Math.min(25, all.length), 25])
    assert.deepEqual(await nora.read(`/v2/accounts/${all[2]?.id}`), { data: all[2] })
  })

  it('another account has other ids, and nothing of one is found by the other', async () => {
    const other = await openKey({ sandbox, clock }, 'default', 'somebody else')
    const [mine, theirs] = [
      await nora.readAll<Wallet>('/v2/accounts?limit=100'),
      await other.readAll<Wallet>('/v2/accounts?limit=100'),
    ]
    const ids = new Set(mine.filter(({ created_at }) => created_at !== null).map(({ id }) => id))
    assert.ok(theirs.every(({ id }) => !ids.has(id)))
    assert.equal((await other.get(`/v2/accounts/${mine[0]?.id}/transactions`)).status, 404)
  })
})

describe('/api/v3/brokerage/accounts', () => {
  interface Page {
    accounts: { uuid: string; currency: string; available_balance: { value: string }; type: string }[]
    has_next: boolean
    cursor: string
    size: number
  }

  // Field names: https://github.com/coinbase/coinbase-advanced-py/blob/master/coinbase/rest/types/accounts_types.py
  it('has the documented fields, the ids and balances of v2, and no staked wallets', async () => {
    const { accounts, has_next, cursor, size } = await nora.read<Page>('/api/v3/brokerage/accounts')
    assert.deepEqual([has_next, cursor, size], [false, '', accounts.length])
    assert.deepEqual(Object.keys(accounts[0] ?? {}), [
      ...['uuid', 'name', 'currency', 'available_balance', 'default', 'active', 'created_at', 'updated_at'],
      ...['deleted_at', 'type', 'ready', 'hold', 'retail_portfolio_id', 'platform'],
    ])
    const wallets = new Map((await nora.readAll<Wallet>('/v2/accounts?limit=100')).map((wallet) => [wallet.id, wallet]))
    for (const { uuid, available_balance: held } of accounts) {
      assert.equal(Number(held.value), Number(wallets.get(uuid)?.balance.amount))
    }
    assert.equal(accounts.filter(({ currency }) => currency === 'SOL').length, 1)
    assert.equal(accounts.find(({ currency }) => currency === 'EUR')?.type, 'ACCOUNT_TYPE_FIAT')
  })

  it('pages by cursor: 49 by default, 250 at most', async () => {
    const robot = await openKey({ sandbox, clock }, 'large')
    const first = await robot.read<Page>('/api/v3/brokerage/accounts')
    assert.deepEqual([first.size, first.has_next], [49, true])
    const rest = await robot.read<Page>(`/api/v3/brokerage/accounts?cursor=${first.cursor}`)
    const whole = await robot.read<Page>('/api/v3/brokerage/accounts?limit=250')
    assert.deepEqual([...first.accounts, ...rest.accounts], whole.accounts)
    for (const query of ['limit=251', 'limit=0', 'cursor=x']) {
      assert.equal((await robot.get(`/api/v3/brokerage/accounts?${query}`)).status, 400, query)
    }
  })
})

describe('/v2/user', () => {
  it('is the same for every key of an account, and differs for every other account', async () => {
    const user = async (name: string): Promise<{ id: string; resource: string; resource_path: string }> =>
      (
        await (
          await openKey({ sandbox, clock }, 'default', name)
        ).read<{ data: { id: string; resource: string; resource_path: string } }>('/v2/user')
      ).data
    const [mine, again, other] = [await user('wallets'), await user('wallets'), await user('another')]
    assert.deepEqual([mine.resource, mine.resource_path], ['user', `/v2/users/${mine.id}`])
    assert.equal(mine.id, again.id)
    assert.notEqual(mine.id, other.id)
  })
})

describe('what needs no credentials', () => {
  it('includes time, currencies, rates, prices and products', async () => {
    const get = async (path: string): Promise<unknown> => (await fetch(sandbox.urls.coinbase + path)).json()
    assert.deepEqual(await get('/v2/time'), { data: { iso: '2026-11-15T00:00:00Z', epoch: 1_794_700_800 } })
    const { data: fiat } = (await get('/v2/currencies')) as { data: object[] }
    assert.deepEqual(fiat[1], { id: 'EUR', name: 'Euro', min_size: '0.01' })
    const { data: crypto } = (await get('/v2/currencies/crypto')) as { data: { code: string }[] }
    assert.ok(crypto.some(({ code }) => code === 'BTC') && !crypto.some(({ code }) => code === 'ZQNT'))
    const { data } = (await get('/v2/exchange-rates?currency=BTC')) as { data: { rates: Record<string, string> } }
    const { data: spot } = (await get('/v2/prices/BTC-USD/spot')) as { data: { amount: string } }
    assert.equal(spot.amount, data.rates['USD'])
    assert.equal(((await get('/api/v3/brokerage/market/products/BTC-USD')) as { price: string }).price, spot.amount)
  })
})
