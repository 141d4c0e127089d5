/** PEM blocks (RFC 7468), which some providers give out as the secret. */

/**
 * How the middle of a block with a P-256 key begins, in its two forms (RFC 5915 and RFC 5208). Somebody who copies only the
 * lines in the middle has this, and an API secret of another kind does not.
 */
const bareKey = /^(?:MHcCAQEE|MIGHAgEAMBMG)[A-Za-z0-9+/=\\]{80,}$/

/** Undefined: no PEM at all. Broken: a line is missing at the start or the end, or the middle is no base64. */
export function findPem(text: string): 'whole' | 'broken' | undefined {
  if (bareKey.test(text)) return 'broken'
  // Spaces are gone where the first line was missing, so no word ends after it.
  if (!/-----(?:BEGIN|END)/.test(text)) return undefined
  const match = /^-----BEGIN ([A-Z0-9 ]+)-----\n([A-Za-z0-9+/=\n]+)\n-----END ([A-Z0-9 ]+)-----$/.exec(text)
  if (match === null) return 'broken'
  const [, begin, body = '', end] = match
  const base64 = body.replaceAll('\n', '')
  return begin === end && base64.length % 4 === 0 && /^[^=]+={0,2}$/.test(base64) ? 'whole' : 'broken'
}
