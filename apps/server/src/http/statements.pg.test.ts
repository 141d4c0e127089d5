/**
 * How many statements a request takes, counted where they are sent: with routes, handlers and token check as in the
 * service.
 */
import { hash, randomBytes } from 'node:crypto'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { createEnterprise } from '../enterprise/index.ts'
import { createLimits } from '../limits/index.ts'
import { createOauth } from '../oauth/index.ts'
import { ownedBySuite, testKeys } from '../oauth/test-oauth.ts'
import { createPortfolio } from '../portfolio/index.ts'
import { addConnection, addRows, addUser, toId } from '../portfolio/test-portfolio.ts'
import { createTenants } from '../tenants/index.ts'
import { createAdmission } from './request/admission.ts'
import { registerEnterprise } from './enterprise/index.ts'
import type { FrontDoors } from './front-doors.ts'
import { startTestServer } from './test-server.ts'
import { registerV1 } from './v1/index.ts'
import { registerV2 } from './v2/index.ts'

const perToken = 60

describe('a request takes', async () => {
  const suite = ownedBySuite()
  const { db } = await testDatabase(suite)
  const statements: string[] = []
  const count = <Args extends unknown[], Answer>(send: (text: string, ...rest: Args) => Answer) => {
    return (text: string, ...rest: Args): Answer => {
      statements.push(text)
      return send(text, ...rest)
    }
  }
  const counting = {
    ...db,
    rows: count(db.rows),
    row: count(db.row),
    maybeRow: count(db.maybeRow),
    execute: count(db.execute),
  } as Database
  const ann = await addUser(db, 'ann')
  const poor = await addUser(db, 'poor', ['providers:read'])
  const busy = await addUser(db, 'busy')
  await addConnection(db, ann, { key: 1, id: 'con_a' })
  const rows = Array.from({ length: 150 }, (_, index) => ({
    id: toId(String(index)),
    connectionKey: 1,
    occurredAt: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
    type: index === 0 ? 'receive' : 'send',
    symbols: ['BTC'],
  }))
  await addRows(db, ann, rows)

  const oauth = createOauth({
    db: counting,
    tenants: createTenants({ db }),
    keys: testKeys,
    issuer: 'https://auth.example',
    widgetUrl: 'https://auth.example/connect',
    onCodeRedeemed: async () => undefined,
    randomBytes,
  })
  const server = await startTestServer(suite, {
    authenticate: oauth.authenticate,
    admission: createAdmission(
      createLimits({ perToken, perAddress: 1_000, perClient: 9, oauthFailures: 9, slowAfter: 9 }, () => 0),
    ),
    registerMore(serve, app) {
      const portfolio = createPortfolio({ db: counting })
      // These requests do not reach the other front doors.
      const doors = {
        ...{ serve, portfolio, now: () => Date.now(), removalsKeptMs: 1e9 },
        onTenantAccess: async () => undefined,
      } as unknown as FrontDoors
      registerEnterprise(app, { ...doors, enterprise: createEnterprise({ db: counting, endGrants: async () => 0 }) })
      registerV1(app, doors)
      registerV2(app, doors)
    },
  })

  async function ask(path: string, token: string | undefined): Promise<[status: number, statements: number]> {
    statements.length = 0
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await server.get(path, headers)
    await response.text()
    return [response.status, statements.length]
  }

  const page = '/accounts/v2/transactions'
  const ones: Record<string, string> = {
    'a page': page,
    'a page of another size': `${page}?limit=7`,
    'a page of a period': `${page}?start_time=2026-01-01T00:10:00Z&end_time=2026-01-01T01:00:00Z`,
    'a page of v1': '/platform/v1/transactions',
    'a page by one asset': `${page}?asset_symbols=BTC`,
    'a page by a filter that hits often': `${page}?types=send`,
    'a transaction': `${page}/${toId('3')}`,
    'the positions of v2': '/accounts/v2/assets',
    'the positions of v1': '/platform/v1/assets',
    'the changes': `${page}/changes`,
  }
  for (const [title, path] of Object.entries(ones)) {
    it(`one statement: ${title}`, async () => assert.deepEqual(await ask(path, ann.token), [200, 1]))
  }

  it('one statement: a tenant’s page, and another that finds the client of a new token', async () => {
    const tokenOf = async (scope: string): Promise<string> => {
      const token = randomBytes(32).toString('base64url')
      await db.execute(
        `insert into client_tokens (token_hash, client_id, tenant_key, tenant_id, scopes, issued_at, expires_at)
         values ($1, 'cli_a', $2, 'ten_a', $3, $4, $4::timestamptz + interval '1 hour')`,
        [hash('sha256', token, 'buffer'), ann.tenantKey, [scope], db.now()],
      )
      return token
    }
    const path = '/enterprise/v2/transactions'
    const reader = await tokenOf('enterprise:read')
    assert.deepEqual(await ask(path, reader), [200, 2])
    assert.deepEqual(await ask(path, reader), [200, 1])
    assert.deepEqual(await ask(`${path}?limit=0`, reader), [400, 1])
    const manager = await tokenOf('enterprise:manage')
    assert.deepEqual(await ask(path, manager), [403, 2])
    assert.deepEqual(await ask(path, manager), [403, 1])
    assert.deepEqual(await ask(path, ann.token), [403, 1])
    assert.deepEqual(await ask(path, randomBytes(32).toString('base64url')), [401, 2])
  })

  it('one statement: a deep page', async () => {
    const first = await server.get(page, { authorization: `Bearer ${ann.token}` })
    const { page: shown } = (await first.json()) as { page: { next: string } }
    assert.deepEqual(await ask(shown.next, ann.token), [200, 1])
  })

  it('one statement: a poll of changes that finds nothing', async () => {
    let cursor = ''
    for (let next = `${page}/changes?limit=100`; next !== '';) {
      const response = await server.get(next, { authorization: `Bearer ${ann.token}` })
      const body = (await response.json()) as { page: { next: string }; cursor: string }
      cursor = body.cursor
      next = body.page.next
    }
    assert.deepEqual(await ask(`${page}/changes?cursor=${cursor}`, ann.token), [200, 1])
  })

  it('at most three: a page with filters that match rarely', async () => {
    assert.deepEqual(await ask(`${page}?types=receive`, ann.token), [200, 2])
    assert.deepEqual(await ask(`${page}?types=receive&asset_symbols=BTC`, ann.token), [200, 3])
    const all = 'types=receive&asset_symbols=BTC&updated_since=2019-01-01T00:00:00Z&connection_ids=con_a'
    assert.deepEqual(await ask(`${page}?${all}`, ann.token), [200, 3])
  })

  it('one statement, the token check, when it is refused: 401, 403, 400, 404', async () => {
    const unknown = Buffer.alloc(40, 'x').toString('base64url')
    assert.deepEqual(await ask(page, unknown), [401, 1])
    assert.deepEqual(await ask(`${page}?limit=0`, unknown), [401, 1])
    assert.deepEqual(await ask(page, poor.token), [403, 1])
    assert.deepEqual(await ask(`${page}?limit=0`, poor.token), [403, 1])
    assert.deepEqual(await ask(`${page}?limit=0`, ann.token), [400, 1])
    assert.deepEqual(await ask(`${page}?provider_ids=nowhere`, ann.token), [400, 1])
    assert.deepEqual(await ask(`${page}/${toId('none')}`, ann.token), [404, 1])
    assert.deepEqual(await ask(`${page}/nonsense`, ann.token), [404, 1])
  })

  it('none when the request has nothing that could be a token', async () => {
    assert.deepEqual(await ask(page, undefined), [401, 0])
    assert.deepEqual(await ask(page, 'nonsense'), [401, 0])
  })

  it('one statement when the limit is used up: 429, or 401 when the token was revoked meanwhile', async () => {
    for (let request = 0; request < perToken; request += 1) await ask('/platform/v1/assets', busy.token)
    assert.deepEqual(await ask(page, busy.token), [429, 1])
    assert.deepEqual(await ask(`${page}?limit=0`, busy.token), [429, 1])
    await db.execute('delete from access_tokens where user_key = $1', [busy.userKey])
    assert.deepEqual(await ask(page, busy.token), [401, 1])
  })
})
