/**
 * Wallets on Solana, as plain data. An address is public: it needs no key and has nothing to allow. Everything is read
 * from a node (solana.com/docs/rpc), without an index.
 */
import { hourMs } from '@assay/core'
import { toAddressWallet, type ProviderDefinition } from '../kit/definition.ts'

/**
 * Base58 of 32 bytes has 43 or 44 characters. A shorter text would need a key that begins with bytes of zero: below 36
 * characters it is a Bitcoin address.
 */
const addressShape = {
  pattern: '[1-9A-HJ-NP-Za-km-z]{36,44}',
  alphabet: '1-9A-HJ-NP-Za-km-z',
  length_min: 36,
  length_max: 44,
}

const walletApps = [
  { name: 'Phantom', menu: ['Receive', 'Solana'], shows: 'address' },
  { name: 'Solflare', menu: ['Receive'], shows: 'address' },
  { name: 'Backpack Wallet', menu: ['Receive', 'Solana'], shows: 'address' },
  { name: 'Jupiter Wallet', menu: ['Receive'], shows: 'address' },
  { name: 'Glow', menu: ['Receive'], shows: 'address' },
  { name: 'Trust Wallet', menu: ['Receive', 'Solana'], shows: 'address' },
  { name: 'Ledger', menu: ['Receive', 'Solana'], shows: 'address' },
] as const

export const solanaDefinition = {
  metadata: {
    provider_id: 'solana',
    name: 'Solana',
    aliases: ['SOL', 'SPL', ...walletApps.map(({ name }) => name)],
    ...toAddressWallet(
      'Your wallet’s address: 43 or 44 letters and digits. Never a seed phrase or a private key.',
      addressShape,
    ),
    wallet_apps: walletApps,
    features: { holdings: true, staking: true, transactions: true },
    known_limits: [
      'The deposit that each token account holds does not count as SOL: it is a fee when the account is opened, and comes back when it is closed.',
      'SOL that is wrapped in two transactions is shown as sent and then received.',
      'What a wallet has deposited in a protocol is shown as the tokens that it got for it, or as sent.',
      'Compressed collectibles are not shown, because the chain itself does not list them.',
      'Of a wallet with more than 2,000 token accounts or 200 stake accounts, the balances are complete, but transfers that name only the other accounts are not read.',
      'Addresses of programs, mints and token accounts cannot be connected: connect the wallet that owns them.',
    ],
    status: 'available',
    website: 'https://solana.com',
    brand: { color: '#9945ff', short_name: '◎' },
    popularity_rank: 6,
  },
  streams: [
    {
      name: 'transactions',
      unit: 'ms',
      // A transfer of tokens names the token account and not its owner, so each account of the wallet has a list.
      partitioned: true,
      windowMax: null,
      retentionMs: null,
      // Times of blocks are estimates of the validators, and may be behind by minutes.
      overlap: hourMs,
      // Between one call, for a list without news, and 22. A node that allows less moves the budget to its next tier.
      cost: { rpc: 8 },
      required: true,
      providerLimit: null,
      remedy: null,
    },
    {
      name: 'rewards',
      unit: 'ms',
      partitioned: true,
      windowMax: null,
      retentionMs: null,
      overlap: 0,
      cost: { rpc: 8 },
      required: true,
      providerLimit: null,
      remedy: null,
    },
  ],
  // All records of a signature have the time of one block, unless it was dropped and came back in another.
  storySpanMs: hourMs,
  settlesMs: 5_000,
  // The rewards of an epoch are in the balance some minutes before a node lists them.
  accrues: 'staked',
  baseUrl: 'https://api.mainnet-beta.solana.com',
} as const satisfies ProviderDefinition
