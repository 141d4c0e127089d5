/** A server with one prepared answer, and the connector's reader of what it says. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach } from 'node:test'
import { SourceError } from '@assay/core'
import type { AccountReader, ApiKeyCredentials } from '../kit/connector.ts'
import { connector } from './connector.ts'

export const credentials: ApiKeyCredentials = {
  type: 'api_key',
  // The key and the secret of the worked example in rest-api.md, "SIGNED Endpoint Examples".
  apiKey: 'vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A',
  secretKey: 'NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j',
}

export const nowMs = Date.UTC(2026, 0, 15)

export interface Received {
  path: string
  params: URLSearchParams
  query: string
  headers: IncomingMessage['headers']
}
export type Reply = { status?: number; headers?: Record<string, string>; body: unknown }

export interface TestBinance {
  /** The requests of the test that runs. */
  readonly received: Received[]
  answer: (request: Received) => Reply
  answerBy(replies: Readonly<Record<string, Reply>>): void
  /** Opened anew for each test. */
  readonly reader: AccountReader
  open(given: ApiKeyCredentials): AccountReader
  openAt(atMs: number): AccountReader
}

/** Call it at the top of a file. */
export function useBinance(): TestBinance {
  const received: Received[] = []
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    const call = { path: url.pathname, params: url.searchParams, query: url.search.slice(1), headers: request.headers }
    received.push(call)
    const { status = 200, headers = {}, body } = binance.answer(call)
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  const openAt = (atMs: number, given = credentials): AccountReader =>
    connector.open(given, {
      fetch: globalThis.fetch,
      now: () => atMs,
      nextNonce: () => '1',
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    })
  let reader: AccountReader | undefined
  const binance: TestBinance = {
    received,
    answer: () => ({ status: 404, body: '' }),
    answerBy(replies) {
      binance.answer = ({ path }) => {
        const name = Object.keys(replies).find((end) => path.endsWith(end))
        return name === undefined ? { status: 404, body: '' } : (replies[name] as Reply)
      }
    },
    get reader() {
      assert.ok(reader, 'a test runs')
      return reader
    },
    open: (given) => openAt(nowMs, given),
    openAt,
  }
  before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  beforeEach(() => {
    received.length = 0
    reader = openAt(nowMs)
  })
  return binance
}

export async function faultOf(promise: Promise<unknown>): Promise<SourceError> {
  const error = await promise.then(
    () => assert.fail('no error was thrown'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof SourceError, String(error))
  return error
}
