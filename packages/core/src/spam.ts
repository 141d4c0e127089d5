/**
 * Spam: tokens that are sent to wallets by the thousand so that people read their name. The rule covers what any
 * stranger can put on a chain, so it applies to wallets only: a venue has listed everything in its own ledger, and an
 * asset is not spam just because we do not know it.
 *
 * All of these must hold, so that nothing a person owns on purpose disappears from a list:
 * - the asset has no identity here: it is not among the known assets, so it has no source of prices either;
 * - it came by itself: nothing was given for it, and no fee was paid;
 * - its symbol or name is an advertisement, or spells a known symbol in letters of another alphabet. A plain copy of a
 *   known symbol is not enough (look-alikes.ts).
 *
 * Spam is marked and never dropped: the transaction is served with `spam: true`, the position is left out of v1 and of
 * values.
 */
import { isKnownAsset } from './assets/index.ts'
import { isDisguised, type NamedAsset } from './look-alikes.ts'
import type { TransactionDraft } from './transactions.ts'

/** What happened to a wallet. */
export function isSpamTransfer(draft: TransactionDraft): boolean {
  const cameByItself = draft.inputs.length > 0 && draft.outputs.length === 0 && draft.fees.length === 0
  return cameByItself && draft.inputs.every(isSpamAsset)
}

/** Whether an asset that a wallet holds is spam. */
export function isSpamAsset(asset: NamedAsset): boolean {
  if (isKnownAsset(asset.assetId)) return false
  return isDisguised(asset.symbol) || isAdvertisement(asset.symbol, asset.name ?? '')
}

// Projects do call their token `yearn.finance`, so a bare domain in a name is not enough. A domain in a symbol is:
// people have to type symbols.
const domain =
  /[a-z0-9-]{2,}\.(com|org|net|io|xyz|app|fi|finance|site|online|info|top|club|live|pro|cc|me|co|gg|us|vip|lol)\b/i
const address = /https?:|www\.|\bt\.me\b|\btelegram\b/i
const handle = /(^|\s)@[a-z0-9_]{4,}/i
const lure = /\b(claim|visit|airdrop|giveaway|voucher|redeem)\b/i

/** A stranger may have written it, at any length. */
const textMax = 200

function isAdvertisement(symbol: string, name: string): boolean {
  const texts = [symbol, name].map((text) => text.slice(0, textMax))
  if (domain.test(texts[0] ?? '')) return true
  return texts.some((text) => address.test(text) || handle.test(text) || lure.test(text))
}
