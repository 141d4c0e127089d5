import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { examineFields, isReady, type FieldToExamine, type KeyShape, type Remark } from './doctor.ts'
import { cleanField, cleanPasted } from './paste.ts'

const key = `${'k3Y+'.repeat(13)}abcd`
const secret = `${'Secr3t/+'.repeat(10)}abcdef==`

const alphabet = 'A-Za-z0-9+/='
const keyShape: KeyShape = { pattern: '[A-Za-z0-9+/]{56}', alphabet, length_min: 56, length_max: 56 }
const secretShape: KeyShape = { pattern: '[A-Za-z0-9+/]{86}==', alphabet, length_min: 88, length_max: 88 }

/** Fields of a provider whose keys have a known shape. */
function keys(apiKey: string, secretKey: string): FieldToExamine[] {
  return [
    { name: 'api_key', required: true, value: cleanPasted(apiKey), shape: keyShape },
    { name: 'secret_key', required: true, value: cleanPasted(secretKey), shape: secretShape },
  ]
}

/** Fields of a provider whose keys have no known shape. */
function anyKeys(apiKey: string, secretKey: string): FieldToExamine[] {
  return keys(apiKey, secretKey).map((field) => ({ ...field, shape: null }))
}

function codes(remarks: readonly Remark[]): string[] {
  return remarks.map(({ field, code }) => `${field}: ${code}`)
}

