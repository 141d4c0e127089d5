/** Bitfinex, read by the connector over ccxt, stores what its simulator holds: rows that are arrays of JSON numbers. */
import { countedByList, toSpotHeld, type SpotState } from './spot-books.ts'
import { describeContract } from './suite.ts'

const streams: Readonly<Record<string, string>> = { trade: 'trades', deposit: 'transfers', withdrawal: 'transfers' }

describeContract(
  {
    providerId: 'bitfinex',
    simulator: {
      providerId: 'bitfinex',
      toHeld: (state: SpotState) =>
        toSpotHeld(
          state,
          (kind) => streams[kind],
          () => true,
        ),
      permissions: { read_only: [], excess: [], missing: [] },
    },
    symbolOf: (code) => code,
    identify: countedByList,
    deposit: (code, amount) => ({ type: 'deposit', code, amount }),
    codes: { known: 'BTC', unknown: 'ZQNT' },
    // The simulator writes JSON numbers as JavaScript does: a large amount has no room for more.
    decimals: 2,
    scenarios: ['rate_limited', 'flaky'],
    faults: {},
    rights: { excess: '', missing: '' },
  },
  ['reading', 'strange_records', 'withdrawn', 'scenarios'],
)
