/**
 * token: redeeming a code (with its verifier and the client's secret) and refreshing, against node-oidc-provider with
 * its models in the same PostgreSQL. Both rotate refresh tokens; every code and every token is used once.
 */
import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { Database } from '../../apps/server/src/db/index.ts'
import type { Benchmark, Finding } from '../benchmark.ts'
import { compare, type Effort } from '../measure.ts'
import { startApi, underLoad } from '../world/api.ts'
import { clientId, openPopulation, pagePopulation, tenantId, userIdOf } from '../world/population.ts'
import { startProcess } from '../world/process.ts'

const program = path.resolve(import.meta.dirname, '../programs/oidc-provider.mjs')
const secret = 'a secret that only the benchmark has'
const redirectUri = 'https://bench.example/callback'
const verifier = 'a-verifier-that-is-long-enough-for-rfc-7636-section-4-1'
const challenge = createHash('sha256').update(verifier).digest('base64url')
const connections = 10

interface Server {
  tokenUrl: string
  /** New codes, none of them redeemed. */
  issueCodes(count: number): Promise<string[]>
}

export const token: Benchmark = {
  name: 'token',
  summary: 'code exchange and refresh, against node-oidc-provider on the same PostgreSQL',
  async run(bench) {
    const population = pagePopulation(bench.size)
    const { db, url } = await openPopulation(bench, population)
    await db.execute('insert into client_secrets (client_id, secret_hash) values ($1, $2) on conflict do nothing', [
      clientId,
      createHash('sha256').update(secret).digest(),
    ])
    const api = await startApi(underLoad(url))
    bench.onEnd(() => api.stop())
    const words = [program, url, clientId, secret, redirectUri, challenge]
    const peer = await startProcess({ name: 'oidc-provider', words, ready: /ready at (http\S+)/ })
    bench.onEnd(() => peer.stop())

    const ours = {
      tokenUrl: `${api.url}/oauth/token`,
      issueCodes: (count: number) => insertCodes(db, population.users, count),
    }
    const theirs = { tokenUrl: `${peer.ready}/token`, issueCodes: (count: number) => fetchCodes(peer.ready, count) }
    const count = bench.size === 'try' ? 50 : 2_000
    return [await compareExchange(ours, theirs, count, bench), await compareRefresh(ours, theirs, count, bench)]
  },
}

async function compareExchange(ours: Server, theirs: Server, count: number, effort: Effort): Promise<Finding> {
  const run = async (server: Server): Promise<number> => {
    const codes = await server.issueCodes(count)
    return timed(codes, (code, agent) => redeem(server, agent, code))
  }
  const measured = await compare(
    { name: 'api', run: () => run(ours) },
    { name: 'oidc-provider', run: () => run(theirs) },
    effort,
  )
  return { title: 'Code exchange', unit: 'exchanges/s', measured, goal: { atLeast: 2 }, notes: [] }
}

async function compareRefresh(ours: Server, theirs: Server, count: number, effort: Effort): Promise<Finding> {
  const run = async (server: Server): Promise<number> => {
    const tokens: string[] = []
    const codes = await server.issueCodes(count / 2)
    await timed(codes, async (code, agent) => void tokens.push(await redeem(server, agent, code)))
    const twice = async (spent: string, agent: http.Agent): Promise<string> =>
      refresh(server, agent, await refresh(server, agent, spent))
    return (await timed(tokens, twice)) * 2
  }
  const measured = await compare(
    { name: 'api', run: () => run(ours) },
    { name: 'oidc-provider', run: () => run(theirs) },
    effort,
  )
  return { title: 'Refresh', unit: 'refreshes/s', measured, goal: { atLeast: 2 }, notes: [] }
}

/** How many items a second, `connections` at a time. */
async function timed(
  items: readonly string[],
  work: (item: string, agent: http.Agent) => Promise<unknown>,
): Promise<number> {
  // New connections for each run: one that idled through the other side's run may be closed under a request.
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  const left = items.values()
  const began = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (const item of left) await work(item, agent)
    }),
  )
  const seconds = (performance.now() - began) / 1_000
  agent.destroy()
  return items.length / seconds
}

function redeem(server: Server, agent: http.Agent, code: string): Promise<string> {
  return post(server, agent, {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri,
  })
}

function refresh(server: Server, agent: http.Agent, refreshToken: string): Promise<string> {
  return post(server, agent, { grant_type: 'refresh_token', refresh_token: refreshToken })
}

/** Resolves to the new refresh token. */
async function post({ tokenUrl }: Server, agent: http.Agent, parameters: Record<string, string>): Promise<string> {
  const body = new URLSearchParams({ ...parameters, client_id: clientId, client_secret: secret }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(body) }
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.request(tokenUrl, { agent, method: 'POST', headers }, resolve).once('error', reject).end(body)
  })
  const answer = await text(response)
  const { refresh_token: refreshToken } = JSON.parse(answer) as { refresh_token?: string }
  if (response.statusCode !== 200 || refreshToken === undefined) throw new Error(`${tokenUrl}: ${answer}`)
  return refreshToken
}

/** As the connect flow leaves them. Each for another user, as far as there are. */
async function insertCodes(db: Database, users: number, count: number): Promise<string[]> {
  const codes = Array.from({ length: count }, () => randomBytes(32).toString('base64url'))
  await db.execute(
    `insert into authorization_codes (code_hash, tenant_id, user_id, client_id, redirect_uri, code_challenge,
                                      code_challenge_method, scopes, session_id, consent, expires_at)
     select hash, $1, user_id, $2, $3, $4, 'S256', '{transactions:read,offline_access}', null, '{}', now() + interval '1 hour'
     from unnest($5::bytea[], $6::text[]) as code (hash, user_id)`,
    [
      tenantId,
      clientId,
      redirectUri,
      challenge,
      codes.map((code) => createHash('sha256').update(code).digest()),
      codes.map((_, index) => userIdOf(1 + (index % users))),
    ],
  )
  return codes
}

async function fetchCodes(url: string, count: number): Promise<string[]> {
  return (await (await fetch(`${url}/prepare?count=${count}`, { method: 'POST' })).json()) as string[]
}
