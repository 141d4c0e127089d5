/** Kraken keeps the contract of a provider. */
import { describeContract } from './suite.ts'
import type { Held } from './simulator.ts'
import { symbolOf, toUnits, type KrakenState } from '../reconciler.ts'

interface State extends KrakenState {
  deposits: { refid: string }[]
  withdrawals: { refid: string }[]
}

function toHeld(state: State): Held {
  const funding = (stream: string, rows: readonly { refid: string }[]): Held['records'] =>
    rows.map(({ refid }) => ({ stream, partition: '', key: refid, changes: [] }))
  return {
    records: [
      ...state.ledger.map(({ id, asset, amount, fee }) => ({
        stream: 'ledger',
        partition: '',
        key: id,
        changes: [
          { code: asset, amount },
          { code: asset, amount: toUnits(fee) === 0n ? '0' : negate(fee) },
        ],
      })),
      ...funding('deposits', state.deposits),
      ...funding('withdrawals', state.withdrawals),
    ],
    balances: Object.entries(state.balances).map(([code, amount]) => ({ code, amount })),
  }
}

function negate(amount: string): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

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
  // A wallet behind the dot that Kraken does not document makes a separate asset.
  symbolOf: (code) => (code.endsWith('.Q') ? code : symbolOf(code)),
  deposit: (code, amount) => ({ type: 'deposit', code, amount }),
  codes: { known: 'XXBT', unknown: 'ZQNT', suffixed: 'DOT.Q' },
  unknownType: { type: 'teleport', subtype: 'quantum', code: 'XXBT', amount: '0.5', fee: '0.001' },
  scenarios: ['odd', 'reality', 'rate_limited', 'flaky'],
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
