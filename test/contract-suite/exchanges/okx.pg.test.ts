/** OKX, read by the connector over ccxt, keeps the contract of a provider. It forgets trades after three months. */
import { countedByList, okxHeld } from '../books/spot-books.ts'
import { describeContract } from '../suite.ts'

describeContract(
  {
    providerId: 'okx',
    simulator: {
      providerId: 'okx',
      toHeld: okxHeld,
      permissions: { read_only: ['read_only'], excess: ['read_only', 'trade'], missing: [] },
    },
    symbolOf: (code) => code,
    identify: countedByList,
    unexplained: 'OKX forgets trades after three months, and ccxt reads no bills of the funding account',
    forgets: true,
    deposit: (code, amount) => ({ type: 'deposit', code, amount }),
    codes: { known: 'BTC', unknown: 'ZQNT' },
    decimals: 8,
    untold: { type: 'airdrop', code: 'LINK', amount: '1.5' },
    faults: {
      'HTTP 503': { arm: { kind: 'http_5xx' }, expects: 'venue_down' },
      'HTTP 429 with Retry-After': { arm: { kind: 'http_429_retry_after' }, expects: 'rate_limited' },
      'half of the JSON': { arm: { kind: 'truncated_json' }, expects: 'unreadable_answer' },
      'a page for browsers': { arm: { kind: 'html' }, expects: 'venue_down' },
      'a key that was revoked': { arm: { kind: 'revoked' }, expects: 'invalid_credentials' },
    },
    // A key without the right to read may not even ask which rights it has.
    rights: { excess: 'trade', missing: 'OKX' },
  },
  ['reading', 'faults', 'strange_records', 'withdrawn', 'keys', 'scenarios'],
)
