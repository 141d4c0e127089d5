import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cleanPasted } from './paste.ts'
import { findPrivateMaterial } from './private-material.ts'
import { recognizeWallet } from './wallet.ts'

const genesis = '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'
// BIP-32 test vector 1, chain m; BIP-84's first account.
const xpub =
  'xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8'
const xprv =
  'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi'
const zpub =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs'

describe('wallets', () => {
  it('Bitcoin addresses of every form are recognised by their checksums', () => {
    for (const address of [
      genesis,
      '3P14159f73E4gFr7JterCCQh9QjiTjiZrG',
      // BIP-173 and BIP-350 examples: P2WPKH, P2WSH, Taproot.
      'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4',
      'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
    ]) {
      const found = recognizeWallet(address)
      assert.ok(found !== undefined && 'wallet' in found, address)
      assert.equal(found.wallet.chain, 'bitcoin')
    }
  })

  it('one wrong character is a mistake, not another wallet', () => {
    for (const address of [
      genesis.replace('zP1', 'zP2'),
      'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5',
      // BIP-350: version 1 with the checksum of BIP-173.
      'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd',
      xpub.replace('Aq', 'Ar'),
    ]) {
      assert.deepEqual(recognizeWallet(address), { mistake: 'checksum', chain: 'bitcoin' }, address)
    }
  })

  it('test networks are recognised', () => {
    for (const address of ['tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn']) {
      assert.deepEqual(recognizeWallet(address), { mistake: 'test_network', chain: 'bitcoin' })
    }
  })

  it('extended public keys are wallets, of every script kind', () => {
    for (const text of [xpub, zpub]) {
      const found = recognizeWallet(text)
      assert.ok(found !== undefined && 'wallet' in found)
      assert.equal(found.wallet.kind, 'extended_public_key')
    }
  })

  it('EIP-55: mixed case must match, and a single-case address is rewritten with its checksum', () => {
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    const wanted = { wallet: { chain: 'evm', kind: 'address', value: address } }
    assert.deepEqual(recognizeWallet(address), wanted)
    assert.deepEqual(recognizeWallet(address.toLowerCase()), wanted)
    assert.deepEqual(recognizeWallet(`ethereum:${address}@1`), wanted)
    assert.deepEqual(recognizeWallet(address.replace('aAeb', 'aaeb')), { mistake: 'checksum', chain: 'evm' })
  })

  it('Solana: 32 bytes in base58, even when they begin like a Bitcoin address', () => {
    for (const address of [
      'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
      '11111111111111111111111111111111',
      '3Katmm9dhvLQijAvomteYMo6rfVbY5NaCRNq9ZBqBgr6',
    ]) {
      assert.deepEqual(recognizeWallet(address), { wallet: { chain: 'solana', kind: 'address', value: address } })
    }
  })

  it('names are not resolved, and the message says so', () => {
    assert.deepEqual(recognizeWallet('vitalik.eth'), { mistake: 'name', chain: 'evm' })
    assert.deepEqual(recognizeWallet('Pay.Näme.eth'), { mistake: 'name', chain: 'evm' })
    assert.deepEqual(recognizeWallet('toly.sol'), { mistake: 'name', chain: 'solana' })
  })

  it('SLIP-132: one key of a multi-signature wallet is not a wallet', () => {
    const key =
      'Zpub6vZyhw1ShkEwNxtqfjk7jiwoEbZYMJdbWLHvEwo6Ns2fFc9rdQn3SerYFQXYxtZYbA8a1d83shW3g4WbsnVsymy2L8m7wpeApiuPxug3ARu'
    assert.deepEqual(recognizeWallet(key), { mistake: 'unsupported_script', chain: 'bitcoin' })
  })

  it('a name, a number and another coin’s address are not wallets', () => {
    for (const text of ['kraken', '', '12345', 'LcHKaGtP3bSbrYuWWe1xNZJ5zRqpVvWt3e', '0x123']) {
      const found = recognizeWallet(text)
      assert.ok(found === undefined, text)
    }
  })
})

