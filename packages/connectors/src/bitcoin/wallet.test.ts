/**
 * Derivation against the test vectors of BIP-32, BIP-84 and BIP-86, and for BIP-44 and BIP-49 the accounts of the
 * mnemonic that those two use ("abandon … about").
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toDescriptorChecksum } from '@assay/core/credentials'
import { SourceError } from '@assay/core'
import { inspect } from 'node:util'
import type { WalletCredentials } from '../kit/connector.ts'
import { toWallet } from './wallet.ts'

const zpub =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs'
const ypub =
  'ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP'
const xpub =
  'xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj'
const taproot =
  'xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ'

function addressOf(credentials: Omit<WalletCredentials, 'type'>, branch: string, index: number): string | undefined {
  return toWallet({ type: 'wallet', ...credentials })
    .branches.find(({ id }) => id === branch)
    ?.addressAt(index)
}

describe('the addresses of a wallet', () => {
  it('BIP-84: a zpub gives P2WPKH addresses, receiving and change', () => {
    const given = { extendedPublicKey: zpub }
    assert.equal(addressOf(given, 'wpkh/0', 0), 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu')
    assert.equal(addressOf(given, 'wpkh/0', 1), 'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g')
    assert.equal(addressOf(given, 'wpkh/1', 0), 'bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el')
    assert.equal(addressOf(given, 'pkh/0', 0), undefined)
  })

  it('BIP-49: a ypub gives P2WPKH inside P2SH', () => {
    assert.equal(addressOf({ extendedPublicKey: ypub }, 'sh(wpkh)/0', 0), '37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf')
  })

  it('BIP-44: an xpub gives P2PKH, and every other kind that wallets export it for', () => {
    assert.equal(addressOf({ extendedPublicKey: xpub }, 'pkh/0', 0), '1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA')
    const { branches } = toWallet({ type: 'wallet', extendedPublicKey: xpub })
    const kinds = ['wpkh', 'sh(wpkh)', 'pkh', 'tr']
    assert.deepEqual(
      branches.map(({ id }) => id),
      kinds.flatMap((kind) => [`${kind}/0`, `${kind}/1`]),
    )
  })

  it('BIP-86: a descriptor with tr() gives Taproot addresses', () => {
    const given = { descriptor: `tr([73c5da0a/86'/0'/0']${taproot}/<0;1>/*)` }
    assert.equal(addressOf(given, 'tr/0', 0), 'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr')
    assert.equal(addressOf(given, 'tr/0', 1), 'bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh')
    assert.equal(addressOf(given, 'tr/1', 0), 'bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7')
  })

  it('BIP-32: a step in the path leads to the child key (test vector 2, m/0)', () => {
    const master =
      'xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJY47LJhkJ8UB7WEGuduB'
    const child =
      'xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH'
    const expected = addressOf({ descriptor: `pkh(${child}/*)` }, 'pkh', 7)
    assert.ok(expected)
    assert.equal(addressOf({ descriptor: `pkh(${master}/0/*)` }, 'pkh/0', 7), expected)
  })

  it('a descriptor without a star is one address, and one with a single step one list', () => {
    const one = toWallet({ type: 'wallet', descriptor: `wpkh(${xpub}/0/5)` })
    assert.deepEqual([one.branches.length, one.branches[0].length], [1, 1])
    const list = toWallet({ type: 'wallet', descriptor: `wpkh(${xpub}/0/*)` })
    assert.equal(list.branches[0].addressAt(5), one.branches[0].addressAt(0))
    assert.deepEqual([list.branches.length, list.branches[0].length], [1, null])
  })
})

describe('the fingerprint of a wallet', () => {
  const of = (credentials: Omit<WalletCredentials, 'type'>): string =>
    toWallet({ type: 'wallet', ...credentials }).fingerprint

  it('is the same for one key in every way that it can be pasted', () => {
    const body = `wpkh([73c5da0a/84h/0h/0h]${zpub}/<0;1>/*)`
    assert.equal(of({ descriptor: body }), of({ extendedPublicKey: zpub }))
    assert.equal(of({ descriptor: `${body}#${toDescriptorChecksum(body)}` }), of({ extendedPublicKey: zpub }))
    assert.equal(
      of({ address: 'BC1QCR8TE4KR609GCAWUTMRZA0J4XV80JY8Z306FYU' }),
      of({ address: 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu' }),
    )
  })

  it('differs for another key, another list, and an address of the wallet', () => {
    const all = [
      { extendedPublicKey: zpub },
      { extendedPublicKey: ypub },
      { descriptor: `wpkh(${zpub}/0/*)` },
      { descriptor: `wpkh(${zpub}/0/0)` },
      { address: 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu' },
    ].map(of)
    assert.equal(new Set(all).size, all.length)
  })
})

describe('a wallet that cannot be read', () => {
  it('is refused without quoting the input', () => {
    const broken = `${zpub.slice(0, -1)}t`
    for (const given of [{ extendedPublicKey: broken }, { descriptor: `wpkh(${broken}/0/*)` }, { address: '1abc' }]) {
      assert.throws(
        () => toWallet({ type: 'wallet', ...given }),
        (error: unknown) => {
          assert.ok(error instanceof SourceError)
          assert.equal(error.fault, 'invalid_credentials')
          assert.ok(!inspect(error).includes(zpub.slice(20, 40)))
          return true
        },
      )
    }
  })

  it('because its key is not a point of the curve is refused in the same way', () => {
    // A zpub with a right checksum around the point x = 5, which has no y on secp256k1.
    const extendedPublicKey =
      'zpub6mZTGDH7oyq1in7ebZ6ACU4pxZkhJzWwVSevCvz6fsZiFKLzaVjLeA9dQ6Cpffvih8h73sXHnchrNaZb7XeNmKtXpJfkHbz7msByLhSapSL'
    const { branches } = toWallet({ type: 'wallet', extendedPublicKey })
    assert.throws(
      () => branches[0].addressAt(0),
      (error: unknown) =>
        error instanceof SourceError && error.fault === 'invalid_credentials' && !('cause' in error && error.cause),
    )
  })
})
