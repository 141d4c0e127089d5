import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fastify } from 'fastify'
import { createSlots } from '../../limits/index.ts'
import { noLimits } from '../../limits/test-limits.ts'
import { demo, redirectUri } from '../../oauth/test-oauth.ts'
import { createTurns } from '../request/turns.ts'
import { registerOauthRoutes } from './index.ts'
import { startAuthServer } from './test-auth-server.ts'

describe('the OAuth endpoints on the wire', async () => {
  const { url, secondUrl, post, authorize, signIn, lines, oauth } = await startAuthServer()
  const byCode = { grant_type: 'authorization_code', redirect_uri: redirectUri }
  const paths = ['/oauth/token', '/oauth/revoke', '/oauth/introspect']

  async function errorOf(response: Response): Promise<[number, unknown]> {
    const body = (await response.json()) as { error: unknown; error_description: unknown }
    // RFC 6749 §5.2: the alphabet of error_description.
    assert.match(String(body.error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
    return [response.status, body.error]
  }

  describe('200', () => {
    it('is never stored (RFC 6749 §5.1), and pages of any origin may read it', async () => {
      const { code, verifier } = await authorize()
      const response = await post('/oauth/token', { ...byCode, code, code_verifier: verifier, client_id: 'cli_demo' })
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('cache-control'), 'no-store')
      assert.equal(response.headers.get('pragma'), 'no-cache')
      assert.equal(response.headers.get('access-control-allow-origin'), '*')
      assert.equal(response.headers.get('access-control-allow-credentials'), null)
      assert.match(response.headers.get('access-control-expose-headers') ?? '', /WWW-Authenticate/)
      assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
    })

    it('for unknown and empty parameters, which count as left out (RFC 6749 §3.2)', async () => {
      const { code } = await authorize()
      const response = await post('/oauth/token', { ...byCode, code, ...demo, code_verifier: '', resource: 'x' })
      assert.equal(response.status, 200)
    })

    it('for a charset and upper case in the content type', async () => {
      const { code } = await authorize()
      const type = { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=UTF-8' }
      assert.equal((await post('/oauth/token', { ...byCode, code, ...demo }, type)).status, 200)
    })

    it('for revoking what does not exist (RFC 7009 §2.2)', async () => {
      assert.equal((await post('/oauth/revoke', { token: 'nothing', ...demo })).status, 200)
    })

    it('is the metadata, whose issuer is the one in authorization answers (RFC 8414 §3.3, RFC 9207 §2.4)', async () => {
      const response = await fetch(`${url}/.well-known/oauth-authorization-server`)
      assert.equal(response.headers.get('access-control-allow-origin'), '*')
      const metadata = (await response.json()) as Record<string, unknown>
      const answered = oauth.toCodeRedirect({ redirectUri, state: 's' }, 'c')
      assert.equal(metadata['issuer'], new URL(answered).searchParams.get('iss'))
      assert.equal(metadata['authorization_endpoint'], `${url}/connect`)
      assert.deepEqual(metadata['response_types_supported'], ['code'])
      assert.equal(metadata['authorization_response_iss_parameter_supported'], true)
      assert.deepEqual(metadata['token_endpoint_auth_methods_supported'], [
        'none',
        'client_secret_basic',
        'client_secret_post',
      ])
    })
  })

  describe('400 invalid_request', () => {
    it('for every body that is not form-encoded', async () => {
      const fields = { grant_type: 'client_credentials', ...demo }
      for (const path of paths) {
        for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'nonsense']) {
          const response = await post(path, JSON.stringify(fields), { 'content-type': type })
          assert.deepEqual(await errorOf(response), [400, 'invalid_request'], `${path} ${type}`)
        }
        assert.deepEqual(await errorOf(await fetch(`${url}${path}`, { method: 'POST' })), [400, 'invalid_request'])
      }
    })

    it('for broken UTF-8', async () => {
      const response = await fetch(`${url}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new Uint8Array([0x61, 0x3d, 0xff]),
      })
      assert.deepEqual(await errorOf(response), [400, 'invalid_request'])
    })

    it('for a parameter sent twice, known or not (RFC 6749 §3.2)', async () => {
      for (const twice of ['client_id=cli_demo&client_id=cli_demo', 'x=1&x=2', '%22%5C%0a=1&%22%5C%0a=2', '=&=']) {
        const body = `grant_type=client_credentials&client_secret=${demo.client_secret}&${twice}`
        assert.deepEqual(await errorOf(await post('/oauth/token', body)), [400, 'invalid_request'], twice)
      }
    })

    it('for parameters in the URL, which are ignored', async () => {
      const query = new URLSearchParams({ grant_type: 'client_credentials', ...demo }).toString()
      assert.deepEqual(await errorOf(await post(`/oauth/token?${query}`, '')), [400, 'invalid_request'])
    })
  })

  describe('401 invalid_client', () => {
    it('names Basic, and pages may read it too', async () => {
      for (const path of paths) {
        const response = await post(path, { grant_type: 'refresh_token', token: 'x', ...demo, client_secret: 'wrong' })
        assert.match(response.headers.get('www-authenticate') ?? '', /^Basic realm=/)
        assert.equal(response.headers.get('cache-control'), 'no-store')
        assert.deepEqual(await errorOf(response), [401, 'invalid_client'])
      }
    })

    it('where a request needs the secret and names no client at all (RFC 7662 §2.3, RFC 6749 §5.2)', async () => {
      for (const [path, fields] of [
        ['/oauth/introspect', { token: 'x' }],
        ['/oauth/token', { grant_type: 'client_credentials' }],
      ] as const) {
        const response = await post(path, fields)
        assert.match(response.headers.get('www-authenticate') ?? '', /^Basic realm=/)
        assert.deepEqual(await errorOf(response), [401, 'invalid_client'])
      }
    })

    it('for text in client_id that a database cannot store', async () => {
      for (const client_id of ['\0', 'cli_\ud83d', "cli_'; --", 'x'.repeat(6_000)]) {
        const response = await post('/oauth/token', { grant_type: 'client_credentials', client_id, client_secret: 'x' })
        assert.deepEqual(await errorOf(response), [401, 'invalid_client'])
      }
    })
  })

  describe('405', () => {
    it('with Allow for every other method, whatever its body', async () => {
      for (const path of paths) {
        for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
          const body = method === 'GET' ? null : '{"a":1}'
          const headers = { 'content-type': 'application/json' }
          const response = await fetch(`${url}${path}`, { method, headers, body })
          assert.equal(response.headers.get('allow'), 'POST, OPTIONS')
          assert.deepEqual(await errorOf(response), [405, 'invalid_request'])
        }
        const head = await fetch(`${url}${path}`, { method: 'HEAD' })
        assert.equal(head.status, 405)
      }
      const metadata = await fetch(`${url}/.well-known/oauth-authorization-server`, { method: 'POST' })
      assert.equal(metadata.status, 405)
      assert.equal(metadata.headers.get('allow'), 'GET, HEAD, OPTIONS')
    })

    it('never for a preflight; introspection is not available to pages', async () => {
      const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
      for (const path of ['/oauth/token', '/oauth/revoke']) {
        const response = await fetch(`${url}${path}`, { method: 'OPTIONS', headers })
        assert.equal(response.status, 204)
        assert.equal(response.headers.get('access-control-allow-origin'), '*')
        assert.equal(response.headers.get('access-control-allow-methods'), 'POST')
        assert.equal(response.headers.get('access-control-allow-headers'), 'Authorization, Content-Type')
      }
      const response = await fetch(`${url}/oauth/introspect`, { method: 'OPTIONS', headers })
      assert.equal(response.status, 204)
      assert.equal(response.headers.get('access-control-allow-origin'), null)
    })
  })

  describe('413, 500 and 503', () => {
    it('carry `error` as well', async () => {
      const response = await post('/oauth/token', 'x'.repeat(8_193))
      assert.deepEqual(await errorOf(response.clone()), [413, 'invalid_request'])
      const { error_description } = (await response.json()) as { error_description: string }
      assert.equal(error_description, 'the form must have at most 8192 bytes')

      const faults = [new TypeError('inner detail'), Object.assign(new Error('away'), { code: 'ECONNREFUSED' })]
      const seen: unknown[] = []
      for (const fault of faults) {
        const app = fastify()
        const fail = () => Promise.reject(fault)
        const failing = { token: fail, revoke: fail, introspect: fail, metadata: oauth.metadata }
        const log = { error: () => undefined, warn: () => undefined }
        const turns = createTurns({ atOnceMax: 1, waitingMax: 0 })
        const limiting = { limits: noLimits, slots: createSlots(), turns }
        await registerOauthRoutes(app, { oauth: failing, claims: { jwks: fail }, ...limiting, log })
        const answer = await app.inject({
          method: 'POST',
          url: '/oauth/token',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: 'grant_type=x',
        })
        assert.ok(!answer.body.includes('inner detail'))
        seen.push([answer.statusCode, answer.json<{ error: string }>().error, 'retry-after' in answer.headers])
        await app.close()
      }
      assert.deepEqual(seen, [
        [500, 'server_error', false],
        [503, 'temporarily_unavailable', true],
      ])
    })
  })

  describe('one code presented a hundred times at once, to two nodes', () => {
    it('is redeemed once; the others are invalid_grant, and the family is revoked', async () => {
      const { code } = await authorize({ user: 'racer' })
      const body = new URLSearchParams({ ...byCode, code, ...demo }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const sendHundred = (path: string, form: string) =>
        Promise.all(
          Array.from({ length: 100 }, (_, at) =>
            fetch(`${at % 2 === 0 ? url : secondUrl}${path}`, { method: 'POST', headers, body: form }),
          ),
        )
      // This opens every connection of both pools: with one each, the first redemption would end before the next
      // begins.
      await sendHundred('/oauth/introspect', new URLSearchParams({ token: 'x', ...demo }).toString())
      const responses = await sendHundred('/oauth/token', body)
      const won = responses.filter(({ status }) => status === 200)
      assert.equal(won.length, 1)
      for (const lost of responses.filter((response) => !won.includes(response))) {
        assert.deepEqual(await errorOf(lost), [400, 'invalid_grant'])
      }
      const { access_token = '', refresh_token = '' } = (await won[0]?.json()) as Record<string, string>
      await assert.rejects(oauth.authenticate(`Bearer ${access_token}`), { code: 'invalid_token' })
      const refreshed = await post('/oauth/token', { grant_type: 'refresh_token', refresh_token, ...demo })
      assert.deepEqual(await errorOf(refreshed), [400, 'invalid_grant'])
    })
  })

  describe('the log', () => {
    it('contains no code, verifier, token or secret', async () => {
      const { code, verifier } = await authorize()
      const { refresh_token, access_token } = await signIn()
      await post('/oauth/token', { ...byCode, code, code_verifier: verifier, client_id: 'cli_demo' })
      await post('/oauth/token', { grant_type: 'refresh_token', refresh_token, ...demo, client_secret: 'wrong-secret' })
      await post('/oauth/revoke', { token: access_token, ...demo })
      const text = lines().join('\n')
      assert.ok(text.includes('/oauth/token'))
      for (const secret of [code, verifier, refresh_token, access_token, demo.client_secret, 'wrong-secret']) {
        assert.ok(!text.includes(secret))
      }
    })
  })
})
