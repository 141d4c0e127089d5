/**
 * Bitcoin as plain data. Sources: the Esplora HTTP API (github.com/Blockstream/esplora, API.md), BIP-32, BIP-44,
 * BIP-49, BIP-84 and BIP-86 for the wallets, BIP-380 to BIP-389 for descriptors.
 */
import { hourMs } from '@assay/core'
import type { ProviderDefinition } from '../kit/definition.ts'

/** A transaction is pending until its block is this deep; a block of that depth has not been replaced since 2013. */
export const confirmationsNeeded = 6

/**
 * Down to this depth a replaced block is noticed. 53 blocks were replaced in August 2010 and 24 in March 2013
 * (bitcoin.stackexchange.com/questions/92974); Bitcoin's own rules expect fewer than 100, after which a reward may be
 * spent.
 */
export const replaceableDepth = 100

/** BIP-44, "Address gap limit": after so many addresses in a row that were never used, a wallet has no more of them. */
export const gapLimit = 20

/** Base58, and bech32 in either case. The shape does not verify the checksum; recognising the text does. */
const addressShape = {
  pattern: '[13][1-9A-HJ-NP-Za-km-z]{25,34}|bc1[02-9ac-hj-np-z]{8,87}|BC1[02-9AC-HJ-NP-Z]{8,87}',
  alphabet: 'A-Za-z0-9',
  length_min: 14,
  length_max: 90,
}
const extendedKeyShape = {
  pattern: '[xyz]pub[1-9A-HJ-NP-Za-km-z]{100,112}',
  alphabet: '1-9A-HJ-NP-Za-km-z',
  length_min: 104,
  length_max: 116,
}
/** The scripts that we can read. The checksum is verified when the text is recognised. */
const descriptorShape = {
  pattern: String.raw`(?:pkh|wpkh|sh|tr)\(.{100,400}\)(?:#[02-9ac-hj-np-z]{8})?`,
  alphabet: String.raw`\x21-\x7e`,
  length_min: 105,
  length_max: 420,
}

const walletApps = [
  { name: 'Ledger', menu: ['Account', 'Edit account', 'Advanced logs'], shows: 'extended_public_key' },
  { name: 'Trezor', menu: ['Account', 'Details', 'Show public key'], shows: 'extended_public_key' },
  { name: 'Electrum', menu: ['Wallet', 'Information'], shows: 'extended_public_key' },
  { name: 'Sparrow', menu: ['Settings', 'Keystores'], shows: 'extended_public_key' },
  { name: 'BlueWallet', menu: ['Wallet', '…', 'Show Wallet XPUB'], shows: 'extended_public_key' },
] as const

export const bitcoinDefinition = {
  metadata: {
    provider_id: 'bitcoin',
    name: 'Bitcoin',
    aliases: ['BTC', 'Taproot', 'SegWit', 'xpub', 'ypub', 'zpub', ...walletApps.map(({ name }) => name)],
    kind: 'wallet',
    connection_types: ['wallet'],
    // Neither an address nor an extended public key can spend.
    permission_check: 'full',
    credential_fields: [
      {
        name: 'address',
        label: 'Address, extended public key or descriptor',
        secret: false,
        required: false,
        hint: 'An address shows only itself. An extended public key (xpub, ypub, zpub) or a descriptor shows the whole wallet.',
        shape: addressShape,
      },
      {
        name: 'extended_public_key',
        label: 'Extended public key',
        secret: false,
        required: false,
        hint: 'In your wallet’s settings as xpub, ypub, zpub or “account public key”.',
        shape: extendedKeyShape,
      },
      {
        name: 'descriptor',
        label: 'Output descriptor',
        secret: false,
        required: false,
        hint: 'wpkh(…), sh(wpkh(…)), pkh(…) or tr(…) with one extended public key.',
        shape: descriptorShape,
      },
    ],
    required_permissions: [],
    guide: null,
    wallet_apps: walletApps,
    features: { holdings: true, staking: false, transactions: true },
    known_limits: [
      'A single address does not show the change that your wallet keeps on its other addresses: paste the extended public key to see all of it.',
      `A wallet is read up to ${gapLimit} unused addresses in a row. Addresses after such a gap are not found.`,
      'Amounts that are not in a block yet are shown as pending transactions and are not in the balance.',
      'The balance of a wallet with many addresses may take hours to read. Coins that move meanwhile may count twice, or not at all, until it is read again.',
      'Wallets with several keys (multisig) and Lightning are not read.',
    ],
    status: 'available',
    website: 'https://bitcoin.org',
    brand: { color: '#f7931a', short_name: '₿' },
    popularity_rank: 4,
  },
  streams: [
    {
      name: 'transactions',
      unit: 'ms',
      // There is one list for the whole wallet, keyed by transaction. A list for each address would store a transaction
      // once for every address it touches, and would request a page for each of hundreds of addresses in every run.
      partitioned: false,
      windowMax: null,
      retentionMs: null,
      overlap: 2 * hourMs,
      cost: { calls: 1 },
      required: true,
      providerLimit: null,
      remedy: null,
    },
  ],
  // A record is a whole transaction, so each group has one record.
  storySpanMs: 0,
  settlesMs: 0,
  baseUrl: 'https://blockstream.info/api',
} as const satisfies ProviderDefinition
