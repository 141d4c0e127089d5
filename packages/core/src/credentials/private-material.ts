/**
 * What must never leave the page: a seed phrase, a private key, an extended private key. Pasted by mistake into a field
 * for an address or a read-only key, it is recognised here and the form does not send.
 *
 * By shape, not by word list: the BIP-39 lists are 2,048 words in ten languages, and a false alarm costs a moment
 * while a miss could cost all funds. https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki
 */
import { base58 } from '@scure/base'
import { findBase58Check } from './base58.ts'

/**
 * `private_key_or_hash`: 32 bytes in hexadecimal are a private key or the hash of a transaction, and 64 bytes in base58
 * are a key or a signature of Solana. They cannot be distinguished, so both are kept on the page.
 */
export type PrivateMaterial = 'seed_phrase' | 'private_key' | 'private_key_or_hash' | 'extended_private_key'

/** The shortest phrase of BIP-39. Others have 13, 20, 25 or 33 words, or one of the owner's own at the end. */
const phraseWordsMin = 12
/** Solana's key without its public half. */
const keyBytesMin = 32
/** WIF: https://en.bitcoin.it/wiki/Wallet_import_format; mainnet and testnet version bytes. */
const wifVersions = new Set([0x80, 0xef])
/** Decoding takes time, and a person pastes one key. */
const wifsMax = 4
/** In characters: several times a phrase or a list of numbers. Looking at a text of any length takes time. */
const searchedMax = 2_000

/** Finds it also behind a label, inside a descriptor, or in a list with numbers and marks of its own. */
export function findPrivateMaterial(text: string): PrivateMaterial | undefined {
  const trimmed = text.trim().slice(0, searchedMax)
  // An RSA key is so long that one of some ten thousand has something like an extended key in its base64.
  if (trimmed.startsWith('-----BEGIN')) return undefined
  const pieces = splitPieces(trimmed)
  const words = pieces.filter((piece) => !/^\d{1,2}$/.test(piece))
  if (isJoinedPhrase(trimmed) || hasRun(words, isPhraseWord, phraseWordsMin)) return 'seed_phrase'
  const word = trimmed.replaceAll(/\s+/g, '')
  // With its spaces, because a label joined to a key would hide it; and without, because a long key may be in two lines.
  if ([trimmed, word].some(hasExtendedKey)) return 'extended_private_key'
  if (hasRun(pieces, isByte, keyBytesMin) || [trimmed, word].some(hasWif)) return 'private_key'
  return /^(0x)?[0-9a-f]{64}$/i.test(word) || isSolanaKey(word) ? 'private_key_or_hash' : undefined
}

/**
 * What is between spaces and marks. Chinese phrases have one character for each word, often without spaces between
 * them.
 */
function splitPieces(text: string): string[] {
  return text.match(/\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{M}\p{N}])+/gu) ?? []
}

/** Whether at least so many in a row fit. */
function hasRun(pieces: readonly string[], fits: (piece: string) => boolean, lengthMin: number): boolean {
  let length = 0
  return pieces.some((piece) => {
    length = fits(piece) ? length + 1 : 0
    return length >= lengthMin
  })
}

/**
 * Words of the lists have three to eight letters, in scripts without capitals also two, or more where a letter is written
 * in parts. A secret of random characters has none of these in a row, because it mixes capitals with small letters. A
 * field of one line drops the line ends of a list, which joins the number of the next word to the one before.
 *
 * The marks of a letter are skipped: normalising would take the square of the length where they are many.
 */
const phraseWord =
  /^\d{0,2}(?:\p{Script=Han}|(?:\p{Lo}\p{M}*){2,18}|\p{L}\p{M}*(?:\p{Ll}\p{M}*){2,8}|(?:\p{Lu}\p{M}*){3,9})\d{0,2}$/u

function isPhraseWord(piece: string): boolean {
  return phraseWord.test(piece)
}

/**
 * One word a line, pasted into a field of one line: browsers drop the line ends. Twelve words have 65 letters on average;
 * keys of exchanges have digits or capitals among so many, and hexadecimal ones six letters at most. They have no letters
 * of scripts without capitals, in which words are shorter. One Taproot address of 100,000 has as many letters in a row,
 * but none of the letters that BIP-173 leaves out, which hardly any twelve words do without.
 */
function isJoinedPhrase(text: string): boolean {
  const runs = text.replaceAll(/\p{M}/gu, '').match(/\p{Ll}{40,}|\p{Lo}{24,}/gu) ?? []
  return runs.some((run) => new Set(run).size > 6 && !/^[ac-hj-np-z]+$/.test(run))
}

/** The key file of Solana's command line is a list of them. */
function isByte(piece: string): boolean {
  return /^\d{1,3}$/.test(piece) && Number(piece) < 256
}

/** It has 111 characters, some of which may be missing. */
function hasExtendedKey(text: string): boolean {
  return /(?:^|[^1-9A-HJ-NP-Za-km-z])[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{90,}/i.test(text)
}

function hasWif(text: string): boolean {
  const found = text.match(/(?<![1-9A-HJ-NP-Za-km-z])[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}(?![1-9A-HJ-NP-Za-km-z])/g)
  return (found ?? []).slice(0, wifsMax).some((key) => wifVersions.has(findBase58Check(key)?.[0] ?? 0))
}

function isSolanaKey(word: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]{64,90}$/.test(word) && base58.decode(word).length === 64
}
