/** Kraken keeps the contract of a provider. */
import { symbolOf, toHeld } from '../books/kraken-books.ts'
import { describeContract } from '../suite.ts'

const reading = ['query-funds', 'query-ledger', 'query-closed-trades']

describeContract({
  providerId: 'kraken',
  simulator: {
    providerId: 'kraken',
    toHeld,
    permissions: {
      read_only: reading,
      excess: [...reading, 'withdraw-funds'],
      missing: reading.filter((right) => right !== 'query-ledger'),
    },
  },
  symbolOf,
  deposit: (code, amount) => ({ type: 'deposit', code, amount }),
  codes: { known: 'XXBT', unknown: 'ZQNT', suffixed: 'DOT.Q' },
  unknownType: { type: 'teleport', subtype: 'quantum', code: 'XXBT', amount: '0.5', fee: '0.001' },
  faults: {
    'HTTP 503': { arm: { kind: 'http_5xx' }, expects: 'venue_down' },
    'HTTP 429 with Retry-After': { arm: { kind: 'http_429_retry_after' }, expects: 'rate_limited' },
    'a ban of the address (418)': { arm: { kind: 'http_418' }, expects: 'rate_limited' },
    'too many calls, in Kraken’s own words': { arm: { kind: 'rate_limited' }, expects: 'rate_limited' },
    'a connection that is reset': { arm: { kind: 'reset' }, expects: 'venue_down' },
    'half of the JSON': { arm: { kind: 'truncated_json' }, expects: 'unreadable_answer' },
    'a page for browsers': { arm: { kind: 'html' }, expects: 'venue_down' },
    'Kraken’s own word that it is unavailable': { arm: { kind: 'service_unavailable' }, expects: 'venue_down' },
    'a key that was revoked': { arm: { kind: 'revoked' }, expects: 'invalid_credentials' },
  },
  rights: { excess: 'Funds permissions - Withdraw', missing: 'Data - Query ledger entries' },
})
