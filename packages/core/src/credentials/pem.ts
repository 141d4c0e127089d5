/** PEM blocks (RFC 7468), which some providers give out as the secret. */

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
