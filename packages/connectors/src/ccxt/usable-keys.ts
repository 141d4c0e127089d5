/**
 * Refuses keys that no exchange gives out, before ccxt signs with them: text that does not fit into a header would fail
 * deep inside ccxt, with the key in the message, and ccxt signs with any private key on the thread that all jobs share.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SourceError } from '@assay/core'

/** A PEM has several lines. */
const secretText = /^[\x20-\x7e\r\n]+$/
const passwordText = /^[\x20-\x7e\xa0-\xff]+$/
const keyText = /^[\x21-\x7e]+$/

/** An RSA key of 4,096 bits in PEM has 3,300 characters. Some exchanges take time that grows with the square of it. */
const secretLengthMax = 3_600
/** A signature takes milliseconds. The time grows with the third power, and a crafted key can have any size. */
const rsaBitsMax = 4_096
const curves = new Set(['prime256v1', 'secp256k1'])

export function assertUsable(keys: Readonly<Partial<Record<string, string>>>): void {
  for (const [name, value = ''] of Object.entries(keys)) {
    const isSecret = name === 'secret' || name === 'privateKey'
    const allowed = isSecret ? secretText : name === 'password' ? passwordText : keyText
    if (!allowed.test(value)) throw new SourceError('invalid_credentials', `${name}: has characters that no key has`)
    if (!isSecret) continue
    if (value.length > secretLengthMax) throw new SourceError('invalid_credentials', `${name}: is longer than any key`)
    const key = findPrivateKey(value)
    if (key !== undefined && !isQuick(key)) {
      throw new SourceError('invalid_credentials', `${name}: is a private key of a kind that no exchange gives out`)
    }
  }
}

/** LBank's keys have no header: ccxt adds it. */
function findPrivateKey(secret: string): KeyObject | undefined {
  const pem = secret.includes('PRIVATE KEY')
    ? secret
    : `-----BEGIN PRIVATE KEY-----\n${secret.replaceAll(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----`
  try {
    return createPrivateKey(pem)
  } catch {
    // Any other secret, or a PEM that cannot be signed with either.
    return undefined
  }
}

function isQuick({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === 'rsa') return (asymmetricKeyDetails?.modulusLength ?? Infinity) <= rsaBitsMax
  return asymmetricKeyType === 'ed25519' || curves.has(asymmetricKeyDetails?.namedCurve ?? '')
}
