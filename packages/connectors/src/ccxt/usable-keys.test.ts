import { SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { assertUsable } from './usable-keys.ts'

const apiKey = 'KEY-OF-A-PERSON'
const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

/** DER: a number, or a sequence. */
function encode(tag: number, body: Buffer): Buffer {
  const { length } = body
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), body])
}

/** Its parts do not belong together, so a signature with it takes as long as its modulus is large. */
function craftRsa(bits: number): string {
  const number = (bytes: number): Buffer => encode(2, Buffer.concat([Buffer.from([1]), randomBytes(bytes)]))
  const parts = [encode(2, Buffer.from([0])), number(bits / 8), encode(2, Buffer.from([1, 0, 1])), number(bits / 8)]
  const der = encode(0x30, Buffer.concat([...parts, ...Array.from({ length: 5 }, () => number(16))]))
  return `-----BEGIN RSA PRIVATE KEY-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END RSA PRIVATE KEY-----\n`
}

function refuse(keys: Record<string, string>): void {
  assert.throws(
    () => assertUsable(keys),
    (error) => {
      assert.ok(error instanceof SourceError && error.fault === 'invalid_credentials')
      for (const value of Object.values(keys)) assert.ok(!error.message.includes(value))
      return true
    },
  )
}

describe('a key', () => {
  it('of a kind that exchanges give out is used', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
    const secrets = [
      'aGVsbG8=',
      randomBytes(64).toString('base64'),
      randomBytes(32).toString('hex'),
      toPem(generateKeyPairSync('ed25519').privateKey),
      toPem(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey),
      toPem(rsa),
      // LBank's keys have no header.
      rsa.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
    ]
    for (const secret of secrets) assertUsable({ apiKey, secret, password: 'pässword' })
  })

  it('with characters that no key has is refused, and is not in the message', () => {
    refuse({ apiKey: 'two words', secret: 'S3CRET' })
    refuse({ apiKey, secret: 'tab\tin it' })
    refuse({ apiKey, secret: 'S3CRET', password: '密码密码' })
  })

  it('that would take long to sign with is refused', () => {
    refuse({ apiKey, secret: craftRsa(8_192) })
    refuse({ apiKey, secret: craftRsa(16_384) })
    refuse({ apiKey, secret: 'a'.repeat(4_000) })
    refuse({ apiKey, secret: toPem(generateKeyPairSync('ec', { namedCurve: 'secp521r1' }).privateKey) })
    const large = createPrivateKey(craftRsa(8_192))
    refuse({ apiKey, secret: large.export({ type: 'pkcs8', format: 'der' }).toString('base64') })
  })
})
