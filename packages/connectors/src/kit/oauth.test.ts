import { SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import type { SignIn } from './definition.ts'
import { redeemProviderCode, renewTokens, toAuthorizationUrl } from './oauth.ts'

const signIn: SignIn = {
  origin: 'https://provider.example',
  authorizationPath: '/oauth2/auth',
  tokenPath: '/oauth2/token',
  scope: 'read',
}
const client = { clientId: 'assay', clientSecret: 'hunter2' }
const nowMs = Date.parse('2026-03-02T10:00:00Z')
const sent = { code: 'c', codeVerifier: 'v', redirectUri: 'https://assay.example/connect/callback' }

/** One call against a token endpoint that answers in one way. */
async function at<T>(
  listener: RequestListener,
  call: (io: Parameters<typeof redeemProviderCode>[0]) => Promise<T>,
): Promise<T> {
  const server = createServer({ keepAliveTimeout: 0 }, listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    return await call({ fetch: globalThis.fetch, now: () => nowMs, baseUrl })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const answer =
  (status: number, body: string): RequestListener =>
  (_request, response) =>
    response.writeHead(status).end(body)

function fails(fault: string): (error: SourceError) => boolean {
  return (error) => {
    assert.equal(error.fault, fault)
    assert.doesNotMatch(error.message, /hunter2|=c\b/)
    return true
  }
}

describe('signing in at a provider', () => {
  it('the address has what RFC 6749 §4.1.1 and RFC 7636 §4.3 ask for, at the provider’s or another host', () => {
    const request = { clientId: 'assay', redirectUri: sent.redirectUri, state: 's', codeChallenge: 'h' }
    const url = new URL(toAuthorizationUrl(signIn, undefined, request))
    assert.equal(url.origin + url.pathname, 'https://provider.example/oauth2/auth')
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      response_type: 'code',
      client_id: 'assay',
      redirect_uri: sent.redirectUri,
      scope: 'read',
      state: 's',
      code_challenge: 'h',
      code_challenge_method: 'S256',
    })
    assert.equal(new URL(toAuthorizationUrl(signIn, 'http://127.0.0.1:9', request)).origin, 'http://127.0.0.1:9')
  })

  it('a code becomes tokens, with an end by our own clock', async () => {
    let form = ''
    const listener: RequestListener = (request, response) => {
      request.on('data', (chunk: Buffer) => (form += chunk.toString()))
      request.on('end', () =>
        response.end('{"access_token":"a","refresh_token":"r","expires_in":3600,"token_type":"bearer"}'),
      )
    }
    const tokens = await at(listener, (io) => redeemProviderCode(io, signIn, client, sent))
    assert.deepEqual(tokens, { accessToken: 'a', refreshToken: 'r', expiresAtMs: nowMs + 3_600_000 })
    assert.deepEqual(Object.fromEntries(new URLSearchParams(form)), {
      grant_type: 'authorization_code',
      code: 'c',
      code_verifier: 'v',
      redirect_uri: sent.redirectUri,
      client_id: 'assay',
      client_secret: 'hunter2',
    })
  })

  it('§5.2: a code that is not good is invalid_credentials, a refresh token that is not is needs_reauth', async () => {
    const refusal = answer(400, '{"error":"invalid_grant"}')
    await assert.rejects(
      at(refusal, (io) => redeemProviderCode(io, signIn, client, sent)),
      fails('invalid_credentials'),
    )
    await assert.rejects(
      at(refusal, (io) => renewTokens(io, signIn, client, 'c')),
      fails('needs_reauth'),
    )
  })

  it('§5.2: a code that makes the request invalid is invalid_credentials, and a gateway’s 400 is not', async () => {
    const redeem = (body: string): Promise<unknown> =>
      at(answer(400, body), (io) => redeemProviderCode(io, signIn, client, sent))
    await assert.rejects(redeem('{"error":"invalid_request"}'), fails('invalid_credentials'))
    await assert.rejects(redeem('{"statusCode":400,"error":"Bad Request"}'), fails('unreadable_answer'))
  })

  it('a refresh token that is refused with 401 instead is needs_reauth too, as Coinbase documents it', async () => {
    const spent = answer(401, '{"error":"invalid_grant","error_description":"The token was used before."}')
    await assert.rejects(
      at(spent, (io) => renewTokens(io, signIn, client, 'c')),
      fails('needs_reauth'),
    )
  })

  it('§4.1.2: a code that an unanswered attempt may have spent is not reported as wrong', async () => {
    const lost = new SourceError('venue_down', 'cut off')
    const again = (status: number): Promise<unknown> =>
      at(answer(status, '{"error":"invalid_grant"}'), (io) => redeemProviderCode(io, signIn, client, sent, lost))
    await assert.rejects(again(400), lost)
    await assert.rejects(again(429), fails('rate_limited'))
  })

  it('a temporary failure is not mistaken for a refusal: 5xx, a refused registration, a response without tokens', async () => {
    for (const [status, body, fault] of [
      [503, '', 'venue_down'],
      [401, '{"error":"invalid_client"}', 'unreadable_answer'],
      [400, '{"error":"invalid_client"}', 'unreadable_answer'],
      [400, '{"error":"temporarily_unavailable"}', 'unreadable_answer'],
      [400, '{"error":"invalid_request"}', 'unreadable_answer'],
      [400, '{"error":"rate_limit_exceeded"}', 'unreadable_answer'],
      [400, '{"status":400,"error":"Bad Request","path":"/oauth2/token"}', 'unreadable_answer'],
      [400, '{"error":null}', 'unreadable_answer'],
      [400, '{"error":["invalid_grant"]}', 'unreadable_answer'],
      [400, '<html><title>400 Bad Request</title>', 'venue_down'],
      [401, '<html><title>401 Authorization Required</title>', 'venue_down'],
      [403, '<!DOCTYPE html><title>Attention Required!</title>', 'venue_down'],
      [403, '{"error":"invalid_grant"}', 'unreadable_answer'],
      [401, '{"message":"Unauthorized"}', 'unreadable_answer'],
      [400, '', 'unreadable_answer'],
      [200, '<html>', 'venue_down'],
      [200, '{"access_token":""}', 'unreadable_answer'],
    ] as const) {
      await assert.rejects(
        at(answer(status, body), (io) => renewTokens(io, signIn, client, 'c')),
        fails(fault),
      )
    }
  })

  it('tokens that cannot be sent or stored are an unreadable answer, and not an outage of the provider', async () => {
    const good = { access_token: 'a', refresh_token: 'r', expires_in: 3600 }
    for (const odd of [
      { access_token: 'a\r\nx: y' },
      { access_token: 'a'.repeat(20_000) },
      { refresh_token: 'r\0' },
      { expires_in: 1e308 },
    ]) {
      await assert.rejects(
        at(answer(200, JSON.stringify({ ...good, ...odd })), (io) => renewTokens(io, signIn, client, 'c')),
        fails('unreadable_answer'),
      )
    }
  })
})
