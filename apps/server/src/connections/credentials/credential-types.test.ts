import type { ProviderMetadata } from '@assay/connectors'
import { findProvider } from '@assay/connectors/catalog'
import { Refusal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testKeyring } from '../../test-keys.ts'
import {
  checkCredentials,
  cleanCredentials,
  credentialTypes,
  isDestroyed,
  isSignIn,
  openCredentials,
  sealCredentials,
  toLaneText,
  type NewApiKey,
  type NewCredentials,
  type OpenContext,
} from './credential-types.ts'
import { createSealer } from './seal.ts'

const kraken = getKraken()
function getKraken(): ProviderMetadata {
  const found = findProvider('kraken')
  assert.ok(found)
  return found
}

const field = { secret: false, required: true, hint: '', shape: null }
/** A wallet provider as its own folder would describe it. */
const wallets: ProviderMetadata = {
  ...kraken,
  provider_id: 'chain',
  name: 'Chain',
  kind: 'wallet',
  connection_types: ['wallet'],
  credential_fields: [
    {
      ...field,
      name: 'address',
      label: 'Address',
      shape: { pattern: 'c[0-9a-z]{8}', alphabet: '0-9a-z', length_min: 9, length_max: 9 },
    },
    { ...field, name: 'extended_public_key', label: 'Extended public key' },
  ],
}

const sealer = createSealer(testKeyring('main'))
const plainKey: NewApiKey = { type: 'api_key', apiKey: 'a-key', secretKey: 'hunter2' }
const apiKey: NewApiKey = { ...plainKey, passphrase: 'a phrase' }
const confirm = { uncheckedKeys: 'confirm' } as const

async function roundTrip(given: NewCredentials): Promise<unknown> {
  const stored = await sealCredentials(sealer, 'con_1', given)
  // Only renewing tokens needs the database, and that is tested with a provider.
  return openCredentials(given.type, { sealer, boundTo: 'con_1', stored } as OpenContext)
}

describe('credentials of each type', () => {
  it('reach the connector as they were given', async () => {
    const wallet = { type: 'wallet', networks: ['one', 'two'] } as const
    for (const given of [
      apiKey,
      { ...wallet, address: 'cabcdefgh' },
      { type: 'wallet', extendedPublicKey: 'xpub-text' },
      { ...wallet, descriptor: 'wpkh(xpub-text)' },
    ] satisfies NewCredentials[]) {
      assert.deepEqual(await roundTrip(given), given)
    }
  })

  it('leave only a wallet’s address and its networks unencrypted', async () => {
    const secrets = ['hunter2', 'a-key', 'a phrase', 'the-code', 'xpub-text', 'the-descriptor']
    for (const given of [
      apiKey,
      { type: 'oauth2', code: 'the-code', codeBoundTo: null, codeVerifier: 'v', redirectUri: 'https://w.example' },
      { type: 'wallet', extendedPublicKey: 'xpub-text', networks: ['one'] },
      { type: 'wallet', descriptor: 'the-descriptor' },
    ] satisfies NewCredentials[]) {
      const stored = await sealCredentials(sealer, 'con_1', given)
      assert.equal(stored.address, null)
      assert.ok(stored.sealedCredentials)
      for (const secret of secrets) assert.ok(!JSON.stringify(stored).includes(secret))
    }
    const address = { type: 'wallet', address: 'cabcdefgh', networks: ['one'] } as const
    const stored = await sealCredentials(sealer, 'con_1', address)
    assert.deepEqual(stored, { sealedCredentials: null, address: 'cabcdefgh', networks: ['one'] })
    assert.equal(isDestroyed(stored), false)
    assert.equal(isDestroyed({ sealedCredentials: null, address: null, networks: null }), true)
  })

  it('share a lane only where the provider counts the nonces of a key', () => {
    assert.equal(toLaneText(apiKey, 'con_1'), toLaneText(apiKey, 'con_2'))
    // The public half is not secret: knowing it alone must not lead into the lane of the key.
    assert.notEqual(toLaneText(apiKey, 'con_1'), toLaneText({ ...apiKey, secretKey: 'another' }, 'con_1'))
    const wallet: NewCredentials = { type: 'wallet', address: 'cabcdefgh' }
    assert.notEqual(toLaneText(wallet, 'con_1'), toLaneText(wallet, 'con_2'))
  })

  it('are known to the catalogue by the same names', () => {
    assert.deepEqual(Object.keys(credentialTypes).toSorted(), ['api_key', 'oauth2', 'wallet'])
    assert.equal(isSignIn({ type: 'oauth2' }), true)
    assert.equal(isSignIn({ type: 'wallet', address: 'cabcdefgh' }), false)
  })
})

