/**
 * Makes a route of an endpoint's record. The checks run in this order, with these exits:
 *
 *   token (401) → admission (429) → scope (403) → body size, type, JSON (413, 415, 400) → path, query, body (400)
 *   → the handler (its refusals) → 200
 *
 * A caller without a valid token learns nothing and costs no parsing. Errors go to `problem.ts`.
 *
 * `serve` checks the token with a statement of its own, then calls the handler. `serve.authorizedRead` leaves the check
 * to the statement that reads, so that the whole request takes one round trip. A caller sees the same order: if
 * something is refused before that statement (a parameter, a limit), the token is checked alone first.
 */
import { Readable } from 'node:stream'
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '@assay/contract'
import { Refusal } from '@assay/core'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readBearer, refuseAccessToken, type AccessToken, type Caller } from '../../oauth/index.ts'
import type { Admission } from './admission.ts'
import { readBody } from './body.ts'
import { sendTaggedBody, toTaggedBody, weaken } from './conditional.ts'
import { noSubject, toSubject, type Cursors, type Point, type Subject } from '../paging/cursor.ts'
import type { RawJson } from '../shapes/exact-number.ts'
import { noteCaller } from '../transport/unread.ts'
import { parseOrRefuse } from './invalid.ts'
import { listParameters, openPage, type PagedEndpoint, type OpenPage } from '../paging/pages.ts'
import { parseQuery, queryOf, toKnownParameters } from './query.ts'
import { createLines, findCaller, toLine, type LineDependencies, type Lines } from './lines.ts'
import type { InTurn } from './turns.ts'

export type { Caller } from '../../oauth/index.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined
  }
}

export interface ServeDependencies extends LineDependencies {
  cursors: Cursors
  /** The place of rate limits. */
  admission?: Admission
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
  | { text: string }
  | { json: Wire<ResponseOf<E>> }
  | { stream: Readable; mediaType: string }
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
  /**
   * For what is read after the handler has ended, which has its turn: the later parts of a stream. For what a handler
   * that waits reads and writes before it waits. And for what an authorized read did not read in its first turn.
   */
  inTurn: InTurn
}

interface PageCall<LimitDefault> {
  /** Null, where a list allows it: all rows. */
  limit: LimitDefault extends null ? number | null : number
  point: Point | undefined
  next: (end: Point | undefined) => string
  cursor: (at: Point) => string
}

/** What is known of a call before its token was checked. */
interface UncheckedCall<E extends Endpoint> extends Pick<Call<E>, 'params' | 'query'> {
  page: E extends { paging: { limitDefault: infer Default } } ? Pick<PageCall<Default>, 'limit' | 'point'> : undefined
}

/** The token that an endpoint is called with, before it was checked: a tenant's own, or a user's. */
type TokenFor<E extends Endpoint> = Extract<
  AccessToken,
  { kind: E['scope'] extends `enterprise:${string}` ? 'client' : 'user' }
>

interface AuthorizedReadSteps<E extends Endpoint, Found extends { caller: Caller }> {
  /** Undefined when the token is not valid. */
  read: (token: TokenFor<E>, call: UncheckedCall<E>) => Promise<Found | undefined>
  /** The token is valid and has the scope, and the cursor is the caller's. */
  answer: (found: Found, call: Call<E>) => Answer<E> | Promise<Answer<E>>
}

interface ServeOptions {
  /** Sees the body before its schema does. It may refuse with a reason that explains more than a missing member. */
  examine?: (body: unknown) => void
  /** The handler waits for a worker, or reads in several steps. It takes its turns itself. */
  waits?: boolean
}

export interface Serve {
  <E extends Endpoint>(
    app: FastifyInstance,
    endpoint: E,
    handler: (call: Call<E>) => Promise<Answer<E>>,
    options?: ServeOptions,
  ): void
  /** For GETs whose statement checks the token. */
  authorizedRead<E extends Endpoint, Found extends { caller: Caller }>(
    app: FastifyInstance,
    endpoint: E,
    steps: AuthorizedReadSteps<E, Found>,
  ): void
}

