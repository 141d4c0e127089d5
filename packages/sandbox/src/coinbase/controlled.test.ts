import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openKey, startCoinbase, type KeyClient, type TestClock } from '../testing/coinbase-client.ts'
import { control } from '../testing/kraken-client.ts'

interface Transaction {
  id: string
  type: string
  status: string
  amount: { amount: string; currency: string }
  created_at: string
  network?: { hash?: string }
  to?: { address: string }
  trade?: { id: string }
}
interface Wallet {
  id: string
  name: string
  balance: { amount: string }
}

let sandbox: Sandbox
let clock: TestClock
before(async () => {
  ;({ sandbox, clock } = await startCoinbase())
})
after(() => sandbox.close())

const open = (scenario: string, account: string): Promise<KeyClient> => openKey({ sandbox, clock }, scenario, account)

const post = (client: KeyClient, path: string, body: object): Promise<unknown> =>
  control(sandbox, 'POST', `accounts/${client.accountId}/${path}`, body)

async function walletOf(client: KeyClient, name: string): Promise<Wallet> {
  const wallet = (await client.readAll<Wallet>('/v2/accounts?limit=100')).find((one) => one.name === name)
  assert.ok(wallet, name)
  return wallet
}

async function listOf(client: KeyClient, name: string): Promise<Transaction[]> {
  const { id } = await walletOf(client, name)
  return client.readAll<Transaction>(`/v2/accounts/${id}/transactions?limit=100`)
}

/** Whole steps of 10^-24. */
function steps(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(24, '0'))
}

