/** Tidepool keeps the contract of a provider. The test that adds the provider copies this file beside the suite. */
import { describeContract } from '../suite.ts'
import { startTidepool } from './simulator.ts'

describeContract({
  providerId: 'tidepool',
  simulator: { start: startTidepool },
  symbolOf: (code) => code,
  deposit: (code, amount) => ({ type: 'deposit', code, amount }),
  codes: { known: 'BTC', unknown: 'ZQNT', suffixed: 'BTC.vault' },
  unknownType: { type: 'teleport', code: 'BTC', amount: '0.5', fee: '0.001' },
  faults: {
    'HTTP 503': { arm: { kind: 'down' }, expects: 'venue_down' },
    'HTTP 429': { arm: { kind: 'busy' }, expects: 'rate_limited' },
    'half of the JSON': { arm: { kind: 'garbage' }, expects: 'unreadable_answer' },
    'a key that was revoked': { arm: { kind: 'revoked' }, expects: 'invalid_credentials' },
  },
  rights: { excess: 'Trade', missing: 'Read' },
})
