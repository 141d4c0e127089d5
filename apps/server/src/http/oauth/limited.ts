/**
 * Limits of the OAuth endpoints. Against an address only failures count: an application that refreshes thousands of
 * tokens from one address is not slowed down, but a caller who guesses soon is. A client that sends its secret has a
 * limit of its own, against which its successes count too. It is heard even from an address full of failures: otherwise
 * another caller behind the same proxy could lock it out.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toNetwork, type AskedLimits } from '../../limits/index.ts'
import { findClaim, OAuthError, type OAuthErrorCode, type OauthRequest } from '../../oauth/index.ts'
import { enforceLimit, setLimitHeaders } from '../request/admission.ts'
import type { Turns } from '../request/turns.ts'
import { toOauthRequest } from './form.ts'

interface LimitedDeps {
  limits: AskedLimits
  /**
   * How many requests of one address are worked on at once. Requests with the same code or refresh token wait for each
   * other. A client's id is public, so that lines by client could be filled by others.
   */
  turns: Turns
}

export function limited({ limits, turns }: LimitedDeps, answer: (request: OauthRequest) => Promise<unknown>) {
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
        await waitMs(await oauth.delayMs(claim.clientId, address))
      } else {
        await enforceLimit(reply, oauth.lookAtAddress(address))
      }
      const result = await turns.take(toNetwork(address), () => answer(parsed))
      // Reported and not refused: what was issued must reach the client.
      if (claim?.secretSent === true) setLimitHeaders(reply, await oauth.countClient(claim.clientId))
      return result
    } catch (error) {
      if (error instanceof OAuthError) await countFailure(limits, reply, address, claim, error)
      throw error
    }
  }
}

async function waitMs(ms: number): Promise<void> {
  if (ms > 0) await wait(ms)
}

/**
 * Refusals that only a client with the right secret meets. A client's id is public: if a malformed request counted, any
 * caller could use up the limit of a client, or fill memory with names that no client has.
 */
const provesSecret: ReadonlySet<OAuthErrorCode> = new Set(['invalid_grant', 'invalid_scope', 'unauthorized_client'])

async function countFailure(
  { oauth }: AskedLimits,
  reply: FastifyReply,
  address: string,
  claim: ReturnType<typeof findClaim>,
  error: OAuthError,
): Promise<void> {
  if (claim?.secretSent === true) {
    if (error.code === 'invalid_client') await waitMs(await oauth.countWrongSecret(claim.clientId, address))
    else if (provesSecret.has(error.code)) await oauth.countClient(claim.clientId)
  }
  // Over the limit the answer no longer gives the reason of the failure.
  await enforceLimit(reply, oauth.countFailure(address))
}
