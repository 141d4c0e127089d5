import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLog, type Log } from './log.ts'
import { startTestServer } from './test-server.ts'

function written(write: (log: Log) => void): string {
  const lines: string[] = []
  write(createLog({ level: 'info', destination: { write: (line: string) => void lines.push(line) } }))
  return lines.join('')
}

describe('the log', () => {
  for (const name of [
    'authorization',
    'Authorization',
    'cookie',
    'access_token',
    'refresh_token',
    'login_token',
    'token',
    'client_secret',
    'secret_key',
    'api_key',
    'apiKey',
    'passphrase',
    'password',
    'credentials',
    'code',
    'code_verifier',
    'code_challenge',
  ]) {
    it(`hides ${name}, at any depth and in a child’s bindings`, () => {
      const text = written((log) => {
        log.info({ [name]: 'hunter2' }, 'flat')
        log.info({ a: { b: [{ c: { [name]: { inner: 'hunter2' } } }] } }, 'deep')
        log.child({ [name]: 'hunter2' }).info('child')
      })
      assert.equal(text.includes('hunter2'), false, text)
      assert.equal(text.trimEnd().split('\n').length, 3)
    })
  }

  it('keeps what is not secret', () => {
    const line = JSON.parse(
      written((log) => log.info({ provider_id: 'kraken', job_key: 'sync:1', count: 3 }, 'done')),
    ) as object
    assert.deepEqual(
      { ...line, time: '' },
      { level: 'info', time: '', provider_id: 'kraken', job_key: 'sync:1', count: 3, message: 'done' },
    )
  })

  it('cuts credentials and query strings out of any text', () => {
    const text = written((log) => {
      log.info('sent Bearer hunter2.x-y and Basic aHVudGVyMg==')
      log.info({ url: 'https://a.example/connect?state=hunter2#hunter2' }, 'postgres://assay:hunter2@db/assay')
      log.error({ err: new Error('GET http://a.example/cb?code=hunter2 failed') })
    })
    assert.equal(/hunter2|aHVudGVyMg/.test(text), false, text)
    assert.match(text, /https:\/\/a\.example\/connect\?\[cut\]/)
  })

  it('writes only the name, message, code, stack and cause of an error, not what a library attached to it', () => {
    const cause = Object.assign(new Error('socket closed'), { code: 'ECONNRESET' })
    const error = Object.assign(new TypeError('no page', { cause }), { config: { apiKey: 'hunter2' }, body: 'hunter2' })
    const text = written((log) => log.error({ err: error }, 'failed'))
    assert.equal(text.includes('hunter2'), false)
    const { err } = JSON.parse(text) as { err: Record<string, unknown> & { cause: object } }
    assert.deepEqual(Object.keys(err), ['type', 'message', 'stack', 'cause'])
    assert.equal((err.cause as Record<string, unknown>)['error_code'], 'ECONNRESET')
  })

  it('cuts a text that a provider has made long, without cutting a secret in half', () => {
    const long = 'a.'.repeat(20_000)
    const secret = `postgres://ann:${'hunter2'.repeat(2_000)}@db.example`
    const text = written((log) => {
      log.warn({ reason: `balances: ${long} has no decimal amount`, err: new Error(`${long} ${long}`) }, long)
      log.warn({ reason: `cannot reach ${secret}` }, 'gone')
    })
    assert.ok(text.length < 60_000, `${text.length} characters`)
    assert.match(text, /… \[40032 characters\]/)
    assert.equal(text.includes('hunter2'), false)
  })

  it('a line break or an escape in a value cannot start a new line', () => {
    const text = written((log) => log.info({ label: 'a\n{"level":"fatal"}\u001b[2J' }, 'x\ny'))
    assert.equal(text.split('\n').length, 2)
    assert.equal(text.includes('\u001b'), false)
  })
})

it('the access line has the pattern of the route, and never the URL, its query or the token', async (t) => {
  const server = await startTestServer(t)
  await server.get('/accounts/v2/things/txn_hunter2', { authorization: 'Bearer ann' })
  await server.get('/connect/v1/session?login_token=hunter2')
  await server.get('/unknown/hunter2?code=hunter2')
  await server.get('/%zz/hunter2')
  await server.server.stop(0)
  const text = server.lines.join('')
  assert.equal(/hunter2|Bearer/.test(text), false, text)
  const lines = server.lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ message }) => message === 'request')
  assert.deepEqual(
    lines.map(({ method, route, status }) => [method, route, status]),
    [
      ['GET', '/accounts/v2/things/:id', 200],
      ['GET', '/connect/v1/session', 200],
      ['GET', '(none)', 404],
      ['GET', '(none)', 400],
    ],
  )
  for (const line of lines) {
    assert.match(String(line['request_id']), /^req_/)
    assert.equal(typeof line['ms'], 'number')
  }
})
