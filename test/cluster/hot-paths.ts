/**
 * The hot paths of the service, walked over HTTP and by real jobs on a given database, with every statement that each
 * of them sends. The API and the worker run in this process, where their statements can be seen; the worker runs only
 * where a path needs it, so that what an API path sends is known exactly.
 */
import { hourMs } from '@assay/core'
import { startSandbox } from '@assay/sandbox'
import { startService, type Role, type Service } from '@assay/server'
import { parseConfig } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Database } from '../../apps/server/src/db/index.ts'
import { recordStatements, type SentStatement } from '../../apps/server/src/db/test-statements.ts'
import { authorize, demo, fetchJson, fetchText, redeem, untilRead, type Page, type Tokens } from '../application.ts'
import { patienceMs, until } from '../until.ts'

/** By path, in the order in which they were walked. */
export type HotPaths = ReadonlyMap<string, readonly SentStatement[]>

/** Marks the statements that are not the service's. */
const observing = '/* test */'

interface World {
  url: string
  db: Database
  record: (path: string, work: () => Promise<unknown>) => Promise<void>
  /** The same while a worker runs. */
  recordJobs: (path: string, work: () => Promise<unknown>) => Promise<void>
}

export interface WalkOptions {
  /**
   * Called when everything has been read and nothing has ended yet: the statements that were sent so far find the same
   * again.
   */
  onRead?: (paths: HotPaths) => Promise<void>
  /** On a database that has the rows of an earlier walk: tokens and reads, and nothing that needs a worker. */
  apiOnly?: boolean
}

/** `db` is open on the database of this address, which has the schema. */
export async function walkHotPaths(databaseUrl: string, db: Database, options: WalkOptions = {}): Promise<HotPaths> {
  const dataDirectory = await mkdtemp(path.join(os.tmpdir(), 'assay-hot-paths-'))
  const sandbox = await startSandbox({ seed: 'hot paths', pace: 'fast', log: () => undefined })
  const config = parseConfig({
    ASSAY_MODE: 'sandbox',
    ASSAY_PORT: '0',
    ASSAY_DATA_DIRECTORY: dataDirectory,
    ASSAY_SANDBOX_URL: sandbox.controlUrl,
    ASSAY_LIMIT_TOKEN: '1000000',
    ASSAY_LIMIT_ADDRESS: '1000000',
    ASSAY_LIMIT_CLIENT: '1000000',
    DATABASE_ACQUIRE_TIMEOUT: String(patienceMs),
    DATABASE_STATEMENT_TIMEOUT: String(patienceMs),
    DATABASE_URL: databaseUrl,
  })
  const start = (role: Role): Promise<Service> =>
    startService(config, role, createLog({ level: 'error' }), { version: 'test', commit: undefined })
  const api = await start('api')
  const sent = new Map<string, SentStatement[]>()
  const record: World['record'] = async (name, work) => {
    const statements = (await recordStatements(work)).filter(({ text }) => !text.startsWith(observing))
    sent.set(name, [...(sent.get(name) ?? []), ...statements])
  }
  const recordJobs: World['recordJobs'] = (name, work) =>
    record(name, async () => {
      const worker = await start('worker')
      try {
        await work()
      } finally {
        await worker.stop()
      }
    })
  let isStopped = false
  const stop = async (): Promise<void> => {
    if (!isStopped) await api.stop()
    isStopped = true
  }
  const world: World = { url: api.url ?? '', db, record, recordJobs }
  try {
    if (options.apiOnly !== true) await walkFirstRead(world)
    const ann = await walkReads(world)
    await options.onRead?.(sent)
    await walkTokens(world, ann)
    if (options.apiOnly !== true) {
      await walkJobs(world)
      await walkEnterprise(world, ann)
      await walkEnd(world)
    }
    // What was read is counted in the background, and written at the latest when the API stops.
    await record('access log', stop)
  } finally {
    await stop()
    await sandbox.close()
    await rm(dataDirectory, { recursive: true, force: true })
  }
  return sent
}

async function walkFirstRead({ url, recordJobs }: World): Promise<void> {
  const providers = [{ provider_id: 'kraken' }, { provider_id: 'kraken' }]
  await recordJobs('first read', async () => {
    const { access_token: token } = await redeem(url, await authorize(url, 'ann', providers))
    await untilRead(url, token)
  })
}

