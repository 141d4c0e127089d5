/**
 * Tokens that take the symbol or the name of a known asset. A contract is called whatever its author likes, and a list
 * or a filter by symbols cannot tell a worthless "USDC" from the real one. So a token whose contract is not in the
 * registry is shown with its address beside any text that belongs to a known asset: `USDC (0xdead…beef)`. So is a text
 * with letters that are not ASCII: Unicode has thousands that look like Latin ones, and gets more of them.
 *
 * That alone does not make it spam. Bridged tokens do the same (what Binance pays out on BNB Smart Chain as ETH is
 * called ETH), and they stay in lists and sums. Only a symbol in disguise, spelled to pass for another, has no honest
 * use: spam.ts asks for that.
 */
import { isKnownAsset, knownAssets } from './assets/index.ts'
import type { AssetRef } from './transactions.ts'

export type NamedAsset = AssetRef & { name?: string }

/**
 * Letters that look like Latin ones (UTS #39, confusables), by alphabet: those that are met in symbols. A letter that is
 * missing here may still make a disguise (`isMixedUp`), and a text with it is shown with its address in any case.
 */
const alphabets = [
  ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϲϳͿοναικρυ', 'ABEZHIKMNOPTYXCcjJovaikpu'],
  ['АВСЕНІЈКМОРЅТУХӀԌԚԜѴасеіјорѕухԁԝһӏԛѵ', 'ABCEHIJKMOPSTYXIGQWVaceijopsyxdwhlqv'],
  ['ՏՍՕԼօոսհզց', 'SUOLonuhqg'],
  ['ⲂⲤⲎⲒⲔⲘⲚⲞⲢⲦⲬⲨⲀⲈⲌ', 'BCHIKMNOPTXYAEZ'],
  ['ᎠᎡᎢᎪᎫᎬᎳᎷᎻᎽᎩᏀᏃᎱᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏎᏏᏳᏴ', 'DRTAJEWMHYYGZFRWSVSLCPKd4bGB'],
  ['ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ', 'BPDTGKJCZFMNLSRVHWXYAEIOU'],
  // Latin ones with a stroke, which Unicode does not take apart as it does those with an accent.
  ['ȺɃȻĐÐɆĦŁØŦⱥƀȼđɇħłøŧ', 'ABCDDEHLOTabcdehlot'],
  ['ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢı', 'ABCDEFGHIJKLMNOPRSTUVWYZi'],
] as const
const latin = new Map(
  alphabets.flatMap(([strange, familiar]) =>
    [...strange].map((letter, index): [string, string] => [letter, familiar.charAt(index)]),
  ),
)

/** Characters that are not seen. U+2800 is a Braille cell without dots, which Unicode counts among the visible ones. */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Mn}\s\u2800]/gu

/** A stranger may have written it, at any length. */
const textMax = 200

/**
 * What a reader sees: without accents and characters that are not seen, in Latin letters of the usual form (not bold or
 * wide). Some letters look like Latin ones only before they are normalised: the lunate sigma becomes a sigma.
 */
function toSeen(text: string): string {
  return toLatin(toLatin(text.slice(0, textMax)).normalize('NFKD').replaceAll(unseen, ''))
}

function toLatin(text: string): string {
  return [...text].map((letter) => latin.get(letter) ?? letter).join('')
}

function toKey(text: string): string {
  return toSeen(text).toUpperCase()
}

const symbols = new Set(knownAssets.map(({ symbol }) => toKey(symbol)))
const names = new Set(knownAssets.map(({ name }) => toKey(name)))

/** Whether a symbol is spelled to look like a known one, with letters of another alphabet or unseen characters. */
export function isDisguised(symbol: string): boolean {
  const seen = toSeen(symbol)
  if (seen === symbol && isAscii.test(symbol)) return false
  const key = seen.toUpperCase()
  return (seen !== symbol && symbols.has(key)) || isMixedUp(key)
}

const isAscii = /^\p{ASCII}*$/u
/** Scripts whose letters look like no Latin ones. Symbols in which they stand beside Latin letters are usual. */
const ideographs = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u
const foreignLetter = /(?!\p{ASCII})\p{L}/u

/** Whether it is a known symbol but for a few letters of another alphabet: with more, any short symbol is like one. */
function isMixedUp(key: string): boolean {
  const letters = [...key]
  const foreign = letters.filter((letter) => foreignLetter.test(letter)).length
  if (foreign === 0 || 4 * foreign > letters.length || ideographs.test(key)) return false
  const isLike = (known: string): boolean =>
    known.length === letters.length &&
    letters.every((letter, at) => foreignLetter.test(letter) || letter === known.charAt(at))
  return symbols.values().some(isLike)
}

/** Letters, digits and signs beyond ASCII, of which any may stand for another. Dashes and dots do not. */
const unusual = /(?!\p{ASCII})[\p{L}\p{M}\p{N}\p{S}]/u

/** The asset of a wallet as it is shown. */
export function withDistinctName<T extends NamedAsset>(asset: T): T {
  if (isKnownAsset(asset.assetId)) return asset
  const distinguish = (text: string): string => {
    const key = toKey(text)
    const isDistinct = !symbols.has(key) && !names.has(key) && !unusual.test(text)
    return isDistinct ? text : `${text} (${toShortAddress(addressOf(asset.assetId))})`
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
