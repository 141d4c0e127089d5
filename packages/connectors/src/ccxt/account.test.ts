/** Rights of keys, from documented answers; and keys that cannot work, before anything is sent. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SourceError } from '@assay/core'
import type { Io } from '../kit/connector.ts'
import { fetchAccount } from './account.ts'
import { ccxtDefinitions } from './catalogue/definitions.ts'
import type { CcxtClient } from './client.ts'
import { createCcxtConnector } from './connector.ts'

/** Answers one endpoint, and has an empty balance. */
function answering(answer: unknown, byEndpoint: Record<string, unknown> = {}): CcxtClient {
  const client: Pick<CcxtClient, 'ask' | 'balances'> = {
    ask: async (endpoint) => (Object.hasOwn(byEndpoint, endpoint) ? byEndpoint[endpoint] : answer),
    balances: async () => [{ total: {} }],
  }
  return client as CcxtClient
}

describe('the rights of a key', () => {
  it('Bybit: readOnly is 1 for a key that can only read (docs v5, user/apikey-info)', async () => {
    const result = { userID: 24617703, readOnly: 1, expiredAt: '2026-12-01T00:00:00Z' }
    const account = await fetchAccount(answering({ result }), 'bybit', 'k')
    assert.deepEqual([account.excess, account.keyExpiresAtMs], [[], Date.UTC(2026, 11, 1)])
    const other = await fetchAccount(answering({ result: { ...result, readOnly: 0 } }), 'bybit', 'another key')
    assert.deepEqual(other.excess, ['Read-Write'])
    assert.equal(other.fingerprint, account.fingerprint)
  })

  it('OKX: perm names the rights (docs v5, account/config)', async () => {
    const read = async (perm: string) => fetchAccount(answering({ data: [{ perm, uid: '1' }] }), 'okx', 'k')
    assert.deepEqual((await read('read_only')).excess, [])
    assert.deepEqual((await read('read_only,trade,withdraw')).excess, ['trade', 'withdraw'])
    assert.deepEqual((await read('trade')).missing, ['read_only'])
  })

  it('Bitfinex: rows of scope, read and write (key-permissions)', async () => {
    const rows = [
      ['account', 1, 0],
      ['history', 1, 0],
      ['orders', 1, 1],
      ['wallets', 0, 0],
    ]
    const account = await fetchAccount(answering(rows, { privatePostAuthRInfoUser: [1234567] }), 'bitfinex', 'k')
    assert.deepEqual([account.excess, account.missing], [['orders: write'], ['wallets: read']])
  })

  it('an unknown right is excessive', async () => {
    const account = await fetchAccount(answering({ data: { permission: 'General,Teleport', uid: 1 } }), 'kucoin', 'k')
    assert.deepEqual(account.excess, ['Teleport'])
  })

  it('a response without rights is not mistaken for a key without rights', async () => {
    for (const answer of [{}, { data: [] }, 'x']) {
      await assert.rejects(fetchAccount(answering(answer), 'okx', 'k'), { fault: 'unreadable_answer' })
    }
  })

  it('a response without the flag is not mistaken for a key that can trade', async () => {
    for (const result of [
      undefined,
      null,
      {},
      { userID: 1 },
      { userID: 1, readOnly: null },
      { userID: 1, readOnly: 2 },
    ]) {
      await assert.rejects(fetchAccount(answering({ result }), 'bybit', 'k'), { fault: 'unreadable_answer' })
    }
  })

  it('a response without the account’s number is not mistaken for another account', async () => {
    for (const [id, answer] of Object.entries({
      bybit: { result: { readOnly: 1 } },
      okx: { data: [{ perm: 'read_only' }] },
      kucoin: { data: { permission: 'General' } },
    })) {
      await assert.rejects(fetchAccount(answering(answer), id, 'k'), { fault: 'unreadable_answer' })
    }
  })

  it('an exchange that does not report rights is tried, and each of its keys counts as an account', async () => {
    const [first, second] = await Promise.all(['k1', 'k2'].map((key) => fetchAccount(answering({}), 'gate', key)))
    assert.deepEqual(first?.excess, [])
    assert.notEqual(first?.fingerprint, second?.fingerprint)
  })
})

