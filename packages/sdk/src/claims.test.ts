import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { verifyClaim } from './claims.ts'

const issuer = 'https://auth.example'
const options = { issuer, audience: 'a bank' }

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a statement that a stranger hands in', async () => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const jwks = { keys: [{ ...(await crypto.subtle.exportKey('jwk', publicKey)), kid: 'key' }] }
  const head = encode({ alg: 'ES256', typ: 'assay-claim+jwt', kid: 'key' })
  const body = encode({ iss: issuer, aud: 'a bank', exp: Date.now() / 1_000 + 60, holds: true })
  const hash = { name: 'ECDSA', hash: 'SHA-256' }
  const signed = await crypto.subtle.sign(hash, privateKey, Buffer.from(`${head}.${body}`))
  const signature = Buffer.from(signed).toString('base64url')

  it('is believed as it was signed', async () => {
    assert.equal((await verifyClaim(`${head}.${body}.${signature}`, { ...options, jwks })).holds, true)
  })

  const malformed = {
    'is empty': '',
    'has no parts': '..',
    'has a signature of one character': `${head}.${body}.a`,
    'has a signature that cannot be base64': `${head}.${body}.aaaaa`,
    'has a signature of any length': `${head}.${body}.${'A'.repeat(400_000)}`,
    'has a head that is null': `${encode(null)}.${body}.${signature}`,
    'has a head that is a number': `${encode(1)}.${body}.${signature}`,
    'has a head that is not JSON': `AAAA.${body}.${signature}`,
  }
  for (const [what, statement] of Object.entries(malformed)) {
    it(`and that ${what} is refused with the one error that callers expect`, async () => {
      await assert.rejects(verifyClaim(statement, { ...options, jwks }), { name: 'ClaimError' })
    })
  }
})
