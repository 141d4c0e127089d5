/** Harbor as plain data: an exchange that exists only in the sandbox, where people sign in with OAuth2. */
import type { ProviderDefinition } from '../kit/definition.ts'

const dayMs = 24 * 3_600_000
export const pageSize = 100

export const harborDefinition = {
  metadata: {
    provider_id: 'harbor',
    name: 'Harbor',
    aliases: [],
    kind: 'exchange',
    connection_types: ['oauth2'],
    permission_check: 'full',
    credential_fields: [],
    required_permissions: ['Read your account'],
    guide: null,
    features: { holdings: true, staking: true, transactions: true },
    known_limits: ['Harbor exists only in the sandbox.'],
    status: 'available',
    website: 'https://harbor.example',
    brand: { color: '#1f6f8b', short_name: 'H' },
    popularity_rank: null,
  },
  streams: [
    {
      name: 'entries',
      unit: 'ms',
      partitioned: false,
      windowMax: null,
      retentionMs: null,
      overlap: 3_600_000,
      cost: { calls: 1 },
      required: true,
      providerLimit: null,
      remedy: null,
    },
  ],
  // All entries of one reference have the same time.
  storySpanMs: dayMs,
  settlesMs: 0,
  baseUrl: 'https://harbor.example',
  signIn: {
    origin: 'https://harbor.example',
    authorizationPath: '/oauth/authorize',
    tokenPath: '/oauth/token',
    scope: 'read',
  },
  sandboxClient: { clientId: 'assay-sandbox', clientSecret: 'harbor-client-secret' },
  sandboxOnly: true,
} as const satisfies ProviderDefinition
