/**
 * Limits of the OAuth endpoints. Against an address only failures count: an application that refreshes thousands of
 * tokens from one address is not slowed down, but a caller who guesses soon is. A client that sends its secret has a
 * limit of its own, against which its successes count too. It is heard even from an address full of failures: otherwise
 * another caller behind the same proxy could lock it out.
 *
 * Answers to wrong secrets are held back, and so are the secrets that come meanwhile. A request that is held keeps its
 * form in memory, so few are held at once, of one network and altogether; the others are refused.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { Refusal } from '@assay/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { takeSlots, toNetwork, type AskedLimits, type Slots } from '../../limits/index.ts'
import { findClaim, OAuthError, type OAuthErrorCode, type OauthRequest } from '../../oauth/index.ts'
import { enforceLimit, setLimitHeaders } from '../request/admission.ts'
import type { Turns } from '../request/turns.ts'
import { toOauthRequest } from './form.ts'

interface LimitedDeps {
  limits: AskedLimits
  /** One slot for each request that is held back. */
  slots: Slots
  /**
   * How many requests of one address are worked on at once. Requests with the same code or refresh token wait for each
   * other. A client's id is public, so that lines by client could be filled by others.
   */
  turns: Turns
}

const heldOfNetworkMax = 100
const heldMax = 1_000

export function limited(deps: LimitedDeps, answer: (request: OauthRequest) => Promise<unknown>) {
  const { limits, slots, turns } = deps
  const { oauth } = limits
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const address = request.ip
    let claim: ReturnType<typeof findClaim>
    try {
      const parsed = toOauthRequest(request)
      claim = findClaim(parsed)
      if (claim?.secretSent === true) {
        await enforceLimit(reply, oauth.lookAtClient(claim.clientId))
        // The answer to a wrong secret is held back below. A caller who does not wait for it gets no further guess
        // checked meanwhile.
        await holdBack(slots, address, await oauth.delayMs(claim.clientId, address))
      } else {
        await enforceLimit(reply, oauth.lookAtAddress(address))
      }
      const result = await turns.take(toNetwork(address), () => answer(parsed))
      // Reported and not refused: what was issued must reach the client.
      if (claim?.secretSent === true) setLimitHeaders(reply, await oauth.countClient(claim.clientId))
      return result
    } catch (error) {
      if (error instanceof OAuthError) await countFailure(deps, reply, address, claim, error)
      throw error
    }
  }
}

/** What a request of this address takes while it is held back. */
export function placesOfHeld(address: string) {
  return [
    { key: `held ${toNetwork(address)}`, max: heldOfNetworkMax, what: 'of one address' },
    { key: 'held', max: heldMax, what: 'of all callers' },
  ]
}

async function holdBack(slots: Slots, address: string, ms: number): Promise<void> {
  if (ms <= 0) return
  const place = await takeSlots(slots, placesOfHeld(address))
  if ('full' in place) {
    const { max, what } = place.full
    const message = `At most ${max} requests ${what} wait because a client secret was wrong.`
    throw new Refusal('rate_limited', message, { retryAfterSeconds: Math.ceil(ms / 1_000) })
  }
  await wait(ms)
  place.leave()
}

/**
 * Refusals that only a client with the right secret meets. A client's id is public: if a malformed request counted, any
 * caller could use up the limit of a client, or fill memory with names that no client has.
 */
const provesSecret: ReadonlySet<OAuthErrorCode> = new Set(['invalid_grant', 'invalid_scope', 'unauthorized_client'])

async function countFailure(
  { limits: { oauth }, slots }: LimitedDeps,
  reply: FastifyReply,
  address: string,
  claim: ReturnType<typeof findClaim>,
  error: OAuthError,
): Promise<void> {
  const failures = await oauth.countFailure(address)
  if (claim?.secretSent === true) {
    if (error.code === 'invalid_client') {
      await holdBack(slots, address, await oauth.countWrongSecret(claim.clientId, address))
    } else if (provesSecret.has(error.code)) await oauth.countClient(claim.clientId)
  }
  // Over the limit the answer no longer gives the reason of the failure.
  await enforceLimit(reply, failures)
}
