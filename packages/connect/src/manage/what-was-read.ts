/** The calls have names for developers; a person wants to know what was read. */
import type { TextKey } from '../texts/index.ts'

/** The first that fits: the history of assets is not their balances. */
const kinds: readonly (readonly [RegExp, TextKey])[] = [
  [/history/i, 'manage.what_history'],
  [/transaction|changes/i, 'manage.what_transactions'],
  [/asset|balance/i, 'manage.what_assets'],
  [/provider|coverage|account/i, 'manage.what_providers'],
  [/proof/i, 'manage.what_proof'],
  [/claim/i, 'manage.what_claim'],
  [/refresh/i, 'manage.what_refresh'],
  [/user/i, 'manage.what_user'],
]

/** `endpoint` is the id of a call in the contract. One that this page does not know yet is "other data". */
export function whatOf(endpoint: string): TextKey {
  return kinds.find(([pattern]) => pattern.test(endpoint))?.[1] ?? 'manage.what_other'
}
