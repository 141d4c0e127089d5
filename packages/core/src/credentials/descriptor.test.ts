/** Checksums from BIP-380 and Bitcoin Core's doc/descriptors.md; multipath from BIP-389. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findDescriptor, toDescriptorChecksum, type DescriptorMistake } from './descriptor.ts'
import { recognizeWallet } from './wallet.ts'

const key =
  'xpub6DJ2dNUysrn5Vt36jH2KLBT2i1auw1tTSSomg8PhqNiUtx8QX2SvC9nrHu81fT41fvDUnhMjEzQgXnQjKEu3oaqMSzhSrHMxyyoEAmUHQbY'
const documented = `wpkh([d34db33f/84h/0h/0h]${key}/0/*)#cjjspncu`

function mistakeOf(text: string): DescriptorMistake | undefined {
  const found = findDescriptor(text)
  return found !== undefined && 'mistake' in found ? found.mistake : undefined
}

describe('descriptors', () => {
  it('BIP-380: a checksum is verified where there is one', () => {
    assert.equal(toDescriptorChecksum('raw(deadbeef)'), '89f8spxm')
    const found = recognizeWallet(documented)
    assert.deepEqual(found, { wallet: { chain: 'bitcoin', kind: 'descriptor', value: documented } })
    assert.equal(mistakeOf(documented.replace('cjjspncu', 'cjjspncv')), 'checksum')
    assert.equal(mistakeOf(documented.replace('/0/*', '/1/*')), 'checksum')
    assert.equal(mistakeOf(documented.split('#', 1)[0] ?? ''), undefined)
  })

  it('BIP-389: one multipath step gives several branches, and a descriptor without it none or one', () => {
    for (const [path, branches, isRanged] of [
      ['/<0;1>/*', [[0], [1]], true],
      [
        '/4/<2;3;9>/*',
        [
          [4, 2],
          [4, 3],
          [4, 9],
        ],
        true,
      ],
      ['/*', [[]], true],
      ['/0/7', [[0, 7]], false],
      ['', [[]], false],
    ] as const) {
      const found = findDescriptor(`tr(${key}${path})`)
      assert.ok(found !== undefined && 'descriptor' in found, path)
      assert.deepEqual([found.descriptor.branches, found.descriptor.isRanged], [branches, isRanged])
    }
  })

  it('every script with one key is read, and the others are refused by name', () => {
    for (const text of [`pkh(${key}/0/*)`, `sh(wpkh(${key}/0/*))`, `wpkh(${key}/0/*)`, `tr(${key}/0/*)`]) {
      assert.equal(mistakeOf(text), undefined, text)
    }
    for (const text of [
      `wsh(multi(2,${key}/0/*,${key}/1/*))`,
      `sh(${key}/0/*)`,
      `wpkh(${key}/0/*))`,
      `sh(wpkh(${key}/0/*)`,
      `tr(${key}/0/*,pk(${key}/1/*))`,
      'wpkh(02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5)',
      // Hardened steps need the private key; one multipath is allowed.
      `wpkh(${key}/0h/*)`,
      `wpkh(${key}/2147483648/*)`,
      `wpkh(${key}/<0;1>/<0;1>/*)`,
      `wpkh(${key}/<0;0>/*)`,
      `wpkh(${key}/0/*/1)`,
      `wpkh(${key}${'/0'.repeat(7)}/*)`,
    ]) {
      assert.equal(mistakeOf(text), 'unsupported_script', text)
    }
  })

  it('a mistyped key and a test network key are distinguished', () => {
    assert.equal(mistakeOf(`wpkh(${key.replace('DJ2', 'DJ3')}/0/*)`), 'checksum')
    const test =
      'tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B'
    assert.equal(mistakeOf(`wpkh(${test}/0/*)`), 'test_network')
  })
})
