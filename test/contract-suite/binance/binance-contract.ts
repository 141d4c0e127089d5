/** Binance as the contract suite needs to know it. */
import { symbolOf, toHeld } from '../books/binance-books.ts'
import type { ProviderUnderTest } from '../suite.ts'

export const binanceContract: ProviderUnderTest = {
  providerId: 'binance',
  simulator: {
    providerId: 'binance',
    toHeld,
    permissions: {
      read_only: ['enableReading'],
      excess: ['enableReading', 'enableWithdrawals'],
      missing: [],
    },
  },
  symbolOf,
  deposit: (code, amount) => ({ type: 'deposit', code, amount }),
  codes: { known: 'BTC', unknown: 'ZQNT' },
  decimals: 8,
  // Fiat orders may be requested twice a minute.
  resumedMs: 300 * 86_400_000,
  faults: {
    'HTTP 503': { arm: { kind: 'http_5xx' }, expects: 'venue_down' },
    'HTTP 429 with Retry-After': { arm: { kind: 'http_429_retry_after' }, expects: 'rate_limited' },
    'a ban of the address (418)': { arm: { kind: 'http_418' }, expects: 'rate_limited' },
    'too many calls, in Binance’s own words': { arm: { kind: 'rate_limited' }, expects: 'rate_limited' },
    'a connection that is reset': { arm: { kind: 'reset' }, expects: 'venue_down' },
    'half of the JSON': { arm: { kind: 'truncated_json' }, expects: 'unreadable_answer' },
    'a page for browsers': { arm: { kind: 'html' }, expects: 'venue_down' },
    'Binance’s own word that it is unavailable': { arm: { kind: 'service_unavailable' }, expects: 'venue_down' },
    'a key that was revoked': { arm: { kind: 'revoked' }, expects: 'invalid_credentials' },
  },
  rights: { excess: 'Enable Withdrawals', missing: 'Enable Reading' },
}
