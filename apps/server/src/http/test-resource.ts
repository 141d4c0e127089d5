/** A whole service, and an application that calls it with any scope, for the tests of the resource API. */
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { after } from 'node:test'
import type { Endpoint, ResponseOf } from '@assay/contract'
import { demo, redeem, untilRead, type ProviderWish, type Tokens } from '../../../../test/application.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../../../../test/service.ts'
import { msUntilNoon } from '../../../../test/noon.ts'
import { until as untilThere } from '../../../../test/until.ts'

export interface Answer<T = unknown> {
  status: number
  headers: Headers
  body: T
  text: string
}

export interface SignedIn extends Tokens {
  connectionIds: string[]
}

export interface TestResource {
  service: TestService
  url: string
  signIn: (user: string, choices?: { scope?: string; providers?: ProviderWish[]; read?: boolean }) => Promise<SignedIn>
  enterpriseToken: (scope?: string) => Promise<string>
  call: <T = unknown>(method: string, path: string, token?: string, body?: unknown) => Promise<Answer<T>>
  /** A 200 whose body is what the endpoint's schema says. */
  ask: <E extends Endpoint>(endpoint: E, path: string, token: string, body?: unknown) => Promise<ResponseOf<E>>
  moveClock: (seconds: number) => Promise<void>
  /** Moves the clock to the next noon, so that the day does not end during the tests; that moment in epoch ms. */
  moveToNoon: () => Promise<number>
  /** Waits for prices that come after the transaction they belong to; upkeep, which writes them in, is made due. */
  untilPriced: () => Promise<void>
}

/** Call it in an async `describe`: everything ends with that suite. */
export async function openResource(options: TestServiceOptions = {}): Promise<TestResource> {
  const ends: (() => unknown)[] = []
  after(async () => {
    for (const end of ends) await end()
  })
  const service = await startTestService({ after: (end) => void ends.push(end as () => unknown) }, options)
  const { url } = service

  const call: TestResource['call'] = async <T>(method: string, path: string, token?: string, body?: unknown) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : null) as T }
  }

  const signIn: TestResource['signIn'] = async (user, { scope, providers = [], read = true } = {}) => {
    const verifier = randomBytes(32).toString('base64url')
    const { status, body, text } = await call<{ code: string; connections: { connection_id: string | null }[] }>(
      'POST',
      '/sandbox/authorizations',
      undefined,
      {
        client_id: demo.clientId,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        state: randomUUID(),
        user,
        providers,
        ...(scope === undefined ? {} : { scope }),
      },
    )
    assert.equal(status, 200, text)
    const tokens = await redeem(url, { code: body.code, verifier })
    if (read && providers.length > 0 && tokens.scope.includes('providers:read')) {
      await untilRead(url, tokens.access_token)
    }
    return { ...tokens, connectionIds: body.connections.flatMap(({ connection_id: id }) => (id === null ? [] : [id])) }
  }

  return {
    service,
    url,
    call,
    signIn,
    enterpriseToken: (scope = 'enterprise:read enterprise:manage') => askEnterpriseToken(url, scope),
    async ask(endpoint, path, token, body) {
      const answer = await call(endpoint.method, path, token, body)
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(endpoint.response.safeParse(answer.body).error?.issues ?? [], [], answer.text)
      return answer.body as ResponseOf<typeof endpoint>
    },
    async moveClock(seconds) {
      const { status, text } = await call('POST', '/sandbox/clock', undefined, { advance_ms: seconds * 1_000 })
      assert.equal(status, 200, text)
    },
    async moveToNoon() {
      const advance_ms = msUntilNoon(service.db.clock.now())
      const { status, body, text } = await call<{ data: { now: string } }>('POST', '/sandbox/clock', undefined, {
        advance_ms,
      })
      assert.equal(status, 200, text)
      return Date.parse(body.data.now)
    },
    untilPriced: () => untilPriced(service.db),
  }
}

async function untilPriced(db: TestService['db']): Promise<void> {
  await untilThere('every price', async () => {
    // The prices of today stay provisional until it is over.
    const awaited = 'select from awaited_prices where not priced or day < $1::date limit 1'
    if ((await db.rows(awaited, [db.now().slice(0, 10)])).length === 0) return true
    await db.clock.refresh()
    await db.execute(
      `select graphile_worker.reschedule_jobs(array[id], run_at => clock_timestamp())
       from graphile_worker.jobs where key = 'upkeep' and locked_at is null and run_at > clock_timestamp()`,
    )
    return undefined
  })
}

async function askEnterpriseToken(url: string, scope: string): Promise<string> {
  const client = { client_id: 'cli_enterprise', client_secret: 'sandbox-enterprise-secret' }
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...client, scope })
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body })
  assert.equal(response.status, 200, await response.clone().text())
  return ((await response.json()) as { access_token: string }).access_token
}

/** Asks again until the answer fits; what is waited for happens in a worker. */
export async function until<T>(read: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  const find = async (): Promise<{ value: T } | undefined> => {
    const value = await read()
    return fits(value) ? { value } : undefined
  }
  return (await untilThere(fits.toString(), find, 50)).value
}
