/** The scenarios of the simulated Bitfinex, Bybit and OKX: the shared spot stories in each exchange's own words. */
import { spotScenarios } from './index.ts'

/**
 * Permission names: https://docs.bitfinex.com/reference/key-permissions, with :read and :write for the two columns. The
 * documents do not say how a call from another IP address is answered, or that anything is forgotten.
 */
const readable = ['account', 'history', 'orders', 'positions', 'funding', 'wallets'].map((scope) => `${scope}:read`)

export const bitfinexScenarios = spotScenarios({
  readOnly: readable,
  everything: [...readable, 'orders:write', 'funding:write', 'wallets:write', 'withdraw:write'],
  unknownKey: 'error 10100',
  otherAddress: undefined,
  tooManyCalls: 'HTTP 429 with error 11010',
  fewCalls: 2,
  forgets: undefined,
})

/**
 * Permission names: https://bybit-exchange.github.io/docs/v5/user/apikey-info; error codes: …/docs/v5/error. `readOnly`
 * is the switch that removes the right to write from all groups.
 */
const reading = ['SpotTrade', 'AccountTransfer', 'ExchangeHistory']

export const bybitScenarios = spotScenarios({
  readOnly: ['readOnly', ...reading],
  everything: [...reading, 'SubMemberTransfer', 'Withdraw', 'DerivativesTrade'],
  unknownKey: 'retCode 10003',
  otherAddress: 'retCode 10010',
  tooManyCalls: 'retCode 10006',
  fewCalls: 2,
  forgets: 'trades and the transaction log are kept for two years',
})

/** Permission names: https://www.okx.com/docs-v5/en/#trading-account-rest-api-get-account-configuration (`perm`) */
export const okxScenarios = spotScenarios({
  readOnly: ['read_only'],
  everything: ['read_only', 'withdraw', 'trade'],
  unknownKey: 'code 50119',
  otherAddress: 'code 50110',
  tooManyCalls: 'HTTP 429 with code 50011',
  fewCalls: 1,
  forgets: 'bills of seven days or three months, fills of three months, funding bills of one month',
})
