/**
 * Limits of /oauth/*: failures count against an address and do not lock out a client with its secret; guessing is slow.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLimits, createSlots, takeSlots } from '../../limits/index.ts'
import { demo, enterprise, redirectUri } from '../../oauth/test-oauth.ts'
import { until } from '../../../../../test/until.ts'
import { placesOfHeld } from './limited.ts'
import { startAuthServer } from './test-auth-server.ts'

describe('limits of the OAuth endpoints', async () => {
  let now = 0
  const settings = { perToken: 99, perClient: 4, oauthFailures: 3, perAddress: 99, slowAfter: 2 }
  const limits = createLimits(settings, () => now)
  const delays: number[] = []
  const delayMs: typeof limits.oauth.delayMs = (...of) => {
    delays.push(limits.oauth.delayMs(...of))
    return delays.at(-1) ?? 0
  }
  const slots = createSlots()
  const server = await startAuthServer({ ...limits, oauth: { ...limits.oauth, delayMs } }, slots)
  const nextMinute = (): void => void (now += 60_000)
  const token = (body: Record<string, string>): Promise<Response> => server.post('/oauth/token', body)
  const ofTenant = { grant_type: 'client_credentials', ...enterprise }
  const noCode = {
    grant_type: 'authorization_code',
    code: 'x',
    code_verifier: 'v'.repeat(43),
    redirect_uri: redirectUri,
  }

  it('failures are counted for the address, which then gets a 429 that OAuth clients understand', async () => {
    nextMinute()
    const seen: number[] = []
    for (let request = 0; request < 5; request += 1) {
      seen.push((await token({ ...noCode, client_id: demo.client_id })).status)
    }
    assert.deepEqual(seen, [400, 400, 400, 429, 429])
    const refused = await token({ ...noCode, client_id: demo.client_id })
    assert.equal(((await refused.json()) as { error: string }).error, 'temporarily_unavailable')
    assert.equal(refused.headers.get('retry-after'), '60')
    assert.equal(refused.headers.get('ratelimit-policy'), '"failures";q=3;w=60')
  })

  it('a client with its secret is answered even from an address with too many failures', async () => {
    nextMinute()
    for (let request = 0; request < 4; request += 1) await token({ ...noCode, client_id: demo.client_id })
    const heard = await token(ofTenant)
    assert.equal(heard.status, 200)
    assert.equal(heard.headers.get('ratelimit'), '"client";r=3;t=60')
  })

  it('an authenticated client has its own limit, which no other caller can use up', async () => {
    nextMinute()
    const wrong = { ...ofTenant, client_secret: 'wrong' }
    assert.equal((await token(wrong)).status, 401)
    const seen: number[] = []
    for (let request = 0; request < 5; request += 1) seen.push((await token(ofTenant)).status)
    assert.deepEqual(seen, [200, 200, 200, 200, 429])
  })

  it('requests that fail before the secret is checked use up no client’s limit, and nothing is remembered under its name', async () => {
    nextMinute()
    const guessed = { client_id: enterprise.client_id, client_secret: 'wrong' }
    for (const broken of [{ grant_type: 'invented' }, {}]) {
      for (let request = 0; request < 5; request += 1) {
        assert.notEqual((await token({ ...guessed, ...broken })).status, 200)
      }
    }
    assert.equal(limits.oauth.lookAtClient(enterprise.client_id).remaining, settings.perClient)
    for (const name of ['x'.repeat(6_000), 'cli_unknown']) {
      await token({ client_id: name, client_secret: 'wrong', grant_type: 'invented' })
      assert.equal(limits.oauth.lookAtClient(name).remaining, settings.perClient)
    }
  })

  it('an authenticated client that sends wrong codes uses up its own limit', async () => {
    nextMinute()
    const seen: number[] = []
    for (let request = 0; request < 5; request += 1) {
      seen.push((await token({ ...noCode, client_id: demo.client_id, client_secret: demo.client_secret })).status)
    }
    assert.equal(limits.oauth.lookAtClient(demo.client_id).admitted, false)
    assert.equal(seen.at(-1), 429)
  })

  it('the keys of claims are read from the database, so they have the limit of any public call', async () => {
    nextMinute()
    for (let request = 0; request < settings.perAddress; request += 1) limits.countAddress('127.0.0.1')
    const refused = await fetch(`${server.url}/.well-known/jwks.json`)
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60'])
    assert.equal(refused.headers.get('cache-control'), 'no-store')
    nextMinute()
    const given = await fetch(`${server.url}/.well-known/jwks.json`)
    assert.deepEqual([given.status, given.headers.get('ratelimit')], [200, '"address";r=98;t=60'])
  })

  it('successful short-term exchanges from one address are not counted', async () => {
    nextMinute()
    for (let user = 0; user < 5; user += 1) {
      const { code, verifier } = await server.authorize({ user: `user ${user}` })
      const fields = { ...noCode, code, code_verifier: verifier, client_id: demo.client_id }
      assert.equal((await token(fields)).status, 200)
    }
  })

  it('wrong secrets are slowed from the one that the setting names; a right one waits only for an answer held back', async () => {
    nextMinute()
    const wrong = { ...ofTenant, client_secret: 'wrong' }
    const timed = async (body: Record<string, string>): Promise<[number, number]> => {
      const began = performance.now()
      return [(await token(body)).status, performance.now() - began]
    }
    await token(wrong)
    const [refused, tookMs] = await timed(wrong)
    assert.equal(refused, 401)
    // Timers may be early by a millisecond or two.
    assert.ok(tookMs >= 245, `${tookMs} ms`)
    now += 250
    delays.length = 0
    assert.equal((await token(ofTenant)).status, 200)
    await token({ grant_type: 'refresh_token', refresh_token: 'x', ...demo })
    assert.deepEqual(delays, [0, 0])

    const leaving = new AbortController()
    const left = fetch(`${server.url}/oauth/token`, {
      ...{ method: 'POST', body: new URLSearchParams(wrong), signal: leaving.signal },
    })
    await until('an answer held back', () => limits.oauth.delayMs(enterprise.client_id, '127.0.0.1') > 0 || undefined)
    leaving.abort()
    await assert.rejects(left, { name: 'AbortError' })
    const [heard, waitedMs] = await timed(ofTenant)
    assert.equal(heard, 200)
    assert.ok(waitedMs >= 495, `${waitedMs} ms`)
  })

  it('few requests are held back at once, of one network and altogether; a right secret needs no place', async () => {
    nextMinute()
    const wrong = { ...ofTenant, client_secret: 'wrong' }
    await token(wrong)
    const others = Array.from({ length: 10 }, (_, at) => `192.0.2.${at}`)
    for (const networks of [['127.0.0.1'], others]) {
      const places = networks.flatMap((network) => Array.from({ length: 100 }, () => placesOfHeld(network)))
      const taken = await Promise.all(places.map((place) => takeSlots(slots, place)))
      const refused = await token(wrong)
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1'])
      now += 8_000
      assert.equal((await token(ofTenant)).status, 200)
      for (const place of taken) if ('leave' in place) place.leave()
    }
    nextMinute()
    await token(wrong)
    assert.equal((await token(wrong)).status, 401)
    const left = await Promise.all(Array.from({ length: 100 }, () => takeSlots(slots, placesOfHeld('127.0.0.1'))))
    assert.ok(
      left.every((place) => 'leave' in place),
      'a place is free again when its request was answered',
    )
    for (const place of left) if ('leave' in place) place.leave()
  })

  it('a form with more than thirty parameters is refused before its secret is looked at, and counts as a failure', async () => {
    nextMinute()
    const more = Object.fromEntries(Array.from({ length: 28 }, (_, at) => [`unknown_${at}`, '']))
    assert.equal((await token({ ...ofTenant, ...more })).status, 400)
    assert.equal(limits.oauth.lookAtAddress('127.0.0.1').remaining, settings.oauthFailures - 1)
    delete more['unknown_0']
    assert.equal((await token({ ...ofTenant, ...more })).status, 200)
  })
})
