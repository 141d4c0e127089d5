/** `assay start --live` as a person uses it: with real hosts, which it must not call before the user gives a key. */
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { get } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { reservePort } from '../../../test/reserve-port.ts'
import { until } from '../../../test/until.ts'
import { ownedBySuite } from '../../server/src/oauth/test-oauth.ts'
import { run, start } from './test-cli.ts'

interface Live {
  url: string
  demoUrl: string
  output(): string
  listConnected(): string[]
  listLoaded(): string[]
  call<T>(path: string, body?: object, secret?: string): Promise<{ status: number; body: T }>
}

async function startLive(t: Pick<TestContext, 'after'>, data: string): Promise<Live & { stop(): Promise<void> }> {
  const seen = `${data}.seen`
  t.after(() => rm(seen, { force: true }))
  const hook = new URL('../../../test/watch-process.ts', import.meta.url)
  hook.searchParams.set('to', seen)
  const demoPort = await reservePort(t)
  const words = ['start', '--live', '--port', '0', '--demo-port', String(demoPort), '--data', data]
  const { child, output, errors } = start(words, { NODE_OPTIONS: `--import=${hook.href}` })
  t.after(() => child.kill('SIGKILL'))
  await until('the service', async () => {
    assert.equal(child.exitCode, null, child.exitCode === null ? '' : await errors)
    return output().includes('Ctrl-C stops') ? true : undefined
  })
  const [, url = ''] = /API documents +(\S+)\/docs/.exec(output()) ?? []
  const list = (kind: string): string[] =>
    readFileSync(seen, 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : []))
  return {
    url,
    demoUrl: `http://127.0.0.1:${demoPort}`,
    output,
    listConnected: () => list('connect'),
    listLoaded: () => list('load'),
    async call<T>(place: string, body?: object, secret?: string) {
      const response = await fetch(`${url}${place}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: (await response.json()) as T }
    },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
      assert.equal(await errors, '')
    },
  }
}

async function signIn({ call, output }: Live): Promise<string> {
  const challenge = createHash('sha256').update('verifier'.repeat(6)).digest('base64url')
  const parameters = { client_id: 'cli_demo', code_challenge: challenge, code_challenge_method: 'S256' }
  const query = new URLSearchParams({ ...parameters, state: randomUUID() }).toString()
  const begun = await call<{ session_secret: string }>('/connect/v1/session', { query })
  const secret = begun.body.session_secret
  assert.equal((await call('/connect/v1/session/email', { email: 'ada@example.com' }, secret)).status, 200)
  const code = await until('the code', () => /ada@example\.com: (\d{6}) is your code/.exec(output())?.[1])
  assert.equal((await call('/connect/v1/session/code', { code }, secret)).status, 200)
  assert.equal((await call('/connect/v1/session/consent', {}, secret)).status, 200)
  return secret
}

function requestToken(url: string, clientId: string, clientSecret: string): Promise<Response> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  return fetch(`${url}/oauth/token`, { method: 'POST', body })
}

interface Added {
  data: { added: boolean }
  errors: { cause: string }[]
}

/** fetch does not let a caller choose the Host header. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(`${url}/healthz`, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
  })
}

describe('assay start --live', async () => {
  const t = ownedBySuite()
  const data = await mkdtemp(path.join(os.tmpdir(), 'assay-live-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  const live = await startLive(t, data)

  it('calls a provider only after a key for it is given, and calls no other host', async () => {
    const { body: catalog } = await live.call<{ data: { provider_id: string; status: string }[] }>(
      '/accounts/v2/providers/catalog?limit=100',
    )
    assert.ok(catalog.data.length > 90)
    assert.ok(catalog.data.every(({ status }) => status !== 'not_in_sandbox'))
    for (const page of [`${live.url}/docs`, `${live.url}/connect/?client_id=cli_demo`, live.demoUrl]) {
      assert.equal((await fetch(page)).status, 200, page)
    }
    const secret = await signIn(live)
    assert.deepEqual(live.listConnected(), [])
    const loaded = live.listLoaded()
    assert.ok(loaded.some((module) => module.includes('/apps/server/src/main.ts')))
    const unwanted = /\/(?:packages|@assay)\/sandbox\/|\/node_modules\/(?:ccxt|viem)\//
    assert.deepEqual(
      loaded.filter((module) => unwanted.test(module)),
      [],
    )

    const connection = { type: 'api_key', api_key: 'k'.repeat(56), secret_key: 'QUJD'.repeat(22) }
    const request = { provider_id: 'kraken', connection }
    const added = await live.call<Added>('/connect/v1/session/connections', request, secret)
    assert.deepEqual([added.status, added.body.data.added, added.body.errors[0]?.cause], [200, false, 'venue_down'])
    assert.deepEqual([...new Set(live.listConnected())], ['api.kraken.com'])
    const { out } = await run(['hosts', '--json'])
    assert.ok((JSON.parse(out) as { host: string }[]).some(({ host }) => host === 'api.kraken.com'))
    assert.ok(!live.listLoaded().some((module) => /\/(?:packages|@assay)\/sandbox\//.test(module)))
  })

  it('has new secrets, no sandbox endpoints, and answers loopback names only', async () => {
    const [, secret = ''] = /cli_enterprise +(\S{43})\n/.exec(live.output()) ?? []
    assert.equal((await requestToken(live.url, 'cli_enterprise', secret)).status, 200)
    assert.equal((await requestToken(live.url, 'cli_enterprise', 'sandbox-enterprise-secret')).status, 401)
    assert.equal((await fetch(`${live.url}/sandbox/scenarios`)).status, 404)
    assert.equal((await live.call('/sandbox/clock', { advance_ms: 1 })).status, 404)
    assert.equal((await fetch(`${live.url}/metrics`)).status, 404)
    const { host } = new URL(live.url)
    assert.deepEqual([await statusFor(live.url, host), await statusFor(live.url, 'assay.example')], [200, 400])
  })

  it('its database is refused in sandbox mode, and is not emptied as a sandbox database would be', async () => {
    await live.stop()
    const words = ['start', '--port', '0', '--demo-port', '0', '--data', data]
    const [sandbox, outside, fresh] = [
      await run(words),
      await run([...words, '--live'], { ASSAY_HOST: '0.0.0.0' }),
      await run([...words, '--live', '--fresh']),
    ]
    assert.deepEqual([sandbox.code, outside.code, fresh.code], [1, 1, 2])
    assert.match(sandbox.err, /was used in live mode and cannot be used in sandbox mode/)
    assert.match(outside.err, /ASSAY_HOST must be a loopback address in live mode/)
    assert.match(fresh.err, /--fresh is for the sandbox/)
  })
})
