/**
 * token: redeeming a code (with its verifier and the client's secret) and refreshing, against node-oidc-provider with
 * its models in the same PostgreSQL. Both rotate refresh tokens; every code and every token is used once. Codes of a
 * connect session are measured too: redeeming one also shows the connection that the session made, which the peer has
 * nothing to compare with, so that ratio is reported without a goal.
 */
import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { Database } from '../../../apps/server/src/db/index.ts'
import { newUserToken } from '../../../apps/server/src/oauth/token-values.ts'
import type { Benchmark, Finding } from '../../benchmark.ts'
import { compare, measureAll, toComparison, type Effort } from '../../measure.ts'
import { startApi, underLoad } from '../../world/api.ts'
import { clientId, sha256, userIdOf, userKeyOf } from '../../world/people.ts'
import { openPopulation } from '../../world/population.ts'
import { describeCpu, describeCpus, type LoadedSide } from '../../world/measuring/load.ts'
import { cpuSecondsOf, startProcess } from '../../world/process.ts'

const program = path.resolve(import.meta.dirname, '../../programs/oidc-provider.mjs')
const secret = 'a secret that only the benchmark has'
const redirectUri = 'https://bench.example/callback'
const verifier = 'a-verifier-that-is-long-enough-for-rfc-7636-section-4-1'
const challenge = createHash('sha256').update(verifier).digest('base64url')
const connections = 10
const users = 400

interface Server {
  tokenUrl: string
  /** The process that answers. */
  pid: number
  /** New codes, none of them redeemed. */
  issueCodes(count: number): Promise<string[]>
}

export const token: Benchmark = {
  name: 'token',
  summary: 'code exchange and refresh, against node-oidc-provider on the same PostgreSQL',
  async run(bench) {
    // This benchmark writes, so it has a population of its own.
    const { db, url } = await openPopulation(bench, { users, transactionsEach: 10, positionsEach: 0 })
    await db.execute(
      'insert into client_secrets (client_id, secret_hash, created_at) values ($1, $2, $3) on conflict do nothing',
      [clientId, sha256(secret), db.now()],
    )
    const api = await startApi(underLoad(url))
    bench.onEnd(() => api.stop())
    const words = [program, url, clientId, secret, redirectUri, challenge]
    const peer = await startProcess({ name: 'oidc-provider', words, ready: /ready at (http\S+)/ })
    bench.onEnd(() => peer.stop())

    const tokenUrl = `${api.url}/oauth/token`
    const ours = { tokenUrl, pid: api.pid, issueCodes: (count: number) => insertCodes(db, count) }
    const sessions = { tokenUrl, pid: api.pid, issueCodes: (count: number) => insertSessionCodes(db, count) }
    const theirs = {
      tokenUrl: `${peer.ready}/token`,
      pid: peer.pid,
      issueCodes: (count: number) => fetchCodes(peer.ready, count),
    }
    const count = bench.size === 'try' ? 50 : 2_000
    return [
      ...(await compareExchange({ ours, sessions, theirs }, count, bench)),
      await compareRefresh(ours, theirs, count, bench),
    ]
  },
}

async function compareExchange(
  { ours, sessions, theirs }: Record<'ours' | 'sessions' | 'theirs', Server>,
  count: number,
  effort: Effort,
): Promise<Finding[]> {
  const side = (name: string, server: Server): LoadedSide =>
    tokenSide(name, server, async (run) => {
      const codes = await server.issueCodes(count)
      return run(codes, 1, (code, agent) => redeem(server, agent, code))
    })
  const sides = [side('api', ours), side('api, code of a session', sessions), side('oidc-provider', theirs)] as const
  const [code, ofSession, peer] = await measureAll([...sides], effort)
  const unit = 'exchanges/s'
  const notes = [describeCpus(sides)]
  return [
    { title: 'Code exchange', unit, measured: toComparison(code, peer), goal: { atLeast: 2 }, notes },
    {
      title: 'Code exchange of a connect session that made one connection',
      unit,
      measured: toComparison(ofSession, peer),
      goal: undefined,
      notes: [],
    },
  ]
}