describe('a key', () => {
  it('without a field that the provider needs is refused as malformed, and the error names the field', () => {
    assert.throws(
      () => checkCredentials({ type: 'api_key', apiKey: 'a-key', secretKey: '' }, kraken, confirm),
      (error) => error instanceof Refusal && error.items[0]?.parameter === 'connection.secret_key',
    )
  })

  it('with a passphrase, for a provider that has none, is refused as malformed', () => {
    assert.equal(checkCredentials(plainKey, kraken, confirm), undefined)
    assert.throws(
      () => checkCredentials(apiKey, kraken, confirm),
      (error) =>
        error instanceof Refusal &&
        error.items[0]?.parameter === 'connection.passphrase' &&
        !error.message.includes('a phrase'),
    )
    const okx = findProvider('okx')
    assert.ok(okx)
    assert.equal(checkCredentials(apiKey, okx, confirm), undefined)
  })

  it('that could spend funds is refused before a provider gets it, and the error does not quote it', () => {
    const phrase = Array.from({ length: 12 }, (_, index) => `${index + 1}. abandon`).join('\n')
    const okx = findProvider('okx')
    assert.ok(okx)
    for (const field of ['apiKey', 'secretKey', 'passphrase'] as const) {
      const given = cleanCredentials({ ...apiKey, [field]: phrase })
      const refused = checkCredentials(given, okx, confirm)
      assert.equal(refused?.cause, 'invalid_credentials', field)
      assert.match(refused.message, /a secret that can spend/)
      assert.ok(!JSON.stringify(refused).includes('abandon'))
    }
    const hexadecimal = cleanCredentials({ ...apiKey, secretKey: 'e9'.repeat(32) })
    assert.equal(checkCredentials(hexadecimal, okx, confirm), undefined)
  })

  const silent: ProviderMetadata = { ...kraken, name: 'Silent', permission_check: 'none' }

  it('whose rights cannot be read is accepted when the person confirmed that it can only read', () => {
    assert.equal(checkCredentials({ ...plainKey, confirmedReadOnly: true }, silent, confirm), undefined)
    for (const confirmed of [{}, { confirmedReadOnly: false }]) {
      assert.throws(
        () => checkCredentials({ ...plainKey, ...confirmed }, silent, confirm),
        (error) => error instanceof Refusal && error.items[0]?.parameter === 'connection.confirmed_read_only',
      )
    }
  })

  it('whose rights cannot be read is refused, confirmed or not, where the operator wants that', () => {
    const refused = checkCredentials({ ...plainKey, confirmedReadOnly: true }, silent, {
      uncheckedKeys: 'refuse',
    })
    assert.equal(refused?.cause, 'excess_permission')
    assert.match(refused.message, /^Silent does not tell what a key may do/)
  })

  it('whose rights are read needs no confirmation', () => {
    assert.equal(checkCredentials(plainKey, kraken, { uncheckedKeys: 'refuse' }), undefined)
  })
})

