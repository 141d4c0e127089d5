/**
 * A shop that is paid in USDC: 2,500 transfers to its token account in two years. They name the account and not the wallet,
 * so a reader has to ask for the account's own history, three pages of it.
 */
import type { Step, Story } from '../../solana/story.ts'

const transfers = 2_500
const fromMs = Date.UTC(2024, 10, 5)
const toMs = Date.UTC(2026, 9, 31)

export function largeStory(): Story {
  const start: Step = { at: '2024-11-01 08:00:00', deed: { kind: 'receive', asset: 'SOL', amount: '2' } }
  const paid = Array.from({ length: transfers }, (_, index): Step => {
    const ms = fromMs + Math.floor(((toMs - fromMs) / transfers) * index)
    const at = new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
    const amount = `${1 + ((index * 37) % 300)}.${String(index).padStart(6, '0')}`
    if (index % 50 === 49) return { at, deed: { kind: 'send', asset: 'USDC', amount, to: 'exchange' } }
    return { at, deed: { kind: 'receive', asset: 'USDC', amount } }
  })
  return { steps: [start, ...paid] }
}
