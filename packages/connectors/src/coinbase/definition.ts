/**
 * Coinbase as plain data. Sources: docs.cdp.coinbase.com, coinbase-app (api-key-authentication, authorization,
 * oauth2-integration, rate-limiting) and track-apis/transactions.
 */
import { dayMs } from '@assay/core'
import type { ProviderDefinition } from '../kit/definition.ts'

/** The maximum that Coinbase allows; its default is 25. */
export const pageSize = 100

const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'

/** Nothing can be read without these two. The user can uncheck each of them on Coinbase's consent page. */
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
        // An Ed25519 key is 64 bytes in base64, or its first 32. PEM blocks are recognised separately.
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
      'An API key sees one portfolio. To see all of your wallets, create the key for the primary portfolio or sign in instead.',
      'Coinbase Wallet (the self-custody app), Coinbase Prime and the International Exchange are separate products and are not read; movements to and from them are shown as transfers.',
      'Coinbase does not report the sender of an on-chain deposit.',
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
      // Each wallet has its own list, even if the wallet is empty.
      partitioned: true,
      windowMax: null,
      retentionMs: null,
      // Rows that may still change are marked as pending, and the engine rereads from the oldest of them.
      overlap: dayMs,
      cost: { calls: 1 },
      required: true,
      providerLimit: null,
      remedy: null,
    },
  ],
  // Coinbase books both halves of a conversion in the same second, and the echo of a transfer to Pro within the hour.
  storySpanMs: dayMs,
  countsInClaims: true,
  settlesMs: 60_000,
  baseUrl: 'https://api.coinbase.com',
  signIn: {
    origin: 'https://login.coinbase.com',
    authorizationPath: '/oauth2/auth',
    tokenPath: '/oauth2/token',
    // The docs ask for a "Comma separated list of permissions". `offline_access` grants the refresh token.
    scope: ['wallet:user:read', ...neededScopes, 'offline_access'].join(','),
  },
  sandboxClient: { clientId: 'assay-sandbox', clientSecret: 'coinbase-client-secret' },
} as const satisfies ProviderDefinition
