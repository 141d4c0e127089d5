/**
 * Where limits meet requests: who may come in, how often, and what the answer says about it. A request is known by its
 * token if that is valid, otherwise by its address. (draft-ietf-httpapi-ratelimit-headers-10 for the fields.)
 */
import { createHash } from 'node:crypto'
import { Refusal } from '@assay/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Limits, Verdict } from '../limits/index.ts'
import { findBearer } from '../oauth/index.ts'

/** Runs `authenticate`, counts the request, and passes its result on; refuses with rate_limited when over the limit. */
export type Admit = <T>(
  request: FastifyRequest,
  reply: Pick<FastifyReply, 'header'>,
  authenticate: () => Promise<T>,
) => Promise<T>

export function createAdmit(limits: Limits): Admit {
  return async (request, reply, authenticate) => {
    let caller: Awaited<ReturnType<typeof authenticate>>
    try {
      caller = await authenticate()
    } catch (error) {
      // A wrong token is as good as none: its sender is known by address.
      if (error instanceof Refusal && error.code === 'invalid_token') apply(reply, limits.countAddress(request.ip))
      throw error
    }
    const token = caller === undefined ? undefined : findBearer(request.headers.authorization)
    apply(reply, token === undefined ? limits.countAddress(request.ip) : limits.countToken(digest(token)))
    return caller
  }
}

export function tell(reply: Pick<FastifyReply, 'header'>, verdict: Verdict): void {
  const { policy, limit, windowSeconds, remaining, resetSeconds } = verdict
  void reply.header('RateLimit-Policy', `"${policy}";q=${limit};w=${windowSeconds}`)
  void reply.header('RateLimit', `"${policy}";r=${remaining};t=${resetSeconds}`)
}

/** Tells, and refuses when it is too much. */
export function apply(reply: Pick<FastifyReply, 'header'>, verdict: Verdict): void {
  tell(reply, verdict)
  if (verdict.admitted) return
  const { limit, windowSeconds, resetSeconds } = verdict
  const message = `At most ${limit} requests in ${windowSeconds} seconds.`
  throw new Refusal('rate_limited', message, {
    retryAfterSeconds: resetSeconds,
    items: [{ cause: 'rate_limited', message, retry_after_seconds: resetSeconds }],
  })
}

/** Memory holds no tokens, only what tells them apart. */
function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
