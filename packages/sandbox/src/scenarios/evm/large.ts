/**
 * A wallet that a contract pays in small parts: 100,000 token transfers in 100 transactions, each in a block of its own.
 * Real indexes show at most 10,000 rows of one request, so a reader has to go on from a block.
 */
import type { Step, Story } from '../../evm/story.ts'

const transfersInATransaction = 1_000
const transactions = 100

export function largeStory(): Story {
  const start: Step = {
    ...{ at: '2026-10-01 00:00:00', chainId: 1 },
    deed: { kind: 'receive', asset: 'ETH', amount: '1' },
  }
  const paid = Array.from({ length: transactions }, (_, index): Step => {
    const count = transfersInATransaction
    const at = new Date(Date.UTC(2026, 9, 1, 0, 1 + index)).toISOString().slice(0, 19).replace('T', ' ')
    return { at, chainId: 1, deed: { kind: 'multisend', asset: 'USDC', first: 1 + index * count, count } }
  })
  return { steps: [start, ...paid], prepared: 0 }
}
