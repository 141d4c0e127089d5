/**
 * Which account a key belongs to and what it may do: GetApiKeyInfo, which every key may call (docs.kraken.com,
 * get-api-key-info).
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Account } from '../kit/connector.ts'
import { readAnswer, withTextNumbers } from '../kit/json.ts'
import { krakenDefinition } from './definition.ts'

/** Kraken's documented table: the API's value, and the words on the page where users create keys. */
const permissionNames: ReadonlyMap<string, string> = new Map([
  ['query-funds', 'Funds permissions - Query'],
  ['add-funds', 'Funds permissions - Deposit'],
  ['withdraw-funds', 'Funds permissions - Withdraw'],
  ['earn-funds', 'Funds permissions - Earn'],
  ['query-open-trades', 'Orders and trades - Query open orders & trades'],
  ['query-closed-trades', 'Orders and trades - Query closed orders & trades'],
  ['modify-trades', 'Orders and trades - Create & modify orders'],
  ['close-trades', 'Orders and trades - Cancel & close orders'],
  ['query-ledger', 'Data - Query ledger entries'],
  ['export-data', 'Data - Export data'],
  ['create-ws-token', 'WebSocket interface - On'],
  ['add-withdraw-address', 'Add withdrawal addresses'],
  ['update-withdraw-address', 'Update withdrawal addresses'],
])

// Every other permission counts as excess, including ones that Kraken adds later. A WebSocket token can do what its key
// can do, so with a read-only key it only reads.
const harmless = new Set([
  'query-funds',
  'query-open-trades',
  'query-closed-trades',
  'query-ledger',
  'export-data',
  'create-ws-token',
])

const seconds = z
  .string()
  .regex(/^\d{1,11}$/)
  .nullish()
const keyInfo = z.object({
  permissions: z.array(z.string()),
  iban: z.string().nullish(),
  validUntil: seconds,
  queryFrom: seconds,
  queryTo: seconds,
})

/** `answer` is the `result` of GetApiKeyInfo. */
export function toAccount(apiKey: string, answer: unknown): Account {
  const info = readAnswer('GetApiKeyInfo', keyInfo, withTextNumbers(answer ?? null))
  const granted = info.permissions.map((permission) => permissionNames.get(permission) ?? permission)
  const validUntilMs = Number(info.validUntil ?? 0) * 1000
  return {
    ...toFingerprint(apiKey, info.iban),
    excess: info.permissions
      .filter((permission) => !harmless.has(permission))
      .map((permission) => permissionNames.get(permission) ?? permission),
    missing: [
      ...krakenDefinition.metadata.required_permissions.filter((name) => !granted.includes(name)),
      // Such a key works for every call, but silently leaves out everything outside its dates.
      ...(Number(info.queryFrom ?? 0) > 0 ? ['Query start date/time: must be empty'] : []),
      ...(Number(info.queryTo ?? 0) > 0 ? ['Query end date/time: must be empty'] : []),
    ],
    keyExpiresAtMs: validUntilMs > 0 ? validUntilMs : null,
  }
}

/**
 * The IIBAN is "of the account associated with the API key". All keys of an account share it, so a new key can repair a
 * connection. If it is missing, we use the key itself: the same key is then still recognised, and a new key counts as a
 * new account, because it must not overwrite the wrong connection.
 */
function toFingerprint(
  apiKey: string,
  iban: string | null | undefined,
): Pick<Account, 'fingerprint' | 'fingerprintOf'> {
  const account = iban?.replaceAll(' ', '') ?? ''
  const identity = account === '' ? `key\n${apiKey}` : `iiban\n${account}`
  const fingerprint = createHash('sha256').update(`kraken\n${identity}`).digest('hex')
  return { fingerprint, fingerprintOf: account === '' ? 'key' : 'account' }
}
