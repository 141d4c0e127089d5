/**
 * The order of the checks when one statement both checks the token and reads. A caller sees the same order as when the
 * token is checked first. A function that counts its calls stands in for the statement.
 */
import { defineEndpoint, pagesV2 } from '@assay/contract'
import { Refusal } from '@assay/core'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { z } from 'zod'
import { createLimits } from '../../limits/index.ts'
import { createAdmission } from './admission.ts'
import type { Caller } from './serve.ts'
import { callerNamed, startTestServer } from '../test-server.ts'

const listRows = defineEndpoint({
  ...{ summary: '', description: '', errors: [], example: { response: {} } },
  id: 'readRows',
  family: 'accounts_v2',
  method: 'GET',
  path: '/accounts/v2/read-rows',
  scope: 'assets:read',
  paging: pagesV2,
  query: z.strictObject({}),
  response: z.object({ page: z.object({ next: z.string() }), data: z.array(z.string()) }),
})

/** A user's token has 40 bytes; a tenant's own has 32. */
const tokenOf = (name: string, bytes = 40): string => Buffer.alloc(bytes, name).toString('base64url')
const callers = new Map<string, Caller>([
  [tokenOf('ann'), callerNamed('ann')],
  [tokenOf('bob'), callerNamed('bob')],
  [tokenOf('poor'), callerNamed('poor', new Set(['transactions:read']))],
  [tokenOf('tenant', 32), { ...callerNamed('tenant', new Set(['enterprise:read'])), userKey: null, userId: null }],
])
const perToken = 3

async function start(t: TestContext) {
  const calls: string[] = []
  const find = (name: string, token: string): Caller | undefined => {
    calls.push(name)
    return callers.get(token)
  }
  let token = ''
  const server = await startTestServer(t, {
    admission: createAdmission(
      createLimits({ perToken, perAddress: 5, perClient: 9, oauthFailures: 9, slowAfter: 9 }, () => 0),
    ),
    async authenticate() {
      const caller = find('authenticate', token)
      if (caller === undefined) throw new Refusal('invalid_token', 'no such token')
      return caller
    },
    registerMore(serve, app) {
      serve.authorizedRead(app, listRows, {
        async read(_, { page }) {
          if (page.limit === 66) throw new Refusal('invalid_request', 'checked by the handler')
          const caller = find('read', token)
          return caller && { caller }
        },
        answer: (_, { page }) => ({ json: { page: { next: page.next(['x']) }, data: [] } }),
      })
    },
  })
  async function ask(
    as: string | undefined,
    query = '',
  ): Promise<{ status: number; body: { page: { next: string } } }> {
    token = as ?? ''
    const headers: Record<string, string> = as === undefined ? {} : { authorization: `Bearer ${as}` }
    const response = await server.get(`${listRows.path}${query}`, headers)
    return { status: response.status, body: (await response.json()) as { page: { next: string } } }
  }
  return {
    ask,
    async statusOf(as: string | undefined, query = ''): Promise<[status: number, ...calls: string[]]> {
      calls.length = 0
      const { status } = await ask(as, query)
      return [status, ...calls]
    },
  }
}

const [ann, bob, poor, tenant, wrong] = ['ann', 'bob', 'poor', 'tenant', 'wrong'].map((name) =>
  tokenOf(name, name === 'tenant' ? 32 : 40),
)

