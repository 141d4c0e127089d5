/** What holds for every request, by status. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { ErrorResponse } from '@assay/contract'
import type { Admission } from './request/admission.ts'
import type { Caller } from './request/serve.ts'
import { sendRaw, startTestServer, type TestServer } from './test-server.ts'

let server: TestServer
const closing: (() => unknown)[] = []
before(async () => (server = await startTestServer({ after: (work: () => unknown) => void closing.push(work) })))
after(async () => {
  for (const work of closing) await work()
})

const ann = { authorization: 'Bearer ann' }
const json = { ...ann, 'content-type': 'application/json' }

async function problemOf(response: Response, status: number): Promise<ErrorResponse> {
  assert.equal(response.status, status)
  assert.equal(response.headers.get('content-type'), 'application/problem+json')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  const problem = ErrorResponse.parse(await response.json())
  assert.equal(problem.status, status)
  assert.equal(problem.type, `urn:assay:problem:${problem.code}`)
  assert.match(problem.request_id, /^req_[0-9a-f]{32}$/)
  assert.equal(response.headers.get('x-request-id'), problem.request_id)
  return problem
}

function post(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json): Promise<Response> {
  return fetch(`${server.url}/platform/v1/things`, { method: 'POST', headers, body })
}

describe('200', () => {
  it('has a request id and a content type, and is never stored', async () => {
    const response = await server.get('/accounts/v2/rows?limit=2')
    assert.equal(response.status, 200)
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(response.headers.get('content-type'), 'application/json')
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
  })

  it('writes numbers with every digit', async () => {
    const text = await (await server.get('/accounts/v2/things/one')).text()
    assert.equal(text, '{"id":"one","amount":123456789012.123456789012345678}')
  })

  it('a walk over v2 pages returns every row once', async () => {
    const rows: string[] = []
    for (let next = '/accounts/v2/rows?limit=20'; next !== '';) {
      const page = (await (await server.get(next)).json()) as { page: { next: string }; data: string[] }
      rows.push(...page.data)
      next = page.page.next
    }
    assert.equal(rows.length, 75)
    assert.equal(new Set(rows).size, 75)
  })

  it('a walk over v1 pages follows Link (RFC 8288); without a limit there is one page', async () => {
    const rows: string[] = []
    for (let next = '/platform/v1/rows?limit=50'; next !== '';) {
      const response = await server.get(next)
      rows.push(...((await response.json()) as string[]))
      next = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1] ?? ''
    }
    assert.equal(rows.length, 75)
    const all = await server.get('/platform/v1/rows')
    assert.equal(all.headers.get('link'), null)
    assert.deepEqual(await all.json(), rows)
  })

  it('HEAD is GET without the body', async () => {
    const response = await fetch(`${server.url}/accounts/v2/rows`, { method: 'HEAD', headers: ann })
    assert.equal(response.status, 200)
    assert.equal(await response.text(), '')
    assert.ok(Number(response.headers.get('content-length')) > 100)
  })

  it('a public call needs no token and ignores one', async () => {
    assert.equal((await server.get('/accounts/v2/open', {})).status, 200)
    assert.equal((await server.get('/accounts/v2/open', { authorization: 'Bearer nobody' })).status, 200)
  })
})

describe('204', () => {
  it('OPTIONS lists the methods of a path', async () => {
    const response = await fetch(`${server.url}/accounts/v2/things/x`, { method: 'OPTIONS' })
    assert.equal(response.status, 204)
    assert.equal(response.headers.get('allow'), 'DELETE, GET, HEAD, OPTIONS')
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
  })
})

describe('400', () => {
  for (const [query, parameter, cause] of [
    ['colour=red', 'colour', 'unknown_parameter'],
    ['__proto__=1', '__proto__', 'unknown_parameter'],
    ['limit=', 'limit', 'invalid_parameter'],
    ['limit', 'limit', 'invalid_parameter'],
    ['limit=1&limit=2', 'limit', 'invalid_parameter'],
    ['limit=1000', 'limit', 'invalid_parameter'],
    ['cursor=%', 'cursor', 'invalid_parameter'],
    ['cursor=%c3%28', 'cursor', 'invalid_parameter'],
    ['cursor=a%00b', 'cursor', 'invalid_parameter'],
  ] as const) {
    it(`?${query} names ${parameter}`, async () => {
      const { code, detail, errors } = await problemOf(await server.get(`/accounts/v2/rows?${query}`), 400)
      assert.equal(code, 'invalid_request')
      assert.equal(errors[0]?.parameter, parameter)
      assert.equal(errors[0].cause, cause)
      assert.ok(detail.startsWith(`${parameter} `))
    })
  }

  it('an unknown parameter is reported with those that the call accepts', async () => {
    const { errors } = await problemOf(await server.get('/accounts/v2/rows?limt=5'), 400)
    assert.match(errors[0]?.message ?? '', /^is not a parameter of this call, which takes .*\blimit\b/)
  })

  it('has the wording of the contract', async () => {
    const { detail, errors } = await problemOf(await server.get('/accounts/v2/rows?limit=1000'), 400)
    assert.equal(detail, 'limit must be a whole number from 1 to 100')
    assert.equal(errors[0]?.message, 'must be a whole number from 1 to 100, got 1000')
  })

  for (const [body, parameter] of [
    ['{"label":"a","colour":1}', 'colour'],
    ['{"label":"a","__proto__":{"x":1}}', '__proto__'],
    ['{"label":""}', 'label'],
    ['{"label":7}', 'label'],
    ['{}', 'label'],
    ['{"label":"longer than ten"}', 'label'],
    ['{"label":"a","inner":{"count":1.5}}', 'inner.count'],
    ['{"label":"a","inner":{"count":1,"more":2}}', 'inner.more'],
    ['{"label":"a\\u0000b"}', 'label'],
    ['{"label":"\\ud800"}', 'label'],
    ['{"label":"a","label":"b"}', 'label'],
    ['{"label":"a","lab\\u0065l":"b"}', 'label'],
    ['{"label":"a","inner":{"count":1,"count":2}}', 'inner.count'],
  ] as const) {
    it(`${body} names ${parameter}`, async () => {
      const { errors } = await problemOf(await post(body), 400)
      assert.equal(errors[0]?.parameter, parameter)
    })
  }

  it('a body on a call that takes none is refused, by naming its members; an empty one counts as no body', async () => {
    const remove = (body?: string): Promise<Response> =>
      fetch(`${server.url}/accounts/v2/things/x`, {
        method: 'DELETE',
        headers: { ...ann, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body }),
      })
    const { errors } = await problemOf(await remove('{"colour":1}'), 400)
    assert.deepEqual([errors[0]?.cause, errors[0]?.parameter], ['unknown_parameter', 'colour'])
    await problemOf(await remove('[1]'), 400)
    for (const body of [undefined, '', '{}']) assert.equal((await remove(body)).status, 200, body)
    for (const body of ['null', '[]', '5', '"x"', 'false']) await problemOf(await remove(body), 400)
  })

  it('a body that is not JSON, not UTF-8, nested too deeply, or missing is refused', async () => {
    for (const body of [
      '{"label":',
      'null',
      '[]',
      '"text"',
      '',
      '['.repeat(60_000),
      '{"a":'.repeat(20) + '1' + '}'.repeat(20),
    ]) {
      await problemOf(await post(body), 400)
    }
    const { detail } = await problemOf(await post(new Uint8Array([0x22, 0xff, 0x22])), 400)
    assert.equal(detail, 'the body is not UTF-8')
  })

  it('never quotes a body, which may hold a secret', async () => {
    for (const body of ['{"label":"hunter2hunter2"}', '{"label":hunter2}', '{"label":{"hunter2":1}}']) {
      const response = await post(body)
      assert.equal(response.status, 400)
      assert.equal((await response.text()).includes('hunter2'), false)
    }
  })

  it('an error in v1 names a crypto source', async () => {
    const response = await post('{"label":"elsewhere"}')
    const { errors } = (await response.json()) as { errors: object[] }
    assert.deepEqual(errors, [
      { cause: 'unknown_provider', message: 'is not in the catalogue', crypto_source_id: 'nowhere' },
    ])
  })

  it('an error that is not about a parameter has an item too', async () => {
    for (const response of [await post('{'), await server.get('/accounts/v2/things/%ff')]) {
      const { detail, errors } = await problemOf(response, 400)
      assert.deepEqual(errors, [{ cause: 'bad_request', message: detail }])
    }
  })

  for (const path of ['/%', '/%zz', '/accounts/v2/things/%', '/accounts/v2/things/%ff', '/accounts/v2/things/%00']) {
    it(`${path} is malformed`, async () => void (await problemOf(await server.get(path), 400)))
  }

  for (const [what, request] of Object.entries({
    'something that is not HTTP': 'hello\r\n\r\n',
    'a request without a Host': 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n',
    'two Hosts (RFC 9112 §3.2)': 'GET /healthz HTTP/1.1\r\nHost: x\r\nhOST: y\r\nConnection: close\r\n\r\n',
    'headers over 16 KiB': `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
    'a raw NUL in the path': 'GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n',
    'two lengths': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na',
    'a length and chunks (request smuggling)':
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  })) {
    it(`${what} gets a problem document too`, async () => {
      const answer = await sendRaw(server.url, request)
      assert.match(answer, /^HTTP\/1\.1 400 /)
      assert.match(answer, /x-request-id: req_/i)
      assert.match(answer, /content-type: application\/problem\+json\r\n/i)
      assert.equal(ErrorResponse.parse(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).code, 'invalid_request')
    })
  }
})

it('400: headers over 16 KiB get a problem document even on a connection that was used before', async () => {
  const first = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(first)
  let answers = ''
  for await (const chunk of socket) {
    answers += String(chunk)
    if (socket.writableEnded || !answers.endsWith('}')) continue
    socket.end(first.replace('\r\n\r\n', `\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`))
  }
  assert.match(answers, /^HTTP\/1\.1 200 [^]*HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"code":"invalid_request"/)
})

describe('401', () => {
  it('without a token the challenge has no error code (RFC 6750 §3.1)', async () => {
    for (const headers of [{}, { authorization: 'Basic YTpi' }]) {
      const response = await server.get('/accounts/v2/rows', headers)
      assert.equal((await problemOf(response, 401)).code, 'invalid_token')
      assert.equal(response.headers.get('www-authenticate'), 'Bearer')
    }
  })

  it('with a wrong token the challenge says invalid_token', async () => {
    const response = await server.get('/accounts/v2/rows', { authorization: 'Bearer nobody' })
    await problemOf(response, 401)
    assert.equal(response.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
  })

  it('is returned before the query or body is checked', async () => {
    await problemOf(await server.get('/accounts/v2/rows?limit=1000', {}), 401)
    await problemOf(await post('not json', { 'content-type': 'text/plain' }), 401)
  })
})

describe('403', () => {
  it('names the scope that is missing (RFC 6750 §3.1)', async () => {
    const response = await server.get('/accounts/v2/rows', { authorization: 'Bearer ann:transactions:read' })
    assert.equal((await problemOf(response, 403)).code, 'insufficient_scope')
    assert.equal(response.headers.get('www-authenticate'), 'Bearer error="insufficient_scope", scope="assets:read"')
  })
})

describe('404', () => {
  it('an unknown path, with any method, is a problem document', async () => {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'PATCH']) {
      const { detail } = await problemOf(await fetch(`${server.url}/accounts/v2/nothing`, { method }), 404)
      assert.match(detail, /no endpoint has it.+ \/docs of the API/)
    }
  })

  it('a refusal of the handler looks the same', async () => {
    const unknown = await problemOf(await server.get('/accounts/v2/nothing'), 404)
    const missing = await problemOf(await server.get('/accounts/v2/fail/missing'), 404)
    assert.deepEqual(Object.keys(missing), Object.keys(unknown))
  })

  it('an id that is longer than any real one is a 404', async () => {
    await problemOf(await server.get(`/accounts/v2/things/${'x'.repeat(3_000)}`), 404)
  })
})

describe('405', () => {
  it('a known path with another method says which are allowed', async () => {
    for (const method of ['PUT', 'PATCH', 'POST']) {
      const response = await fetch(`${server.url}/accounts/v2/things/x`, { method, headers: ann })
      assert.equal((await problemOf(response, 405)).code, 'method_not_allowed')
      assert.equal(response.headers.get('allow'), 'DELETE, GET, HEAD, OPTIONS')
    }
  })

  it('an exact path is not taken for an id in a path with a parameter', async () => {
    const ask = (id: string, method: string): Promise<Response> =>
      fetch(`${server.url}/accounts/v2/things/${id}`, { method, headers: ann })
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT']) {
      const { status, headers } = await ask('refresh', method)
      assert.deepEqual([status, headers.get('allow')], [405, 'OPTIONS, POST'], method)
    }
    assert.equal((await ask('refresh', 'POST')).status, 200)
    assert.equal((await ask(':id', 'GET')).status, 200)
  })

  it('is also returned for methods that the framework does not know', async () => {
    const answer = await sendRaw(
      server.url,
      'PROPFIND /platform/v1/things HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    assert.match(answer, /^HTTP\/1\.1 405 /)
    assert.match(answer, /allow: OPTIONS, POST\r\n/i)
  })
})

describe('413', () => {
  it('a body over 64 KiB is refused by its declared length or as it arrives', async () => {
    const big = JSON.stringify({ label: 'a'.repeat(64 * 1024) })
    assert.equal((await problemOf(await post(big), 413)).code, 'payload_too_large')
    const chunk = `${(70_000).toString(16)}\r\n${'a'.repeat(70_000)}\r\n0\r\n\r\n`
    const answer = await sendRaw(
      server.url,
      `POST /platform/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk}`,
    )
    assert.match(answer, /^HTTP\/1\.1 413 /)
  })

  it('a body of exactly 64 KiB is read', async () => {
    const space = 64 * 1024 - '{"label":"a"}'.length
    assert.equal((await post(`{"label":"a"}${' '.repeat(space)}`)).status, 200)
  })
})

describe('415', () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/problem+json',
    'nonsense',
    'a/b/c',
  ]) {
    it(`${type} is not JSON`, async () => {
      const response = await post('{"label":"a"}', { ...ann, 'content-type': type })
      assert.equal((await problemOf(response, 415)).code, 'unsupported_media_type')
    })
  }

  it('a body without a type and a compressed one are refused too', async () => {
    const request = 'POST /platform/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\nConnection: close\r\n'
    assert.match(await sendRaw(server.url, `${request}Content-Length: 2\r\n\r\n{}`), /^HTTP\/1\.1 415 /)
    await problemOf(await post('{"label":"a"}', { ...json, 'content-encoding': 'gzip' }), 415)
  })

  it('a charset after application/json is accepted', async () => {
    assert.equal(
      (await post('{"label":"a"}', { ...ann, 'content-type': 'application/json; charset=utf-8' })).status,
      200,
    )
  })
})

describe('429', () => {
  it('says when to retry', async () => {
    const response = await server.get('/accounts/v2/fail/limited')
    assert.equal((await problemOf(response, 429)).code, 'rate_limited')
    assert.equal(response.headers.get('retry-after'), '17')
  })
})

describe('500', () => {
  it('shows no internal detail, which is in the log under the same request id', async () => {
    const response = await server.get('/accounts/v2/fail/bug')
    const { request_id: id, errors } = await problemOf(response.clone(), 500)
    assert.deepEqual(errors, [])
    const text = await response.text()
    for (const inner of ['secret-sauce', 'TypeError', 'at ', '.ts']) assert.equal(text.includes(inner), false, inner)
    const line = server.lines.find((one) => one.includes(id) && one.includes('"error"'))
    assert.match(line ?? '', /secret-sauce of the internals/)
  })
})

describe('503', () => {
  it('is returned while the database is away, with Retry-After and without its address', async () => {
    const response = await server.get('/accounts/v2/fail/away')
    const { code, detail } = await problemOf(response, 503)
    assert.equal(code, 'unavailable')
    assert.ok(Number(response.headers.get('retry-after')) > 0)
    assert.equal(detail.includes('10.0.0.7'), false)
  })
})

it('rate limits are checked after the token and before the body, for every call', async (t) => {
  const seen: (string | null | undefined)[] = []
  const admission: Admission = {
    admit: async ({ ip }, _reply, authenticate) => {
      assert.equal(ip, '127.0.0.1')
      const caller = await authenticate()
      seen.push((caller as Caller | undefined)?.userId)
      return caller
    },
    hasRoom: () => true,
    admitToken: () => undefined,
    admitAddress: () => undefined,
  }
  const limited = await startTestServer(t, { admission })
  await limited.get('/accounts/v2/rows')
  await limited.get('/accounts/v2/open', {})
  await limited.get('/accounts/v2/rows', {})
  assert.deepEqual(seen, ['usr_ann', undefined])
})
