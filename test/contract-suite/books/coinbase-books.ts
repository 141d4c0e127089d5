/** What Coinbase holds for an account, from the simulator's own books, and what both ways to connect have in common. */
import type { Held } from '../simulator.ts'
import type { ProviderUnderTest } from '../suite.ts'

interface State {
  balances: Record<string, string>
  transactions: {
    id: string
    account_id: string
    status: string
    amount: { amount: string; currency: string }
    /** What the wallet lost beside the amount: the commission of a fill. */
    charged: string
    /** True when the row repeats another one and moved nothing. */
    echo: boolean
    withdrawn: boolean
  }[]
}

export function toHeld({ balances, transactions }: State): Held {
  return {
    records: transactions
      .filter(({ withdrawn }) => !withdrawn)
      .map(({ id, account_id: partition, status, amount: { amount, currency: code }, charged, echo }) => ({
        stream: 'transactions',
        partition,
        key: id,
        changes:
          // A send is debited when it is requested; incoming amounts are credited on completion.
          !echo && (status === 'completed' || (status === 'pending' && amount.startsWith('-')))
            ? [
                { code, amount },
                { code, amount: charged === '0' ? '0' : `-${charged}` },
              ]
            : [],
      })),
    balances: Object.entries(balances).map(([code, amount]) => ({ code, amount })),
  }
}

export const coinbase = {
  providerId: 'coinbase',
  symbolOf: (code: string) => (code === 'ETH2' ? 'ETH' : code),
  deposit: (code: string, amount: string) => ({ type: 'receive', code, amount }),
  codes: { known: 'BTC', unknown: 'ZQNT' },
  unknownType: { type: 'quantum_leap', code: 'BTC', amount: '0.5' },
} satisfies Partial<ProviderUnderTest>

export const coinbaseFaults = {
  'HTTP 503': { arm: { kind: 'http_5xx' }, expects: 'venue_down' },
  'HTTP 429 with Retry-After': { arm: { kind: 'http_429_retry_after' }, expects: 'rate_limited' },
  'too many calls, in Coinbase’s own words': { arm: { kind: 'rate_limited' }, expects: 'rate_limited' },
  'a connection that is reset': { arm: { kind: 'reset' }, expects: 'venue_down' },
  'half of the JSON': { arm: { kind: 'truncated_json' }, expects: 'unreadable_answer' },
  'a page for browsers': { arm: { kind: 'html' }, expects: 'venue_down' },
} satisfies ProviderUnderTest['faults']
