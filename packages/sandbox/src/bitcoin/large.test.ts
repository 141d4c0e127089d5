import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openWallet, startBitcoin, type TestWallet, type WalletState } from '../testing/bitcoin-client.ts'

let sandbox: Sandbox
let wallet: TestWallet
let state: WalletState
before(async () => {
  sandbox = await startBitcoin({ pace: 'real' })
  wallet = await openWallet(sandbox, 'large')
  state = await wallet.state()
})
after(() => sandbox.close())

describe('the scenario large', () => {
  it('has 2,000 transactions over 500 addresses, and the sums agree', () => {
    assert.equal(state.transactions.length, 2_000)
    assert.equal(state.addresses.filter(({ tx_count: count }) => count > 0).length, 500)
    const sum = state.transactions.reduce((all, { net_sat: net }) => all + BigInt(net), 0n)
    assert.equal(sum, BigInt(state.balance_sat.total))
    assert.ok(state.transactions.every(({ confirmed }) => confirmed))
  })

  it('has no call limit', async () => {
    const own = state.addresses.slice(0, 300)
    const answers = await Promise.all(own.map(({ address }) => wallet.get(`/address/${address}`)))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  })
})
