/**
 * CDP API keys that carry their account, so that a key minted by one process is known to the next one with the same
 * seed. Source: https://docs.cdp.coinbase.com/coinbase-app/authentication-authorization/api-key-authentication; the two
 * shapes are also in the tests of github.com/rotki/rotki and github.com/coinbase/coinbase-advanced-py.
 *
 * ES256: the name is "organizations/{uuid}/apiKeys/{uuid}" and the secret a PEM ("EC PRIVATE KEY"). Ed25519: the name
 * is a UUID and the secret is base64 of seed and public key, 64 bytes. The last UUID holds account and scenario; the
 * private key is derived from the sandbox's seed and that UUID.
 */
import { createECDH, createHmac, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { scenarioTagOf } from '../core/keys.ts'
import { fromUuid, toUuid } from './ids.ts'

export type Algorithm = 'ES256' | 'EdDSA'

export interface ApiKey {
  name: string
  secret: string
}

export interface KeyOwner {
  algorithm: Algorithm
  /** The first half of the scenario's tag: a UUID has no room for more. */
  scenarioTag: string
  accountNumber: string
  publicKey: KeyObject
}

export interface Keyring {
  keyOf(algorithm: Algorithm, scenario: string, accountNumber: string): ApiKey
  /** Undefined for a name that was not minted with this seed. */
  findOwner(name: string): KeyOwner | undefined
}

const tagDigits = 4
const macDigits = 2
const nameShape = /^(?:organizations\/(?<organization>[^/]+)\/apiKeys\/)?(?<id>[0-9a-f-]{36})$/
const keysMax = 1_000
/** PKCS #8 around the 32 bytes of an Ed25519 seed (RFC 8410 §7). */
const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** "default" and "down" must not share a key. */
export function keyTagOf(scenario: string): string {
  return scenarioTagOf(scenario).slice(0, tagDigits)
}

export function createKeyring(seed: string): Keyring {
  const derive = (purpose: string, data: string): Buffer =>
    createHmac('sha256', seed).update(`coinbase\n${purpose}\n${data}`).digest()
  const macOf = (algorithm: Algorithm, body: string): string =>
    derive(`${algorithm} mac`, body).toString('hex').slice(0, macDigits)
  // Every call needs the public key, which costs a multiplication on the curve.
  const known = new Map<string, KeyObject>()

  function nameOf(algorithm: Algorithm, id: string): string {
    if (algorithm === 'EdDSA') return id
    const organization = toUuid(derive('organization', id).toString('hex').slice(0, 30), '4')
    return `organizations/${organization}/apiKeys/${id}`
  }

  function hide(algorithm: Algorithm, digits: string, mac: string): string {
    const stream = derive(`${algorithm} mask`, mac)
    const hidden = Buffer.from(digits, 'hex').map((byte, index) => byte ^ (stream[index] ?? 0))
    return Buffer.from(hidden).toString('hex')
  }

  function privateKeyOf(algorithm: Algorithm, id: string): KeyObject {
    if (algorithm === 'EdDSA') {
      const key = Buffer.concat([ed25519Prefix, derive('ed25519', id)])
      return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
    }
    return ecKeyFrom((attempt) => derive('es256', `${id}\n${attempt}`))
  }

  function publicKeyOf(algorithm: Algorithm, id: string): KeyObject {
    const cached = known.get(id)
    if (cached !== undefined) return cached
    const key = createPublicKey(privateKeyOf(algorithm, id))
    if (known.size >= keysMax) known.clear()
    known.set(id, key)
    return key
  }

  return {
    keyOf(algorithm, scenario, accountNumber) {
      const body = keyTagOf(scenario) + accountNumber
      const mac = macOf(algorithm, body)
      const id = toUuid(mac + hide(algorithm, body, mac), '4')
      return { name: nameOf(algorithm, id), secret: secretOf(algorithm, privateKeyOf(algorithm, id)) }
    },
    findOwner(name) {
      const { organization, id = '' } = nameShape.exec(name)?.groups ?? {}
      const algorithm = organization === undefined ? 'EdDSA' : 'ES256'
      const digits = fromUuid(id)
      if (digits === undefined) return undefined
      const mac = digits.slice(0, macDigits)
      const body = hide(algorithm, digits.slice(macDigits), mac)
      if (macOf(algorithm, body) !== mac || nameOf(algorithm, id) !== name) return undefined
      return {
        algorithm,
        scenarioTag: body.slice(0, tagDigits),
        accountNumber: body.slice(tagDigits),
        publicKey: publicKeyOf(algorithm, id),
      }
    },
  }
}

/** One number in 2^32 is too big for the curve; the next one is then used. */
function ecKeyFrom(scalarOf: (attempt: number) => Buffer): KeyObject {
  const ecdh = createECDH('prime256v1')
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const scalar = scalarOf(attempt)
    try {
      ecdh.setPrivateKey(scalar)
    } catch {
      continue
    }
    const point = ecdh.getPublicKey()
    const [d, x, y] = [scalar, point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
    if (d === undefined || x === undefined || y === undefined) break
    return createPrivateKey({ key: { kty: 'EC', crv: 'P-256', d, x, y }, format: 'jwk' })
  }
  throw new Error('no private key could be derived')
}

function secretOf(algorithm: Algorithm, key: KeyObject): string {
  if (algorithm === 'ES256') return key.export({ type: 'sec1', format: 'pem' }).toString()
  const { d = '', x = '' } = key.export({ format: 'jwk' })
  return Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]).toString('base64')
}
