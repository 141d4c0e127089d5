/**
 * The scenarios of the simulated Bitfinex. Its documents neither say what a call from another address is answered, nor
 * that anything is forgotten.
 * Permission names: https://docs.bitfinex.com/reference/key-permissions, with :read and :write for the two columns.
 */
import { spotScenarios } from '../spot/index.ts'

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
