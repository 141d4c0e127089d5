import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fastify, type FastifyInstance } from 'fastify'
import { createLimits, type Limits } from '../limits/index.ts'
import { noLimits } from '../limits/test-limits.ts'
import { createAdmission } from './request/admission.ts'
import { sendProblem } from './request/problem.ts'
import { widgetRoutes } from './widget.ts'

const page = '<!doctype html><html data-root="./"><head><title>x</title></head></html>'

/** A small built widget, and the routes over it. */
async function serveWidget(
  t: TestContext,
  files: Record<string, string> = builtFiles,
  widgetUrl = 'https://api.example/connect',
  limits: Limits = noLimits,
): Promise<FastifyInstance> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-widget-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.join(directory, path.dirname(name)), { recursive: true })
    await writeFile(path.join(directory, name), text)
  }
  const app = fastify()
  t.after(() => app.close())
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply))
  await widgetRoutes({
    directory,
    authUrl: 'https://auth.example',
    baseUrl: 'https://api.example',
    widgetUrl,
    findClient: async (id) => (id === 'cli_known' ? { embedOrigins: ['https://app.example'] } : undefined),
    admission: createAdmission(limits),
  }).register(app)
  return app
}

const builtFiles = {
  'index.html': page,
  'manage/index.html': page,
  'callback/index.html': page,
  'config.json': '{"auth_url":"placeholder"}',
  'loader.js': 'export {}',
  'assets/index-abc123.js': 'let x',
  'secret.key': 'not ours to serve',
}

function policyOf(headers: Record<string, unknown>): string {
  return String(headers['content-security-policy'])
}

describe('the hosted widget', () => {
  it('a page may run only our scripts, call only our service, and not be framed', async (t) => {
    const app = await serveWidget(t)
    for (const url of ['/connect', '/connect/', '/connect/manage', '/connect/callback?code=a&state=b']) {
      const { statusCode, headers, body } = await app.inject(url)
      assert.equal(statusCode, 200, url)
      const policy = policyOf(headers)
      assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
      assert.match(policy, /connect-src 'self' https:\/\/auth\.example https:\/\/api\.example;/)
      assert.match(policy, /frame-ancestors 'none'$/)
      assert.doesNotMatch(policy, /unsafe/)
      assert.equal(headers['x-frame-options'], 'DENY')
      assert.match(body, /<base href="\/connect\//)
    }
  })

  it('no other window keeps hold of the user’s own page; an application that opened the flow waits for its window', async (t) => {
    const app = await serveWidget(t)
    for (const url of ['/connect/manage', '/connect/manage/?client_id=cli_known']) {
      const { headers } = await app.inject(url)
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin', url)
    }
    for (const url of ['/connect', '/connect/callback?code=a&state=b']) {
      assert.equal((await app.inject(url)).headers['cross-origin-opener-policy'], undefined, url)
    }
  })

  it('with display=iframe only the registered origin may frame it', async (t) => {
    const app = await serveWidget(t)
    const framed = 'display=iframe&web_message_origin=https%3A%2F%2Fapp.example'
    for (const query of [
      `${framed}&client_id=cli_known`,
      `${framed.replace('display=iframe', '')}&embedded_by=cli_known`,
    ]) {
      const { headers } = await app.inject(`/connect?${query}`)
      assert.match(policyOf(headers), /frame-ancestors https:\/\/app\.example$/)
      assert.equal(headers['x-frame-options'], undefined)
    }
    for (const query of [
      `${framed}&client_id=cli_unknown`,
      'client_id=cli_known&web_message_origin=https%3A%2F%2Fapp.example',
      'client_id=cli_known&display=iframe&web_message_origin=https%3A%2F%2Fevil.example',
      'client_id=cli_known&display=iframe&web_message_origin=https%3A%2F%2Fapp.example%20https%3A%2F%2Fevil.example',
      'client_id=cli_known&display=iframe',
    ]) {
      assert.match(policyOf((await app.inject(`/connect?${query}`)).headers), /frame-ancestors 'none'$/, query)
    }
    // A browser reads the whole query, so that the page would see the parameters behind a second question mark, too.
    const { headers } = await app.inject(`/connect?theme=a?b&${framed}&client_id=cli_known`)
    assert.match(policyOf(headers), /frame-ancestors https:\/\/app\.example$/)
    const manage = await app.inject(`/connect/manage?${framed}&client_id=cli_known`)
    assert.match(policyOf(manage.headers), /frame-ancestors 'none'$/)
  })

  it('looking up a client counts against the limit of its address for calls without a token; a page without a client has no limit', async (t) => {
    const settings = { perToken: 9, perClient: 9, oauthFailures: 9, perAddress: 3, slowAfter: 9 }
    const limits = createLimits(settings, () => 0)
    const app = await serveWidget(t, builtFiles, 'https://api.example/connect', limits)
    const framed = '/connect?display=iframe&web_message_origin=https%3A%2F%2Fapp.example&client_id=cli_known'
    const statuses: number[] = []
    for (let count = 0; count < 5; count += 1) statuses.push((await app.inject(framed)).statusCode)
    assert.deepEqual(statuses, [200, 200, 200, 429, 429])
    assert.equal((await app.inject('/connect?client_id=cli_known')).statusCode, 200)
  })

  it('with its own host, its pages are served for that host at any path, and hide no path of the API', async (t) => {
    for (const root of ['', '/connect']) {
      const app = await serveWidget(t, builtFiles, `https://widget.example${root}`)
      for (const file of ['/', '/manage', '/config.json', '/loader.js', '/assets/index-abc123.js']) {
        const ask = async (host: string): Promise<number> =>
          (await app.inject({ url: `${root}${file}`, headers: { host } })).statusCode
        assert.deepEqual([await ask('widget.example'), await ask('api.example')], [200, 404], `${root}${file}`)
      }
    }
  })

  it('config.json names this service, whatever the package contained', async (t) => {
    const app = await serveWidget(t)
    const { body } = await app.inject('/connect/config.json')
    assert.deepEqual(JSON.parse(body), { auth_url: 'https://auth.example', base_url: 'https://api.example' })
  })

  it('hashed assets may be cached forever, pages are revalidated, and an unchanged one is a 304', async (t) => {
    const app = await serveWidget(t)
    const asset = await app.inject('/connect/assets/index-abc123.js')
    assert.match(String(asset.headers['cache-control']), /immutable/)
    assert.match(String(asset.headers['content-type']), /javascript/)
    const first = await app.inject('/connect')
    assert.equal(first.headers['cache-control'], 'no-cache')
    const tag = String(first.headers['etag'])
    // RFC 9110 §13.1.2: a list, compared weakly. A proxy that compresses the page has made its tag weak.
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await app.inject({ url: '/connect', headers: { 'if-none-match': known } })
      assert.equal(again.statusCode, 304, known)
    }
  })

  it('only files of the package’s own types are served, and no path leads out of it', async (t) => {
    const app = await serveWidget(t)
    for (const url of [
      '/connect/secret.key',
      '/connect/..%2f..%2fetc%2fpasswd',
      '/connect/assets/%2e%2e%2findex.html',
    ]) {
      assert.equal((await app.inject(url)).statusCode, 404, url)
    }
  })

  it('the page of a widget that was not built says how to build it', async (t) => {
    const app = await serveWidget(t, {})
    const { statusCode, body } = await app.inject('/connect')
    assert.equal(statusCode, 503)
    assert.match(body, /npm run build/)
  })
})