async function walkReads({ url, record }: World): Promise<Tokens> {
  let tokens: Tokens | undefined
  await record('token exchange', async () => {
    tokens = await redeem(url, await authorize(url, 'ann', []))
  })
  if (tokens === undefined) throw new Error('the exchange gave no tokens')
  const token = tokens.access_token
  const get = (target: string): Promise<string> => fetchText(url, target, token)
  const list = '/accounts/v2/transactions'
  const { data } = await fetchJson<Page<{ id: string }>>(url, list, token)
  const { data: connections } = await fetchJson<Page<{ connection_id: string }>>(url, '/accounts/v2/providers', token)
  const reads: Record<string, string[]> = {
    page: [list, `${list}?limit=7`, `${list}?start_time=2025-01-01T00:00:00Z&end_time=2026-01-01T00:00:00Z`],
    'page, v1': ['/platform/v1/transactions'],
    'page, filtered': [
      `${list}?types=receive`,
      `${list}?asset_symbols=BTC`,
      `${list}?types=receive&asset_symbols=BTC`,
      `${list}?categories=staking_reward&connection_ids=${connections[0]?.connection_id ?? ''}&provider_ids=kraken`,
    ],
    'page by updated_since': [`${list}?updated_since=2020-01-01T00:00:00Z`],
    'single transaction': [`${list}/${data[0]?.id ?? ''}`],
    export: [`${list}/export?format=csv`, `${list}/export?format=ndjson`],
    'assets, v2': ['/accounts/v2/assets'],
    'assets, v1': ['/platform/v1/assets'],
    history: [
      '/accounts/v2/assets/history',
      '/accounts/v2/assets/history?start_time=2025-01-01T00:00:00Z&end_time=2025-12-01T00:00:00Z',
    ],
    'change feed': [`${list}/changes?limit=100`],
    providers: ['/accounts/v2/providers', `/accounts/v2/providers/${connections[0]?.connection_id ?? ''}/coverage`],
  }
  for (const [name, targets] of Object.entries(reads)) {
    for (const target of targets) await record(name, () => get(target))
  }
  const claim = { claim: 'value_at_least', amount_in_usd: '1' }
  await record('claim', () => postJson(url, '/accounts/v2/claims', token, claim))
  // A deep page has a position to continue from.
  const first = await fetchJson<Page<unknown>>(url, list, token)
  await record('page', () => get(first.page.next))
  const feed = await fetchJson<Page<unknown>>(url, `${list}/changes?limit=100`, token)
  await record('change feed', () => get(feed.page.next))
  return tokens
}

async function postJson(url: string, target: string, token: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const response = await fetch(`${url}${target}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status !== 200) throw new Error(`${target}: ${response.status} ${await response.text()}`)
}

async function walkTokens({ url, record }: World, { refresh_token: refreshToken }: Tokens): Promise<void> {
  const client = { client_id: demo.clientId, client_secret: demo.secret }
  const post = async (target: string, fields: Record<string, string>): Promise<string> => {
    const response = await fetch(`${url}${target}`, {
      method: 'POST',
      body: new URLSearchParams({ ...client, ...fields }),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${target}: ${response.status} ${text}`)
    return text
  }
  const refresh = { grant_type: 'refresh_token', refresh_token: refreshToken }
  let refreshed: Tokens | undefined
  await record('token refresh', async () => {
    refreshed = JSON.parse(await post('/oauth/token', refresh)) as Tokens
  })
  await record('token refresh, retried', () => post('/oauth/token', refresh))
  if (refreshed === undefined) throw new Error('no tokens')
  const { access_token: access, refresh_token: last } = refreshed
  await record('introspect', async () => {
    await post('/oauth/introspect', { token: access })
    await post('/oauth/introspect', { token: last })
  })
  await record('revoke', async () => {
    await post('/oauth/revoke', { token: access })
    await post('/oauth/revoke', { token: last })
  })
}

async function walkJobs({ url, db, record, recordJobs }: World): Promise<void> {
  const lastSync = async (): Promise<string> =>
    (await db.row<{ at: string }>(`${observing} select min(last_synced_at) as at from connections`)).at
  const untilSynced = async (before: string): Promise<void> => {
    await until('a run of every connection', async () => ((await lastSync()) > before ? true : undefined), 50)
  }
  const first = await lastSync()
  await recordJobs('idle run', async () => {
    await postJson(url, '/sandbox/clock', '', { advance_ms: 2 * hourMs })
    await untilSynced(first)
  })
  // The tokens from before have expired.
  const { access_token: token } = await redeem(url, await authorize(url, 'ann', []))
  const second = await lastSync()
  await record('refresh request', () => postJson(url, '/accounts/v2/transactions/refresh', token, {}))
  await recordJobs('read by request', () => untilSynced(second))
}

async function walkEnterprise({ url, record }: World, { user_id: userId }: Tokens): Promise<void> {
  const client = { client_id: 'cli_enterprise', client_secret: 'sandbox-enterprise-secret' }
  const scope = 'enterprise:read enterprise:manage'
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...client, scope })
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body })
  const { access_token: token } = (await response.json()) as Tokens
  const root = '/enterprise/v2'
  const reads: Record<string, string[]> = {
    'tenant page': [
      `${root}/transactions`,
      `${root}/transactions?types=receive`,
      `${root}/transactions?asset_symbols=BTC`,
    ],
    'tenant feed': [`${root}/changes`],
    'page of one user, for the tenant': [`${root}/users/${userId}/transactions`, `${root}/users/${userId}/assets`],
    'tenant lists': [`${root}/users`, `${root}/users/${userId}`, `${root}/accounts`],
    statistics: ['users', 'accounts-by-provider', 'balances', 'top-assets'].map((name) => `${root}/stats/${name}`),
  }
  for (const [name, targets] of Object.entries(reads)) {
    for (const target of targets) await record(name, () => fetchText(url, target, token))
  }
}

async function walkEnd({ url, db, recordJobs }: World): Promise<void> {
  const { access_token: token } = await redeem(url, await authorize(url, 'ann', []))
  const remove = async (target: string): Promise<void> => {
    const response = await fetch(`${url}${target}`, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } })
    if (response.status !== 200) throw new Error(`${target}: ${response.status} ${await response.text()}`)
  }
  await recordJobs('removal', async () => {
    await remove('/accounts/v2/providers?provider_id=kraken')
    const left = `${observing} select from connections union all select from transactions`
    await until('the end of every row', async () => ((await db.rows(left)).length === 0 ? true : undefined), 50)
  })
}
