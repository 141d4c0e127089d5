/** Coinbase keeps the contract of a provider, connected with an API key. */
import { coinbase, coinbaseFaults, toHeld } from '../books/coinbase-books.ts'
import { describeContract } from '../suite.ts'

describeContract({
  ...coinbase,
  simulator: {
    providerId: 'coinbase',
    toHeld,
    permissions: { read_only: ['view'], excess: ['view', 'trade'], missing: [] },
  },
  faults: {
    ...coinbaseFaults,
    'a key that was revoked': { arm: { kind: 'revoked' }, expects: 'invalid_credentials' },
  },
  rights: { excess: 'Trade', missing: 'View' },
})