export function createServe(deps: ServeDependencies): Serve {
  const { lines, identify } = createEntry(deps)

  const serve = <E extends Endpoint>(
    app: FastifyInstance,
    endpoint: E,
    handler: (call: Call<E>) => Promise<Answer<E>>,
    { examine, waits = false }: ServeOptions = {},
  ): void => {
    const open = callOpener(endpoint, deps.cursors)
    app.route({
      ...routeOf(endpoint),
      // Before the body is read.
      onRequest: async (request, reply) => {
        const caller = await identify(endpoint, request, reply)
        if (endpoint.scope !== null) request.caller = caller
      },
      handler: async (request, reply) => {
        const { caller } = request
        const { params, query, page } = open(request)
        const body = readBody(endpoint, request.body, examine)
        const claimed = page?.claim(subjectOf(caller))
        const given = givenWith(caller, request, lines)
        // The schemas of this very endpoint made these values; TypeScript cannot follow them through a generic.
        const handle = () => handler({ params, query, page: claimed, body, ...given } as never)
        const answer = await (waits ? handle() : given.inTurn(handle))
        if (caller !== undefined) deps.onServed?.(caller, endpoint)
        return send(reply, endpoint, answer, caller)
      },
    })
  }

  const authorizedRead = <E extends Endpoint, Found extends { caller: Caller }>(
    app: FastifyInstance,
    endpoint: E,
    steps: AuthorizedReadSteps<E, Found>,
  ): void => {
    const open = callOpener(endpoint, deps.cursors)
    const kind = endpoint.scope?.startsWith('enterprise:') === true ? 'client' : 'user'
    app.route({
      ...routeOf(endpoint),
      handler: async (request, reply) => {
        const bearer = readBearer(request.headers.authorization)
        if (bearer?.kind !== kind) {
          await identify(endpoint, request, reply)
          throw refuseOther(kind)
        }
        // The limit is used up: `identify` then answers 401, or 429 because this request counts too.
        if ((await deps.admission?.hasRoom(bearer.tokenHash)) === false) await identify(endpoint, request, reply)
        const { call, found } = await readOrRefuse(request, reply, bearer)
        if (found === undefined) {
          await deps.admission?.admitAddress(request, reply)
          throw refuseAccessToken()
        }
        await deps.admission?.admitToken(reply, bearer.tokenHash)
        checkScopes(found.caller, endpoint)
        const page = call.page?.claim(subjectOf(found.caller))
        const answer = await steps.answer(found, { ...call, page, ...givenWith(found.caller, request, lines) } as never)
        deps.onServed?.(found.caller, endpoint)
        return send(reply, endpoint, answer, found.caller)
      },
    })

    async function readOrRefuse(request: FastifyRequest, reply: FastifyReply, bearer: AccessToken) {
      try {
        const call = open(request)
        const read = () => steps.read(bearer as never, call as never)
        return { call, found: await lines.readInTurn(bearer, request, read) }
      } catch (error) {
        if (error instanceof Refusal) await identify(endpoint, request, reply)
        throw error
      }
    }
  }

  return Object.assign(serve, { authorizedRead })
}

/** What a handler is given beside the request's own values. On a public path there may be no caller. */
function givenWith(caller: Caller | undefined, { log }: FastifyRequest, lines: Lines) {
  const inTurn: InTurn = (work) => (caller === undefined ? work() : lines.inTurn(toLine(caller), work))
  return { caller, log, inTurn }
}

/** A valid token of the other kind. */
function refuseOther(kind: AccessToken['kind']): Refusal {
  const owner = kind === 'user' ? 'no user' : 'a user'
  return new Refusal('insufficient_scope', `this access token belongs to ${owner}`)
}

type Identify = (endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply) => Promise<Caller | undefined>

function createEntry(deps: ServeDependencies): { lines: Lines; identify: Identify } {
  const lines = createLines(deps)
  return { lines, identify: createIdentify(deps, lines) }
}

/** Token, admission and scope, in this order. On a public path there may be no caller. */
function createIdentify({ authenticate, admission }: ServeDependencies, { checkInTurn }: Lines): Identify {
  return async (endpoint, request, reply) => {
    const { authorization } = request.headers
    const find = (): Promise<Caller | undefined> =>
      endpoint.scope === null ? findCaller(authenticate, authorization) : authenticate(authorization)
    const findInTurn = (): Promise<Caller | undefined> => checkInTurn(readBearer(authorization), request, find)
    const caller = admission === undefined ? await findInTurn() : await admission.admit(request, reply, findInTurn)
    if (caller !== undefined) checkScopes(caller, endpoint)
    return caller
  }
}

