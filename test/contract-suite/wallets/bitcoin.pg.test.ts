/**
 * Bitcoin keeps the contract of a provider, as far as one without keys and codes has one. The wallet is a single
 * address with several pages; wallets of many addresses are in bitcoin-wallets.pg.test.ts.
 */
import { toHeld } from '../books/bitcoin-books.ts'
import { describeContract } from '../suite.ts'

describeContract(
  {
    providerId: 'bitcoin',
    simulator: { providerId: 'bitcoin', toHeld, scenario: 'single_address' },
    symbolOf: (code) => code,
    deposit: (code, amount) => ({ type: 'receive', code, amount }),
    codes: { known: 'BTC', unknown: 'BTC' },
    faults: {
      'HTTP 503': { arm: { kind: 'http_5xx' }, expects: 'venue_down' },
      'HTTP 429 with Retry-After': { arm: { kind: 'http_429_retry_after' }, expects: 'rate_limited' },
      'too many calls, in the server’s own words': { arm: { kind: 'rate_limited' }, expects: 'rate_limited' },
      'a connection that is reset': { arm: { kind: 'reset' }, expects: 'venue_down' },
      'half of the JSON': { arm: { kind: 'truncated_json' }, expects: 'unreadable_answer' },
      'a page for browsers': { arm: { kind: 'html' }, expects: 'venue_down' },
    },
    rights: null,
    recordsMin: 50,
  },
  ['reading', 'resuming', 'faults', 'keys', 'scenarios'],
)
