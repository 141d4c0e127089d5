/** A real server on a free port, with endpoints made for the tests of this folder. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { defineEndpoint, pagesV2, linksV1 } from '@assay/contract'
import { parseDecimal, Refusal } from '@assay/core'
import { z } from 'zod'
import { findBearer } from '../oauth/index.ts'
import { createCursors } from './paging/cursor.ts'
import { toExactNumber } from './shapes/exact-number.ts'
import { createLog } from './log.ts'
import { collectProcess, createFleetMetrics, createMetrics, type FleetFigures } from '../telemetry/index.ts'
import { linkHeaders } from './paging/pages.ts'
import { createServe, type Caller, type Serve, type ServeDependencies } from './request/serve.ts'
import { createHttpServer, type HttpOptions, type HttpServer } from './server.ts'

const about = { summary: '', description: '', errors: [], example: { response: {} } } as const

const listRows = defineEndpoint({
  ...about,
  id: 'listRows',
  family: 'accounts_v2',
  method: 'GET',
  path: '/accounts/v2/rows',
  scope: 'assets:read',
  paging: pagesV2,
  query: z.strictObject({}),
  response: z.object({ page: z.object({ next: z.string() }), data: z.array(z.string()) }),
})

const listRowsV1 = defineEndpoint({
  ...about,
  id: 'listRowsV1',
  family: 'platform_v1',
  method: 'GET',
  path: '/platform/v1/rows',
  scope: 'assets:read',
  paging: { ...linksV1, limitDefault: null },
  query: z.strictObject({}),
  response: z.array(z.string()),
})

const getThing = defineEndpoint({
  ...about,
  id: 'getThing',
  family: 'accounts_v2',
  method: 'GET',
  path: '/accounts/v2/things/{id}',
  scope: 'transactions:read',
  params: z.object({ id: z.string() }),
  response: z.object({ id: z.string(), amount: z.number() }),
})

const removeThing = defineEndpoint({
  ...about,
  id: 'removeThing',
  family: 'accounts_v2',
  method: 'DELETE',
  path: '/accounts/v2/things/{id}',
  scope: 'transactions:read',
  params: z.object({ id: z.string() }),
  response: z.object({}),
})

const refreshThings = defineEndpoint({
  ...about,
  id: 'refreshThings',
  family: 'accounts_v2',
  method: 'POST',
  path: '/accounts/v2/things/refresh',
  scope: 'transactions:read',
  response: z.object({}),
})

const addThing = defineEndpoint({
  ...about,
  id: 'addThing',
  family: 'platform_v1',
  method: 'POST',
  path: '/platform/v1/things',
  scope: 'providers:write',
  body: z.strictObject({
    label: z.string().min(1).max(10),
    inner: z.strictObject({ count: z.int() }).optional(),
  }),
  response: z.object({ label: z.string() }),
})

const open = defineEndpoint({
  ...about,
  id: 'open',
  family: 'accounts_v2',
  method: 'GET',
  path: '/accounts/v2/open',
  scope: null,
  response: z.object({}),
})

const fail = { ...open, id: 'fail', path: '/accounts/v2/fail/{how}', params: z.object({ how: z.string() }) } as const

/** The rows of every list here. */
const rows = Array.from({ length: 75 }, (_, index) => `row ${String(index).padStart(3, '0')}`)

function cutPage(limit: number | null, point: readonly string[] | undefined): { data: string[]; end?: string[] } {
  const rest = rows.filter((row) => point?.[0] === undefined || row > point[0])
  const data = rest.slice(0, limit ?? rest.length)
  const last = data.at(-1)
  return data.length < rest.length && last !== undefined ? { data, end: [last] } : { data }
}

/** Faults that a handler may meet, by the name in the path. */
const faults: Readonly<Record<string, () => Error>> = {
  bug: () => new TypeError('secret-sauce of the internals'),
  away: () => Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' }),
  limited: () => new Refusal('rate_limited', 'slow down', { retryAfterSeconds: 17 }),
  missing: () => new Refusal('not_found', 'no such thing'),
}

function registerTestRoutes(serve: Serve, app: HttpServer['app']): void {
  serve(app, listRows, async ({ page }) => {
    const { data, end } = cutPage(page.limit, page.point)
    return { text: JSON.stringify({ page: { next: page.next(end) }, data }) }
  })
  serve(app, listRowsV1, async ({ page }) => {
    const { data, end } = cutPage(page.limit, page.point)
    return { json: data, headers: linkHeaders(page.next(end)) }
  })
  serve(app, getThing, async ({ params }) => ({
    json: { id: params.id, amount: toExactNumber(parseDecimal('123456789012.123456789012345678')) },
  }))
  serve(app, removeThing, async () => ({ json: {} }))
  serve(app, refreshThings, async () => ({ json: {} }))
  serve(app, addThing, async ({ body }) => {
    if (body.label === 'elsewhere') {
      const item = { cause: 'unknown_provider', message: 'is not in the catalogue', provider_id: 'nowhere' } as const
      throw new Refusal('invalid_request', 'unknown', { items: [item] })
    }
    return { json: { label: body.label } }
  })
  serve(app, open, async () => ({ json: {} }))
  serve(app, fail, async ({ params }) => {
    throw faults[params.how]?.() ?? new Error('no such fault')
  })
}

