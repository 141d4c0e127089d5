import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { derivePair, findHandle, isAccessToken, newRefreshToken, newSecret, verifiesChallenge } from './token-values.ts'

describe('a code verifier', () => {
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

  it('matches its S256 challenge (RFC 7636 appendix B)', () => {
    assert.ok(verifiesChallenge(verifier, challenge, 'S256'))
  })

  it('matches itself as a plain challenge (RFC 7636 §4.6)', () => {
    assert.ok(verifiesChallenge(verifier, verifier, 'plain'))
  })

  it('does not match when it is the S256 challenge itself, which everybody has seen', () => {
    assert.ok(!verifiesChallenge(challenge, challenge, 'S256'))
  })

  it('does not match a plain challenge by its hash', () => {
    assert.ok(!verifiesChallenge(verifier, challenge, 'plain'))
  })

  it('does not match when one character differs, is missing or is too many', () => {
    for (const wrong of [`x${verifier.slice(1)}`, verifier.slice(1), `${verifier}=`, '']) {
      assert.ok(!verifiesChallenge(wrong, challenge, 'S256'), wrong)
    }
  })
})

describe('tokens', () => {
  it('of the two kinds differ in shape, so that no hint is needed', () => {
    const access = newSecret(randomBytes)
    const refresh = newRefreshToken(randomBytes)
    assert.ok(isAccessToken(access) && findHandle(access) === undefined)
    assert.ok(!isAccessToken(refresh) && findHandle(refresh)?.length === 16)
  })

  it('of another shape are neither', () => {
    for (const text of ['', 'a', 'a'.repeat(42), `${'a'.repeat(42)}\0`, `${'a'.repeat(63)}=`, 'a'.repeat(65)]) {
      assert.ok(!isAccessToken(text) && findHandle(text) === undefined, text)
    }
  })
})

describe('a derived pair', () => {
  const key = new Uint8Array(32).fill(1)
  const nonce = Buffer.alloc(16, 3)
  const spent = newRefreshToken(() => Buffer.alloc(48, 9))
  const handle = findHandle(spent) ?? Buffer.alloc(0)
  const pair = derivePair(key, spent, handle, nonce)

  it('is the same for the same key, token and nonce', () => {
    assert.deepEqual(derivePair(key, spent, handle, nonce), pair)
  })

  it('keeps the handle, and has nothing else in common with the spent token', () => {
    assert.deepEqual(findHandle(pair.refreshToken), handle)
    assert.notEqual(pair.refreshToken, spent)
    assert.ok(!pair.refreshToken.includes(pair.accessToken.slice(0, 20)))
  })

  it('is another for another key, token or nonce', () => {
    const others = [
      derivePair(new Uint8Array(32).fill(2), spent, handle, nonce),
      derivePair(key, pair.refreshToken, handle, nonce),
      derivePair(key, spent, handle, Buffer.alloc(16, 4)),
    ]
    const all = [pair, ...others].flatMap(({ accessToken, refreshToken }) => [accessToken, refreshToken])
    assert.equal(new Set(all).size, 8)
  })
})
