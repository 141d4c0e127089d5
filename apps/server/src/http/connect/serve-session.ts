/**
 * Makes a route of an endpoint of the connect API. Like `serve`, but the Bearer is the secret of a session:
 *
 *   secret (401) → admission (429) → body size, type, JSON (413, 415, 400) → path, query, body (400)
 *   → the handler → 200
 *
 * No cookie is read or set anywhere here, so a page elsewhere cannot act for a user (CSRF).
 */
import type { BodyOf, Endpoint, ParamsOf, ResponseOf } from '@assay/contract'
import { notFound } from '@assay/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { toNetwork } from '../../limits/index.ts'
import type { Admit } from '../request/admission.ts'
import { readBody } from '../request/body.ts'
import { parseOrRefuse } from '../request/invalid.ts'
import { parseQuery, queryOf } from '../request/query.ts'
import { withoutBody } from '../request/serve.ts'
import type { InTurn, Turns } from '../request/turns.ts'

export interface SessionCall<E extends Endpoint, Session> {
  session: Session
  params: ParamsOf<E>
  body: BodyOf<E>
  /** For what a handler that waits reads and writes before it waits. */
  inTurn: InTurn
}

export type ServeSession<Session> = <E extends Endpoint>(
  app: FastifyInstance,
  endpoint: E,
  handler: (call: SessionCall<E, Session>, request: FastifyRequest) => Promise<ResponseOf<E> | Readable>,
  options?: {
    /**
     * The handler waits for a worker or for news, and holds no connection to the database meanwhile. It takes its turns
     * itself.
     */
    waits?: boolean
  },
) => void

/** `authenticate` throws Refusal invalid_token; for calls without a secret it gives undefined. */
export function createServeSession<Session>(
  authenticate: (authorization: string | undefined) => Promise<Session>,
  { admit, turns }: { admit: Admit; turns: Turns },
): ServeSession<Session> {
  // What onRequest found, kept for the handler: Fastify's request type has no member for it.
  const sessions = new WeakMap<FastifyRequest, { session: Session }>()
  // By address and not by session, because every visitor can begin any number of sessions.
  const inTurnOf =
    ({ ip }: FastifyRequest): InTurn =>
    (work) =>
      turns.take(toNetwork(ip), work)

  return (app, endpoint, handler, { waits = false } = {}) => {
    app.route({
      method: endpoint.method,
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { endpoint },
      // Before the body is read.
      onRequest: async (request, reply) => {
        // In turn, too: a session is marked as used, and requests of one session wait for each other.
        const find = () => inTurnOf(request)(() => authenticate(request.headers.authorization))
        const session = await admit(request, reply, find)
        sessions.set(request, { session })
      },
      handler: async (request, reply) => {
        const found = sessions.get(request)
        if (found === undefined) throw new Error('a handler ran before its request was authenticated')
        const params = readParams(endpoint, request)
        parseQuery(queryOf(request.url), new Map())
        const body = readBody(endpoint, request.body)
        // The schemas of this very endpoint made these values; TypeScript cannot follow them through a generic.
        const inTurn = inTurnOf(request)
        const call = { session: found.session, params, body, inTurn } as never
        const handle = () => handler(call, request)
        return send(reply, endpoint, await (waits ? handle() : inTurn(handle)))
      },
    })
  }
}

const noParams = z.object({})

function readParams(endpoint: Endpoint, request: FastifyRequest): object {
  const params: Record<string, unknown> = parseOrRefuse(endpoint.params ?? noParams, request.params)
  // None of our ids contains a NUL, and PostgreSQL cannot store one.
  if (Object.values(params).some((value) => typeof value === 'string' && value.includes('\0'))) {
    throw notFound('path_part')
  }
  return params
}

function send(reply: FastifyReply, endpoint: Endpoint, answer: unknown): FastifyReply {
  void reply.header('Cache-Control', 'no-store').type(endpoint.mediaType ?? 'application/json')
  if (answer instanceof Readable) return reply.send(withoutBody(reply, answer))
  // Sent as bytes: Fastify would add a charset to a string, and JSON has no such parameter (RFC 8259 §11).
  return reply.send(Buffer.from(JSON.stringify(answer)))
}