const everyScope = new Set(['assets:read', 'transactions:read', 'providers:write'])

export function callerNamed(name: string, scopes: ReadonlySet<string> = everyScope): Caller {
  const userKey = String(name.charCodeAt(0))
  const user = { tenantKey: 1, tenantId: 'ten_1', userKey, userId: `usr_${name}`, grantId: `grt_${name}` }
  return { ...user, clientId: 'cli_1', scopes }
}

/** "Bearer ann" is Ann with every scope, "Bearer ann:assets:read" is Ann with one. */
async function authenticate(authorization: string | undefined): Promise<Caller> {
  const [, name, scope] = /^(ann|bob)(?::(.+))?$/.exec(findBearer(authorization) ?? '') ?? []
  if (name === undefined) throw new Refusal('invalid_token', 'send a valid access token')
  return callerNamed(name, scope === undefined ? everyScope : new Set([scope]))
}

export interface TestServer {
  url: string
  lines: string[]
  server: HttpServer
  get: (path: string, headers?: Record<string, string>) => Promise<Response>
}

/** Accepts connections for a server that does not listen, as the parent of several processes does. */
async function acceptFor(t: Pick<TestContext, 'after'>, server: HttpServer): Promise<string> {
  await server.app.ready()
  const parent = createServer({ pauseOnConnect: true }, (socket) => server.take(socket)).listen(0, '127.0.0.1')
  await once(parent, 'listening')
  t.after(() => parent.close())
  return `http://127.0.0.1:${(parent.address() as AddressInfo).port}`
}

interface MoreRoutes {
  /** It does not listen, and takes connections that another server has accepted. */
  isChild?: boolean
  /** Routes of one test. */
  registerMore?: (serve: Serve, app: HttpServer['app']) => void
}

/** An installation in which one worker is alive, and nothing happens. */
export const fleet: FleetFigures = {
  ...{ workersAlive: 1, webhookWaiting: 0, webhookOldestSeconds: 0, feedNotices: 0, databaseBytes: 8_000_000 },
  ...{ queueJobs: [], queueOldest: [], queueFailing: [], connections: [], connectionOverdue: [] },
  ...{ proofGrades: [], circuitsOpen: [{ labels: { provider: 'kraken' }, value: 1 }] },
}

export async function startTestServer(
  t: Pick<TestContext, 'after'>,
  overrides: Partial<HttpOptions> & Partial<Pick<ServeDependencies, 'admission' | 'authenticate'>> & MoreRoutes = {},
): Promise<TestServer> {
  const lines: string[] = []
  const { admission, authenticate: authenticateOther, registerMore, isChild = false, ...options } = overrides
  const cursors = createCursors([new Uint8Array(32).fill(7)])
  const serve = createServe({
    authenticate: authenticateOther ?? authenticate,
    cursors,
    ...(admission === undefined ? {} : { admission }),
  })
  let url = ''
  const metrics = createMetrics()
  collectProcess(metrics)
  const server = await createHttpServer({
    log: createLog({ level: 'info', destination: { write: (line: string) => void lines.push(line) } }),
    groups: [
      {
        cors: 'any',
        prefixes: ['/accounts/v2/'],
        register(app) {
          registerTestRoutes(serve, app)
          registerMore?.(serve, app)
        },
      },
      { cors: 'widget', register: (app) => void app.get('/connect/v1/session', async () => 'ok') },
      { cors: 'none', register: (app) => void app.post('/sandbox/clock', async () => 'ok') },
    ],
    metrics,
    fleetMetrics: createFleetMetrics(async () => fleet),
    metricsAccess: { token: 'scrape me' },
    findUnready: async () => undefined,
    build: { version: '0.1.0', commit: 'abc1234' },
    baseUrl: () => url,
    authUrl: () => url,
    widgetUrl: () => `${url}/connect`,
    widgetOrigins: () => ['https://widget.example'],
    v1SunsetMs: undefined,
    loopbackHostsOnly: false,
    docsCanTry: false,
    trustedProxies: [],
    ...options,
  })
  url = await (isChild ? acceptFor(t, server) : server.listen({ host: '127.0.0.1', port: 0 }))
  t.after(() => server.stop(0))
  return {
    url,
    lines,
    server,
    get: (path, headers = { authorization: 'Bearer ann' }) => fetch(`${url}${path}`, { headers }),
  }
}

/** Sends bytes as they are and gives everything that comes back until the server closes. */
export async function sendRaw(url: string, request: string | Uint8Array): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(request)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}
