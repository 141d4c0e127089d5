/**
 * Tokens that take the symbol or the name of a known asset. A contract is called whatever its author likes, and a list
 * or a filter by symbols cannot tell a worthless "USDC" from the real one. So a token whose contract is not in the
 * registry is shown with its address beside any text that belongs to a known asset: `USDC (0xdead…beef)`.
 *
 * That alone does not make it spam. Bridged tokens do the same (what Binance pays out on BNB Smart Chain as ETH is
 * called ETH), and they stay in lists and sums. Only a symbol in disguise, spelled to pass for another, has no honest
 * use: spam.ts asks for that.
 */
import { isKnownAsset, knownAssets } from './assets/index.ts'
import type { AssetRef } from './transactions.ts'

export type NamedAsset = AssetRef & { name?: string }

/** Letters that look like Latin ones: the part of Unicode's confusables (UTS #39) that is met in symbols. */
const strange = 'АВСЕНІЈКМОРЅТУХасеіјорѕухԁԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοՏՍᎢᎠᏟᏚꓴꓢꓓꓔꓚ'
const familiar = 'ABCEHIJKMOPSTYXaceijopsyxdwABEZHIKMNOPTYXoSUTDCSUSDTC'
const latin = new Map([...strange].map((letter, index) => [letter, familiar.charAt(index)]))

/** Characters that are not seen. U+2800 is a Braille cell without dots, which Unicode counts among the visible ones. */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Mn}\s\u2800]/gu

/** A stranger may have written it, at any length. */
const textMax = 200

/** What a reader sees: without characters that are not seen, in Latin letters of the usual form (not bold or wide). */
function toSeen(text: string): string {
  const letters = [...text.slice(0, textMax).normalize('NFKC').replaceAll(unseen, '')]
  return letters.map((letter) => latin.get(letter) ?? letter).join('')
}

function toKey(text: string): string {
  return toSeen(text).toUpperCase()
}

const symbols = new Set(knownAssets.map(({ symbol }) => toKey(symbol)))
const names = new Set(knownAssets.map(({ name }) => toKey(name)))

/** Whether a symbol is spelled to look like a known one, with letters of another alphabet or unseen characters. */
export function isDisguised(symbol: string): boolean {
  const seen = toSeen(symbol)
  return seen !== symbol && symbols.has(seen.toUpperCase())
}

/** The asset of a wallet as it is shown. */
export function withDistinctName<T extends NamedAsset>(asset: T): T {
  if (isKnownAsset(asset.assetId)) return asset
  const distinguish = (text: string): string => {
    const key = toKey(text)
    return symbols.has(key) || names.has(key) ? `${text} (${toShortAddress(addressOf(asset.assetId))})` : text
  }
  const { symbol, name } = asset
  return { ...asset, symbol: distinguish(symbol), ...(name === undefined ? {} : { name: distinguish(name) }) }
}

/** `evm:<chain>:<contract>`, perhaps with the number of a piece behind it, or `solana:<mint>`. */
function addressOf(assetId: string): string {
  const [, address] = /^[^:]+:(?:\d+:)?([^:]+)/.exec(assetId) ?? []
  return address ?? assetId
}

/** As wallets show it. */
export function toShortAddress(address: string): string {
  return `${address.slice(0, address.startsWith('0x') ? 6 : 4)}…${address.slice(-4)}`
}
