/** Coinbase keeps the contract of a provider, connected by signing in (OAuth2). */
import { coinbase, coinbaseFaults, toHeld } from '../books/coinbase-books.ts'
import { describeContract } from '../suite.ts'

describeContract({
  ...coinbase,
  simulator: {
    providerId: 'coinbase',
    client: { clientId: 'assay-sandbox', clientSecret: 'coinbase-client-secret' },
    signIn: true,
    toHeld,
    // The simulator turns these into scopes.
    permissions: { read_only: ['view'], excess: ['view', 'transfer'], missing: [] },
  },
  faults: {
    ...coinbaseFaults,
    'tokens that were revoked': { arm: { kind: 'revoked', endpoint: 'accounts' }, expects: 'needs_reauth' },
  },
  rights: { excess: 'wallet:transactions:send', missing: 'wallet:transactions:read' },
})