describe('the fingerprint of an account', () => {
  const ofOkx = { data: [{ perm: 'read_only', uid: '44705892343619584' }] }

  it('says whether the exchange told which account it is', async () => {
    const sources = await Promise.all([
      fetchAccount(answering(ofOkx), 'okx', 'k'),
      fetchAccount(answering({}), 'gate', 'k'),
    ])
    assert.deepEqual(
      sources.map(({ fingerprintOf }) => fingerprintOf),
      ['account', 'key'],
    )
  })

  it('is the same in each region and brand of an exchange, and differs between exchanges', async () => {
    const [okx, ...regions] = await Promise.all(
      ['okx', 'myokx', 'okxus'].map((id) => fetchAccount(answering(ofOkx), id, 'k')),
    )
    const [gate, europe, other] = await Promise.all(
      ['gate', 'gateeu', 'mexc'].map((id) => fetchAccount(answering({}), id, 'k')),
    )
    assert.equal(new Set([okx, ...regions].map((one) => one?.fingerprint)).size, 1)
    assert.equal(europe?.fingerprint, gate?.fingerprint)
    assert.notEqual(other?.fingerprint, gate?.fingerprint)
    const shared = ['myokx', 'gateeu', 'mexc'].map(
      (id) => ccxtDefinitions.find(({ metadata }) => metadata.provider_id === id)?.accountsOf,
    )
    assert.deepEqual(shared, ['okx', 'gate', undefined])
  })

  it('Bitfinex: is that of the account where the key may read its number (rest-auth-info-user)', async () => {
    const rights = (mayReadAccount: number) => [
      ['account', mayReadAccount, 0],
      ['history', 1, 0],
      ['wallets', 1, 0],
    ]
    const verify = (key: string, mayReadAccount: number, info: unknown = [1234567, 'ann@example.com']) =>
      fetchAccount(answering(rights(mayReadAccount), { privatePostAuthRInfoUser: info }), 'bitfinex', key)
    const first = await verify('k1', 1)
    assert.equal(first.fingerprintOf, 'account')
    assert.equal((await verify('k2', 1)).fingerprint, first.fingerprint)
    assert.notEqual((await verify('k1', 1, [7654321])).fingerprint, first.fingerprint)
    const [blind, another] = [await verify('k1', 0, undefined), await verify('k2', 0, undefined)]
    assert.deepEqual([blind.fingerprintOf, blind.missing], ['key', []], 'the right is not required')
    assert.notEqual(another.fingerprint, blind.fingerprint)
    await assert.rejects(verify('k1', 1, []), { fault: 'unreadable_answer' })
  })
})

describe('keys that cannot work', () => {
  const io: Io = {
    fetch: async () => Promise.reject(new Error('nothing may be sent')),
    now: () => 0,
    nextNonce: () => '1',
    baseUrl: undefined,
  }

  it('are refused before anything is sent, and are not quoted', async () => {
    for (const [apiKey, secretKey] of [
      ['hunter2\n', 's'],
      ['hünter2', 's'],
      ['k', 'hunter2\u0000'],
    ] as const) {
      const reader = createCcxtConnector('gate').open({ type: 'api_key', apiKey, secretKey }, io)
      await assert.rejects(reader.verify(), (error: SourceError) => {
        assert.equal(error.fault, 'invalid_credentials')
        assert.doesNotMatch(error.message, /h.nter2/)
        return true
      })
    }
  })

  it('a connection type that the exchange does not have is a bug', () => {
    const wallet = { type: 'wallet', address: '0x1' } as const
    assert.throws(() => createCcxtConnector('gate').open(wallet, io), TypeError)
    const key = { type: 'api_key', apiKey: 'k', secretKey: 's' } as const
    assert.throws(() => createCcxtConnector('hyperliquid').open(key, io), TypeError)
  })
})
