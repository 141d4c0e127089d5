import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import {
  openWallet,
  startBitcoin,
  type EsploraTransaction,
  type TestWallet,
  type WalletState,
} from '../testing/bitcoin-client.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startBitcoin()
})
after(() => sandbox.close())

async function book(wallet: TestWallet, entry: object): Promise<string> {
  const { ids } = (await wallet.change('entries', { entries: [{ asset: 'BTC', ...entry }] })) as { ids: string[] }
  return ids[0] ?? ''
}

function find(state: WalletState, txid: string): WalletState['transactions'][number] | undefined {
  return state.transactions.find((transaction) => transaction.txid === txid)
}

async function assertLaw(wallet: TestWallet): Promise<void> {
  const { balance_sat: balance, transactions, utxos } = await wallet.state()
  assert.equal(
    transactions.reduce((sum, { net_sat: net }) => sum + BigInt(net), 0n),
    BigInt(balance.total),
  )
  assert.equal(
    utxos.reduce((sum, { value_sat: value }) => sum + BigInt(value), 0n),
    BigInt(balance.total),
  )
}

describe('entries of a wallet', () => {
  it('book a payment of that amount in the block of that time, to the next address or the given one', async () => {
    const wallet = await openWallet(sandbox, 'empty', 'deposits')
    const txid = await book(wallet, { type: 'receive', amount: '0.01234567', time: '2026-03-04T05:06:07.890Z' })
    const { vout, status } = await wallet.json<EsploraTransaction>(`/tx/${txid}`)
    assert.ok(vout.some(({ value }) => value === 1_234_567))
    const sinceS = (status.block_time ?? 0) - Date.parse('2026-03-04T05:06:07Z') / 1_000
    assert.ok(status.confirmed && sinceS >= 0 && sinceS < 1_200, String(sinceS))
    const { addresses } = await wallet.state()
    const [first] = addresses
    assert.deepEqual([first?.path, first?.balance_sat], ["m/84'/0'/0'/0/0", '1234567'])
    await book(wallet, { type: 'receive', amount: '1', address: first?.address })
    await book(wallet, { type: 'receive', amount: '0.5' })
    const held = (await wallet.state()).addresses.map(
      ({ chain, index, balance_sat: sat }) => `${chain} ${index} ${sat}`,
    )
    assert.deepEqual(held, ['receive 0 101234567', 'receive 1 50000000', 'change 0 0'])
    await assertLaw(wallet)
  })

  it('book a payment by the wallet, with change and a fee, to the given address', async () => {
    const wallet = await openWallet(sandbox, 'empty', 'payments')
    await book(wallet, { type: 'receive', amount: '0.1', time: '2026-03-04T05:06:07Z' })
    const address = '1BoatSLRHtKNngkdXEeobR76b53LETtpyT'
    const txid = await book(wallet, { type: 'send', amount: '-0.04', address })
    const sent = find(await wallet.state(), txid)
    assert.deepEqual([sent?.kind, sent?.sent_to], ['send', [{ address, value_sat: '4000000' }]])
    const fee = BigInt(sent?.fee_paid_sat ?? 0)
    assert.ok(fee > 0n)
    assert.equal(BigInt(sent?.net_sat ?? 0), -4_000_000n - fee)
    assert.equal((await wallet.state()).balance_sat.confirmed, String(6_000_000n - fee))
    await assertLaw(wallet)
  })

  it('are all booked or none', async () => {
    const wallet = await openWallet(sandbox, 'empty', 'none')
    const good = { type: 'receive', asset: 'BTC', amount: '0.1' }
    const before = await wallet.state()
    for (const bad of [
      { ...good, asset: 'ETH' },
      { ...good, amount: '-0.1' },
      { ...good, amount: '0.123456789' },
      { ...good, type: 'send', amount: '0.01' },
      { ...good, type: 'send', amount: '-5' },
      { ...good, type: 'stake' },
      { ...good, address: '1BoatSLRHtKNngkdXEeobR76b53LETtpyT' },
      { ...good, type: 'send', amount: '-0.01', address: 'nonsense' },
      { ...good, fee: '0.0001' },
      { ...good, hash: 'ab' },
      { ...good, subtype: 'instant' },
      { ...good, time: '2027-01-01T00:00:00Z' },
      { ...good, time: '2024-10-01T06:00:00Z' },
    ]) {
      await assert.rejects(wallet.change('entries', { entries: [good, bad] }), /^Error: 400: /, JSON.stringify(bad))
    }
    await assert.rejects(wallet.change('entries', { entries: [good], refid: 'x' }), /400/)
    assert.deepEqual({ ...(await wallet.state()), tip: before.tip }, before)
  })

  it('stay in the mempool on request, until they are confirmed', async () => {
    const wallet = await openWallet(sandbox, 'empty', 'waiting')
    const first = await book(wallet, { type: 'receive', amount: '0.02', subtype: 'unconfirmed' })
    const second = await book(wallet, { type: 'send', amount: '-0.01', subtype: 'unconfirmed' })
    assert.deepEqual(await wallet.json(`/tx/${second}/status`), { confirmed: false })
    const { balance_sat: waiting } = await wallet.state()
    assert.deepEqual([waiting.confirmed, waiting.unconfirmed], ['0', waiting.total])
    const { height } = (await wallet.state()).tip
    await wallet.change('records', { id: second, status: 'confirmed' })
    const state = await wallet.state()
    assert.equal(state.tip.height, height + 1)
    const heights = [first, second].map((txid) => find(state, txid)?.block_height)
    assert.deepEqual(heights, [height + 1, height + 1], 'what it spends from is confirmed with it')
    assert.deepEqual([state.balance_sat.confirmed, state.balance_sat.unconfirmed], [waiting.total, '0'])
    await assert.rejects(wallet.change('records', { id: second, status: 'confirmed' }), /confirmed already/)
  })
})

