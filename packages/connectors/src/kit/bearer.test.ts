import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { SourceError } from '@assay/core'
import { createBearerClient } from './bearer.ts'
import type { Io } from './connector.ts'
import type { HttpAnswer } from './http.ts'

/** A server that accepts one token, and says which ones it was shown. */
const shown: string[] = []
let accepted = 'second'
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
  shown.push(token)
  const [, path, body] = /^\/(\w+)(?:\?(.*))?$/.exec(request.url ?? '') ?? []
  const status = path === 'forbidden' ? 403 : token === accepted ? 200 : 401
  response.writeHead(status).end(body === undefined ? '{"amount":1.10}' : decodeURIComponent(body))
})
before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
after(() => void server.close())

function client(tokens: string[]): { call: (path: string) => Promise<unknown>; refused: (string | undefined)[] } {
  const refused: (string | undefined)[] = []
  const getToken = async (rejected?: string): Promise<string> => {
    refused.push(rejected)
    return tokens.shift() ?? 'none left'
  }
  const io: Io = {
    fetch: globalThis.fetch,
    now: () => 0,
    nextNonce: () => '1',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
  shown.length = 0
  const baseUrl = 'https://never.example'
  const isOwnError = ({ text }: HttpAnswer): boolean => text.includes('amount')
  return { call: createBearerClient({ type: 'oauth2', getToken }, io, { baseUrl, isOwnError }), refused }
}

describe('the bearer client', () => {
  it('shows its token and reads numbers as text', async () => {
    const { call, refused } = client(['second'])
    assert.deepEqual(await call('/x'), { amount: '1.10' })
    assert.deepEqual([shown, refused], [['second'], [undefined]])
  })

  it('asks for a new token once when the provider rejects the first, and names the rejected one', async () => {
    const { call, refused } = client(['first', 'second'])
    assert.deepEqual(await call('/x'), { amount: '1.10' })
    assert.deepEqual(
      [shown, refused],
      [
        ['first', 'second'],
        [undefined, 'first'],
      ],
    )
  })

  it('a second rejection is final', async () => {
    accepted = 'nothing'
    const { call } = client(['first', 'third', 'fourth'])
    await assert.rejects(call('/x'), (error: SourceError) => error.fault === 'needs_reauth')
    assert.deepEqual(shown, ['first', 'third'])
    accepted = 'second'
  })

  it('403 is a missing right, and no new token is requested', async () => {
    const { call, refused } = client(['second'])
    await assert.rejects(call('/forbidden'), (error: SourceError) => error.fault === 'missing_permission')
    assert.equal(refused.length, 1)
  })

  it('an error that the provider did not write ends neither a token nor a right', async () => {
    for (const [body, fault] of [
      ['<html>', 'venue_down'],
      ['{"message":"Forbidden"}', 'unreadable_answer'],
    ] as const) {
      for (const path of ['/x', '/forbidden']) {
        const { call, refused } = client(['first', 'third'])
        await assert.rejects(call(`${path}?${encodeURIComponent(body)}`), (error: SourceError) => error.fault === fault)
        assert.deepEqual(refused, [undefined])
      }
    }
  })
})
