/**
 * The scenarios of the simulated Bybit.
 * Permission names: https://bybit-exchange.github.io/docs/v5/user/apikey-info; error codes: …/docs/v5/error
 */
import { spotScenarios } from '../spot/index.ts'

/** As Bybit groups them, and `readOnly` for the switch that takes writing from all of them. */
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
