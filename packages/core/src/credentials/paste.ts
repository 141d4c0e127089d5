/** What a clipboard adds to a key: spaces, line ends, zero-width characters, quotes, a label in front. */

/** Invisible characters that are never part of a credential. */
const invisible = /[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]/g

/** A PEM block keeps its lines; everything else is one word. */
export function cleanPasted(text: string): string {
  const visible = text.replaceAll(invisible, '').replaceAll('\u00a0', ' ')
  if (visible.includes('-----BEGIN')) return cleanPem(visible)
  const bare = visible.trim().replace(/^["'`“”‘’]+|["'`“”‘’,;]+$/g, '')
  // A phrase of words is no key: joining the words would hide from the doctor that it is a seed phrase.
  if (/^\p{L}+(\s+\p{L}+){2,}$/u.test(bare)) return bare.replaceAll(/\s+/g, ' ')
  return bare.replaceAll(/\s+/g, '')
}

/** As `cleanPasted`, but for a passphrase: the person chose it, and a space may be a part of it. */
export function cleanField(name: string, text: string): string {
  return name === 'passphrase' ? text.replaceAll(invisible, '').trim() : cleanPasted(text)
}

/**
 * Downloaded as JSON, a PEM block comes with `\n` as two characters; from a mail, indented; from a field, in one line with
 * spaces where the line ends were. Its lines are made anew (RFC 7468 §2: 64 characters), so all of them become one text.
 */
function cleanPem(text: string): string {
  const lines = text.replaceAll(String.raw`\r`, '').replaceAll(String.raw`\n`, '\n')
  const [, begin, body, end] =
    /(-----BEGIN [A-Z0-9 ]+-----)([A-Za-z0-9+/=\s]*)(-----END [A-Z0-9 ]+-----)/.exec(lines) ?? []
  if (begin === undefined || body === undefined || end === undefined) return lines.trim()
  const base64 = body.replaceAll(/\s+/g, '')
  return [begin, ...(base64.match(/.{1,64}/g) ?? []), end].join('\n')
}
