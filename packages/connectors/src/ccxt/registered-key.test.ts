/**
 * An exchange whose API key is half of a key pair that the user made (probe.ts), against a server that checks the
 * signature as developer.revolut.com/docs/api/revolut-x-crypto-exchange documents it: Ed25519 over timestamp, method,
 * path, query and body, written one after another.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { SourceError } from '@assay/core'
import type { AccountReader } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const dayMs = 24 * 3_600_000
const apiKey = 'k'.repeat(64)
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const toPem = (key: typeof privateKey): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

const bodies: Readonly<Record<string, unknown>> = {
  '/api/1.0/public/configuration/pairs': {
    'BTC/USD': { base: 'BTC', quote: 'USD', base_step: '0.0000001', quote_step: '0.01', status: 'active' },
  },
  '/api/1.0/balances': [
    { currency: 'BTC', available: '1.250000000000000001', reserved: '0.1', total: '1.350000000000000001' },
  ],
  '/api/1.0/trades/private/BTC-USD': {
    data: [{ tdt: nowMs - dayMs, p: '119900.00', q: '0.001', tid: 't1', oid: 'o1', s: 'buy', im: false }],
    metadata: { timestamp: nowMs },
  },
}

const asked: URL[] = []
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const url = new URL(request.url ?? '', 'http://x')
  const headers = request.headers
  const message = `${String(headers['x-revx-timestamp'])}GET${url.pathname}${url.search.slice(1)}`
  const signature = Buffer.from(String(headers['x-revx-signature']), 'base64')
  const isSigned = headers['x-revx-api-key'] === apiKey && verify(null, Buffer.from(message), publicKey, signature)
  asked.push(url)
  if (!isSigned && !url.pathname.includes('/public/'))
    return void response.writeHead(401).end('{"message":"Unauthorized"}')
  response.setHeader('content-type', 'application/json').end(JSON.stringify(bodies[url.pathname] ?? {}))
})

function open(secretKey: string): AccountReader {
  const { port } = server.address() as AddressInfo
  const io = { fetch, now: () => nowMs, nextNonce: () => '1', baseUrl: `http://127.0.0.1:${port}` }
  return createCcxtConnector('revolutx').open({ type: 'api_key', apiKey, secretKey }, io)
}

const isInvalid = (error: unknown): boolean => error instanceof SourceError && error.fault === 'invalid_credentials'

describe('an API key that is half of a key pair', () => {
  before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  after(() => void server.close())

  it('signs what is read, and every digit arrives', async () => {
    const { balances } = await open(toPem(privateKey)).fetchBalances({})
    assert.deepEqual(
      balances.map(({ symbol, liquid }) => [symbol, liquid]),
      [['BTC', '1.350000000000000001']],
    )
  })

  it('asks for trades in pieces of at most thirty days', async () => {
    asked.length = 0
    const reader = open(toPem(privateKey))
    const window = { unit: 'ms' as const, start: nowMs - 90 * dayMs, end: nowMs }
    const keys = new Set<string>()
    let pageMark: string | null = null
    do {
      const request = { stream: 'trades', partition: 'BTC/USD', window, pageMark, lastingMark: null, state: {} }
      const page: Awaited<ReturnType<AccountReader['fetchPage']>> = await reader.fetchPage(request)
      for (const { key } of page.records) keys.add(key)
      pageMark = page.next
    } while (pageMark !== null)
    assert.equal(keys.size, 1)
    const spans = asked
      .filter(({ pathname }) => pathname.includes('/trades/'))
      .map(({ searchParams }) => Number(searchParams.get('end_date')) - Number(searchParams.get('start_date')))
    assert.ok(spans.length >= 3 && spans.every((span) => span > 0 && span <= 30 * dayMs), String(spans))
  })

  it('is refused when it belongs to another pair, and when it is not a key', async () => {
    await assert.rejects(open(toPem(generateKeyPairSync('ed25519').privateKey)).verify(), isInvalid)
    await assert.rejects(open('not a key').verify(), isInvalid)
  })
})
