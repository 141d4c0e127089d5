import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OAuthError } from '../errors.ts'
import { createTenantTokenHolder } from './enterprise.ts'

function play(answer: (place: number) => Response) {
  const bodies: string[] = []
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    bodies.push(String(init?.body as string))
    return answer(bodies.length)
  }
  const client = { authUrl: 'http://auth', clientId: 'cli_1', clientSecret: 'hush', fetch, retriesMax: 0, waitMaxMs: 0 }
  return { bodies, holder: createTenantTokenHolder(client, 'enterprise:read') }
}

const token = (place: number, expiresIn = 900): Response =>
  Response.json({ access_token: `token ${place}`, expires_in: expiresIn })

describe('the tenant’s token', () => {
  it('RFC 6749 §4.4.2: is requested with the client’s secret, once for all waiting calls, and kept', async () => {
    const { bodies, holder } = play((place) => token(place))
    assert.deepEqual(await Promise.all([holder.get(), holder.get(), holder.get()]), ['token 1', 'token 1', 'token 1'])
    assert.equal(await holder.get(), 'token 1')
    assert.deepEqual(bodies, [
      'grant_type=client_credentials&scope=enterprise%3Aread&client_id=cli_1&client_secret=hush',
    ])
  })

  it('is requested again when it is about to expire, and when the service refuses it', async () => {
    const short = play((place) => token(place, 20))
    assert.deepEqual([await short.holder.get(), await short.holder.get()], ['token 1', 'token 2'])
    const refused = play((place) => token(place))
    assert.deepEqual([await refused.holder.get(), await refused.holder.get('token 1')], ['token 1', 'token 2'])
  })

  it('fails all waiting calls when it is refused, and the next call requests it again', async () => {
    const { holder } = play((place) =>
      place === 1 ? Response.json({ error: 'invalid_client' }, { status: 401 }) : token(place),
    )
    const both = await Promise.allSettled([holder.get(), holder.get()])
    for (const one of both) assert.ok(one.status === 'rejected' && one.reason instanceof OAuthError)
    assert.equal(await holder.get(), 'token 2')
  })
})
