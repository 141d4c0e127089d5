/** What the control API does to a wallet, when each commitment shows it, limits, faults and a restart. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { control } from '../testing/kraken-client.ts'
import { startNode, type TestNode } from '../testing/solana-client.ts'

const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const deposit = (asset: string, amount: string): object => ({ type: 'deposit', asset, amount })

interface Status {
  confirmationStatus: string
  confirmations: number | null
}

let node: TestNode
before(async () => {
  // The clock stands still, so each commitment can be looked at.
  node = await startNode({ pace: 'real' })
})
after(() => node.sandbox.close())

async function balance(address: string, commitment: string): Promise<number> {
  return (await node.ask<{ value: number }>('getBalance', address, { commitment })).value
}

async function status(signature: string | undefined): Promise<Status | null> {
  const { value } = await node.ask<{ value: (Status | null)[] }>('getSignatureStatuses', [signature])
  return value[0] ?? null
}

async function listed(address: string, commitment: string): Promise<string[]> {
  const list = await node.ask<{ signature: string }[]>('getSignaturesForAddress', address, { commitment })
  return list.map(({ signature }) => signature)
}

describe('booked transfers', () => {
  it('show as processed, then confirmed, then finalized', async () => {
    node.pass(60_000)
    const { address, book } = await node.open('empty', 'commitments')
    const [id] = await book(deposit('SOL', '1.5'))
    const all = async (): Promise<number[]> => [
      await balance(address, 'processed'),
      await balance(address, 'confirmed'),
      await balance(address, 'finalized'),
    ]
    assert.deepEqual(await all(), [1_500_000_000, 0, 0])
    assert.equal((await status(id))?.confirmationStatus, 'processed')
    assert.deepEqual(await listed(address, 'confirmed'), [])
    assert.equal(await node.ask('getTransaction', id, { commitment: 'confirmed' }), null)
    node.pass(1_200)
    assert.deepEqual(await all(), [1_500_000_000, 1_500_000_000, 0])
    assert.equal((await status(id))?.confirmationStatus, 'confirmed')
    assert.deepEqual(await listed(address, 'confirmed'), [id])
    assert.deepEqual(await listed(address, 'finalized'), [])
    node.pass(13_000)
    assert.deepEqual(await all(), [1_500_000_000, 1_500_000_000, 1_500_000_000])
    assert.deepEqual(await status(id), { ...(await status(id)), confirmationStatus: 'finalized', confirmations: null })
    assert.deepEqual(await listed(address, 'finalized'), [id])
  })

  it('open token accounts that are not there at an earlier commitment', async () => {
    node.pass(60_000)
    const { address, book } = await node.open('empty', 'tokens')
    await book(deposit('USDC', '25.5'), deposit('USDC', '25.5'))
    const count = async (commitment: string): Promise<number> => {
      const config = { commitment, encoding: 'jsonParsed' }
      const filter = { mint: usdc }
      return (await node.ask<{ value: object[] }>('getTokenAccountsByOwner', address, filter, config)).value.length
    }
    assert.deepEqual([await count('processed'), await count('finalized')], [1, 0])
    node.pass(20_000)
    assert.equal(await count('finalized'), 1)
  })

  it('vanish with their fork while they are not final', async () => {
    node.pass(60_000)
    const { address, book, withdraw } = await node.open('empty', 'forks')
    const [first] = await book(deposit('SOL', '2'))
    node.pass(20_000)
    const [second] = await book({ type: 'withdrawal', asset: 'SOL', amount: '0.5' })
    const [third] = await book(deposit('BONK', '7.00001'))
    await assert.rejects(withdraw(second ?? ''), /a later transaction depends on/)
    await withdraw(second ?? '', third ?? '')
    assert.equal(await balance(address, 'processed'), 2_000_000_000)
    assert.equal(await status(third), null)
    await assert.rejects(withdraw(first ?? ''), /is final, or unknown/)
    node.pass(20_000)
    assert.deepEqual(await listed(address, 'finalized'), [first])
  })

  it('are refused where the chain could not contain them, and leave nothing behind', async () => {
    node.pass(60_000)
    const { address, book } = await node.open('empty', 'refusals')
    await book(deposit('SOL', '1'))
    const refuse = (entry: object, words: RegExp): Promise<void> => assert.rejects(book(entry), words)
    await refuse(deposit('DOGE', '1'), /no asset DOGE/)
    await refuse(deposit('USDC', '0.0000001'), /more than 6 decimals/)
    await refuse(deposit('USDC', '0'), /a transfer of nothing/)
    await refuse({ ...deposit('SOL', '1'), time: '2025-01-01T00:00:00Z' }, /a chain decides this itself: time/)
    await refuse({ type: 'staking', asset: 'SOL', amount: '1' }, /staking cannot be booked/)
    await assert.rejects(book(deposit('USDC', '1'), { type: 'withdrawal', asset: 'SOL', amount: '5' }), /insufficient/)
    assert.equal(await balance(address, 'processed'), 1_000_000_000)
    assert.equal((await listed(address, 'confirmed')).length, 0)
    const accounts = await node.ask<{ value: object[] }>('getTokenAccountsByOwner', address, { mint: usdc })
    assert.deepEqual(accounts.value, [])
  })

  it('go from one wallet to another', async () => {
    node.pass(60_000)
    const [from, to] = [await node.open('empty', 'sender'), await node.open('empty', 'receiver')]
    await from.book(deposit('SOL', '1'), deposit('USDC', '40'))
    const pay = (asset: string, amount: string): object => ({ type: 'withdrawal', asset, amount, address: to.address })
    const [sol, token] = await from.book(pay('SOL', '0.25'), pay('USDC', '15.5'))
    node.pass(20_000)
    assert.equal(await balance(to.address, 'finalized'), 250_000_000)
    assert.deepEqual(await listed(to.address, 'finalized'), [token, sol])
    const { accounts, effects } = await to.state()
    assert.equal(accounts.find(({ kind }) => kind === 'token')?.token?.amount, '15500000')
    assert.ok(effects.every(({ kind }) => kind !== 'fee'))
    // The chain refuses an account below the rent, and the fee is lost.
    const poor = {
      type: 'withdrawal',
      asset: 'SOL',
      amount: '0.0000001',
      address: 'A7SwFqm5bvRveT8YqV85WRb7t3ZPuRNrzt3qYMmtpz1C',
    }
    await assert.rejects(from.book(poor), /InsufficientFundsForRent/)
    await assert.rejects(from.book({ ...poor, address: 'nowhere' }), /not an address: nowhere/)
    await assert.rejects(from.book({ ...poor, type: 'deposit' }), /book a withdrawal at the other wallet/)
  })

  it('carry a memo', async () => {
    node.pass(60_000)
    const { address, book } = await node.open('empty', 'memos')
    await book({ ...deposit('SOL', '1'), subtype: 'invoice 7 ✓' })
    node.pass(20_000)
    const [entry] = await node.ask<{ memo: string }[]>('getSignaturesForAddress', address)
    assert.equal(entry?.memo, '[13] invoice 7 ✓')
  })
})

describe('limits and faults', () => {
  it('allow 40 calls of a method and 100 in all in ten seconds', async () => {
    node.pass(60_000)
    const call = (method: string): object => ({ jsonrpc: '2.0', id: 1, method })
    const batch = (method: string, count: number): Promise<Response> =>
      node.post(Array.from({ length: count }, () => call(method)))
    assert.equal((await batch('getHealth', 40)).status, 200)
    const refused = await node.post(call('getHealth'))
    assert.equal(refused.status, 429)
    assert.equal(refused.headers.get('retry-after'), '1')
    assert.deepEqual(await refused.json(), {
      ...{ jsonrpc: '2.0', error: { code: 429, message: 'Too many requests for a specific RPC call' }, id: null },
    })
    assert.equal((await batch('getVersion', 40)).status, 200)
    const tooMany = await batch('getSlot', 30)
    assert.equal(tooMany.status, 429)
    assert.match(((await tooMany.json()) as { error: { message: string } }).error.message, /from your IP/)
    node.pass(10_000)
    assert.equal((await batch('getHealth', 40)).status, 200)
  })

  it('hit the rows of a list', async () => {
    node.pass(60_000)
    const { address, accountId, book } = await node.open('empty', 'faults')
    for (let count = 0; count < 4; count += 1) await book(deposit('SOL', '1'))
    node.pass(20_000)
    const [first, second, third] = await listed(address, 'finalized')
    const page = { limit: 1, before: second }
    const ask = async (): Promise<string[]> => {
      const list = await node.ask<{ signature: string }[]>('getSignaturesForAddress', address, page)
      return list.map(({ signature }) => signature)
    }
    const fault = (kind: string): Promise<unknown> =>
      control(node.sandbox, 'POST', 'providers/solana/faults', { kind, times: 1, account_id: accountId })
    await fault('duplicate_rows')
    assert.deepEqual(await ask(), [first, second, third])
    assert.deepEqual(await ask(), [third])
    await fault('shifting_page')
    assert.deepEqual(await ask(), [third])
    node.pass(20_000)
    assert.equal((await listed(address, 'finalized')).length, 5)
  })
})

describe('a restarted sandbox', () => {
  it('knows wallets, token accounts and signatures of the one before', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'solana-'))
    const walletsFile = path.join(folder, 'wallets')
    try {
      const first = await startNode({ walletsFile })
      const wallet = await first.open('odd')
      const state = await wallet.state()
      const list = await first.ask<{ signature: string }[]>('getSignaturesForAddress', wallet.address)
      await first.sandbox.close()

      const second = await startNode({ walletsFile })
      const [token] = state.accounts.filter(({ kind }) => kind === 'token')
      const found = await second.ask<{ value: { amount: string } }>('getTokenAccountBalance', token?.address)
      assert.equal(found.value.amount, token?.token?.amount)
      assert.deepEqual(await second.ask('getSignaturesForAddress', wallet.address), list)
      await second.sandbox.close()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
