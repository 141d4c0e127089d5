/**
 * Applies limits to requests: which callers are admitted, how often, and what the answer says about it. A request
 * counts against its token if that is valid, otherwise against its address. (draft-ietf-httpapi-ratelimit-headers-10
 * for the fields.)
 */
import { hash } from 'node:crypto'
import { Refusal } from '@assay/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AskedLimits, LimitVerdict } from '../../limits/index.ts'
import { findBearer } from '../../oauth/index.ts'

type Headers = Pick<FastifyReply, 'header'>

/** Runs `authenticate`, counts the request, and passes its result on; refuses with rate_limited when over the limit. */
export type Admit = <T>(request: FastifyRequest, reply: Headers, authenticate: () => Promise<T>) => Promise<T>

/** It is a promise when another process counts. */
type Admitted = Promise<void> | undefined

/**
 * `admit` is for a request whose token is checked first. The others are for a request whose token is checked by the
 * statement that reads: the limit is looked up before that statement, and the request is counted after it.
 */
export interface Admission {
  admit: Admit
  /** Whether one more request with this token would be admitted. Counts nothing. */
  hasRoom(tokenHash: Buffer): boolean | Promise<boolean>
  /** The token was valid. */
  admitToken(reply: Headers, tokenHash: Buffer): Admitted
  /** The token was not valid, so the request counts against its sender's address. */
  admitAddress(request: FastifyRequest, reply: Headers): Admitted
}

export function createAdmission(limits: AskedLimits): Admission {
  const admitToken: Admission['admitToken'] = (reply, tokenHash) =>
    enforceLimit(reply, limits.countToken(keyOf(tokenHash)))
  const admitAddress: Admission['admitAddress'] = (request, reply) =>
    enforceLimit(reply, limits.countAddress(request.ip))

  return {
    async admit(request, reply, authenticate) {
      let caller: Awaited<ReturnType<typeof authenticate>>
      try {
        caller = await authenticate()
      } catch (error) {
        // A request with an invalid token counts like a request without one.
        if (error instanceof Refusal && error.code === 'invalid_token') await admitAddress(request, reply)
        throw error
      }
      const token = caller === undefined ? undefined : findBearer(request.headers.authorization)
      if (token === undefined) await admitAddress(request, reply)
      else await admitToken(reply, hash('sha256', token, 'buffer'))
      return caller
    },
    hasRoom(tokenHash) {
      const verdict = limits.lookAtToken(keyOf(tokenHash))
      return verdict instanceof Promise ? verdict.then(({ admitted }) => admitted) : verdict.admitted
    },
    admitToken,
    admitAddress,
  }
}

export function setLimitHeaders(reply: Headers, verdict: LimitVerdict): void {
  const { policy, limit, windowSeconds, remaining, resetSeconds } = verdict
  void reply.header('ratelimit-policy', `"${policy}";q=${limit};w=${windowSeconds}`)
  void reply.header('ratelimit', `"${policy}";r=${remaining};t=${resetSeconds}`)
}

/**
 * Reports the limit, and refuses when it is exceeded. Returns without a promise where this process counts, because a
 * promise would cost every request.
 */
export function enforceLimit(reply: Headers, verdict: LimitVerdict | Promise<LimitVerdict>): Admitted {
  if (verdict instanceof Promise) return verdict.then((known) => enforceVerdict(reply, known))
  enforceVerdict(reply, verdict)
  return undefined
}

function enforceVerdict(reply: Headers, verdict: LimitVerdict): void {
  setLimitHeaders(reply, verdict)
  if (verdict.admitted) return
  const { limit, windowSeconds, resetSeconds } = verdict
  const message = `At most ${limit} requests in ${windowSeconds} seconds.`
  throw new Refusal('rate_limited', message, {
    retryAfterSeconds: resetSeconds,
    items: [{ cause: 'rate_limited', message, retry_after_seconds: resetSeconds }],
  })
}

/** The counters hold digests of tokens, never the tokens. */
function keyOf(tokenHash: Buffer): string {
  return tokenHash.toString('latin1')
}
