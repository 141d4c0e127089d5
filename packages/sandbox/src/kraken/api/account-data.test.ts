import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { control, openAccount, startTestSandbox } from '../../testing/kraken-client.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startTestSandbox()
})
after(() => sandbox.close())

describe('GetApiKeyInfo', () => {
  it('has the documented fields, and an account number that is the same for every call and no other account', async () => {
    const account = await openAccount(sandbox, 'default')
    const info = (await account.ask('GetApiKeyInfo')).result as Record<string, unknown>
    const fields =
      'apiKeyName apiKey nonce nonceWindow permissions iban validUntil queryFrom queryTo createdTime modifiedTime ipAllowlist lastUsed'
    assert.deepEqual(Object.keys(info), fields.split(' '))
    assert.equal(info['apiKey'], account.apiKey)
    assert.match(String(info['nonce']), /^\d+$/)
    assert.match(String(info['iban']), /^AA\d\d N84G [A-Z2-7]{4} [A-Z2-7]{4}$/)
    const again = (await account.ask('GetApiKeyInfo')).result as Record<string, unknown>
    assert.equal(again['iban'], info['iban'])
    for (const [scenario, name] of [
      ['default', 'olaf'],
      ['empty', 'nora'],
    ] as const) {
      const other = await openAccount(sandbox, scenario, name)
      assert.notEqual(((await other.ask('GetApiKeyInfo')).result as Record<string, unknown>)['iban'], info['iban'])
    }
  })

  it('shows the rights of the scenario can_trade', async () => {
    const account = await openAccount(sandbox, 'can_trade')
    const { permissions } = (await account.ask('GetApiKeyInfo')).result as { permissions: string[] }
    assert.ok(permissions.includes('modify-trades') && permissions.includes('withdraw-funds'))
  })

  it('reports until when a key is valid; from then on the key is unknown', async () => {
    const account = await openAccount(sandbox, 'empty', 'short-lived')
    const end = async (validUntil: string): Promise<unknown> =>
      control(sandbox, 'POST', `accounts/${account.accountId}/key`, { valid_until: validUntil })
    await end('2026-12-01T00:00:00Z')
    const { validUntil } = (await account.ask('GetApiKeyInfo')).result as { validUntil: string }
    assert.equal(validUntil, String(Date.UTC(2026, 11, 1) / 1000))
    await end('2026-11-01T00:00:00Z')
    assert.deepEqual((await account.ask('GetApiKeyInfo')).error, ['EAPI:Invalid key'])
  })
})

describe('Balance', () => {
  it('lists every code ever held, staked and earning ones too, as BalanceEx does', async () => {
    const account = await openAccount(sandbox, 'odd')
    const balance = (await account.ask('Balance')).result as Record<string, string>
    for (const code of ['XXBT', 'ZEUR', 'DOT.S', 'DOT.P', 'DOT.B', 'USDC.F', 'XBT.M', 'KFEE', 'ZQNT'])
      assert.ok(code in balance, code)
    const extended = (await account.ask('BalanceEx')).result as Record<string, { balance: string; hold_trade: string }>
    assert.deepEqual(Object.fromEntries(Object.entries(extended).map(([code, row]) => [code, row.balance])), balance)
    assert.equal(balance['ZQNT'], '123456789012.123456789012345679')
  })

  it('is empty for an empty account', async () => {
    assert.deepEqual((await (await openAccount(sandbox, 'empty')).ask('Balance')).result, {})
  })
})

describe('Earn/Allocations', () => {
  it('repeats the coins of the balance codes and adds no others', async () => {
    const account = await openAccount(sandbox, 'default')
    const balance = (await account.ask('Balance')).result as Record<string, string>
    const { items } = (await account.ask('Earn/Allocations')).result as {
      items: { native_asset: string; amount_allocated: { total: { native: string } } }[]
    }
    const byAsset = Object.fromEntries(items.map((item) => [item.native_asset, item.amount_allocated.total.native]))
    const { 'DOT.B': DOT, 'ETH.B': ETH, 'SOL.B': SOL, 'USDC.F': USDC, 'XBT.M': XBT } = balance
    assert.deepEqual(byAsset, { DOT, ETH, SOL, USDC, XBT })
    const state = (await control(sandbox, 'GET', `accounts/${account.accountId}/state`)) as {
      earn_allocations: { asset: string; rewarded: string }[]
    }
    assert.equal(state.earn_allocations.length, items.length)
    assert.ok(state.earn_allocations.every((allocation) => allocation.rewarded !== '0'))
  })
})
