/**
 * Platform endpoints speak for one user. A tenant's own token (enterprise) has no user, and its scopes are refused
 * earlier.
 */
import { Refusal } from '@assay/core'
import type { Application } from '../../connect/index.ts'
import type { Allowance } from '../../oauth/index.ts'
import type { Owner } from '../../owner.ts'
import type { Caller } from '../request/serve.ts'

export function ownerOf({ tenantKey, tenantId, userKey, userId }: Caller): Owner {
  if (userKey === null || userId === null) {
    throw new Refusal('insufficient_scope', 'this access token belongs to no user')
  }
  return { tenantKey, tenantId, userKey, userId }
}

/** The application that acts for the user, by the user's grant. */
export function applicationOf(caller: Caller): Application {
  const { clientId, grantId } = caller
  if (grantId === null) throw new Refusal('insufficient_scope', 'this access token belongs to no user')
  return { ...ownerOf(caller), clientId, grantId }
}

/** The grant and the family that the caller's token belongs to. */
export function allowanceOf(caller: Caller): Allowance {
  const { userKey, grantId } = applicationOf(caller)
  if (typeof caller.familyId !== 'string') throw new Error('a token that was not checked alone names no family')
  return { userKey, grantId, familyId: caller.familyId }
}
