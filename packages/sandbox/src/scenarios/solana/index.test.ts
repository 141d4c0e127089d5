import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startNode, type TestNode } from '../../testing/solana-client.ts'
import type { WalletState } from '../../solana/chain/account-state.ts'
import { solanaScenarios } from './index.ts'

let node: TestNode
before(async () => {
  node = await startNode()
})
after(() => node.sandbox.close())

/** By account and asset, what the effects add up to; nothing is left out, and nothing was ever below zero. */
function sumsOf({ effects }: WalletState): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const [index, { account, amount, asset, signature }] of effects.entries()) {
    const name = `${account} ${asset}`
    sums.set(name, (sums.get(name) ?? 0n) + BigInt(amount))
    // The fee and the rest of one transaction are two effects.
    const isLast = effects[index + 1]?.signature !== signature
    if (isLast) assert.ok((sums.get(name) ?? 0n) >= 0n, `${name} is below zero after ${signature}`)
  }
  return sums
}

function balancesOf({ accounts }: WalletState): Map<string, bigint> {
  const lamports = accounts.map(({ address, lamports: held }) => [`${address} native`, BigInt(held)] as const)
  const tokens = accounts.flatMap(({ address, token }) =>
    token === undefined ? [] : [[`${address} ${token.mint}`, BigInt(token.amount)] as const],
  )
  return new Map([...lamports, ...tokens])
}

const nonZero = (sums: Map<string, bigint>): [string, bigint][] =>
  [...sums].filter(([, sum]) => sum !== 0n).toSorted(([a], [b]) => (a < b ? -1 : 1))

describe('the scenarios of Solana', () => {
  it('have a description', () => {
    const names = solanaScenarios.map(({ name }) => name)
    assert.deepEqual(names, [
      'default',
      'empty',
      'large',
      'odd',
      'handed_stake',
      'stray_sol',
      'rate_limited',
      'down',
      'flaky',
    ])
    for (const { title, description, expects } of solanaScenarios) assert.ok(title && description && expects)
  })

  for (const scenario of ['default', 'empty', 'odd', 'handed_stake', 'stray_sol']) {
    it(`${scenario}: balances are the exact sum of the effects`, async () => {
      const state = await (await node.open(scenario)).state()
      assert.deepEqual(nonZero(sumsOf(state)), nonZero(balancesOf(state)))
    })
  }

  it('default has everything that a wallet in daily use has', async () => {
    const { effects, address } = await (await node.open('default')).state()
    const accounts = new Set(effects.map(({ account }) => account))
    const transactions = new Set(effects.map(({ signature }) => signature))
    assert.ok(transactions.size > 120, `${transactions.size} transactions`)
    assert.ok(accounts.size >= 10, `${accounts.size} accounts`)
    assert.ok(effects.some(({ kind }) => kind === 'reward'))
    const times = effects.map(({ time }) => time)
    assert.ok((times[0] ?? '') < '2024-03-05' && (times.at(-1) ?? '') > '2026-10-20')
    // Payments to a token account that exists do not name the wallet: its own list is shorter than its history.
    const own = await node.ask<object[]>('getSignaturesForAddress', address)
    assert.ok(own.length < transactions.size - 20)
  })

  it('large has 2,500 transfers, on three pages of the token account', async () => {
    const wallet = await node.open('large')
    const state = await wallet.state()
    assert.deepEqual(nonZero(sumsOf(state)), nonZero(balancesOf(state)))
    const [token] = state.accounts.filter(({ kind }) => kind === 'token')
    const pages: { signature: string }[][] = []
    for (let last: string | undefined; ;) {
      const config = last === undefined ? {} : { before: last }
      const page = await node.ask<{ signature: string }[]>('getSignaturesForAddress', token?.address, config)
      if (page.length === 0) break
      pages.push(page)
      last = page.at(-1)?.signature
    }
    assert.deepEqual(
      pages.map(({ length }) => length),
      [1_000, 1_000, 500],
    )
    assert.equal(new Set(pages.flat().map(({ signature }) => signature)).size, 2_500)
  })

  it('rate_limited answers 429 with Retry-After, and takes calls again afterwards', async () => {
    const limited = await startNode({ pace: 'real' })
    const { address } = await limited.open('rate_limited')
    const call = { jsonrpc: '2.0', id: 1, method: 'getBalance', params: [address] }
    const statuses = []
    for (let count = 0; count < 11; count += 1) statuses.push((await limited.post(call)).status)
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429])
    assert.equal((await limited.post(call)).headers.get('retry-after'), '1')
    limited.pass(1_000)
    assert.equal((await limited.post(call)).status, 200)
    await limited.sandbox.close()
  })

  it('down answers 503 for its wallet alone', async () => {
    const { address } = await node.open('down')
    const call = (params: string[]): object => ({ jsonrpc: '2.0', id: 1, method: 'getBalance', params })
    assert.equal((await node.post(call([address]))).status, 503)
    assert.equal((await node.post(call(['11111111111111111111111111111111']))).status, 200)
  })
})
