/**
 * Which account a key belongs to and what the key may do. ccxt has no call for either, so a table (catalogue/abouts.ts)
 * names the endpoint, the place in its answer, and the permissions that are harmless. Every other permission counts as
 * excess, including ones that the exchange adds later. If an exchange has no entry, we only try the key, and the user
 * confirms that it is read-only (`permission_check: none`).
 */
import { createHash } from 'node:crypto'
import { SourceError } from '@assay/core'
import type { Account } from '../kit/connector.ts'
import { textAt, valueAt } from './answers.ts'
import type { Rights } from './catalogue/about.ts'
import { findAbout } from './catalogue/abouts.ts'
import { fetchBalances } from './balances.ts'
import type { CcxtClient } from './client.ts'
import { findElsewhere } from './elsewhere.ts'

export async function fetchAccount(client: CcxtClient, providerId: string, identity: string): Promise<Account> {
  const { rights, accountsOf = providerId } = findAbout(providerId)
  const reason = await findElsewhere(client, providerId)
  if (reason !== undefined)
    throw new SourceError('invalid_credentials', `the account is read elsewhere: ${reason}`, { reason })
  if (rights === undefined) {
    // Reading balances is the cheapest proof that a key works.
    await fetchBalances(client, providerId)
    return { ...toFingerprint(accountsOf, identity, undefined), excess: [], missing: [], keyExpiresAtMs: null }
  }
  const answer = await client.ask(rights.endpoint)
  // A flag shows excess permissions but not missing ones. Those only show when something is read.
  if (rights.kind === 'flag' && listExcess(rights, answer).length === 0) await fetchBalances(client, providerId)
  return {
    ...toFingerprint(accountsOf, identity, await findNumber(client, rights, answer)),
    excess: listExcess(rights, answer),
    missing: listMissing(rights, answer),
    keyExpiresAtMs: toExpiry(rights, answer),
  }
}

/** The account's own number; undefined where the exchange does not tell it to this key. */
async function findNumber(client: CcxtClient, rights: Rights, answer: unknown): Promise<string | undefined> {
  const { account } = rights
  if (account === undefined) return undefined
  const { endpoint = rights.endpoint, place, right } = typeof account === 'string' ? { place: account } : account
  if (right !== undefined && !(rights.kind !== 'flag' && listGranted(rights, answer).includes(right))) return undefined
  const number = textAt(endpoint === rights.endpoint ? answer : await client.ask(endpoint), place)
  // With another fingerprint the account could be connected twice, and its key could not be replaced.
  if (number === undefined) throw new SourceError('unreadable_answer', `${endpoint}: no account`)
  return number
}

/**
 * Without an account number we still recognise the same key. A new key then counts as a new account, because it must not
 * overwrite the wrong connection. Brands of one exchange share their numbers, so an account has one fingerprint in all.
 */
function toFingerprint(
  accountsOf: string,
  identity: string,
  account: string | undefined,
): Pick<Account, 'fingerprint' | 'fingerprintOf'> {
  if (account === undefined) return { fingerprint: hash(accountsOf, 'key', identity), fingerprintOf: 'key' }
  return { fingerprint: hash(accountsOf, 'account', account), fingerprintOf: 'account' }
}

function listExcess(rights: Rights, answer: unknown): string[] {
  if (rights.kind === 'flag') {
    const flag = textAt(answer, rights.place)
    if (flag !== rights.readOnly && flag !== rights.readWrite) throw noRights(rights)
    return flag === rights.readOnly ? [] : [rights.name]
  }
  return listGranted(rights, answer).filter((right) => !rights.harmless.includes(right))
}

function listMissing(rights: Rights, answer: unknown): string[] {
  if (rights.kind === 'flag') return []
  const granted = listGranted(rights, answer)
  return rights.needed.filter((right) => !granted.includes(right))
}

/** `words`: comma-separated text, or a list of texts. `table`: rows of [scope, may read, may write]. */
function listGranted(rights: Exclude<Rights, { kind: 'flag' }>, answer: unknown): string[] {
  const found = valueAt(answer, rights.place)
  if (rights.kind === 'words') {
    const words = typeof found === 'string' ? found.split(',') : found
    if (Array.isArray(words)) return words.map((word) => String(word).trim()).filter((word) => word !== '')
  } else if (Array.isArray(found)) {
    return found.flatMap((row: unknown) => {
      const [scope, mayRead, mayWrite] = Array.isArray(row) ? (row as unknown[]) : []
      return [
        ...(isSet(mayRead) ? [`${String(scope)}: read`] : []),
        ...(isSet(mayWrite) ? [`${String(scope)}: write`] : []),
      ]
    })
  }
  throw noRights(rights)
}

function noRights({ endpoint }: Rights): SourceError {
  return new SourceError('unreadable_answer', `${endpoint}: no rights`)
}

function isSet(value: unknown): boolean {
  return value === 1 || value === '1' || value === true
}

function toExpiry({ expires }: Rights, answer: unknown): number | null {
  const text = expires === undefined ? undefined : textAt(answer, expires)
  const ms = text === undefined ? NaN : /^\d{12,14}$/.test(text) ? Number(text) : Date.parse(text)
  return Number.isNaN(ms) || ms <= 0 ? null : ms
}

function hash(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex')
}
