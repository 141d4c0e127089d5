import assert from 'node:assert/strict'
import { get } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { describe, it } from 'node:test'
import { accepts } from './routes.ts'
import { openResource } from './test-resource.ts'

interface Raw {
  status: number | undefined
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
}

/** Unlike fetch, it neither asks for compression by itself nor undoes it. */
function getRaw(url: string, headers: Record<string, string>): Promise<Raw> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
      )
      response.on('error', reject)
    }).on('error', reject)
  })
}

describe('responses of the resource API', async () => {
  const api = await openResource({ settings: { ASSAY_V1_SUNSET: '2027-06-30' } })
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const authorization = `Bearer ${ann.access_token}`

  it('RFC 9745, RFC 8594: once v1 has an end date, its responses and refusals announce it; those of v2 do not', async () => {
    const calls = ['GET assets 200', 'GET assets?limit=0 400', 'GET nothing 404', 'DELETE assets 405']
    for (const [method = '', path = '', expected] of calls.map((call) => call.split(' '))) {
      const { status, headers } = await api.call(method, `/platform/v1/${path}`, ann.access_token)
      assert.equal(String(status), expected)
      assert.match(headers.get('deprecation') ?? '', /^@\d+$/)
      assert.equal(headers.get('sunset'), 'Wed, 30 Jun 2027 00:00:00 GMT')
    }
    const { headers } = await api.call('GET', '/accounts/v2/assets', ann.access_token)
    assert.deepEqual([headers.get('deprecation'), headers.get('sunset')], [null, null])
  })

  it('RFC 9110 §13.1.2: a client that caches the catalogue receives it only once', async () => {
    const url = `${api.url}/accounts/v2/providers/catalog`
    const first = await getRaw(url, {})
    const etag = String(first.headers['etag'])
    assert.match(etag, /^W\/"/)
    for (const tag of [etag, etag.replace('W/', ''), `"x", ${etag}`, '*']) {
      const again = await getRaw(url, { 'if-none-match': tag })
      assert.deepEqual([again.status, again.bytes.length], [304, 0], tag)
    }
    assert.equal((await getRaw(url, { 'if-none-match': '"x"' })).status, 200)
    assert.notEqual((await getRaw(`${url}?limit=1&kind=wallet`, {})).headers['etag'], etag)
  })

  it('are compressed for clients that accept it, with the same content', async () => {
    const url = `${api.url}/accounts/v2/transactions?limit=100`
    const plain = await getRaw(url, { authorization })
    const packed = await getRaw(url, { authorization, 'accept-encoding': 'br, gzip;q=0.8' })
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.equal(packed.headers['content-encoding'], 'gzip')
    for (const { headers } of [plain, packed]) assert.match(String(headers['vary']), /Accept-Encoding/)
    assert.deepEqual(gunzipSync(packed.bytes), plain.bytes)
    assert.ok(packed.bytes.length * 4 < plain.bytes.length)
  })

  it('are compressed chunk by chunk when they are streams', async () => {
    const url = `${api.url}/accounts/v2/transactions/export?format=ndjson`
    const packed = await getRaw(url, { authorization, 'accept-encoding': 'gzip' })
    assert.deepEqual(gunzipSync(packed.bytes), (await getRaw(url, { authorization })).bytes)
  })

  it('are not compressed when they are short', async () => {
    const { headers } = await getRaw(`${api.url}/accounts/v2/assets`, { 'accept-encoding': 'gzip' })
    assert.equal(headers['content-encoding'], undefined)
  })
})

describe('Accept-Encoding (RFC 9110 §12.5.3)', () => {
  for (const [header, verdict] of [
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['br, GZIP;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip; q=0.0, br', false],
    ['identity', false],
    ['notgzip', false],
  ] as const) {
    it(`${String(header)}: ${verdict ? 'compressed' : 'plain'}`, () => assert.equal(accepts(header), verdict))
  }
})