describe('secrets that must not leave the page', () => {
  it('include seed phrases of every length, numbered or not', () => {
    const word = 'abandon '
    for (const count of [12, 15, 18, 21, 24]) assert.equal(findPrivateMaterial(word.repeat(count)), 'seed_phrase')
    const numbered = Array.from({ length: 12 }, (_, index) => `${index + 1}. zoo`).join('\n')
    assert.equal(findPrivateMaterial(numbered), 'seed_phrase')
    assert.equal(findPrivateMaterial(word.repeat(11)), undefined)
  })

  it('include private keys in WIF, extended private keys, and text that may be a key or a hash', () => {
    assert.equal(findPrivateMaterial(`0x${'e9'.repeat(32)}`), 'private_key_or_hash')
    assert.equal(findPrivateMaterial('e9'.repeat(32)), 'private_key_or_hash')
    // A signature of Solana, which has the form of a key pair.
    const signature = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
    assert.equal(findPrivateMaterial(signature), 'private_key_or_hash')
    assert.equal(findPrivateMaterial(`wpkh(${xprv}/0/*)`), 'extended_private_key')
    assert.equal(findPrivateMaterial('5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ'), 'private_key')
    assert.equal(findPrivateMaterial(xprv), 'extended_private_key')
  })

  it('include the numbers of a Solana key file, in every form that pasting gives them', () => {
    const numbers = Array.from({ length: 64 }, (_, index) => (index * 37) % 256)
    for (const text of [
      JSON.stringify(numbers),
      JSON.stringify(numbers, null, 2),
      numbers.join(', '),
      cleanPasted(`"${JSON.stringify(numbers)}",`),
      JSON.stringify(numbers.slice(0, 32)),
    ]) {
      assert.equal(findPrivateMaterial(text), 'private_key', text)
    }
    assert.equal(findPrivateMaterial(`secretKey: Uint8Array(64) [ ${numbers.join(', ')} ]`), 'private_key')
    assert.equal(findPrivateMaterial(JSON.stringify(numbers.slice(0, 31))), undefined)
    assert.equal(findPrivateMaterial(JSON.stringify(numbers.map((number) => number + 256))), undefined)
  })

  const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
  // A Taproot address with 52 letters in a row.
  const letters = 'bc1phfswnmtraxkzcelduvgyqpjhfswnmtraxkzcelduvgyqpjhfswnqje3zh6'
  const words = phrase.split(' ')
  const numbered = (mark: string, end: string): string =>
    words.map((word, index) => mark.replace('1', `${index + 1}`) + word).join(end)

  const french = 'éclair éclat école éclair éclat école éclair éclat école éclair éclat école'
  const japanese =
    'あいだ　あおぞら　あかちゃん　あけがた　あいだ　あおぞら　あかちゃん　あけがた　あいだ　あおぞら　あかちゃん　あけがた'

  it('include seed phrases as people keep and copy them', () => {
    for (const text of [
      ...[
        numbered('1. ', '\n'),
        numbered('1.', ' '),
        numbered('1) ', ' '),
        numbered('1: ', ' '),
        numbered('#1 ', '\t'),
      ],
      // As a field of one line keeps it.
      ...[numbered('1. ', ''), words.join(''), `Seed phrase: ${words.join('')}`],
      ...[`Seed phrase: ${phrase}.`, `Recovery words\n${phrase}`, `"${phrase}"`, JSON.stringify(words)],
      ...['; ', ' | ', '-', '\n- ', '\n• '].map((separator) => words.join(separator)),
      // With a word of the owner's own; SLIP-39; Monero and Algorand.
      ...[`${phrase} extra`, `${phrase} ${words.slice(4).join(' ')}`, `${phrase} ${phrase} abbey`],
      ...['的 一 是 在 不 了 有 和 人 这 中 大', '的一是在不了有和人这中大'],
      ...[french, french.replaceAll(' ', ''), japanese, japanese.replaceAll('　', '')].flatMap((text) => [
        text.normalize('NFC'),
        text.normalize('NFD'),
      ]),
      japanese.normalize('NFKD'),
    ]) {
      for (const seen of [text, cleanPasted(text), cleanPasted(cleanPasted(text))]) {
        assert.equal(findPrivateMaterial(seen), 'seed_phrase', text)
      }
    }
  })

  it('include keys with a label in front, or inside something else', () => {
    const wif = '5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ'
    for (const [text, found] of [
      [`Private key ${wif}`, 'private_key'],
      [`p2wpkh:${wif}`, 'private_key'],
      [`wpkh(${wif})`, 'private_key'],
      [`Private key\n${xprv}`, 'extended_private_key'],
      [`${xprv.slice(0, 60)}\n${xprv.slice(60)}`, 'extended_private_key'],
    ] as const) {
      for (const seen of [text, cleanPasted(text)]) assert.equal(findPrivateMaterial(seen), found, text)
    }
  })

  it('are looked for in as much text as a person keeps with them, and not in more', () => {
    assert.equal(findPrivateMaterial(`${'- '.repeat(900)}${phrase}`), 'seed_phrase')
    assert.equal(findPrivateMaterial(`${phrase} ${'- '.repeat(4_000)}`), 'seed_phrase')
    assert.equal(findPrivateMaterial(`${'- '.repeat(1_000)}${phrase}`), undefined)
  })

  it('include a joined phrase behind an address that has as many letters in a row', () => {
    assert.equal(findPrivateMaterial(`${letters} ${phrase.replaceAll(' ', '')}`), 'seed_phrase')
  })

  it('include neither a public key nor an address nor an API key', () => {
    assert.ok(recognizeWallet(letters))
    for (const text of [xpub, genesis, letters, 'k3Y+'.repeat(14)]) assert.equal(findPrivateMaterial(text), undefined)
    const descriptor = `wsh(sortedmulti(2,[d34db33f/48'/0'/0'/2']${xpub}/0/*,[abcdefab/48'/0'/0'/2']${xpub}/0/*))`
    assert.equal(findPrivateMaterial(descriptor), undefined)
  })

  it('are not found in a secret made of random characters', () => {
    const printable = fc.string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 200 })
    const secrets = fc.oneof(fc.base64String({ minLength: 8, maxLength: 4_096 }), printable)
    fc.assert(
      fc.property(secrets, (secret) => {
        assert.ok(!['seed_phrase', 'extended_private_key'].includes(findPrivateMaterial(secret) ?? ''))
      }),
    )
    const rsa = `-----BEGIN RSA PRIVATE KEY-----\nMIIJ/${xprv}\n-----END RSA PRIVATE KEY-----`
    assert.equal(findPrivateMaterial(rsa), undefined)
  })
})
