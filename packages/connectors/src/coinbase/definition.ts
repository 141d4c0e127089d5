/**
 * Coinbase as plain data. Sources: docs.cdp.coinbase.com, coinbase-app (api-key-authentication, authorization,
 * oauth2-integration, rate-limiting) and track-apis/transactions.
 */
import { dayMs } from '@assay/core'
import type { ProviderDefinition } from '../kit/definition.ts'

/** The most that Coinbase gives; 25 is its default. */
export const pageSize = 100

const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'

/** Without these two nothing can be read. A person can untick each of them on the consent page. */
export const neededScopes = ['wallet:accounts:read', 'wallet:transactions:read'] as const

export const coinbaseDefinition = {
  metadata: {
    provider_id: 'coinbase',
    name: 'Coinbase',
    aliases: ['Coinbase Advanced', 'Coinbase Pro', 'GDAX', 'CDP'],
    kind: 'exchange',
    connection_types: ['oauth2', 'api_key'],
    permission_check: 'full',
    credential_fields: [
      {
        name: 'api_key',
        label: 'API key name',
        secret: false,
        required: true,
        hint: 'organizations/…/apiKeys/…, or the key ID alone. Old keys with 16 characters no longer work.',
        shape: {
          pattern: `(?:organizations/${uuid}/apiKeys/)?${uuid}`,
          alphabet: 'A-Za-z0-9/-',
          length_min: 36,
          length_max: 95,
        },
      },
      {
        name: 'secret_key',
        label: 'Private key',
        secret: true,
        required: true,
        hint: 'Shown once. Paste all of it, from -----BEGIN to the end; an Ed25519 key is one line that ends in ==.',
        // An Ed25519 key: 64 bytes in base64, or its first 32. A PEM block is recognised by itself, whatever the shape.
        shape: {
          pattern: '[A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=',
          alphabet: 'A-Za-z0-9+/=',
          length_min: 44,
          length_max: 88,
        },
      },
    ],
    required_permissions: ['View'],
    guide: {
      page: 'https://portal.cdp.coinbase.com/access/api',
      menu: ['API Keys', 'Secret API Keys', 'Create API key'],
      leave_empty: ['Trade', 'Transfer', 'IP allowlist'],
      shown_once: 'Private key',
    },
    features: { holdings: true, staking: true, transactions: true },
    known_limits: [
      'An API key sees one portfolio. Make it for the primary portfolio, or sign in, to see all of your wallets.',
      'Coinbase Wallet (the self-custody app), Coinbase Prime and the International Exchange are other products and are not read; moves to and from them are shown as transfers.',
      'Coinbase does not tell who sent a deposit on a chain.',
    ],
    status: 'available',
    website: 'https://www.coinbase.com',
    brand: { color: '#0052ff', short_name: 'Cb' },
    popularity_rank: 2,
  },
  streams: [
    {
      name: 'transactions',
      unit: 'ms',
      // Each wallet has its own list, including one that is empty today.
      partitioned: true,
      windowMax: null,
      retentionMs: null,
      // Rows that may still change are marked as pending, and the engine reads again from the oldest of them.
      overlap: dayMs,
      cost: { calls: 1 },
      required: true,
      providerLimit: null,
      remedy: null,
    },
  ],
  // Both halves of a conversion are booked in the same second, and the echo of a transfer to Pro within the hour.
  storySpanMs: dayMs,
  settlesMs: 60_000,
  baseUrl: 'https://api.coinbase.com',
  signIn: {
    origin: 'https://login.coinbase.com',
    authorizationPath: '/oauth2/auth',
    tokenPath: '/oauth2/token',
    // Separated by commas (docs: "Comma separated list of permissions"). `offline_access` brings the refresh token.
    scope: ['wallet:user:read', ...neededScopes, 'offline_access'].join(','),
  },
  sandboxClient: { clientId: 'assay-sandbox', clientSecret: 'coinbase-client-secret' },
} as const satisfies ProviderDefinition