describe('the credential doctor', () => {
  it('a key of 56 and a secret of 88 characters, as their shapes say, look right and can be sent', () => {
    const remarks = examineFields(keys(key, secret))
    assert.deepEqual(codes(remarks), ['api_key: looks_right', 'secret_key: looks_right'])
    assert.ok(isReady(remarks))
  })

  it('an empty field is not ready and gets no warning', () => {
    const remarks = examineFields(keys('', ''))
    assert.deepEqual(
      remarks.map(({ level }) => level),
      ['quiet', 'quiet'],
    )
    assert.ok(!isReady(remarks))
  })

  it('a swapped key and secret are detected, even while one field is still empty', () => {
    assert.deepEqual(codes(examineFields(keys(secret, key))), ['api_key: swapped', 'secret_key: swapped'])
    assert.deepEqual(codes(examineFields(keys(secret, ''))), ['api_key: swapped', 'secret_key: missing'])
    assert.deepEqual(codes(examineFields(keys('', key))), ['api_key: missing', 'secret_key: swapped'])
  })

  it('where keys and secrets have one shape, neither is called swapped', () => {
    const [one, other] = ['k3YA'.repeat(14), 'Secr3tA/'.repeat(7)]
    const alike = (apiKey: string, secretKey: string): FieldToExamine[] =>
      keys(apiKey, secretKey).map((field) => ({ ...field, shape: keyShape }))
    assert.deepEqual(codes(examineFields(alike(one, other))), ['api_key: looks_right', 'secret_key: looks_right'])
    assert.deepEqual(codes(examineFields(alike(one, ''))), ['api_key: looks_right', 'secret_key: missing'])
    assert.deepEqual(codes(examineFields(alike('', other))), ['api_key: missing', 'secret_key: looks_right'])
    assert.deepEqual(codes(examineFields(alike(one, other.slice(1)))), [
      'api_key: looks_right',
      'secret_key: too_short',
    ])
  })

  it('a value that is too short or too long is reported with both lengths', () => {
    const [short] = examineFields(keys(key.slice(1), secret))
    assert.deepEqual(short, { field: 'api_key', code: 'too_short', level: 'stop', got: 55, expected: 56 })
    const [, long] = examineFields(keys(key, `${secret}A`))
    assert.deepEqual(long, { field: 'secret_key', code: 'too_long', level: 'stop', got: 89, expected: 88 })
  })

  it('a character that no key has is named', () => {
    const [remark] = examineFields(keys(`${key.slice(1)}…`, secret))
    assert.deepEqual(remark, { field: 'api_key', code: 'foreign_character', level: 'stop', got: '…' })
  })

  it('a secret without its padding has the wrong shape', () => {
    const [, remark] = examineFields(keys(key, `${secret.slice(0, 86)}AA`))
    assert.equal(remark?.code, 'wrong_shape')
  })

  it('one value in both fields cannot work', () => {
    const remarks = examineFields(anyKeys('abcdefgh', 'abcdefgh'))
    assert.deepEqual(codes(remarks), ['api_key: same_twice', 'secret_key: same_twice'])
  })

  it('for a provider without a known key shape it only requires a value, and does not say that it looks right', () => {
    const remarks = examineFields([
      ...anyKeys('anything-at-all', 'and/another=one'),
      { name: 'passphrase', required: true, value: 'x' },
    ])
    assert.deepEqual(codes(remarks), ['api_key: filled_in', 'secret_key: filled_in', 'passphrase: filled_in'])
    assert.ok(isReady(remarks))
  })

  it('a missing required passphrase blocks the form', () => {
    const fields: FieldToExamine[] = [
      ...anyKeys('anything-at-all', 'and/another=one'),
      { name: 'passphrase', required: true, value: '' },
    ]
    assert.ok(!isReady(examineFields(fields)))
  })

  it('a PEM block is whole or broken', () => {
    const pem = '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIBkg\nAAAA\n-----END EC PRIVATE KEY-----'
    assert.ok(isReady(examineFields(anyKeys('organizations/1', pem.replaceAll('\n', '\\n')))))
    assert.ok(isReady(examineFields(anyKeys('organizations/1', pem.replaceAll('\n', '')))))
    const [, cut] = examineFields(anyKeys('organizations/1', pem.slice(0, -4)))
    assert.equal(cut?.code, 'broken_pem')
  })

  it('a seed phrase is refused in every field; a hexadecimal secret is not mistaken for a wallet’s private key', () => {
    const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
    const [remark] = examineFields(keys(phrase, secret))
    assert.deepEqual(remark, { field: 'api_key', code: 'seed_phrase', level: 'stop' })
    assert.ok(isReady(examineFields(anyKeys('anything-at-all', 'ab'.repeat(32)))))
    const wallet = examineFields([{ name: 'address', required: true, value: 'ab'.repeat(32) }])
    assert.equal(wallet[0]?.code, 'private_key_or_hash')
  })

  it('a wallet is named by its chain and kind, and refused where the provider does not read it', () => {
    const shapeOf = (pattern: string): KeyShape => ({ pattern, alphabet: '', length_min: 1, length_max: 99 })
    const accepts = [
      { name: 'address' as const, shape: shapeOf('bc1.*') },
      { name: 'extended_public_key' as const, shape: null },
    ]
    const examine = (value: string): Remark | undefined =>
      examineFields([{ name: 'address', required: true, value, accepts }])[0]
    const good = { field: 'address', level: 'good', got: 'Bitcoin' } as const
    assert.deepEqual(examine('BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4'), { ...good, code: 'is_address' })
    const zpub =
      'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs'
    assert.deepEqual(examine(zpub), { ...good, code: 'is_extended_public_key' })
    const other = { field: 'address', level: 'stop', code: 'other_chain' } as const
    assert.deepEqual(examine(`wpkh(${zpub}/0/*)`), { ...other, got: 'Bitcoin' })
    assert.deepEqual(examine('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'), { ...other, got: 'Ethereum' })
    assert.equal(examine('vitalik.eth')?.code, 'wallet_name')
  })
})

describe('cleaning pasted text', () => {
  it('drops white space, invisible characters and quotes', () => {
    assert.equal(cleanPasted('  "abc\u200bdef\n ghi",\u00a0'), 'abcdefghi')
    assert.equal(cleanPasted(`“it's”;`), "it's")
    assert.equal(cleanPasted('",\''), '')
  })

  it('takes one pass, whatever is inside', () => {
    const wif = `5${'H'.repeat(50)}0`
    for (const text of [`a${"'".repeat(100_000)}b`, '\u0301\u0316'.repeat(50_000), wif.repeat(2_000)]) {
      const began = performance.now()
      assert.equal(cleanPasted(text), text)
      // Looking again from each character takes more than ten seconds.
      assert.ok(performance.now() - began < 1_000)
    }
  })

  it('keeps the inside of a passphrase, because its owner chose it', () => {
    assert.equal(cleanField('passphrase', ' two words\n'), 'two words')
    assert.equal(cleanField('api_key', ' two words\n'), 'twowords')
  })

  it('keeps the words of a phrase apart, so that it can be recognised', () => {
    assert.equal(cleanPasted(' legal  winner\nthank '), 'legal winner thank')
  })
})
