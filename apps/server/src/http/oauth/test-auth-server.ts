/** Starts the authorization server behind the real HTTP server: two nodes on free ports, over one database. */
import { createSlots, type Limits, type Slots } from '../../limits/index.ts'
import { noLimits } from '../../limits/test-limits.ts'
import type { Oauth } from '../../oauth/index.ts'
import { openOauth, ownedBySuite, type TestOauth } from '../../oauth/test-oauth.ts'
import { startTestServer } from '../test-server.ts'
import { createTurns } from '../request/turns.ts'
import { registerOauthRoutes, type OauthRoutesDeps } from './index.ts'

export interface TestAuthServer extends TestOauth {
  /** The issuer: the first node's address. */
  url: string
  secondUrl: string
  /** Everything both nodes logged. */
  lines: () => string[]
  post: (path: string, body: Record<string, string> | string, headers?: Record<string, string>) => Promise<Response>
}

export async function startAuthServer(
  limits: Limits = noLimits,
  slots: Slots = createSlots(),
): Promise<TestAuthServer> {
  const owner = ownedBySuite()
  const [first, second] = await Promise.all([startNode(owner, limits, slots), startNode(owner, limits, slots)])
  // The issuer contains the port, so the servers start first.
  const fixture = await openOauth(owner, first.url)
  first.serve(fixture.oauth)
  second.serve(await fixture.secondNode())
  return {
    ...fixture,
    url: first.url,
    secondUrl: second.url,
    lines: () => [...first.lines(), ...second.lines()],
    post: (path, body, headers = {}) =>
      fetch(`${first.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: typeof body === 'string' ? body : new URLSearchParams(body).toString(),
      }),
  }
}

async function startNode(owner: ReturnType<typeof ownedBySuite>, limits: Limits, slots: Slots) {
  let served: Oauth | undefined
  const node = (): Oauth => {
    if (served === undefined) throw new Error('the node was asked before it was ready')
    return served
  }
  const oauth: OauthRoutesDeps['oauth'] = {
    token: (request) => node().token(request),
    revoke: (request) => node().revoke(request),
    introspect: (request) => node().introspect(request),
    metadata: () => node().metadata(),
  }
  const claims: OauthRoutesDeps['claims'] = { jwks: async () => ({ keys: [] }) }
  const turns = createTurns({ atOnceMax: 4, waitingMax: 1_000 })
  const lines: string[] = []
  const log = {
    error: (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message })),
    warn: (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message })),
  }
  const server = await startTestServer(owner, {
    groups: [
      { cors: 'any', register: (app) => registerOauthRoutes(app, { oauth, claims, limits, slots, turns, log }) },
    ],
  })
  const serve = (started: Oauth): void => {
    served = started
  }
  return { url: server.url, lines: () => [...server.lines, ...lines], serve }
}
