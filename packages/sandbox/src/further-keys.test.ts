import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from './index.ts'
import { openBinanceAccount, send as sendToBinance } from './testing/binance-client.ts'
import { control, openAccount, send, startTestSandbox, type KrakenBody } from './testing/kraken-client.ts'

interface Minted {
  account_id: string
  credentials: Record<string, string>
}

interface KeyInfo {
  apiKey: string
  iban: string
}

describe('a further key of an account', () => {
  let directory = ''
  let keysFile = ''
  let sandbox: Sandbox
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    keysFile = path.join(directory, 'data', 'keys')
    sandbox = await startTestSandbox({ keysFile })
  })
  after(async () => {
    await sandbox.close()
    await rm(directory, { recursive: true })
  })

  let nonce = 1_000_000
  const askFrom = async (of: Sandbox, key: Record<string, string>, method: string): Promise<KrakenBody> => {
    const { api_key: apiKey = '', secret_key: secret = '' } = key
    nonce += 1
    return (await (await send(of, { apiKey, secret }, method, { nonce: String(nonce) })).json()) as KrakenBody
  }
  const addKey = (accountId: string, key: string): Promise<Minted> =>
    control(sandbox, 'POST', `accounts/${accountId}/keys`, { key }) as Promise<Minted>

  it('opens the same account: its number, its records, and what is booked afterwards', async () => {
    const first = await openAccount(sandbox, 'default', 'two keys')
    const { account_id, credentials } = await addKey(first.accountId, 'second')
    assert.equal(account_id, first.accountId)
    assert.notEqual(credentials['api_key'], first.apiKey)
    const old = (await first.ask('GetApiKeyInfo')).result as KeyInfo
    const next = (await askFrom(sandbox, credentials, 'GetApiKeyInfo')).result as KeyInfo
    assert.equal(next.iban, old.iban)
    assert.deepEqual([old.apiKey, next.apiKey], [first.apiKey, credentials['api_key']])

    const entries = [{ type: 'deposit', asset: 'ZUSD', amount: '12.5' }]
    await control(sandbox, 'POST', `accounts/${first.accountId}/entries`, { entries })
    const balance = await first.ask('Balance')
    assert.deepEqual(await askFrom(sandbox, credentials, 'Balance'), balance)
    assert.deepEqual((await addKey(first.accountId, 'second')).credentials, credentials, 'the same text, the same key')
  })

  it('opens the same account at Binance, too', async () => {
    const first = await openBinanceAccount(sandbox, 'default')
    const { credentials } = await addKey(first.accountId, 'second')
    const { api_key: apiKey = '', secret_key: secret = '' } = credentials
    const old = await first.ask<{ uid: number }>('/api/v3/account')
    const { serverTime } = (await (await fetch(`${sandbox.urls.binance}/api/v3/time`)).json()) as { serverTime: number }
    const parameters = { timestamp: serverTime, recvWindow: 60_000 }
    const answer = await sendToBinance(sandbox, { apiKey, secret }, '/api/v3/account', parameters)
    assert.equal(((await answer.json()) as typeof old).uid, old.uid)
  })

  it('works after the keys before it were revoked', async () => {
    const first = await openAccount(sandbox, 'default', 'revoked')
    await control(sandbox, 'POST', `accounts/${first.accountId}/key`, { revoked: true })
    const { credentials } = await addKey(first.accountId, 'after')
    assert.deepEqual((await first.ask('Balance')).error, ['EAPI:Invalid key'])
    assert.deepEqual((await askFrom(sandbox, credentials, 'Balance')).error, [])
  })

  it('is listed with its account, the newest first, and known to the next process with the same list', async () => {
    const first = await openAccount(sandbox, 'default', 'lasting')
    const { credentials } = await addKey(first.accountId, 'lasting too')
    const listed = (await control(sandbox, 'GET', 'keys?provider_id=kraken')) as { keys: object[] }
    assert.deepEqual(listed.keys.slice(0, 2), [
      { account_id: first.accountId, api_key: credentials['api_key'], secret_key: credentials['secret_key'] },
      { account_id: first.accountId, api_key: first.apiKey, secret_key: first.secret },
    ])
    const [next, forgetful] = [await startTestSandbox({ keysFile }), await startTestSandbox()]
    try {
      const ibanOf = async (of: Sandbox): Promise<string> =>
        ((await askFrom(of, credentials, 'GetApiKeyInfo')).result as KeyInfo).iban
      assert.equal(await ibanOf(next), await ibanOf(sandbox))
      assert.notEqual(await ibanOf(forgetful), await ibanOf(sandbox))
      assert.deepEqual(await control(next, 'GET', 'keys?provider_id=kraken'), listed)
    } finally {
      await Promise.all([next.close(), forgetful.close()])
    }
  })

  it('does not exist for a wallet, nor for an account that does not', async () => {
    const wallet = { provider_id: 'bitcoin', scenario: 'default', account: 'ann' }
    const { account_id: accountId } = (await control(sandbox, 'POST', 'accounts', wallet)) as Minted
    await assert.rejects(addKey(accountId, 'x'), /404: .*bitcoin have no keys/)
    await assert.rejects(addKey('kraken.default.0', 'x'), /404/)
  })
})
