/**
 * Asset dividends are everything that Binance gives out: airdrops, forks, Launchpool, staking, rebates. `enInfo` says
 * which in free words, such as "BHFT distribution" or "Launchpool"; so the kind is a rule's guess.
 */
import type { TransactionDraft } from '@assay/core'

/** A coin that was exchanged for its successor, such as "MATIC to POL swap". */
export function isSwap(words: string): boolean {
  return /\b(?:swap|migration|redenomination|rebrand(?:ing)?)\b/i.test(words)
}

type Kind = Pick<TransactionDraft, 'type' | 'category' | 'method' | 'confidence' | 'incomplete'>

const rules: readonly (readonly [words: RegExp, category: TransactionDraft['category'], confidence: number])[] = [
  [/stak|launchpool|\bbeth\b|eth 2\.0/i, 'staking_reward', 0.9],
  [/interest|savings|flexible|locked|earn|vault/i, 'interest', 0.9],
  [/fork/i, 'fork', 0.8],
  [/mining pool|\bmining\b/i, 'mining', 0.8],
  [/airdrop|distribution|megadrop/i, 'airdrop', 0.9],
  [/rebate|referral|commission|cashback|voucher|bonus|reward|gift/i, 'gift', 0.6],
]

export function toDividendKind(words: string, isTaken: boolean): Kind {
  const rule = rules.find(([pattern]) => pattern.test(words))
  if (rule === undefined || isTaken) {
    return { type: 'uncategorized', category: 'other', method: 'rule', confidence: 0, incomplete: ['type'] }
  }
  const [, category, confidence] = rule
  return { type: 'input_only', category, method: 'rule', confidence, incomplete: [] }
}
