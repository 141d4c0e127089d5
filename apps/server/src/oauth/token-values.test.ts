import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import {
  derivePair,
  newClientToken,
  newRefreshToken,
  newUserToken,
  readAccessToken,
  readBearer,
  readRefreshToken,
  sha256,
  verifiesChallenge,
} from './token-values.ts'

describe('a code verifier', () => {
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

  it('matches its S256 challenge (RFC 7636 appendix B)', () => {
    assert.ok(verifiesChallenge(verifier, challenge, 'S256'))
  })

  it('matches itself as a plain challenge (RFC 7636 §4.6)', () => {
    assert.ok(verifiesChallenge(verifier, verifier, 'plain'))
  })

  it('does not match when it is the S256 challenge itself, which is public', () => {
    assert.ok(!verifiesChallenge(challenge, challenge, 'S256'))
  })

  it('does not match a plain challenge by its hash', () => {
    assert.ok(!verifiesChallenge(verifier, challenge, 'plain'))
  })

  it('does not match with one character changed, missing or added', () => {
    for (const wrong of [`x${verifier.slice(1)}`, verifier.slice(1), `${verifier}=`, '']) {
      assert.ok(!verifiesChallenge(wrong, challenge, 'S256'), wrong)
    }
  })
})

const keys = ['1', '-1', '-9223372036854775808', '9223372036854775807', '4611686018427387905']

describe('tokens', () => {
  it('of a user contain the user’s key, which is any 64-bit number', () => {
    for (const userKey of keys) {
      const access = newUserToken(userKey, randomBytes)
      assert.deepEqual(readAccessToken(access), { kind: 'user', userKey, tokenHash: sha256(access) })
      const refresh = newRefreshToken(userKey, randomBytes)
      const { handle, handleHash, ...read } = readRefreshToken(refresh) ?? {}
      assert.deepEqual(read, { text: refresh, userKey, tokenHash: sha256(refresh) })
      assert.deepEqual([handle?.length, handleHash], [16, sha256(handle ?? '')])
    }
  })

  it('of a client contain only the hash', () => {
    const own = newClientToken(randomBytes)
    assert.deepEqual(readAccessToken(own), { kind: 'client', tokenHash: sha256(own) })
  })

  it('of each kind have their own format, so that no type hint is needed', () => {
    const [access, refresh] = [newUserToken('7', randomBytes), newRefreshToken('7', randomBytes)]
    assert.equal(readRefreshToken(access), undefined)
    assert.equal(readRefreshToken(newClientToken(randomBytes)), undefined)
    assert.equal(readAccessToken(refresh), undefined)
  })

  it('of any other format are neither', () => {
    for (const size of [43, 54, 75]) {
      const right = 'A'.repeat(size)
      assert.ok(readAccessToken(right) !== undefined || readRefreshToken(right) !== undefined)
      for (const text of ['', 'A', right.slice(1), `${right.slice(1)}\0`, `${right.slice(1)}=`, `${right}A`]) {
        assert.equal(readAccessToken(text), undefined)
        assert.equal(readRefreshToken(text), undefined)
      }
    }
  })

  it('have one spelling: changing the spare bits of the last character does not make another token', () => {
    for (const token of [
      newClientToken(randomBytes),
      newUserToken('7', randomBytes),
      newRefreshToken('7', randomBytes),
    ]) {
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const other = `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.slice(-1)) + 1]}`
      assert.deepEqual(Buffer.from(other, 'base64url'), Buffer.from(token, 'base64url'))
      assert.equal(readAccessToken(other) ?? readRefreshToken(other), undefined)
    }
  })

  it('come in the Authorization header as Bearer (RFC 6750 §2.1)', () => {
    const token = newUserToken('-7', randomBytes)
    assert.deepEqual(readBearer(`bearer ${token}`), readAccessToken(token))
    for (const header of [undefined, '', token, `Basic ${token}`, `Bearer ${token} x`, 'Bearer x']) {
      assert.equal(readBearer(header), undefined)
    }
  })
})

describe('a derived pair', () => {
  const key = createSecretKey(Buffer.alloc(32, 1))
  const nonce = Buffer.alloc(16, 3)
  const read = (text: string) => readRefreshToken(text) ?? assert.fail('not a refresh token')
  const spent = read(newRefreshToken('-7', () => Buffer.alloc(48, 9)))
  const pair = derivePair(key, spent, nonce)

  it('is the same for the same key, token and nonce', () => {
    assert.deepEqual(derivePair(key, spent, nonce), pair)
  })

  it('keeps the user and the handle, and has nothing else in common with the spent token', () => {
    const next = read(pair.refreshToken)
    assert.deepEqual([next.userKey, next.handle], [spent.userKey, spent.handle])
    const access = readAccessToken(pair.accessToken)
    assert.equal(access?.kind === 'user' && access.userKey, spent.userKey)
    // Both begin with the key, which takes 8 bytes.
    assert.notEqual(pair.refreshToken.slice(32), spent.text.slice(32))
    assert.ok(!pair.refreshToken.includes(pair.accessToken.slice(11, 31)))
  })

  it('differs for another key, token or nonce', () => {
    const others = [
      derivePair(createSecretKey(Buffer.alloc(32, 2)), spent, nonce),
      derivePair(key, read(pair.refreshToken), nonce),
      derivePair(key, spent, Buffer.alloc(16, 4)),
    ]
    const all = [pair, ...others].flatMap(({ accessToken, refreshToken }) => [accessToken, refreshToken])
    assert.equal(new Set(all).size, 8)
  })
})
