/** PEM blocks (RFC 7468), which some providers give out as the secret. */

/** Undefined: no PEM at all. Broken: a line is missing at the start or the end, or the middle is no base64. */
export function findPem(text: string): 'whole' | 'broken' | undefined {
  if (!/-----(BEGIN|END)\b/.test(text)) return undefined
  const match = /^-----BEGIN ([A-Z0-9 ]+)-----\n([A-Za-z0-9+/=\n]+)\n-----END ([A-Z0-9 ]+)-----$/.exec(text)
  if (match === null) return 'broken'
  const [, begin, body = '', end] = match
  const base64 = body.replaceAll('\n', '')
  return begin === end && base64.length % 4 === 0 && /^[^=]+={0,2}$/.test(base64) ? 'whole' : 'broken'
}
