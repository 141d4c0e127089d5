/**
 * From an endpoint's record to a route. The order of the checks, with every exit:
 *
 *   token (401) → admission (429) → scope (403) → body size, type, JSON (413, 415, 400) → path, query, body (400)
 *   → the handler (its refusals) → 200
 *
 * A caller without a valid token learns nothing and costs no parsing. Errors go to `problem.ts`.
 */
import type { Readable } from 'node:stream'
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '@assay/contract'
import { Refusal } from '@assay/core'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Admit } from './admission.ts'
import { readBody } from './body.ts'
import { sendDocument, toDocument, weaken } from './conditional.ts'
import type { Cursors, Position } from './cursor.ts'
import type { RawJson } from './exact-number.ts'
import { parseOrRefuse } from './invalid.ts'
import { listParameters, readPage, type List } from './pages.ts'
import { parseQuery, queryOf } from './query.ts'

/** Who asks: what the access token says. */
export interface Caller {
  tenantId: string
  /** Null, like the grant, for a tenant's own (enterprise) access. */
  userId: string | null
  clientId: string
  grantId: string | null
  scopes: ReadonlySet<string>
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined
  }
}

export interface ServeDependencies {
  /** Throws Refusal invalid_token. No cache in front of it: a revocation holds at the very next request. */
  authenticate: (authorization: string | undefined) => Promise<Caller>
  cursors: Cursors
  /** The place of rate limits. */
  admit?: Admit
  /** The caller was given what the endpoint reads. */
  onServed?: (caller: Caller, endpoint: Endpoint) => void
}

/** A number with all its digits (JSON.rawJSON) may stand wherever the schema says number. */
type Wire<T> = T extends number
  ? T | RawJson
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Wire<T[Key]> }
      : T

/** `text` is ready JSON, written once and served often; `json` is serialised here; `stream` is sent as it comes. */
type Answer<E extends Endpoint> = (
  { text: string } | { json: Wire<ResponseOf<E>> } | { stream: Readable; mediaType: string }
) & {
  headers?: Readonly<Record<string, string>>
}

interface Call<E extends Endpoint> {
  params: ParamsOf<E>
  /** On a list: the filters of the walk, whether this request repeated them or its cursor held them. */
  query: QueryOf<E>
  body: BodyOf<E>
  caller: E['scope'] extends null ? undefined : Caller
  page: E extends { paging: { limitDefault: infer Default } } ? PageCall<Default> : undefined
  log: FastifyBaseLogger
}

interface PageCall<LimitDefault> {
  /** Null, where a list allows it: all rows. */
  limit: LimitDefault extends null ? number | null : number
  position: Position | undefined
  next: (end: Position | undefined) => string
}

export type Serve = <E extends Endpoint>(
  app: FastifyInstance,
  endpoint: E,
  handler: (call: Call<E>) => Promise<Answer<E>>,
) => void

export function createServe({ authenticate, cursors, admit, onServed }: ServeDependencies): Serve {
  return (app, endpoint, handler) => {
    const readQuery = queryReader(endpoint, cursors)

    app.route({
      method: endpoint.method,
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { endpoint },
      // Before the body is read.
      onRequest: async (request, reply) => {
        const identify = (): Promise<Caller | undefined> =>
          endpoint.scope === null
            ? findCaller(authenticate, request.headers.authorization)
            : authenticate(request.headers.authorization)
        const caller = admit === undefined ? await identify() : await admit(request, reply, identify)
        if (caller === undefined || endpoint.scope === null) return
        checkScope(caller, endpoint.scope)
        request.caller = caller
      },
      handler: async (request, reply) => {
        const call = {
          params: readParams(endpoint, request),
          ...readQuery(request),
          body: readBody(endpoint, request.body),
          caller: request.caller,
          log: request.log,
        }
        // The schemas of this very endpoint made these values; TypeScript cannot follow them through a generic.
        const answer = await handler(call as never)
        if (request.caller !== undefined) onServed?.(request.caller, endpoint)
        return send(reply, endpoint, answer)
      },
    })
  }
}

/** On a public path a token only tells whose call it is; a wrong one is as good as none. */
async function findCaller(
  authenticate: ServeDependencies['authenticate'],
  authorization: string | undefined,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  try {
    return await authenticate(authorization)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid_token') return undefined
    throw error
  }
}

function checkScope({ scopes }: Caller, scope: NonNullable<Endpoint['scope']>): void {
  if (scopes.has(scope)) return
  throw new Refusal('insufficient_scope', `the access token lacks the scope ${scope}`)
}

function queryReader(endpoint: Endpoint, cursors: Cursors): (request: FastifyRequest) => object {
  const schema = endpoint.query ?? z.strictObject({})
  const { paging } = endpoint
  if (paging === undefined) {
    const known = new Set(Object.keys(schema.shape))
    return (request) => {
      const query = parseQuery(queryOf(request.url), known)
      return { query: parseOrRefuse(schema, Object.fromEntries(query), (name) => query.get(name)), page: undefined }
    }
  }
  const list: List = { endpoint, paging, filters: schema }
  const known = listParameters(list)
  return (request) => {
    const place = { subject: subjectOf(request.caller), path: pathOf(endpoint, request.params) }
    const { filters, ...page } = readPage(list, parseQuery(queryOf(request.url), known), place, cursors)
    return { query: filters, page }
  }
}

/** The endpoint's path with this request's values in it. */
function pathOf(endpoint: Endpoint, params: unknown): string {
  const given = params as Readonly<Record<string, string>>
  return endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(given[name] ?? ''))
}

/** A cursor survives a token refresh, so it hangs on user and client and not on the token. */
export function subjectOf(caller: Caller | undefined): string {
  return caller === undefined ? '' : JSON.stringify([caller.tenantId, caller.userId, caller.clientId])
}

const noParams: z.ZodObject = z.object({})

function readParams(endpoint: Endpoint, request: FastifyRequest): object {
  const params: Record<string, unknown> = parseOrRefuse(endpoint.params ?? noParams, request.params)
  if (Object.values(params).some((value) => typeof value === 'string' && value.includes('\0'))) {
    throw new Refusal('invalid_request', 'the path must not have a NUL character')
  }
  return params
}

function send<E extends Endpoint>(reply: FastifyReply, endpoint: Endpoint, answer: Answer<E>): FastifyReply {
  if (endpoint.scope !== null) void reply.header('Cache-Control', 'no-store')
  if (answer.headers !== undefined) void reply.headers(answer.headers)
  if ('stream' in answer) return reply.type(answer.mediaType).send(answer.stream)
  const text = 'text' in answer ? answer.text : JSON.stringify(answer.json)
  // The same for everybody, so it may be kept and asked about.
  if (endpoint.scope === null && endpoint.method === 'GET') {
    return sendDocument(reply, weaken(toDocument(text)), 'application/json')
  }
  // As bytes: to text Fastify would add a charset, a parameter that JSON does not have (RFC 8259 §11).
  return reply.type('application/json').send(Buffer.from(text))
}
