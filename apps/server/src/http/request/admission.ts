/**
 * Where limits meet requests: who may come in, how often, and what the answer says about it. A request is known by its
 * token if that is valid, otherwise by its address. (draft-ietf-httpapi-ratelimit-headers-10 for the fields.)
 */
import { hash } from 'node:crypto'
import { Refusal } from '@assay/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Limits, LimitVerdict } from '../../limits/index.ts'
import { findBearer } from '../../oauth/index.ts'

type Headers = Pick<FastifyReply, 'header'>

/** Runs `authenticate`, counts the request, and passes its result on; refuses with rate_limited when over the limit. */
export type Admit = <T>(request: FastifyRequest, reply: Headers, authenticate: () => Promise<T>) => Promise<T>

/** For a request whose token is checked by the statement that reads: the limit is asked before, and counted after. */
export interface Admission {
  admit: Admit
  /** Whether one more request with this token would be admitted. Counts nothing. */
  hasRoom(tokenHash: Buffer): boolean
  /** The token was valid. */
  admitToken(reply: Headers, tokenHash: Buffer): void
  /** The token was not valid: its sender is known by address. */
  admitAddress(request: FastifyRequest, reply: Headers): void
}

export function createAdmission(limits: Limits): Admission {
  const admitToken: Admission['admitToken'] = (reply, tokenHash) => apply(reply, limits.countToken(keyOf(tokenHash)))
  const admitAddress: Admission['admitAddress'] = (request, reply) => apply(reply, limits.countAddress(request.ip))

  return {
    async admit(request, reply, authenticate) {
      let caller: Awaited<ReturnType<typeof authenticate>>
      try {
        caller = await authenticate()
      } catch (error) {
        // A wrong token is as good as none.
        if (error instanceof Refusal && error.code === 'invalid_token') admitAddress(request, reply)
        throw error
      }
      const token = caller === undefined ? undefined : findBearer(request.headers.authorization)
      if (token === undefined) admitAddress(request, reply)
      else admitToken(reply, hash('sha256', token, 'buffer'))
      return caller
    },
    hasRoom: (tokenHash) => limits.lookAtToken(keyOf(tokenHash)).admitted,
    admitToken,
    admitAddress,
  }
}

export function tell(reply: Headers, verdict: LimitVerdict): void {
  const { policy, limit, windowSeconds, remaining, resetSeconds } = verdict
  void reply.header('ratelimit-policy', `"${policy}";q=${limit};w=${windowSeconds}`)
  void reply.header('ratelimit', `"${policy}";r=${remaining};t=${resetSeconds}`)
}

/** Tells, and refuses when it is too much. */
export function apply(reply: Headers, verdict: LimitVerdict): void {
  tell(reply, verdict)
  if (verdict.admitted) return
  const { limit, windowSeconds, resetSeconds } = verdict
  const message = `At most ${limit} requests in ${windowSeconds} seconds.`
  throw new Refusal('rate_limited', message, {
    retryAfterSeconds: resetSeconds,
    items: [{ cause: 'rate_limited', message, retry_after_seconds: resetSeconds }],
  })
}

/** Memory holds no tokens, only their digests. */
function keyOf(tokenHash: Buffer): string {
  return tokenHash.toString('latin1')
}