async function compareRefresh(ours: Server, theirs: Server, count: number, effort: Effort): Promise<Finding> {
  const side = (name: string, server: Server): LoadedSide =>
    tokenSide(name, server, async (run) => {
      const tokens: string[] = []
      const codes = await server.issueCodes(count / 2)
      await timed(codes, async (code, agent) => void tokens.push(await redeem(server, agent, code)))
      const twice = async (spent: string, agent: http.Agent): Promise<string> =>
        refresh(server, agent, await refresh(server, agent, spent))
      return run(tokens, 2, twice)
    })
  const sides = [side('api', ours), side('oidc-provider', theirs)] as const
  const measured = await compare(...sides, effort)
  return { title: 'Refresh', unit: 'refreshes/s', measured, goal: { atLeast: 2 }, notes: [describeCpus(sides)] }
}

type Work = (item: string, agent: http.Agent) => Promise<unknown>

/** `measure` prepares the items and measures the work on them; each item takes this many requests. */
function tokenSide(
  name: string,
  { pid }: Server,
  measure: (run: (items: readonly string[], each: number, work: Work) => Promise<number>) => Promise<number>,
): LoadedSide {
  const cpus: number[] = []
  const run = async (items: readonly string[], each: number, work: Work): Promise<number> => {
    const before = cpuSecondsOf(pid)
    const perSecond = (await timed(items, work)) * each
    cpus.push(((cpuSecondsOf(pid) - before) * 1_000_000) / (items.length * each))
    return perSecond
  }
  return { name, run: () => measure(run), describeCpu: () => describeCpu(name, cpus) }
}

/** Measures items per second, with `connections` at a time. */
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

/** Inserts codes like those that the connect flow issues, spread evenly over the users. */
async function insertCodes(db: Database, count: number, connectSessionIds?: readonly string[]): Promise<string[]> {
  const owners = Array.from({ length: count }, (_, index) => 1 + (index % users))
  const codes = owners.map((user) => newUserToken(userKeyOf(user), randomBytes))
  await db.execute(
    `insert into authorization_codes (user_key, code_hash, tenant_key, tenant_id, user_id, client_id, redirect_uri,
       code_challenge, code_challenge_method, scopes, session_id, consent, expires_at)
     select u.user_key, c.hash, u.tenant_key, u.tenant_id, u.id, $1, $2, $3, 'S256', '{transactions:read,offline_access}',
       c.session_id, '{}', $4::timestamptz + interval '1 hour'
     from unnest($5::bytea[], $6::text[], $7::text[]) as c (hash, user_id, session_id) join users u on u.id = c.user_id`,
    [
      ...[clientId, redirectUri, challenge, db.now()],
      codes.map(sha256),
      owners.map(userIdOf),
      connectSessionIds ?? codes.map(() => null),
    ],
  )
  return codes
}

/** No other connection of a user has such a key. */
const firstProvisionalKey = 1_000

/** Each code ends a session in which one connection was made; it was verified, and is being read. */
async function insertSessionCodes(db: Database, count: number): Promise<string[]> {
  await db.execute('delete from connections where connection_key >= $1', [firstProvisionalKey])
  const connectSessionIds = Array.from({ length: count }, () => `ses_${randomBytes(13).toString('hex')}`)
  const codes = await insertCodes(db, count, connectSessionIds)
  await db.execute(
    `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
       status, account_fingerprint, key_lane, session_id, created_at, added_at)
     select c.user_key, $1::integer + row_number() over (partition by c.user_key), 'con_' || c.session_id, c.tenant_key,
       c.tenant_id, c.user_id, 'kraken', 'api_key', 'syncing', c.session_id, c.session_id, c.session_id, $3, $3
     from authorization_codes c where c.session_id = any($2::text[])`,
    [firstProvisionalKey, connectSessionIds, db.now()],
  )
  return codes
}

async function fetchCodes(url: string, count: number): Promise<string[]> {
  return (await (await fetch(`${url}/prepare?count=${count}`, { method: 'POST' })).json()) as string[]
}