describe('records of a wallet', () => {
  it('vanish from the mempool, with what spends from them', async () => {
    const wallet = await openWallet(sandbox, 'unconfirmed', 'dropped')
    const { transactions } = await wallet.state()
    const [, , parent, child, incoming] = transactions
    const { withdrawn } = (await wallet.change('withdrawn', { ids: [parent?.txid] })) as { withdrawn: string[] }
    assert.deepEqual(withdrawn, [child?.txid, parent?.txid])
    assert.equal((await wallet.get(`/tx/${parent?.txid}`)).status, 404)
    const after = await wallet.state()
    assert.deepEqual(after.balance_sat, { confirmed: '5000000', unconfirmed: '250000', total: '5250000' })
    assert.deepEqual(after.transactions.map(({ txid }) => txid).at(-1), incoming?.txid)
    await assertLaw(wallet)
  })

  it('go back into the mempool when their block is replaced, and the chain names other hashes from there on', async () => {
    const wallet = await openWallet(sandbox, 'empty', 'reorganised')
    const kept = await book(wallet, { type: 'receive', amount: '0.7' })
    const txid = await book(wallet, { type: 'receive', amount: '0.3' })
    const before = await wallet.state()
    const { block_height: height = 0, block_hash: hash } = find(before, txid) ?? {}
    const below = await wallet.text(`/block-height/${height - 1}`)
    assert.deepEqual(await wallet.change('records', { id: txid, status: 'unconfirmed' }), { unconfirmed: [txid] })
    const after = await wallet.state()
    assert.equal(find(after, txid)?.confirmed, false)
    assert.equal(find(after, kept)?.confirmed, true)
    assert.equal(after.tip.height, before.tip.height + 1, 'the longer branch has won')
    assert.equal(await wallet.text(`/block-height/${height - 1}`), below)
    const replaced = await wallet.text(`/block-height/${height}`)
    assert.notEqual(replaced, hash)
    assert.deepEqual(await wallet.json(`/block/${hash}/status`), { in_best_chain: false })
    const [stale, fresh] = await Promise.all(
      [hash, replaced].map((id) => wallet.json<Record<string, unknown>>(`/block/${id}`)),
    )
    assert.deepEqual([stale?.['id'], stale?.['height']], [hash, height], 'a replaced block can still be read')
    assert.equal(fresh?.['previousblockhash'], below)
    assert.deepEqual([after.balance_sat.confirmed, after.balance_sat.unconfirmed], ['70000000', '30000000'])
    await wallet.change('records', { id: txid, status: 'confirmed' })
    assert.equal(find(await wallet.state(), txid)?.block_height, after.tip.height + 1)
  })

  it('vanish with a block that is replaced, down to a hundred blocks', async () => {
    const wallet = await openWallet(sandbox, 'empty', 'vanished')
    const kept = await book(wallet, { type: 'receive', amount: '0.2' })
    const txid = await book(wallet, { type: 'receive', amount: '0.1' })
    for (let block = 0; block < 99; block += 1) sandbox.controls.bitcoin.mine()
    assert.deepEqual(await wallet.change('records', { id: txid, withdrawn: true }), { withdrawn: [txid] })
    const state = await wallet.state()
    assert.deepEqual([find(state, txid), state.balances.BTC], [undefined, '0.2'])
    await assert.rejects(wallet.change('withdrawn', { ids: [kept] }), /blocks deep/)
    await assert.rejects(wallet.change('records', { id: kept, status: 'unconfirmed' }), /blocks deep/)
    assert.equal((await wallet.state()).balances.BTC, '0.2')
  })

  it('belong to their wallet, and cannot be changed', async () => {
    const wallet = await openWallet(sandbox, 'empty', 'mine')
    const other = await openWallet(sandbox, 'empty', 'theirs')
    const txid = await book(wallet, { type: 'receive', amount: '0.1' })
    await assert.rejects(other.change('records', { id: txid, withdrawn: true }), /no transaction/)
    await assert.rejects(other.change('withdrawn', { ids: [txid] }), /no transaction/)
    await assert.rejects(wallet.change('records', { id: txid, amount: '1' }), /cannot be changed/)
    await assert.rejects(wallet.change('records', { id: txid, status: 'failed' }), /400/)
    await assert.rejects(wallet.change('key', { revoked: true }), /a wallet has no key/)
  })
})