describe('a request whose statement checks the token', () => {
  it('200: takes one statement', async (t) => {
    const { statusOf } = await start(t)
    assert.deepEqual(await statusOf(ann), [200, 'read'])
  })

  it('401: an unknown token, whatever else is wrong; its parameters are not checked', async (t) => {
    const { statusOf } = await start(t)
    assert.deepEqual(await statusOf(wrong), [401, 'read'])
    assert.deepEqual(await statusOf(wrong, '?limit=0'), [401, 'authenticate'])
    assert.deepEqual(await statusOf(wrong, '?limit=66'), [401, 'authenticate'])
    assert.deepEqual(await statusOf(undefined, '?limit=0'), [401, 'authenticate'])
    assert.deepEqual(await statusOf('not-a-token'), [401, 'authenticate'])
  })

  it('429: too many wrong tokens from one address', async (t) => {
    const { statusOf } = await start(t)
    for (let request = 0; request < 5; request += 1) assert.equal((await statusOf(wrong))[0], 401)
    assert.equal((await statusOf(wrong))[0], 429)
    assert.equal((await statusOf(ann))[0], 200)
  })

  it('429: a limit that is used up comes before the scope and the parameters, after the token', async (t) => {
    const { statusOf } = await start(t)
    for (let request = 0; request < perToken; request += 1) await statusOf(ann)
    assert.deepEqual(await statusOf(ann), [429, 'authenticate'])
    assert.deepEqual(await statusOf(ann, '?limit=0'), [429, 'authenticate'])
    for (let request = 0; request < perToken; request += 1) assert.equal((await statusOf(poor))[0], 403)
    assert.deepEqual(await statusOf(poor, '?limit=0'), [429, 'authenticate'])
    assert.equal((await statusOf(bob))[0], 200)
  })

  it('429: requests that are refused for their parameters count too', async (t) => {
    const { statusOf } = await start(t)
    for (let request = 0; request < perToken; request += 1) assert.equal((await statusOf(ann, '?limit=0'))[0], 400)
    assert.equal((await statusOf(ann))[0], 429)
  })

  it('403: a scope that is missing comes before the parameters', async (t) => {
    const { statusOf } = await start(t)
    assert.deepEqual(await statusOf(poor), [403, 'read'])
    assert.deepEqual(await statusOf(poor, '?limit=0'), [403, 'authenticate'])
  })

  it('403: a tenant’s own token cannot read for a user', async (t) => {
    const { statusOf } = await start(t)
    assert.deepEqual(await statusOf(tenant), [403, 'authenticate'])
  })

  it('400: a wrong parameter, by the schema or by the handler', async (t) => {
    const { statusOf } = await start(t)
    assert.deepEqual(await statusOf(ann, '?limit=0'), [400, 'authenticate'])
    assert.deepEqual(await statusOf(ann, '?limit=66'), [400, 'authenticate'])
  })

  it('400: a cursor of another user, which is known only after the statement', async (t) => {
    const { ask, statusOf } = await start(t)
    const { body } = await ask(ann)
    const next = body.page.next.slice(listRows.path.length)
    assert.deepEqual(await statusOf(ann, next), [200, 'read'])
    assert.deepEqual(await statusOf(bob, next), [400, 'read'])
    assert.deepEqual(await statusOf(wrong, next), [401, 'read'])
  })
})

describe('an answer that is a stream', () => {
  const follow = defineEndpoint({
    ...{ summary: '', description: '', errors: [], example: { response: {} } },
    id: 'follow',
    family: 'accounts_v2',
    method: 'GET',
    path: '/accounts/v2/follow',
    scope: 'assets:read',
    mediaType: 'application/x-ndjson',
    response: z.string(),
  })

  it('ends at once for HEAD: it is not read in the background, although it never ends by itself', async (t) => {
    async function* lines(): AsyncGenerator<string> {
      for (;;) yield await new Promise<string>((resolve) => setImmediate(resolve, 'a line\n'))
    }
    const stream = Readable.from(lines())
    t.after(() => stream.destroy())
    const closed = once(stream, 'close')
    const server = await startTestServer(t, {
      registerMore(serve, app) {
        serve(app, follow, async () => ({ stream, mediaType: 'application/x-ndjson' }))
      },
    })
    const headers = { authorization: 'Bearer ann' }
    const response = await fetch(`${server.url}${follow.path}`, { method: 'HEAD', headers })
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/x-ndjson'])
    await closed
  })
})
