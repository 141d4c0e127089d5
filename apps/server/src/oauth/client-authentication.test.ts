import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Client } from '../tenants/index.ts'
import { authenticateClient, identifyClient, type OauthRequest } from './client-authentication.ts'
import { OAuthError, type OAuthErrorCode } from './protocol.ts'
import { testClient } from './test-client.ts'

const secret = 'a secret: 100% + ü'
const client = { ...testClient, clientId: 'cli_a-b_c' }
const disabled = { ...testClient, clientId: 'cli_off', disabledAt: '2026-03-02T10:11:12.345Z' }
const tenants = {
  findClient: async (id: string) => [client, disabled].find(({ clientId }) => clientId === id),
  verifySecret: (found: Pick<Client, 'secretHashes'> | undefined, presented: string) =>
    found !== undefined && presented === secret,
}

function body(fields: Record<string, string>, authorization?: string): OauthRequest {
  return { parameters: new Map(Object.entries(fields)), authorization }
}

function basic(id: string, password: string): string {
  return `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`
}

/** Encodes as application/x-www-form-urlencoded, following RFC 6749 appendix B. */
function form(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

async function codeOf(request: OauthRequest): Promise<OAuthErrorCode | 'authenticated' | 'identified'> {
  try {
    return (await identifyClient(tenants, request)).authenticated ? 'authenticated' : 'identified'
  } catch (error) {
    assert.ok(error instanceof OAuthError)
    return error.code
  }
}

describe('client authentication (RFC 6749 §2.3)', () => {
  const id = client.clientId
  const cases: [string, OauthRequest, Awaited<ReturnType<typeof codeOf>>][] = [
    ['the secret in the body', body({ client_id: id, client_secret: secret }), 'authenticated'],
    ['Basic with form-encoded halves (§2.3.1)', body({}, basic(form(id), form(secret))), 'authenticated'],
    ['Basic that encodes _ and - as well', body({}, basic('cli%5Fa%2Db%5Fc', form(secret))), 'authenticated'],
    ['Basic with the same client_id in the body', body({ client_id: id }, basic(id, form(secret))), 'authenticated'],
    [
      'the scheme in lower case (RFC 9110 §11.1)',
      body({}, basic(id, form(secret)).replace('Basic', 'basic')),
      'authenticated',
    ],
    ['a client_id alone', body({ client_id: id }), 'identified'],
    ['no client_id at all', body({}), 'invalid_request'],
    ['a secret without client_id', body({ client_secret: secret }), 'invalid_request'],
    ['Basic and the secret in the body', body({ client_secret: secret }, basic(id, form(secret))), 'invalid_request'],
    [
      'Basic and another client_id in the body',
      body({ client_id: 'cli_x' }, basic(id, form(secret))),
      'invalid_request',
    ],
    ['a wrong secret', body({ client_id: id, client_secret: 'wrong' }), 'invalid_client'],
    ['an unknown client', body({ client_id: 'cli_x', client_secret: secret }), 'invalid_client'],
    ['an unknown client without a secret', body({ client_id: 'cli_x' }), 'invalid_client'],
    ['a disabled client with its secret', body({ client_id: 'cli_off', client_secret: secret }), 'invalid_client'],
    ['a disabled client without a secret', body({ client_id: 'cli_off' }), 'invalid_client'],
    ['Basic with an empty secret', body({}, basic(id, '')), 'invalid_client'],
    ['Basic without a colon', body({}, `Basic ${Buffer.from(id).toString('base64')}`), 'invalid_client'],
    ['Basic that is not base64', body({}, 'Basic ???'), 'invalid_client'],
    ['Basic with a broken percent sign', body({}, basic(id, '100%')), 'invalid_client'],
    ['another scheme', body({ client_id: id }, 'Bearer abc'), 'invalid_client'],
  ]
  for (const [title, request, expected] of cases)
    it(`${title}: ${expected}`, async () => assert.equal(await codeOf(request), expected))

  it('gives the same answer for an unknown client, a disabled one and a wrong secret', async () => {
    const messages = await Promise.all(
      ['cli_x', 'cli_off', id].map(async (client_id) => {
        const outcome = await identifyClient(tenants, body({ client_id, client_secret: 'wrong' })).catch(
          (error: unknown) => error,
        )
        return outcome instanceof OAuthError ? outcome.message : undefined
      }),
    )
    assert.deepEqual(new Set(messages), new Set(['client authentication failed: check client_id and client_secret']))
  })

  it('is refused where a secret is needed and none was sent (§5.2)', async () => {
    await assert.rejects(authenticateClient(tenants, body({ client_id: id })), { code: 'invalid_client' })
    for (const fields of [{}, { client_secret: secret }]) {
      await assert.rejects(authenticateClient(tenants, body(fields)), { code: 'invalid_client' })
    }
  })
})