describe('the controls of Bitcoin', () => {
  it('return exactly what the wallet shows over the wire', async () => {
    const wallet = await openWallet(sandbox, 'unconfirmed', 'reading')
    const { balances, records } = sandbox.controls.bitcoin.readAccount(wallet.accountId)
    const state = await wallet.state()
    assert.deepEqual(balances, state.balances)
    assert.deepEqual(
      records['txs']?.map(({ id }) => id),
      state.transactions.map(({ txid }) => txid),
    )
    for (const { id, body } of records['txs'] ?? []) assert.deepEqual(body, await wallet.json(`/tx/${id}`))
  })

  it('add a late payment, drop one from the mempool, mine and replace a block', async () => {
    const wallet = await openWallet(sandbox, 'default', 'controlled')
    const controls = sandbox.controls.bitcoin
    const late = controls.addLateRecord(wallet.accountId, {
      time: '2025-05-05T00:00:00Z',
      asset: 'BTC',
      amount: '0.0101',
    })
    const ids = controls.readAccount(wallet.accountId).records['txs']?.map(({ id }) => id) ?? []
    assert.ok(ids.indexOf(late) < ids.length - 20, 'among those of its time')
    assert.throws(() => controls.correctRecord(wallet.accountId, late, { amount: '1' }), RangeError)
    assert.throws(() => controls.withdrawRecord(wallet.accountId, late), /blocks deep/)
    const waiting = await book(wallet, { type: 'receive', amount: '0.001', subtype: 'unconfirmed' })
    assert.throws(() => controls.dropFromMempool(late), /is confirmed/)
    const height = controls.mine([waiting])
    assert.deepEqual(controls.reorganise(waiting, 'mempool'), [waiting])
    assert.equal((await wallet.state()).tip.height, height + 1)
    assert.deepEqual(controls.dropFromMempool(waiting), [waiting])
    assert.throws(() => controls.reorganise(waiting, 'vanished'), RangeError)
    await assertLaw(wallet)
  })

  it('know no account of another provider', () => {
    assert.throws(() => sandbox.controls.bitcoin.readAccount('kraken.default.00'), RangeError)
  })
})
