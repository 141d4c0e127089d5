/**
 * A signed yes or no about what a user holds, verified as a third party would: with jose and the published keys alone.
 */
import { ErrorResponse, listAssets, makeClaim } from '@assay/contract'
import { add, divide, parseDecimal, sum, type Decimal } from '@assay/core'
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from 'jose'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { verifyClaim } from '../../../../../packages/sdk/src/claims.ts'
import { createClaims, withdrawClaimKeys } from '../../claims/index.ts'
import type { OwnedAccount } from '../../portfolio/index.ts'
import { openResource, until } from '../test-resource.ts'

const path = '/accounts/v2/claims'

describe('POST /accounts/v2/claims', async () => {
  const api = await openResource()
  await api.moveToNoon()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const narrow = await api.signIn('ann', { scope: 'claims:read' })
  const token = narrow.access_token
  await api.untilPriced()
  const { data: positions } = await api.ask(listAssets, '/accounts/v2/assets?limit=100', ann.access_token)
  const bitcoin = positions.find(({ asset_id }) => asset_id === 'crypto:bitcoin')
  const held = parseDecimal(bitcoin?.exact.total_holdings ?? '0')
  const more = add(held, parseDecimal('0.00000001'))
  const holding = (amount: Decimal, rest = {}) => ({
    claim: 'holds_at_least',
    asset_id: 'crypto:bitcoin',
    amount,
    ...rest,
  })
  const ask = (body: object, bearer = token) => api.ask(makeClaim, path, bearer, body)

  /** A first verdict comes with the run after the first read. */
  await until(
    async () => (await api.service.db.rows(`select from connections where proof_grade = 'proved'`)).length,
    (count) => count > 0,
  )

  it('200: yes up to the amount held, no above it, for one asset and for the total', async () => {
    const yes = await ask(holding(held))
    const no = await ask(holding(more))
    assert.deepEqual([yes.data.holds, yes.data.grade, yes.errors], [true, 'proved', []])
    assert.deepEqual([no.data.holds, no.data.grade], [false, 'proved'])
    // Prices move between two reads, but do not halve.
    const worth = sum(positions.flatMap(({ value_in_usd: value }) => (value === null ? [] : [parseDecimal(value)])))
    const half = divide(worth, parseDecimal('2'), 2)
    assert.equal((await ask({ claim: 'value_at_least', amount_in_usd: half })).data.holds, true)
  })

  it('200: the statement verifies with jose alone, says what was asked, and does not name the user', async () => {
    const { data } = await ask(holding(held, { audience: 'https://lender.example' }))
    const keys = createRemoteJWKSet(new URL(`${api.url}/.well-known/jwks.json`))
    const options = {
      issuer: api.url,
      audience: 'https://lender.example',
      typ: 'assay-claim+jwt',
      algorithms: ['ES256'],
    }
    const { payload } = await jwtVerify(data.statement ?? '', keys, options)
    const { claim, asset_id, amount, holds, grade, as_of, sandbox, iat = 0, exp = 0 } = payload
    assert.deepEqual(
      { claim, asset_id, amount, holds, grade, as_of, sandbox },
      { ...holding(held), holds: true, grade: 'proved', as_of: data.as_of, sandbox: true },
    )
    assert.equal(exp - iat, 30 * 86_400)
    assert.notEqual(payload.sub, narrow.user_id)
    assert.ok(!JSON.stringify(payload).includes(narrow.user_id))
    const again = decodeJwt((await ask(holding(held))).data.statement ?? '')
    assert.deepEqual([again.sub, again.aud], [payload.sub, 'cli_demo'])
    assert.notEqual(again.jti, payload.jti)
  })

  const fetchKeys = async () => (await (await fetch(`${api.url}/.well-known/jwks.json`)).json()) as JSONWebKeySet

  it('200: the SDK accepts it, and refuses it for another issuer, audience or time', async () => {
    const statement = (await ask(holding(held))).data.statement ?? ''
    const options = { issuer: api.url, audience: 'cli_demo', acceptSandbox: true }
    assert.equal((await verifyClaim(statement, options)).holds, true)
    const jwks = await fetchKeys()
    for (const wrong of [{ issuer: 'https://other.example' }, { audience: 'me' }, { acceptSandbox: false }]) {
      await assert.rejects(verifyClaim(statement, { ...options, jwks, ...wrong }), { name: 'ClaimError' })
    }
    await assert.rejects(verifyClaim(statement, { ...options, nowMs: Date.now() + 60 * 86_400_000 }), /expired/)
  })

  it('200: neither jose nor the SDK accepts it after any one byte of it has changed', async () => {
    const statement = (await ask(holding(held))).data.statement ?? ''
    const jwks = await fetchKeys()
    const options = { issuer: api.url, audience: 'cli_demo', acceptSandbox: true, jwks }
    const keys = createLocalJWKSet(jwks)
    await jwtVerify(statement, keys)
    const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const alter = (at: number, bit: number): string => {
      const other = base64url[base64url.indexOf(statement[at] ?? '') ^ bit] ?? 'A'
      return `${statement.slice(0, at)}${other}${statement.slice(at + 1)}`
    }
    assert.ok(statement.length > 500)
    for (let at = 0; at < statement.length; at += 1) {
      // The highest of the six bits of a character always belongs to a byte.
      await assert.rejects(verifyClaim(alter(at, 32), options), { name: 'ClaimError' }, String(at))
      await assert.rejects(jwtVerify(alter(at, 32), keys), Error, String(at))
    }
    // The lowest bit of the last character belongs to no byte of the signature. jose ignores it, and the SDK does not.
    await assert.rejects(verifyClaim(alter(statement.length - 1, 1), options), { name: 'ClaimError' })
  })

  it('429: a fourth different claim on one day; the earlier ones can be repeated, and the next day there is room', async () => {
    const refused = await api.call<ErrorResponse>('POST', path, token, holding(parseDecimal('0.5')))
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) > 80_000)
    await ask(holding(held))
    await api.moveClock(86_400)
    const later = await api.signIn('ann', { scope: 'claims:read' })
    assert.equal((await api.call('POST', path, later.access_token, holding(parseDecimal('0.5')))).status, 200)
  })

  it('200: data of a pasted address, or data that was never verified, is too weak', async () => {
    const zoe = await api.signIn('zoe', { scope: 'claims:read' })
    const { data, errors } = await ask(holding(held), zoe.access_token)
    assert.deepEqual([data.holds, data.statement, data.grade], [null, null, 'unprovable'])
    assert.deepEqual(
      errors.map(({ cause }) => cause),
      ['grade_too_low'],
    )
    await api.service.db.execute(`update connections set connection_type = 'wallet'`)
    const later = await api.signIn('ann', { scope: 'claims:read' })
    const all = ['proved', 'explained', 'unprovable', 'open']
    const weak = await ask(holding(parseDecimal('0.00000001'), { grades: all }), later.access_token)
    assert.deepEqual([weak.data.holds, weak.data.grade], [false, 'unprovable'])
    await api.service.db.execute(`update connections set connection_type = 'api_key'`)
  })

  it('200: the first moment that can be written is before everything', async () => {
    const { access_token: bearer } = await api.signIn('ned', { scope: 'claims:read', providers: [] })
    const first = '0001-01-01T00:00:00.000Z'
    const { data } = await ask(holding(held, { as_of: first, grades: ['unprovable'] }), bearer)
    assert.deepEqual([data.holds, data.as_of], [false, first])
  })

  it('200: an asset that was never seen is answered like one that the user does not hold', async () => {
    const { access_token: bearer } = await api.signIn('yan', { scope: 'claims:read', providers: [] })
    const grades = ['proved', 'explained', 'unprovable', 'open']
    const about = async (assetId: string) => {
      const { data, errors } = await ask({ ...holding(held, { grades }), asset_id: assetId }, bearer)
      return { holds: data.holds, grade: data.grade, errors }
    }
    const unheld = await about('crypto:bitcoin')
    assert.equal(unheld.holds, false)
    assert.deepEqual(await about(`evm:1:0x${'0'.repeat(40)}`), unheld)
    assert.deepEqual(await about('kraken:NEVER-SEEN'), unheld)
  })

  it('429: questions without an answer count too, because their grades would reveal which assets a user has', async () => {
    const { access_token: bearer } = await api.signIn('xia', { scope: 'claims:read', providers: [] })
    const statuses: number[] = []
    for (const asset of ['bitcoin', 'ethereum', 'solana', 'cardano', 'bitcoin']) {
      const body = { ...holding(held), asset_id: `crypto:${asset}` }
      statuses.push((await api.call('POST', path, bearer, body)).status)
    }
    assert.deepEqual(statuses, [200, 200, 200, 429, 200])
  })

  it('400: an amount that is not a decimal, an unknown asset, grade or claim, a moment in the future; each names its bound', async () => {
    const { access_token: bearer } = await api.signIn('ann', { scope: 'claims:read' })
    const decimal = /must be a decimal above 0 with at most 30 digits before the point and 18 after it/
    const asset = /must be the asset_id of a position, such as crypto:bitcoin/
    const cases: [object, parameter: string, rule: RegExp][] = [
      [holding('1e3' as Decimal), 'amount', decimal],
      [holding('-1' as Decimal), 'amount', decimal],
      [holding('0' as Decimal), 'amount', decimal],
      [holding(`1.${'0'.repeat(19)}` as Decimal), 'amount', decimal],
      [{ ...holding(held), amount: 1 }, 'amount', /must be text/],
      [{ claim: 'value_at_least', amount_in_usd: '10,000' }, 'amount_in_usd', decimal],
      [{ ...holding(held), asset_id: 'crypto:no-such-coin' }, 'asset_id', asset],
      [{ ...holding(held), asset_id: 'bitcoin' }, 'asset_id', asset],
      [{ ...holding(held), asset_id: 'kraken:\u202eCTB' }, 'asset_id', asset],
      [{ ...holding(held), asset_id: 'kraken:BTC (nothing was shared)' }, 'asset_id', asset],
      [{ ...holding(held), asset_id: 'kraken:BTC\u2028Consent' }, 'asset_id', asset],
      [
        holding(held, { grades: ['proved', 'certain'] }),
        'grades.1',
        /must be proved or explained or unprovable or open/,
      ],
      [holding(held, { grades: [] }), 'grades', /must not be empty/],
      [holding(held, { as_of: '2999-01-01T00:00:00Z' }), 'as_of', /must not be after the present, \d{4}-.*Z, got /],
      [holding(held, { as_of: 'yesterday' }), 'as_of', /must be ISO 8601/],
      [holding(held, { audience: '' }), 'audience', /must not be empty/],
      [holding(held, { audience: 'a lender\u202e' }), 'audience', /must be one line/],
      [holding(held, { audience: 'a lender\nNobody else' }), 'audience', /must be one line/],
      [{ ...holding(held), claim: 'is_rich' }, 'claim', /must be value_at_least or holds_at_least/],
    ]
    for (const [body, parameter, rule] of cases) {
      const { status, body: problem, text } = await api.call<ErrorResponse>('POST', path, bearer, body)
      assert.equal(status, 400, text)
      assert.equal(problem.errors[0]?.parameter, parameter, text)
      assert.match(problem.errors[0]?.message ?? '', rule)
      assert.deepEqual(ErrorResponse.safeParse(problem).error?.issues ?? [], [])
    }
  })

  it('403: claims:read alone reads nothing else, and nothing else makes claims', async () => {
    const { access_token: bearer } = await api.signIn('ann', { scope: 'claims:read' })
    for (const other of [
      '/accounts/v2/assets',
      '/accounts/v2/transactions',
      '/accounts/v2/providers',
      '/platform/v1/assets',
    ]) {
      assert.equal((await api.call('GET', other, bearer)).status, 403, other)
    }
    const { access_token: reader } = await api.signIn('ann', { scope: 'assets:read transactions:read providers:read' })
    assert.equal((await api.call('POST', path, reader, holding(held))).status, 403)
    assert.equal((await api.call('POST', path, undefined, holding(held))).status, 401)
  })

  it('a rotated key verifies what it signed until that expires, even after it has left the ring', async () => {
    const { db } = api.service
    const owner = await db.row<{
      userKey: string
      tenantKey: number
      tenantId: string
      userId: string
      grantId: string
    }>(
      `select user_key as "userKey", tenant_key as "tenantKey", tenant_id as "tenantId", user_id as "userId", id as "grantId"
       from grants where user_id = $1`,
      [narrow.user_id],
    )
    const account: OwnedAccount = {
      ...{ providerId: 'kraken', fingerprint: 'f', fingerprintOf: 'account', grade: 'proved' },
      ...{ isFollowed: false, isKnown: true, amount: held, certain: held },
    }
    const owned = { asOf: db.now(), accounts: [account] }
    const make = (secret: string) =>
      createClaims({
        ...{ db, secrets: [Buffer.alloc(32, secret)], issuer: api.url, sandbox: true },
        ...{ listOwned: async () => owned, exchangeOf: (providerId) => providerId, freshForMs: 86_400_000 },
        ...{ wholeLedgers: [], claimable: [] },
      })
    const request = { claim: 'holds_at_least', assetId: 'crypto:bitcoin', amount: parseDecimal('0.00000001') } as const
    const asker = { ...owner, clientId: 'cli_demo' }
    const { statement } = await make('old').make(asker, {
      ...request,
      asOf: undefined,
      grades: ['proved'],
      audience: undefined,
    })
    const jwks = await make('new').jwks()
    const options = { issuer: api.url, audience: 'cli_demo', acceptSandbox: true, nowMs: db.clock.now() }
    assert.equal((await verifyClaim(statement ?? '', { ...options, jwks })).holds, true)
    assert.ok(jwks.keys.every((key) => !('d' in key)))
    assert.ok((await withdrawClaimKeys(db, [Buffer.alloc(32, 'new')])) > 0)
    const left = await make('new').jwks()
    assert.equal(left.keys.length, 1, 'an operator can withdraw keys that have leaked')
    await assert.rejects(verifyClaim(statement ?? '', { ...options, jwks: left }))
    await make('old').jwks()
    await api.moveClock(32 * 86_400)
    await db.clock.refresh()
    const kids = (await make('new').jwks()).keys.map(({ kid }) => kid)
    assert.deepEqual(kids.length, 1, 'keys whose statements have all expired are gone')
  })
})
