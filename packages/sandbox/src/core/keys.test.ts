import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { accountNumberOf, createKeyMaker, scenarioTagOf } from './keys.ts'

const number = accountNumberOf('nora')

describe('keys that carry their account', () => {
  const maker = createKeyMaker('seed', 'kraken')
  const { apiKey, secret } = maker.credentialsOf('default', number)

  it("look like Kraken's: 56 characters, and a secret of 88", () => {
    assert.match(apiKey, /^[A-Za-z0-9+/]{56}$/)
    assert.equal(Buffer.from(secret, 'base64').length, 64)
    assert.equal(secret.length, 88)
  })

  it('are accepted by another instance with the same seed, and by none with another seed or provider', () => {
    const known = { scenarioTag: scenarioTagOf('default'), accountNumber: number }
    assert.deepEqual(createKeyMaker('seed', 'kraken').read(apiKey), known)
    assert.equal(createKeyMaker('other', 'kraken').read(apiKey), undefined)
    assert.equal(createKeyMaker('seed', 'gemini').read(apiKey), undefined)
  })

  it('are refused with any one character changed', () => {
    for (let place = 0; place < apiKey.length; place += 1) {
      const other = apiKey[place] === 'A' ? 'B' : 'A'
      assert.equal(maker.read(apiKey.slice(0, place) + other + apiKey.slice(place + 1)), undefined)
    }
    assert.equal(maker.read(''), undefined)
    assert.equal(maker.read(`${apiKey}====`), undefined)
  })

  it('share no visible part with the key of a neighbour', () => {
    const neighbour = maker.credentialsOf('default', accountNumberOf('olaf')).apiKey
    assert.notEqual(neighbour.slice(0, 8), apiKey.slice(0, 8))
  })
})
