/**
 * Kraken as plain data. The permission names are those of Kraken's "Create API key" page; docs.kraken.com/api-reference
 * says which calls need which ("API Key Permissions Required").
 */
import { hourMs, dayMs } from '@assay/core'
import type { Stream } from '../kit/connector.ts'
import type { ProviderDefinition } from '../kit/definition.ts'

export const pageSize = 50

/** 42 and 64 bytes in base64: docs.kraken.com shows 56 and 88 characters. The key never needs padding. */
const base64 = { alphabet: 'A-Za-z0-9+/=' }

export const krakenDefinition = {
  metadata: {
    provider_id: 'kraken',
    name: 'Kraken',
    aliases: ['Kraken Pro', 'Payward', 'Krak'],
    kind: 'exchange',
    connection_types: ['api_key'],
    permission_check: 'full',
    credential_fields: [
      {
        name: 'api_key',
        label: 'API key',
        secret: false,
        required: true,
        hint: 'Kraken: Settings, API, Create API key. 56 characters.',
        shape: { ...base64, pattern: '[A-Za-z0-9+/]{56}', length_min: 56, length_max: 56 },
      },
      {
        name: 'secret_key',
        label: 'Private key',
        secret: true,
        required: true,
        hint: 'Shown once, right after you create the key. 88 characters, ending in ==.',
        shape: { ...base64, pattern: '[A-Za-z0-9+/]{86}==', length_min: 88, length_max: 88 },
      },
    ],
    required_permissions: ['Funds permissions - Query', 'Data - Query ledger entries'],
    guide: {
      page: 'https://www.kraken.com/u/security/api',
      menu: ['Settings', 'API', 'Create API key'],
      leave_empty: ['Withdraw', 'Create & modify orders', 'Query start date/time', 'Query end date/time'],
      shown_once: 'Private key',
    },
    features: { holdings: true, staking: true, transactions: true },
    known_limits: [
      'Kraken Futures is a separate account with its own keys and is not read; movements to and from it are shown as transfers.',
      'Kraken allows an account about one page of 50 ledger entries every six seconds, so a long history takes a while.',
      'Balances at Kraken are not proved while a credit line is in use.',
      'Addresses and transaction hashes are missing where Kraken no longer lists the deposit or withdrawal.',
    ],
    status: 'available',
    website: 'https://www.kraken.com',
    brand: { color: '#7132f5', short_name: 'Kr' },
    popularity_rank: 1,
  },
  streams: [
    {
      name: 'ledger',
      unit: 'ms',
      partitioned: false,
      windowMax: null,
      retentionMs: null,
      overlap: hourMs,
      newestFirst: true,
      cost: { counter: 2 },
      required: true,
      providerLimit: null,
      remedy: null,
    },
    fundingStream('deposits'),
    fundingStream('withdrawals'),
  ],
  // A withdrawal on hold was returned after weeks. An Earn reference was reused after months.
  storySpanMs: 30 * dayMs,
  // The ledger is the account's book: every entry has the balance after it.
  listsEveryMovement: true,
  countsInClaims: true,
  settlesMs: 2_000,
  // 2: a withdrawal on hold has left the balance. 3: a conversion between wallets of one asset is a move.
  connectorVersion: 3,
  baseUrl: 'https://api.kraken.com',
} as const satisfies ProviderDefinition

function fundingStream<const Name extends string>(name: Name): Stream & { name: Name } {
  return {
    name,
    unit: 'ms',
    partitioned: false,
    windowMax: null,
    retentionMs: null,
    // Records change after they appear. Those that may still change are marked as pending, and the engine rereads from
    // the oldest of them. The two weeks are for a final status that is revoked (a returned bank transfer).
    overlap: 14 * dayMs,
    cost: { counter: 1 },
    required: false,
    providerLimit: `Kraken no longer lists some old ${name}: their amounts come from the ledger, their addresses and hashes are missing.`,
    remedy: null,
  }
}

export type StreamName = (typeof krakenDefinition.streams)[number]['name']