describe('the control API of Coinbase', () => {
  it('books a row late: it appears at its own time, and the balance follows', async () => {
    const client = await open('default', 'late')
    const before = await listOf(client, 'EUR Wallet')
    const { balance } = await walletOf(client, 'EUR Wallet')
    const time = '2022-03-03T10:00:00Z'
    const { ids } = (await post(client, 'entries', {
      entries: [{ type: 'fiat_deposit', asset: 'EUR', amount: '12.34', time }],
    })) as { ids: string[] }
    const now = await listOf(client, 'EUR Wallet')
    assert.equal(now.find(({ id }) => id === ids[0])?.created_at, time)
    assert.deepEqual(
      now.filter(({ id }) => id !== ids[0]),
      before,
    )
    const after = (await walletOf(client, 'EUR Wallet')).balance.amount
    assert.equal(steps(after) - steps(balance.amount), steps('12.34'))
  })

  it('accepts any type, code and digits; hash, address and fee go where Coinbase has them', async () => {
    const client = await open('empty', 'booked')
    const hash = `0x${'ab'.repeat(32)}`
    await post(client, 'entries', {
      entries: [
        { type: 'teleport', asset: 'DOT.Q', amount: '0.000000000000000001' },
        { type: 'deposit', asset: 'ETH', amount: '1000000000000000' },
      ],
    })
    await post(client, 'entries', {
      entries: [{ type: 'withdrawal', asset: 'ETH', amount: '-1', fee: '0.01', hash, address: '0x1' }],
    })
    const [teleported] = await listOf(client, 'DOT.Q Wallet')
    assert.deepEqual([teleported?.type, teleported?.amount.amount], ['teleport', '0.000000000000000001'])
    const [sent, received] = await listOf(client, 'ETH Wallet')
    assert.equal(received?.amount.amount, '1000000000000000.000000000000000000')
    assert.deepEqual(
      [sent?.type, sent?.amount.amount, sent?.network?.hash, sent?.to?.address],
      ['send', '-1.010000000000000000', hash, '0x1'],
    )
    assert.equal((await walletOf(client, 'ETH Wallet')).balance.amount, '999999999999998.990000000000000000')
    const tooMuch = { entries: [{ type: 'send', asset: 'DOT.Q', amount: '-1' }] }
    await assert.rejects(post(client, 'entries', tooMuch), /400.*would be -0\.999999999999999999/)
  })

  it('the legs of one call share a trade', async () => {
    const client = await open('default', 'legs')
    await post(client, 'entries', {
      entries: [
        { type: 'trade', asset: 'EUR', amount: '-10' },
        { type: 'trade', asset: 'XRP', amount: '20' },
      ],
    })
    const [given, taken] = [(await listOf(client, 'EUR Wallet'))[0], (await listOf(client, 'XRP Wallet'))[0]]
    assert.ok(given?.trade?.id !== undefined && given.trade.id === taken?.trade?.id)
  })

  it('withdraws records that were shown: they leave lists and balances, and a cursor on one keeps its place', async () => {
    const client = await open('default', 'withdrawn')
    const all = await listOf(client, 'USD Wallet')
    const { id: wallet } = await walletOf(client, 'USD Wallet')
    const [third, fourth] = [all[2], all[3]]
    assert.ok(third && fourth)
    assert.deepEqual(await post(client, 'withdrawn', { ids: [third.id] }), { withdrawn: [third.id] })
    assert.deepEqual(await listOf(client, 'USD Wallet'), all.toSpliced(2, 1))
    assert.equal((await client.get(`/v2/accounts/${wallet}/transactions/${third.id}`)).status, 404)
    const rest = await client.readAll<Transaction>(`/v2/accounts/${wallet}/transactions?starting_after=${third.id}`)
    assert.deepEqual(rest, all.slice(3))
    const { transactions } = (await control(sandbox, 'GET', `accounts/${client.accountId}/state`)) as {
      transactions: { id: string; withdrawn: boolean }[]
    }
    assert.deepEqual(
      transactions.filter(({ withdrawn }) => withdrawn).map(({ id }) => id),
      [third.id],
    )
    await assert.rejects(post(client, 'withdrawn', { ids: [fourth.id, 'nothing'] }), /400.*no transaction/)
    assert.deepEqual(await listOf(client, 'USD Wallet'), all.toSpliced(2, 1), 'all of them or none')
    await post(client, 'records', { id: third.id, withdrawn: false })
    assert.deepEqual(await listOf(client, 'USD Wallet'), all)
  })

  it('corrects a record under its own id: amount, status, type, time', async () => {
    const client = await open('default', 'corrected')
    const [pending] = await listOf(client, 'BTC Wallet')
    assert.equal(pending?.status, 'pending')
    const before = (await walletOf(client, 'BTC Wallet')).balance.amount
    await post(client, 'records', { id: pending.id, status: 'canceled' })
    const canceled = (await listOf(client, 'BTC Wallet')).find(({ id }) => id === pending.id)
    assert.equal(canceled?.status, 'canceled')
    assert.notEqual((await walletOf(client, 'BTC Wallet')).balance.amount, before)
    await post(client, 'records', {
      id: pending.id,
      status: 'completed',
      amount: '-0.01',
      time: '2026-10-29T00:00:00Z',
    })
    const corrected = (await listOf(client, 'BTC Wallet')).find(({ id }) => id === pending.id)
    assert.deepEqual(
      [corrected?.status, corrected?.amount.amount, corrected?.created_at],
      ['completed', '-0.01000000', '2026-10-29T00:00:00Z'],
    )
    for (const wrong of [{ status: 'gone' }, { amount: '-99999' }, { amount: 'x' }]) {
      await assert.rejects(post(client, 'records', { id: pending.id, ...wrong }), /400/)
    }
    await assert.rejects(post(client, 'records', { id: 'nothing', amount: '1' }), /404/)
  })

  it('repeats rows, and books one between two pages of any wallet, on request', async () => {
    const client = await open('default', 'faults')
    const fault = { account_id: client.accountId, times: 2 }
    const before = await listOf(client, 'EUR Wallet')
    await control(sandbox, 'POST', 'providers/coinbase/faults', {
      ...fault,
      kind: 'duplicate_rows',
      rows: 2,
      endpoint: 'transactions',
    })
    const repeated = await listOf(client, 'EUR Wallet')
    assert.equal(repeated.length - before.length, 2)
    assert.equal(new Set(repeated.map(({ id }) => id)).size, before.length)
    await control(sandbox, 'DELETE', 'providers/coinbase/faults')
    await control(sandbox, 'POST', 'providers/coinbase/faults', {
      ...fault,
      kind: 'shifting_page',
      times: 1,
      endpoint: 'transactions',
    })
    assert.deepEqual(await listOf(client, 'EUR Wallet'), before, 'a cursor is an id, not a distance')
    assert.equal((await listOf(client, 'EUR Wallet')).length, before.length + 1)
  })

  it('counts calls without their tokens', async () => {
    const client = await open('default', 'counted')
    await client.read('/v2/user')
    const { requests } = (await control(sandbox, 'GET', `log?account_id=${client.accountId}`)) as { requests: object[] }
    const line = {
      provider_id: 'coinbase',
      account_id: client.accountId,
      endpoint: '/v2/user',
      status: 200,
      error: null,
    }
    assert.deepEqual(requests, [{ ...line, count: 1 }])
  })
})

describe('the state that the control API returns', () => {
  it('has every transaction of every wallet as on the wire', async () => {
    const client = await open('default', 'state')
    const state = (await control(sandbox, 'GET', `accounts/${client.accountId}/state`)) as {
      wallets: Wallet[]
      transactions: (Transaction & { account_id: string })[]
    }
    const wallets = await client.readAll<Wallet>('/v2/accounts?limit=100')
    assert.deepEqual(new Map(state.wallets.map((one) => [one.id, one])), new Map(wallets.map((one) => [one.id, one])))
    for (const { id } of wallets) {
      const told = state.transactions.filter((one) => one.account_id === id)
      const listed = await client.readAll<Transaction>(`/v2/accounts/${id}/transactions?limit=100&order=asc`)
      const own = { account_id: id, withdrawn: false }
      assert.deepEqual(
        told.map((one) => ({ ...one, charged: '', echo: false })),
        listed.map((one) => ({ ...one, ...own, charged: '', echo: false })),
      )
    }
  })
})
