/**
 * The scenarios of the simulated OKX.
 * Permission names: https://www.okx.com/docs-v5/en/#trading-account-rest-api-get-account-configuration (`perm`)
 */
import { spotScenarios } from '../spot/index.ts'

export const okxScenarios = spotScenarios({
  readOnly: ['read_only'],
  everything: ['read_only', 'withdraw', 'trade'],
  unknownKey: 'code 50119',
  otherAddress: 'code 50110',
  tooManyCalls: 'HTTP 429 with code 50011',
  fewCalls: 1,
  forgets: 'bills of seven days or three months, fills of three months, funding bills of one month',
})
