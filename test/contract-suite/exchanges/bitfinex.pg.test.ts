/** Bitfinex, read by the connector over ccxt, stores what its simulator holds: rows that are arrays of JSON numbers. */
import { bitfinexHeld, countedByList } from '../books/spot-books.ts'
import { describeContract } from '../suite.ts'

describeContract(
  {
    providerId: 'bitfinex',
    simulator: {
      providerId: 'bitfinex',
      toHeld: bitfinexHeld,
      permissions: { read_only: [], excess: [], missing: [] },
    },
    symbolOf: (code) => code,
    neverShown: ['output_only', 'uncategorized'],
    identify: countedByList,
    deposit: (code, amount) => ({ type: 'deposit', code, amount }),
    codes: { known: 'BTC', unknown: 'ZQNT' },
    // The simulator writes JSON numbers as JavaScript does, so a large amount cannot have more digits.
    decimals: 2,
    faults: {
      'HTTP 503': { arm: { kind: 'http_5xx' }, expects: 'venue_down' },
      // Bitfinex answers HTTP 500 to a key that it does not accept.
      'a key that was revoked': { arm: { kind: 'revoked' }, expects: 'invalid_credentials' },
    },
    rights: { excess: '', missing: '' },
  },
  ['reading', 'faults', 'strange_records', 'withdrawn', 'scenarios'],
)