describe('a wallet', () => {
  const check = (given: Omit<Extract<NewCredentials, { type: 'wallet' }>, 'type'>): unknown =>
    checkCredentials({ type: 'wallet', ...given }, wallets, confirm)

  it('is accepted only in a field that its provider has and in that field’s format', () => {
    assert.equal(check({ address: 'cabcdefgh' }), undefined)
    assert.equal(check({ extendedPublicKey: 'xpub-text' }), undefined)
    assert.throws(
      () => check({ descriptor: 'wpkh(xpub)' }),
      /descriptor is not accepted for Chain; send address or ext/,
    )
    assert.throws(() => check({ address: 'cabcdefgh', descriptor: 'x' }), /exactly one of/)
    assert.deepEqual(check({ address: 'cabc' }), {
      cause: 'invalid_address',
      provider_id: 'chain',
      message: 'This is not a valid Address of Chain.',
      fix: 'Copy it again from your wallet.',
    })
  })

  it('is read on the networks that its provider names; any other is malformed, and so are all if it names none', () => {
    const [evm, bitcoin] = ['evm', 'bitcoin'].map(findProvider)
    assert.ok(evm && bitcoin)
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    for (const networks of [['ethereum'], ['base', 'polygon'], ['evm:1'], ['1', 'base']]) {
      assert.equal(checkCredentials({ type: 'wallet', address, networks }, evm, confirm), undefined)
    }
    const rule = (given: NewCredentials, provider: ProviderMetadata): string | undefined => {
      try {
        return checkCredentials(given, provider, confirm)?.message
      } catch (error) {
        assert.ok(error instanceof Refusal)
        assert.equal(error.items[0]?.parameter, 'connection.networks')
        return error.items[0].message
      }
    }
    assert.equal(
      rule({ type: 'wallet', address, networks: ['base', 'nope'] }, evm),
      'must be among ethereum, base, arbitrum, optimism, polygon, bnb, avalanche for Ethereum & EVM',
    )
    const key = { type: 'wallet', address: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', networks: ['bitcoin'] } as const
    assert.equal(rule(key, bitcoin), 'is not accepted: Bitcoin has no networks to choose from')
  })

  it('is refused when the value could spend funds, and the error does not quote it', () => {
    const phrase = Array.from({ length: 12 }, () => 'abandon').join(' ')
    const extended = `xprv${'9'.repeat(107)}`
    for (const value of [phrase, '0x'.padEnd(66, 'a'), extended, `wpkh([00/84h]${extended}/0/*)`]) {
      const refused = checkCredentials({ type: 'wallet', extendedPublicKey: value }, wallets, confirm)
      assert.equal(refused?.cause, 'invalid_address')
      assert.ok(!JSON.stringify(refused).includes(value))
    }
  })

  it('of a chain is checked down to its checksum, and each mistake has its own message', () => {
    const bitcoin = findProvider('bitcoin')
    assert.ok(bitcoin)
    const zpub =
      'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs'
    const messageOf = (given: Omit<Extract<NewCredentials, { type: 'wallet' }>, 'type'>): string | undefined =>
      checkCredentials({ type: 'wallet', ...given }, bitcoin, confirm)?.message
    for (const right of [
      { address: 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4' },
      { address: 'bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa?amount=1' },
      { extendedPublicKey: zpub },
      { descriptor: `wpkh([d34db33f/84h/0h/0h]${zpub}/<0;1>/*)` },
    ]) {
      assert.equal(messageOf(right), undefined, JSON.stringify(right))
    }
    assert.match(messageOf({ address: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb' }) ?? '', /checksum/)
    assert.match(messageOf({ address: 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn' }) ?? '', /test network/)
    assert.match(messageOf({ address: 'vitalik.eth' }) ?? '', /name/)
    assert.match(messageOf({ descriptor: `wsh(multi(1,${zpub}/0/*))` }) ?? '', /several keys/)
    assert.match(messageOf({ address: 'e9'.repeat(32) }) ?? '', /private key or the hash/)
    assert.match(messageOf({ address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }) ?? '', /not a valid Address/)
    const misplaced = checkCredentials({ type: 'wallet', address: zpub }, bitcoin, confirm)
    assert.equal(misplaced?.fix, 'Send it as extended_public_key.')
    assert.ok(!JSON.stringify(misplaced).includes(zpub))
  })
})
