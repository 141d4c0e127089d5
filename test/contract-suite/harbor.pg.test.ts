/** Harbor keeps the contract of a provider. */
import { describeContract } from './suite.ts'
import type { Held } from './simulator.ts'

interface State {
  balances: Record<string, string>
  staked: Record<string, string>
  entries: { id: string; asset: string; amount: string; fee: string }[]
}

function toHeld({ balances, entries }: State): Held {
  return {
    records: entries.map(({ id, asset, amount, fee }) => ({
      stream: 'entries',
      partition: '',
      key: id,
      changes: [
        { code: asset, amount },
        { code: asset, amount: fee === '0' ? '0' : `-${fee}` },
      ],
    })),
    // What is staked is a part of the balance, and leaves no entry.
    balances: Object.entries(balances).map(([code, amount]) => ({ code, amount })),
  }
}

describeContract({
  providerId: 'harbor',
  simulator: {
    providerId: 'harbor',
    client: { clientId: 'assay-sandbox', clientSecret: 'harbor-client-secret' },
    toHeld,
    permissions: { read_only: ['read'], excess: ['read', 'trade'], missing: ['none'] },
  },
  symbolOf: (code) => code,
  deposit: (code, amount) => ({ type: 'deposit', code, amount }),
  codes: { known: 'BTC', unknown: 'ZQNT' },
  unknownType: { type: 'teleport', code: 'BTC', amount: '0.5', fee: '0.001' },
  faults: {
    'HTTP 503': { arm: { kind: 'http_5xx' }, expects: 'venue_down' },
    'HTTP 429 with Retry-After': { arm: { kind: 'http_429_retry_after' }, expects: 'rate_limited' },
    'a connection that is reset': { arm: { kind: 'reset' }, expects: 'venue_down' },
    'half of the JSON': { arm: { kind: 'truncated_json' }, expects: 'unreadable_answer' },
    'a page for browsers': { arm: { kind: 'html' }, expects: 'venue_down' },
    'tokens that were revoked': { arm: { kind: 'revoked', endpoint: 'balances' }, expects: 'needs_reauth' },
  },
  rights: { excess: 'trade', missing: 'Read your account' },
})
