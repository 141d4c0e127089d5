/** OKX, read by the connector over ccxt, keeps the contract of a provider. It forgets trades after three months. */
import { msUntilNoon } from '../noon.ts'
import { describeContract } from './suite.ts'
import { countedByList, toSpotHeld, type SpotState } from './spot-books.ts'

const streams: Readonly<Record<string, string>> = { trade: 'trades', deposit: 'deposits', withdrawal: 'withdrawals' }
const memoryMs = 90 * 24 * 3_600_000

describeContract(
  {
    providerId: 'okx',
    simulator: {
      providerId: 'okx',
      toHeld: (state: SpotState) => {
        const nowMs = Date.now()
        const forgottenMs = nowMs + msUntilNoon(nowMs) - memoryMs
        return toSpotHeld(
          state,
          (kind) => streams[kind],
          (kind, { at }) => kind in streams && (kind !== 'trade' || Date.parse(at) >= forgottenMs),
        )
      },
      permissions: { read_only: ['read_only'], excess: ['read_only', 'trade'], missing: [] },
    },
    symbolOf: (code) => code,
    identify: countedByList,
    unexplained: 'OKX forgets trades after three months, and its bills have numbers for types',
    forgets: true,
    deposit: (code, amount) => ({ type: 'deposit', code, amount }),
    codes: { known: 'BTC', unknown: 'ZQNT' },
    decimals: 8,
    untold: { type: 'airdrop', code: 'LINK', amount: '1.5' },
    scenarios: ['forgotten', 'rate_limited', 'flaky'],
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
