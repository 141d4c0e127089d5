/**
 * What a client may do with a token it holds, besides using it: end it (RFC 7009) and ask about it (RFC 7662). A token
 * of another client is treated like one that does not exist.
 */
import type { Database } from '../../db/index.ts'
import { keepAllowed, type Tenants } from '../../tenants/index.ts'
import * as callers from '../caller-store.ts'
import { authenticateClient, identifyClient, type OauthRequest } from '../client-authentication.ts'
import { OAuthError, required } from '../protocol.ts'
import { readAccessToken, readRefreshToken } from '../token-values.ts'
import * as families from './family-store.ts'

interface PresentedTokenDeps {
  db: Database
  tenants: Pick<Tenants, 'findClient' | 'verifySecret'>
  issuer: string
}

/**
 * RFC 7009 §2.1. token_type_hint is not needed: the kinds differ in length. An access token may be ended by naming the
 * client alone, because a short-term token lives in a browser that has no secret; a refresh token was given for the
 * secret and asks for it again.
 */
export async function revoke({ db, tenants }: PresentedTokenDeps, request: OauthRequest): Promise<void> {
  const { client, authenticated } = await identifyClient(tenants, request)
  const token = required(request.parameters, 'token')
  const access = readAccessToken(token)
  if (access?.kind === 'user') return callers.deleteUserToken(db, access, client.clientId)
  if (access?.kind === 'client') return callers.deleteClientToken(db, access.tokenHash, client.clientId)
  const refresh = readRefreshToken(token)
  // §2.2: an unknown token is not an error, because the client already has what it wants.
  if (refresh === undefined) return
  if (!authenticated) throw new OAuthError('invalid_client', 'revoking a refresh token needs the client secret')
  await families.revokeFamilyOfHandle(db, refresh, client.clientId)
}

/** RFC 7662 §2.2, as it goes over the wire. */
type Introspection =
  | { active: false }
  | {
      active: true
      scope: string
      client_id: string
      token_type?: 'Bearer'
      exp: number
      iat: number
      sub?: string
      iss: string
    }

export async function introspect(deps: PresentedTokenDeps, request: OauthRequest): Promise<Introspection> {
  const { db, issuer } = deps
  // §2.1: without authentication, callers could try tokens out here.
  const client = await authenticateClient(deps.tenants, request)
  const { clientId } = client
  const token = required(request.parameters, 'token')
  const common = { active: true, client_id: clientId, iss: issuer } as const

  const access = readAccessToken(token)
  if (access !== undefined) {
    const live = await callers.findToken(db, access)
    if (live?.clientId !== clientId) return { active: false }
    const subject = live.userId === null ? {} : { sub: live.userId }
    return { ...common, token_type: 'Bearer', scope: live.scopes.join(' '), ...subject, ...toTimes(live) }
  }

  const refresh = readRefreshToken(token)
  if (refresh === undefined) return { active: false }
  const live = await families.findRefreshToken(db, refresh, clientId)
  const scopes = keepAllowed(live?.scopes ?? [], client)
  if (live === undefined || !scopes.includes('offline_access')) return { active: false }
  return { ...common, scope: scopes.join(' '), sub: live.userId, ...toTimes(live) }
}

function toTimes({ issuedAt, expiresAt }: { issuedAt: string; expiresAt: string }): { iat: number; exp: number } {
  return { iat: toEpochSeconds(issuedAt), exp: toEpochSeconds(expiresAt) }
}

function toEpochSeconds(instant: string): number {
  return Math.floor(Date.parse(instant) / 1_000)
}