function routeOf(endpoint: Endpoint): { method: Endpoint['method']; url: string; config: { endpoint: Endpoint } } {
  return { method: endpoint.method, url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'), config: { endpoint } }
}

function checkScopes({ scopes }: Caller, { scope, moreScopes = [] }: Endpoint): void {
  if (scope === null) return
  const missing = [scope, ...moreScopes].filter((one) => !scopes.has(one))
  if (missing.length === 0) return
  const [lacks, them] = missing.length === 1 ? ['scope', 'it'] : ['scopes', 'them']
  throw new Refusal(
    'insufficient_scope',
    `the access token lacks the ${lacks} ${missing.join(' ')}: ask for ${them} with the token; the operator allows ${them} with --scope`,
  )
}

interface OpenCall {
  params: object
  query: object
  page: OpenPage | undefined
}

/** Path and query against the endpoint's schemas; needs no caller. */
function callOpener(endpoint: Endpoint, cursors: Cursors): (request: FastifyRequest) => OpenCall {
  const schema = endpoint.query ?? z.strictObject({})
  const { paging } = endpoint
  if (paging === undefined) {
    const known = toKnownParameters(schema.shape)
    return (request) => {
      const params = readParams(endpoint, request)
      const query = parseQuery(queryOf(request.url), known)
      const parsed = parseOrRefuse(schema, Object.fromEntries(query), (name) => query.get(name))
      return { params, query: parsed, page: undefined }
    }
  }
  const list: PagedEndpoint = { endpoint, paging, filters: schema }
  const known = listParameters(list)
  const pathOf = pathWriter(endpoint)
  return (request) => {
    const params = readParams(endpoint, request)
    const query = parseQuery(queryOf(request.url), known)
    const page = openPage(list, query, pathOf(request.params), cursors)
    return { params, query: page.filters, page }
  }
}

/** The endpoint's path with a request's values in it. */
function pathWriter({ path }: Endpoint): (params: unknown) => string {
  if (!path.includes('{')) return () => path
  return (params) => {
    const given = params as Readonly<Record<string, string>>
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(given[name] ?? ''))
  }
}

/** A cursor survives a token refresh, so it is bound to user and client and not to the token. */
export function subjectOf(caller: Caller | undefined): Subject {
  return caller === undefined ? noSubject : toSubject(JSON.stringify([caller.tenantId, caller.userId, caller.clientId]))
}

const noParams = {}

function readParams({ params: schema }: Endpoint, request: FastifyRequest): object {
  if (schema === undefined) return noParams
  const params: Record<string, unknown> = parseOrRefuse(schema, request.params)
  if (Object.values(params).some((value) => typeof value === 'string' && value.includes('\0'))) {
    throw new Refusal('invalid_request', 'the path must not have a NUL character')
  }
  return params
}

// A serializer of our own keeps the answer's type unchanged. Otherwise Fastify adds a charset to text, a parameter that
// JSON does not have (RFC 8259 §11). The answer is text and not bytes, because Node then writes head and body at once.
const asItIs = (text: unknown): string => String(text)

function send<E extends Endpoint>(
  reply: FastifyReply,
  endpoint: Endpoint,
  answer: Answer<E>,
  caller: Caller | undefined,
): FastifyReply {
  if (caller !== undefined) noteCaller(reply.raw.socket, toLine(caller).caller)
  if (endpoint.scope !== null) void reply.header('cache-control', 'no-store')
  if (answer.headers !== undefined) void reply.headers(answer.headers)
  if ('stream' in answer) return reply.type(answer.mediaType).send(withoutBody(reply, answer.stream))
  const text = 'text' in answer ? answer.text : JSON.stringify(answer.json)
  // The answer is the same for every caller, so a client may cache it and revalidate it.
  if (endpoint.scope === null && endpoint.method === 'GET') {
    return sendTaggedBody(reply, weaken(toTaggedBody(text)), 'application/json')
  }
  return reply.serializer(asItIs).header('content-type', 'application/json').send(text)
}

/** Fastify answers a HEAD at once and then reads the whole stream, although its answer has no body. */
export function withoutBody(reply: FastifyReply, stream: Readable): Readable {
  if (reply.request.method !== 'HEAD') return stream
  stream.destroy()
  return Readable.from([])
}
