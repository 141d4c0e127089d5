/** How high a chain is, as its node says, and when that is not believed. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { connector } from './connector.ts'
import type { TestChain } from './test-chain.ts'
import { address, openWallet, hold, readToEnd, isFault } from './test-wallet.ts'

describe('the height of a chain', () => {
  const ask = async (t: TestContext, change: (chain: TestChain) => void) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const { state = {} } = await reader.fetchBalances({})
    change(chain)
    // What a reader has found out about a node it does not ask again.
    const later = connector.open({ type: 'wallet', address }, chain.io)
    return { chain, state, later, fetchHeight: async () => (await later.fetchHeight?.('erc20', '1', state))?.height }
  }

  for (const [what, change] of [
    ['of another chain', (chain: TestChain) => void (chain.chainId = 137)],
    ['without the block that it names', (chain: TestChain) => void (chain.namedHeight = chain.height + 5_000_000)],
    ['whose newest block is in the future', (chain: TestChain) => void (chain.nowMs -= 2 * 3_600_000)],
    ['that has stood still for days', (chain: TestChain) => void (chain.nowMs += 2 * 86_400_000)],
  ] as const) {
    it(`is not believed from a node ${what}, and neither are its balances`, async (t) => {
      const { fetchHeight, later, state } = await ask(t, change)
      await assert.rejects(fetchHeight(), isFault('unreadable_answer'))
      await assert.rejects(readToEnd(later, { state }), isFault('unreadable_answer'))
    })
  }

  it('is a few blocks lower where the node that has the newest block is not the one that answers', async (t) => {
    const { fetchHeight } = await ask(t, (chain) => void (chain.namedHeight = chain.height + 3))
    const height = (await fetchHeight()) ?? 0
    assert.ok(height <= 20_000 && height > 19_900, String(height))
  })

  it('takes no request more than the list needs for its times, but one for the chain', async (t) => {
    const { chain, later, state, fetchHeight } = await ask(t, () => undefined)
    chain.methods.length = 0
    await fetchHeight()
    const window = { unit: 'block', start: 0, end: 20_001 } as const
    for (const stream of ['erc20', 'erc721', 'erc1155']) {
      const request = { stream, partition: '1', window, lastingMark: null, state }
      let pageMark: string | null = null
      do ({ next: pageMark } = await later.fetchPage({ ...request, pageMark }))
      while (pageMark !== null)
    }
    const blocks = ['eth_getBlockByNumber', 'eth_getBlockByNumber']
    assert.deepEqual(chain.methods.toSorted(), ['eth_blockNumber', 'eth_chainId', ...blocks])
  })
})
