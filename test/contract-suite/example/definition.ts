/** Tidepool, an exchange that exists only in this test: one provider as a contributor would add it. Plain data. */
import type { ProviderDefinition } from '../../../packages/connectors/src/kit/definition.ts'

export const tidepoolDefinition = {
  metadata: {
    provider_id: 'tidepool',
    name: 'Tidepool',
    aliases: ['Rockpool'],
    kind: 'exchange',
    connection_types: ['api_key'],
    permission_check: 'full',
    credential_fields: [
      { name: 'api_key', label: 'Key', secret: false, required: true, hint: 'Begins with tp_.', shape: null },
      { name: 'secret_key', label: 'Secret', secret: true, required: true, hint: 'Shown once.', shape: null },
    ],
    required_permissions: ['Read'],
    guide: null,
    features: { holdings: true, staking: false, transactions: true },
    known_limits: [],
    status: 'available',
    website: 'https://tidepool.example',
    brand: { color: '#0a7', short_name: 'Tp' },
    popularity_rank: null,
  },
  streams: [
    {
      name: 'entries',
      unit: 'ms',
      // Each wallet of an account has its own list.
      partitioned: true,
      windowMax: null,
      retentionMs: null,
      overlap: 3_600_000,
      cost: { calls: 1 },
      required: true,
      providerLimit: null,
      remedy: null,
    },
  ],
  storySpanMs: 3_600_000,
  settlesMs: 0,
  baseUrl: 'https://api.tidepool.example',
} as const satisfies ProviderDefinition
