import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { html } from './html.ts'
import { startDemo, type Demo, type DemoOptions } from './index.ts'

/** Nothing listens at the service's addresses: these tests cover what Northwind does on its own. */
async function open(
  t: TestContext,
  options: Partial<DemoOptions> = {},
  sample: Pick<DemoOptions, 'sampleUser'> = { sampleUser: 'sample' },
): Promise<Demo> {
  const demo = await startDemo({
    port: 0,
    authUrl: 'http://127.0.0.1:9',
    baseUrl: 'http://127.0.0.1:9',
    widgetUrl: 'http://127.0.0.1:9/connect',
    clientId: 'cli_demo',
    clientSecret: 'not-a-secret',
    onBug: assert.ifError,
    ...sample,
    ...options,
  })
  t.after(() => demo.stop())
  return demo
}

/** Sends bytes unchanged and returns everything that comes back until the connection ends. */
async function sendRaw(url: string, request: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(request)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

const secret = `whsec_${Buffer.from('a secret of some length, 24+').toString('base64')}`

/** Signs as the Standard Webhooks specification says. */
function sign(id: string, body: string): Record<string, string> {
  const seconds = Math.floor(Date.now() / 1_000)
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` }
}

/** Gives tokens for every code. No account is connected. */
async function startIssuer(t: TestContext): Promise<string> {
  const tokens = { access_token: 'a', token_type: 'Bearer', expires_in: 900, scope: '', user_id: 'u', grant_id: 'g' }
  const gone = { code: 'not_found', status: 404, detail: 'The connection was not found', errors: [] }
  const issuer = createServer(({ method }, response) => {
    if (method === 'DELETE') {
      response.writeHead(404, { 'content-type': 'application/problem+json' }).end(JSON.stringify(gone))
    } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens))
  }).listen(0, '127.0.0.1')
  t.after(() => issuer.close())
  await once(issuer, 'listening')
  return `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`
}

/** The cookies before and after. */
async function signIn(url: string, iss: string): Promise<{ planted: string; renewed: string }> {
  const begun = await fetch(`${url}/connect`, { redirect: 'manual' })
  const planted = begun.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
  const answer = await fetch(`${url}/callback?${new URLSearchParams({ code: 'c', state, iss }).toString()}`, {
    redirect: 'manual',
    headers: { cookie: planted },
  })
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/'])
  return { planted, renewed: answer.headers.get('set-cookie')?.split(';', 1)[0] ?? '' }
}

describe('Northwind', () => {
  it('sends the browser to the widget with PKCE and a state, and sets a session cookie', async (t) => {
    const { url } = await open(t)
    const answer = await fetch(`${url}/connect?connection_id=con_1`, { redirect: 'manual' })
    assert.equal(answer.status, 303)
    const { searchParams } = new URL(answer.headers.get('location') ?? '')
    assert.match(searchParams.get('code_challenge') ?? '', /^[\w-]{43}$/)
    assert.equal(searchParams.get('code_challenge_method'), 'S256')
    assert.match(searchParams.get('state') ?? '', /^[0-9a-f-]{36}$/)
    assert.equal(searchParams.get('redirect_uri'), `${url}/callback`)
    assert.equal(searchParams.get('connection_id'), 'con_1')
    assert.match(answer.headers.get('set-cookie') ?? '', /^northwind=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
  })

  it('a callback that this browser did not request, or from another issuer, is not redeemed', async (t) => {
    const { url } = await open(t)
    const begun = await fetch(`${url}/connect`, { redirect: 'manual' })
    const cookie = begun.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const iss = encodeURIComponent('http://127.0.0.1:9')
    for (const [query, headers] of [
      [`code=x&state=${state}&iss=${iss}`, {}],
      [`code=x&state=other&iss=${iss}`, { cookie }],
      [`code=x&state=${state}&iss=https%3A%2F%2Fevil.example`, { cookie }],
      // The previous call consumed the state.
      [`code=x&state=${state}&iss=${iss}`, { cookie }],
    ] as const) {
      const answer = await fetch(`${url}/callback?${query}`, { redirect: 'manual', headers })
      assert.equal(answer.headers.get('location'), '/?notice=unexpected', query)
    }
  })

  it('a session that was planted before the sign-in does not belong to the visitor afterwards', async (t) => {
    const authUrl = await startIssuer(t)
    const { url } = await open(t, { authUrl })
    const { planted, renewed } = await signIn(url, authUrl)
    assert.match(renewed, /^northwind=[\w-]{43}$/)
    assert.notEqual(renewed, planted)
    const look = (cookie: string): Promise<Response> => fetch(url, { headers: { cookie } })
    // The service in this test has no API, so a signed-in visitor gets the page that says it does not answer.
    assert.deepEqual([(await look(renewed)).status, (await look(planted)).status], [502, 200])
  })

  it('an account that is gone already, as after a second press, counts as disconnected', async (t) => {
    const authUrl = await startIssuer(t)
    const { url } = await open(t, { authUrl, baseUrl: authUrl })
    const { renewed: cookie } = await signIn(url, authUrl)
    const body = new URLSearchParams({ connection_id: 'con_1' })
    const answer = await fetch(`${url}/disconnect`, { method: 'POST', redirect: 'manual', headers: { cookie }, body })
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/'])
  })

  it('the embedding request holds neither verifier nor secret', async (t) => {
    const { url } = await open(t)
    const answer = await fetch(`${url}/connect/request`, { method: 'POST' })
    const { loader, request } = (await answer.json()) as { loader: string; request: Record<string, string> }
    assert.equal(loader, 'http://127.0.0.1:9/connect/loader.js')
    assert.deepEqual(Object.keys(request).toSorted(), [
      'clientId',
      'codeChallenge',
      'redirectUri',
      'scope',
      'state',
      'widgetUrl',
    ])
  })

  it('requests only the scopes it uses', async (t) => {
    const { url } = await open(t)
    const answer = await fetch(`${url}/connect`, { redirect: 'manual' })
    const { searchParams } = new URL(answer.headers.get('location') ?? '')
    const wanted = 'providers:read providers:write assets:read transactions:read offline_access'
    assert.equal(searchParams.get('scope'), wanted)
  })

  it('a service that does not answer is a 502 with one next step', async (t) => {
    const { url } = await open(t)
    const answer = await fetch(`${url}/sample`, { method: 'POST', redirect: 'manual' })
    assert.equal(answer.status, 502)
    assert.match(await answer.text(), /cannot be read at the moment.*href="\/">Try again</s)
  })

  it('a form on another site is refused', async (t) => {
    const { url } = await open(t)
    for (const path of ['/disconnect', '/sign-out', '/sample', '/connect/request']) {
      const answer = await fetch(url + path, { method: 'POST', headers: { origin: 'https://evil.example' } })
      assert.equal(answer.status, 403, path)
    }
  })

  it('answers on loopback names only, so that DNS rebinding reads nothing', async (t) => {
    const { url } = await open(t)
    const statusFor = async (host: string): Promise<string> => {
      const answer = await sendRaw(url, `GET /webhooks HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      return answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)
    }
    for (const host of ['evil.example', '127.0.0.1.evil.example:4100', 'localhost.evil.example', '']) {
      assert.equal(await statusFor(host), '421', host)
    }
    for (const host of [new URL(url).host, 'localhost:4100', '[::1]:4100'])
      assert.equal(await statusFor(host), '200', host)
  })

  it('accepts an event with a valid signature once, and refuses every other', async (t) => {
    const { url, trustWebhooks } = await open(t)
    const body = JSON.stringify({ type: 'connection.changed', text: '<script>' })
    const post = async (headers: Record<string, string>, text = body): Promise<number> =>
      (await fetch(`${url}/webhooks`, { method: 'POST', body: text, headers })).status
    assert.equal(await post(sign('msg_1', body)), 401, 'no secret is known yet')
    trustWebhooks(secret)
    assert.equal(await post({}), 401)
    assert.equal(await post(sign('msg_1', `${body} `)), 401)
    assert.equal(await post(sign('msg_1', 'not json'), 'not json'), 401)
    assert.equal(await post(sign('msg_1', body)), 204)
    assert.equal(await post(sign('msg_1', body)), 204)
    const page = await (await fetch(`${url}/webhooks`)).text()
    assert.equal(page.split('<span>connection.changed').length, 2)
    assert.match(page, /&lt;script&gt;/)
  })

  it('shows events of real accounts only to a visitor who has signed in', async (t) => {
    const authUrl = await startIssuer(t)
    const { url, trustWebhooks } = await open(t, { authUrl }, {})
    trustWebhooks(secret)
    const body = JSON.stringify({ type: 'connection.changed' })
    assert.equal((await fetch(`${url}/webhooks`, { method: 'POST', body, headers: sign('msg_1', body) })).status, 204)
    const { planted, renewed } = await signIn(url, authUrl)
    for (const cookie of ['', planted]) {
      const answer = await fetch(`${url}/webhooks`, { redirect: 'manual', headers: { cookie } })
      assert.deepEqual([answer.status, answer.headers.get('location'), await answer.text()], [303, '/', ''])
    }
    const page = await (await fetch(`${url}/webhooks`, { headers: { cookie: renewed } })).text()
    assert.match(page, /<span>connection\.changed/)
  })

  it('an unknown page is a 404, and no page runs a script that is not ours', async (t) => {
    const { url } = await open(t)
    const answer = await fetch(`${url}/nowhere`)
    assert.equal(answer.status, 404)
    assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self' http:/)
  })

  it('answers 400 to a target that is not an address', async (t) => {
    const { url } = await open(t)
    assert.equal((await fetch(`${url}//`)).status, 400)
    for (const target of ['//', '///', '//[', 'http://[', 'http://127.0.0.1:99999999/']) {
      const answer = await sendRaw(url, `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)
      assert.match(answer, /^HTTP\/1\.1 400 /, target)
    }
    for (const target of ['/%', '/%ff', '/constructor', '/__proto__', '/..', '*']) {
      const answer = await sendRaw(url, `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)
      assert.match(answer, /^HTTP\/1\.1 (404|200) /, target)
    }
  })

  it('an unknown notice is not shown, not even under a name that every object has', async (t) => {
    const { url } = await open(t)
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'nonsense']) {
      const answer = await fetch(`${url}/?notice=${name}&days=${name}&kind=${name}&by=${name}`)
      assert.equal(answer.status, 200, name)
      assert.doesNotMatch(await answer.text(), /class="notice"/, name)
    }
    assert.match(await (await fetch(`${url}/?notice=declined`)).text(), /class="notice"/)
  })

  it('a caller that hangs up in the middle of a body is not a bug', async (t) => {
    const { url, trustWebhooks } = await open(t)
    trustWebhooks(secret)
    for (const path of ['/webhooks', '/disconnect']) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n`)
      // The server has the head of the request once it asks for the body.
      await once(socket, 'data')
      socket.resetAndDestroy()
    }
    assert.equal((await fetch(url)).status, 200)
  })

  it('a bug gives a 500 and a report, and the process continues', async (t) => {
    const bugs: unknown[] = []
    const { url, trustWebhooks } = await open(t, { onBug: (error) => bugs.push(error) })
    trustWebhooks(secret)
    // The service signs objects only, so no code here expects anything else.
    const headers = sign('msg_1', 'null')
    assert.equal((await fetch(`${url}/webhooks`, { method: 'POST', body: 'null', headers })).status, 500)
    assert.match(String(bugs[0]), /^TypeError/)
    assert.equal((await fetch(url)).status, 200)
  })
})

describe('html', () => {
  it('escapes every value, in text and in attributes, but not HTML itself', () => {
    const inner = html`<b title="${'"<&'}">${"it's"}</b>`
    assert.equal(html`<p>${inner}${null}${false}</p>`.html, '<p><b title="&quot;&lt;&amp;">it&#39;s</b></p>')
  })
})
