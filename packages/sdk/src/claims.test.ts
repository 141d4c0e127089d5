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
  const dayMs = 86_400_000
  const signedAt = Math.floor(Date.now() / 1_000)
  const times = { iat: signedAt, exp: signedAt + 60, as_of: new Date(signedAt * 1_000 - 2 * dayMs).toISOString() }
  const body = encode({ iss: issuer, aud: 'a bank', ...times, grade: 'explained', holds: true })
  const hash = { name: 'ECDSA', hash: 'SHA-256' }
  const signatureOf = async (text: string): Promise<string> =>
    Buffer.from(await crypto.subtle.sign(hash, privateKey, Buffer.from(text))).toString('base64url')
  const signature = await signatureOf(`${head}.${body}`)

  it('is believed as it was signed', async () => {
    assert.equal((await verifyClaim(`${head}.${body}.${signature}`, { ...options, jwks })).holds, true)
  })

  it('is refused when it is about an earlier time, unless that is asked for', async () => {
    const sign = async (asOf: unknown): Promise<string> => {
      const past = encode({ iss: issuer, aud: 'a bank', ...times, as_of: asOf, grade: 'proved', holds: true })
      return `${head}.${past}.${await signatureOf(`${head}.${past}`)}`
    }
    const asOfMs = signedAt * 1_000 - 2 * dayMs - 1
    const past = await sign(new Date(asOfMs).toISOString())
    await assert.rejects(verifyClaim(past, { ...options, jwks }), {
      name: 'ClaimError',
      message: /is about an earlier time, \d{4}-/,
    })
    assert.equal((await verifyClaim(past, { ...options, jwks, ageMaxMs: 2 * dayMs + 1 })).holds, true)
    const longAgo = await sign('2017-01-01T00:00:00.000Z')
    await assert.rejects(verifyClaim(longAgo, { ...options, jwks, ageMaxMs: 30 * dayMs }), { name: 'ClaimError' })
    assert.equal((await verifyClaim(longAgo, { ...options, jwks, ageMaxMs: Infinity })).holds, true)
    for (const odd of [undefined, 'yesterday', null]) {
      await assert.rejects(verifyClaim(await sign(odd), { ...options, jwks }), { name: 'ClaimError' })
    }
  })

  it('is refused when its data was not proved, unless such grades are asked for', async () => {
    for (const grade of ['open', 'unprovable', 'sure', undefined]) {
      const weak = encode({ iss: issuer, aud: 'a bank', ...times, grade, holds: true })
      const statement = `${head}.${weak}.${await signatureOf(`${head}.${weak}`)}`
      await assert.rejects(verifyClaim(statement, { ...options, jwks }), {
        name: 'ClaimError',
        message: `the data of the statement is ${grade}`,
      })
      const accepted = verifyClaim(statement, { ...options, jwks, grades: ['open'] })
      if (grade === 'open') assert.equal((await accepted).holds, true)
      else await assert.rejects(accepted, { name: 'ClaimError' })
    }
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

  const wrongKeys = {
    'is no set': [],
    'has no list': { keys: 'none' },
    'has no keys but null': { keys: [null] },
    'has a key of another kind': { keys: [{ kid: 'key', kty: 'RSA', n: 'AQAB', e: 'AQAB' }] },
    'has a key with numbers': { keys: [{ kid: 'key', kty: 'EC', crv: 'P-256', x: 1, y: 2 }] },
  }
  for (const [what, wrong] of Object.entries(wrongKeys)) {
    it(`is refused with that error, too, when what its issuer publishes ${what}`, async () => {
      const statement = `${head}.${body}.${signature}`
      const answer = async (): Promise<Response> => Response.json(wrong)
      await assert.rejects(verifyClaim(statement, { ...options, fetch: answer }), { name: 'ClaimError' })
    })
  }

  it('is refused with that error, too, when what its issuer publishes is not JSON', async () => {
    const answer = async (): Promise<Response> => new Response('<!doctype html>')
    const statement = `${head}.${body}.${signature}`
    await assert.rejects(verifyClaim(statement, { ...options, fetch: answer }), { name: 'ClaimError' })
  })
})
