/**
 * Which account a key or a sign-in belongs to and what it may do. For keys, `GET /api/v3/brokerage/key_permissions`
 * reports View, Trade and Transfer, and the portfolio (docs.cdp.coinbase.com, advanced-trade-api,
 * get-api-key-permissions). For sign-ins we read `GET /v2/user/auth`, because users can uncheck scopes
 * (coinbase-app/oauth2-integration/scopes).
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Account } from '../kit/connector.ts'
import { readAnswer } from '../kit/json.ts'
import type { Call } from './client.ts'
import { neededScopes } from './definition.ts'

const keyPermissions = z.looseObject({
  can_view: z.boolean(),
  can_trade: z.boolean(),
  can_transfer: z.boolean(),
  portfolio_uuid: z.string().nullish(),
  portfolio_type: z.string().nullish(),
})
const userAnswer = z.object({ data: z.object({ id: z.string().min(1) }) })
const authAnswer = z.object({ data: z.object({ scopes: z.array(z.string()) }) })

export async function verifyKey(call: Call): Promise<Account> {
  const answer = await call('/api/v3/brokerage/key_permissions')
  const rights = readAnswer('key_permissions', keyPermissions, answer)
  const { can_view: canView, portfolio_uuid: portfolioId, portfolio_type: portfolioType } = rights
  const portfolio = isPrimary(portfolioType) ? '' : (portfolioId ?? '')
  // A key without View cannot make any other call.
  const userId = canView ? await fetchUserId(call) : `portfolio ${portfolioId ?? ''}`
  return {
    fingerprint: toFingerprint(userId, portfolio),
    fingerprintOf: 'account',
    excess: [
      ...(rights.can_trade ? ['Trade'] : []),
      ...(rights.can_transfer ? ['Transfer'] : []),
      // Coinbase may add permissions that we do not know yet.
      ...Object.entries(rights).flatMap(([name, value]) =>
        value === true && /^can_/.test(name) && !/^can_(view|trade|transfer)$/.test(name) ? [name] : [],
      ),
    ],
    missing: canView ? [] : ['View'],
    keyExpiresAtMs: null,
  }
}

export async function verifySignIn(call: Call): Promise<Account> {
  const { scopes } = readAnswer('user/auth', authAnswer, await call('/v2/user/auth')).data
  return {
    fingerprint: toFingerprint(await fetchUserId(call), ''),
    fingerprintOf: 'account',
    excess: scopes.filter((scope) => !isHarmless(scope)),
    missing: neededScopes.filter((scope) => !scopes.includes(scope)),
    keyExpiresAtMs: null,
  }
}

async function fetchUserId(call: Call): Promise<string> {
  return readAnswer('user', userAnswer, await call('/v2/user')).data.id
}

/** These scopes read, or refresh access without the user. Any other scope could change something. */
function isHarmless(scope: string): boolean {
  return /^[a-z-]+:[a-z-]+:read$/.test(scope) || ['offline_access', 'openid', 'email', 'profile'].includes(scope)
}

/** The default portfolio, which a sign-in sees. The names come from the Advanced Trade API. */
function isPrimary(portfolioType: string | null | undefined): boolean {
  return portfolioType === undefined || portfolioType === null || /^(DEFAULT|CONSUMER|UNDEFINED|)$/.test(portfolioType)
}

/**
 * All keys and sign-ins of an account share the user id, so any of them can repair a connection. A key for another
 * portfolio sees other wallets and must not replace the key of this one.
 */
function toFingerprint(userId: string, portfolio: string): string {
  return createHash('sha256').update(`coinbase\n${userId}\n${portfolio}`).digest('hex')
}
