/** Who a key belongs to and what it may do (developers.binance.com, wallet/account/api-key-permission). */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Account } from '../kit/connector.ts'
import { parseJson, readAnswer } from '../kit/json.ts'
import { joinSpent, RejectedKey, type Answered, type Call } from './client.ts'
import { endpoints } from './endpoints.ts'

/** Member of the answer, words on the page where keys are made. */
const rightNames: ReadonlyMap<string, string> = new Map([
  ['enableReading', 'Enable Reading'],
  ['enableWithdrawals', 'Enable Withdrawals'],
  ['enableInternalTransfer', 'Enable Internal Transfer'],
  ['enableMargin', 'Enable Margin Loan, Repay & Transfer'],
  ['enableFutures', 'Enable Futures'],
  ['permitsUniversalTransfer', 'Permits Universal Transfer'],
  ['enableVanillaOptions', 'Enable European Options'],
  ['enableFixApiTrade', 'Enable FIX API Trading'],
  ['enableSpotAndMarginTrading', 'Enable Spot & Margin Trading'],
  ['enablePortfolioMarginTrading', 'Enable Portfolio Margin Trading'],
])

// `ipRestrict` limits where a key may be used from; it does not grant a right. Every other member that is true counts
// as excess, including one that Binance adds later.
const harmless = new Set(['ipRestrict', 'enableReading', 'enableFixReadOnly'])

// Members that every such answer has are required, although they are not all used: without them, a gateway's message would
// be a key without rights, or an account without a number.
const restrictions = z.looseObject({ enableReading: z.boolean() })
const accountAnswer = z.object({ balances: z.array(z.unknown()), uid: z.string().nullish() })

export async function fetchAccount(apiKey: string, call: Call): Promise<Account> {
  const allowed = await findRestrictions(call)
  if (allowed === undefined) return toUnreadable(apiKey)
  const rights = readAnswer('apiRestrictions', restrictions, parseJson(allowed.text))
  const granted = Object.keys(rights).filter((name) => rights[name] === true)
  const excess = granted.filter((name) => !harmless.has(name)).map((name) => rightNames.get(name) ?? name)
  if (!granted.includes('enableReading')) {
    const missing = ['Enable Reading']
    return { ...toFingerprint(apiKey, null), excess, missing, keyExpiresAtMs: null, spent: allowed.spent }
  }
  const account = await call(endpoints.account, { omitZeroBalances: 'true' })
  const { uid } = readAnswer('account', accountAnswer, parseJson(account.text))
  return {
    ...toFingerprint(apiKey, uid),
    excess,
    missing: [],
    keyExpiresAtMs: null,
    spent: joinSpent(allowed.spent, account.spent),
  }
}

/** Undefined when Binance refuses with −2015; an unknown key has its own code (−2008). */
async function findRestrictions(call: Call): Promise<Answered | undefined> {
  try {
    return await call(endpoints.apiRestrictions)
  } catch (error) {
    if (error instanceof RejectedKey) return undefined
    throw error
  }
}

/** Binance does not say which of the two it is, so both are named. */
function toUnreadable(apiKey: string): Account {
  const missing = ['Enable Reading', 'Restrict access to trusted IPs only: must be off, or name this server']
  return { ...toFingerprint(apiKey, null), excess: [], missing, keyExpiresAtMs: null }
}

/**
 * The UID is the account's own number and the same for all of its keys. Without one, only the same key is recognised.
 */
function toFingerprint(apiKey: string, uid: string | null | undefined): Pick<Account, 'fingerprint' | 'fingerprintOf'> {
  const isKnown = uid !== undefined && uid !== null && uid !== ''
  const identity = isKnown ? `uid\n${uid}` : `key\n${apiKey}`
  const fingerprint = createHash('sha256').update(`binance\n${identity}`).digest('hex')
  return { fingerprint, fingerprintOf: isKnown ? 'account' : 'key' }
}
