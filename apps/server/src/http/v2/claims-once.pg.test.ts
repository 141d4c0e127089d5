/** What a person does to have one coin counted twice in a signed claim. */
import { addProvider, makeClaim, refreshAssets } from '@assay/contract'
import { divide, multiply, parseDecimal, type Decimal } from '@assay/core'
import { decodeJwt } from 'jose'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openResource, until } from '../test-resource.ts'

const two = parseDecimal('2')

describe('a coin in a claim', async () => {
  const api = await openResource()
  const { db } = api.service
  await api.moveToNoon()

  async function control<T>(path: string, body: object): Promise<T> {
    const response = await fetch(`${api.service.sandbox.controlUrl}/control/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text) as T
  }
  interface Minted {
    account_id: string
    credentials: { api_key: string; secret_key: string }
  }
  const mint = (providerId: string, scenario: string): Promise<Minted> =>
    control('accounts', { provider_id: providerId, scenario, account: randomUUID() })
  const mintKey = ({ account_id }: Minted): Promise<Minted> =>
    control(`accounts/${account_id}/keys`, { key: randomUUID() })

  async function add(token: string, providerId: string, { credentials }: Minted) {
    const body = { provider_id: providerId, connection: { type: 'api_key', ...credentials } }
    return (await api.ask(addProvider, '/accounts/v2/providers', token, body)).data
  }
  /** Added, read and judged. */
  async function connect(token: string, providerId: string, account: Minted): Promise<string> {
    const { connection_id: id } = await add(token, providerId, account)
    assert.ok(id)
    await until(
      async () => db.maybeRow('select from connections where id = $1 and proof_grade is not null', [id]),
      (row) => row !== undefined,
    )
    return id
  }
  const ask = async (token: string, amount: Decimal) => {
    const body = { claim: 'holds_at_least', asset_id: 'crypto:bitcoin', amount }
    return api.ask(makeClaim, '/accounts/v2/claims', token, body)
  }
  const findHeld = async (connectionId: string): Promise<Decimal> => {
    const { held } = await db.row<{ held: string }>(
      `select (h.liquid + h.staked)::text as held from holdings h
       join connections c on c.user_key = h.user_key and c.connection_key = h.connection_key
       join assets a on a.asset_key = h.asset_key where c.id = $1 and a.id = 'crypto:bitcoin'`,
      [connectionId],
    )
    return parseDecimal(held)
  }

  it('counts once with two keys of an account that its exchange does not name', async () => {
    const { access_token: token } = await api.signIn('ann')
    const account = await mint('bitfinex', 'default')
    await control(`accounts/${account.account_id}/key`, { permissions: ['history:read', 'wallets:read'] })
    const held = await findHeld(await connect(token, 'bitfinex', account))
    await connect(token, 'bitfinex', await mintKey(account))
    const half = divide(held, two, 18) ?? held
    assert.equal((await ask(token, half)).data.holds, true)
    const twice = await ask(token, multiply(held, two))
    assert.deepEqual([twice.data.holds, twice.data.statement, twice.data.grade], [null, null, 'unprovable'])
    assert.deepEqual(
      twice.errors.map(({ cause, connection_id, provider_id }) => [cause, connection_id, provider_id]),
      [['grade_too_low', undefined, undefined]],
      'the answer names no account',
    )
    assert.equal(
      (await ask(token, multiply(held, parseDecimal('2.1')))).data.holds,
      false,
      'even two accounts have less',
    )
  })

  it('is in one connection where the exchange names the account of a key', async () => {
    const { access_token: token } = await api.signIn('ben')
    const account = await mint('bitfinex', 'default')
    const first = await connect(token, 'bitfinex', account)
    const { added, connection_id } = await add(token, 'bitfinex', await mintKey(account))
    assert.deepEqual([added, connection_id], [false, first])
  })

  it('counts once in two accounts of an exchange that lets coins move between them unseen', async () => {
    const { access_token: token } = await api.signIn('sue')
    const ids: string[] = []
    for (let account = 0; account < 2; account += 1) {
      ids.push(await connect(token, 'bitfinex', await mint('bitfinex', 'default')))
    }
    const accounts = await db.rows<{ by: string }>(
      'select distinct fingerprint_of as by, account_fingerprint from connections where id = any($1)',
      [ids],
    )
    assert.deepEqual(
      accounts.map(({ by }) => by),
      ['account', 'account'],
    )
    const held = await findHeld(ids[0] ?? '')
    assert.equal((await ask(token, held)).data.holds, true)
    const twice = await ask(token, multiply(held, two))
    assert.deepEqual([twice.data.holds, twice.data.statement, twice.data.grade], [null, null, 'unprovable'])
    assert.equal((await ask(token, multiply(held, parseDecimal('2.1')))).data.holds, false)
  })

  it('counts once when it was moved on to the next account after each was read, and its key deleted', async () => {
    const { access_token: token } = await api.signIn('eve')
    const book = (account: Minted, type: string, amount: string): Promise<unknown> =>
      control(`accounts/${account.account_id}/entries`, { entries: [{ type, asset: 'XXBT', amount }] })
    const first = await mint('kraken', 'empty')
    await book(first, 'deposit', '1')
    const firstId = await connect(token, 'kraken', first)
    const { readAt } = await db.row<{ readAt: string }>(
      'select proof_balances_at as "readAt" from connections where id = $1',
      [firstId],
    )
    await api.moveClock(600)
    await control(`accounts/${first.account_id}/key`, { revoked: true })
    await book(first, 'withdrawal', '-1')
    const second = await mint('kraken', 'empty')
    await book(second, 'deposit', '1')
    await connect(token, 'kraken', second)
    await api.call('POST', refreshAssets.path, token)
    await until(
      async () => db.maybeRow(`select from connections where id = $1 and status = 'needs_reauth'`, [firstId]),
      (row) => row !== undefined,
    )
    const both = await ask(token, two)
    assert.deepEqual([both.data.holds, both.data.as_of], [false, readAt])
    const one = await ask(token, parseDecimal('1'))
    assert.equal(one.data.holds, true)
    assert.equal(decodeJwt(one.data.statement ?? '')['as_of'], readAt)
  })

  it('does not count when its account was not read for a day', async () => {
    const owner = await api.signIn('joe')
    const account = await mint('kraken', 'empty')
    await control(`accounts/${account.account_id}/entries`, {
      entries: [{ type: 'deposit', asset: 'XXBT', amount: '1' }],
    })
    await connect(owner.access_token, 'kraken', account)
    assert.equal((await ask(owner.access_token, parseDecimal('1'))).data.holds, true)
    await control(`accounts/${account.account_id}/key`, { revoked: true })
    await api.moveClock(86_400 + 600)
    const { access_token: token } = await api.signIn('joe')
    const { data, errors } = await ask(token, parseDecimal('1'))
    assert.deepEqual([data.holds, data.statement, data.grade], [null, null, 'unprovable'])
    assert.deepEqual(
      errors.map(({ cause }) => cause),
      ['grade_too_low'],
    )
  })
})
