import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openWallet, startBitcoin } from '../../testing/bitcoin-client.ts'
import { fromKraken } from './savings.ts'

for (const seed of ['test', 'another']) {
  it(`what Kraken withdrew is on the chain under its hash and address, with the seed ${JSON.stringify(seed)}`, async (t) => {
    const sandbox = await startBitcoin({ seed })
    t.after(() => sandbox.close())
    const first = await openWallet(sandbox, 'savings', 'first')
    const second = await openWallet(sandbox, 'savings', 'second')
    const { transactions, wallet } = await first.state()
    assert.deepEqual((await second.state()).wallet, wallet, 'every account is the same wallet')
    for (const { amount, hash, address } of fromKraken) {
      const found = transactions.find(({ txid }) => txid === hash)
      assert.equal(found?.net_sat, String(Math.round(Number(amount) * 1e8)), hash)
      const { vout } = await first.json<{ vout: { scriptpubkey_address?: string }[] }>(`/tx/${hash}`)
      assert.ok(vout.some((output) => output.scriptpubkey_address === address))
    }
  })
}
