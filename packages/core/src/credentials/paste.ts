/**
 * Cleans what people paste: a clipboard adds spaces, line ends, zero-width characters or quotes. Some secrets are PEM
 * blocks (RFC 7468), which keep their lines.
 */
import { findPrivateMaterial } from './private-material.ts'

/** Invisible characters that are never part of a credential. */
const invisible = /[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]/g

/** A PEM block keeps its lines; everything else is one word. */
export function cleanPasted(text: string): string {
  const visible = text.replaceAll(invisible, '').replaceAll('\u00a0', ' ')
  if (visible.includes('-----BEGIN')) return cleanPem(visible)
  const bare = unquote(visible.trim())
  const joined = bare.replaceAll(/\s+/g, '')
  // Words stay separate where joining them would hide a seed phrase, or a part of one, or a wallet's key from the doctor.
  const isPhrase = /^\p{L}+(\s+\p{L}+){2,}$/u.test(bare)
  const isHidden = findPrivateMaterial(joined) !== findPrivateMaterial(bare)
  return isPhrase || isHidden ? bare.replaceAll(/\s+/g, ' ') : joined
}

const quotes = '"\'`“”‘’'

/** In one pass: an expression for a run of quotes at the end would begin again at each quote of a run before it. */
function unquote(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && quotes.includes(text.charAt(start))) start += 1
  while (start < end && `${quotes},;`.includes(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

/** Like `cleanPasted`, except for a passphrase, which may contain spaces that the person chose. */
export function cleanField(name: string, text: string): string {
  return name === 'passphrase' ? text.replaceAll(invisible, '').trim() : cleanPasted(text)
}

/**
 * A PEM block comes with `\n` as two characters from a JSON file, indented from a mail, or in one line with spaces for
 * the line ends from a field. Its lines are rebuilt (RFC 7468 §2: 64 characters), so that all of these become the same
 * text.
 */
function cleanPem(text: string): string {
  const lines = text.replaceAll(String.raw`\r`, '').replaceAll(String.raw`\n`, '\n')
  const [, begin, body, end] =
    /(-----BEGIN [A-Z0-9 ]+-----)([A-Za-z0-9+/=\s]*)(-----END [A-Z0-9 ]+-----)/.exec(lines) ?? []
  if (begin === undefined || body === undefined || end === undefined) return lines.trim()
  const base64 = body.replaceAll(/\s+/g, '')
  return [begin, ...(base64.match(/.{1,64}/g) ?? []), end].join('\n')
}

/**
 * How the middle of a block with a P-256 key begins, in its two forms (RFC 5915 and RFC 5208). A person who copies only
 * the middle lines has this; API secrets of other kinds do not.
 */
const bareKey = /^(?:MHcCAQEE|MIGHAgEAMBMG)[A-Za-z0-9+/=\\]{80,}$/

/** Undefined when the text is not PEM. Broken when the first or last line is missing, or the middle is not base64. */
export function findPem(text: string): 'whole' | 'broken' | undefined {
  if (bareKey.test(text)) return 'broken'
  // Without its first line the text has lost its spaces, so no word boundary follows.
  if (!/-----(?:BEGIN|END)/.test(text)) return undefined
  const match = /^-----BEGIN ([A-Z0-9 ]+)-----\n([A-Za-z0-9+/=\n]+)\n-----END ([A-Z0-9 ]+)-----$/.exec(text)
  if (match === null) return 'broken'
  const [, begin, body = '', end] = match
  const base64 = body.replaceAll('\n', '')
  return begin === end && base64.length % 4 === 0 && /^[^=]+={0,2}$/.test(base64) ? 'whole' : 'broken'
}
