/**
 * A shop's wallet: exactly 2,000 transactions between November 2024 and October 2026 over 500 addresses. Customers pay to
 * 400 receiving addresses in turn; every fifth transaction pays a supplier, and its change goes to one of 100 addresses.
 */
import type { Story, StoryEvent } from '../../bitcoin/story.ts'

const transactions = 2_000
const receiving = 400
const fromMs = Date.UTC(2024, 10, 5)
const toMs = Date.UTC(2026, 9, 31)

export function largeStory(): Story {
  const events = Array.from({ length: transactions }, (_, index): StoryEvent => {
    const ms = fromMs + Math.floor(((toMs - fromMs) / transactions) * index)
    const moment = { at: new Date(ms).toISOString().slice(0, 19).replace('T', ' '), feeRate: 2 }
    if (index % 5 === 4) {
      return { ...moment, kind: 'send', amount: `0.00${2_000 + (index % 977)}`, payee: `supplier ${index % 11}` }
    }
    const paid = index - Math.floor(index / 5)
    return { ...moment, kind: 'receive', amounts: [`0.00${1_000 + ((index * 37) % 4_999)}`], to: [paid % receiving] }
  })
  return { kind: 'extended_public_key', standard: 'bip84', changeAddresses: 100, events }
}
