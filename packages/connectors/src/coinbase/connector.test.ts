/**
 * The connector against answers of our own, shaped after docs.cdp.coinbase.com (coinbase-app: accounts, transactions,
 * pagination, api-key-authentication, oauth2-integration; advanced-trade-api: get-api-key-permissions).
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync, verify, type KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { NoAnswer, SourceError } from '@assay/core'
import type { Credentials, Io, PageRequest, AccountReader } from '../kit/connector.ts'
import { connector } from './connector.ts'

/** A body that is text is sent as it is. */
type Answers = (url: URL, call: number) => { status?: number; body?: unknown }

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = ec.privateKey.export({ type: 'sec1', format: 'pem' }).toString()
const keyName = 'organizations/0b1e5d1c-5f5e-4a43-9a34-000000000001/apiKeys/0b1e5d1c-5f5e-4a43-9a34-000000000002'
const withKey: Credentials = { type: 'api_key', apiKey: keyName, secretKey: pem }
const withToken: Credentials = { type: 'oauth2', getToken: async () => 'token' }
const nowMs = Date.parse('2026-05-01T00:00:00Z')

function open(answers: Answers, credentials = withKey): { reader: AccountReader; asked: Request[] } {
  const asked: Request[] = []
  let nonce = 0
  const io: Io = {
    async fetch(input, init) {
      const request = new Request(input, init)
      asked.push(request)
      const { status = 200, body = {} } = answers(new URL(request.url), asked.length)
      return typeof body === 'string' ? new Response(body, { status }) : Response.json(body, { status })
    },
    now: () => nowMs,
    nextNonce: () => String((nonce += 1)),
    baseUrl: undefined,
  }
  return { reader: connector.open(credentials, io), asked }
}

/** The forms of an error: of a JWT that is not accepted, of v2 and of v3. */
const unauthorized = { status: 401, body: 'Unauthorized\n' }
const invalidScope = { status: 403, body: { errors: [{ id: 'invalid_scope', message: 'Invalid scope' }] } }
const details = 'Missing required scopes'
const denied = { status: 403, body: { error: 'PERMISSION_DENIED', error_details: details, message: details } }

const nothing = { pagination: { ending_before: null, limit: 100, order: 'desc', next_uri: null }, data: [] }

/** Coinbase tells its time to everyone. */
const inTime =
  (answers: Answers, theirsMs = nowMs): Answers =>
  (url, call) =>
    url.pathname === '/v2/time' ? { body: { data: { epoch: theirsMs / 1_000 } } } : answers(url, call)

const part = (token: string, index: number): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()) as Record<string, unknown>

function isSignedBy(token: string, key: KeyObject): boolean {
  const [head = '', claims = '', signature = ''] = token.split('.')
  const bytes = Buffer.from(`${head}.${claims}`)
  const proof = Buffer.from(signature, 'base64url')
  return key.asymmetricKeyType === 'ec'
    ? verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, proof)
    : verify(null, bytes, key, proof)
}

const bearerOf = (request: Request | undefined): string =>
  (request?.headers.get('authorization') ?? '').replace(/^Bearer /, '')

const permissions = {
  can_view: true,
  can_trade: false,
  can_transfer: false,
  portfolio_uuid: 'p',
  portfolio_type: 'DEFAULT',
}
const rightsOf =
  (more: object): Answers =>
  ({ pathname }) =>
    pathname === '/v2/user' ? { body: { data: { id: 'user-1' } } } : { body: { ...permissions, ...more } }

describe('balances', () => {
  it('with a code that cannot be an asset’s are left out and named, and the others are read', async () => {
    const data = ['', 'X'.repeat(400), 'BTC'].map((currency, index) => ({
      ...{ id: `wallet-${index}`, name: 'a wallet', type: 'wallet' },
      balance: { amount: '1', currency },
    }))
    const { reader } = open(inTime(() => ({ body: { ...nothing, data } })))
    const { balances, unreadable } = await reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ symbol }) => symbol),
      ['BTC'],
    )
    assert.deepEqual(unreadable, ['an asset without a code', `${'X'.repeat(40)}…`])
    // Their histories are asked for, too: the records there name their own code.
    assert.equal((await reader.listPartitions?.({}))?.length, 3)
  })
})

describe('a request with a key', () => {
  it('is signed for its method, host and path only, for two minutes, with its own nonce', async () => {
    const { reader, asked } = open(() => ({ body: nothing }))
    await reader.fetchBalances({})
    await reader.fetchBalances({})
    const tokens = asked.map(bearerOf)
    const [token = ''] = tokens
    assert.ok(isSignedBy(token, ec.publicKey))
    const { nonce, ...head } = part(token, 0)
    assert.deepEqual(head, { alg: 'ES256', typ: 'JWT', kid: keyName })
    assert.notEqual(nonce, part(tokens[1] ?? '', 0)['nonce'])
    assert.deepEqual(part(token, 1), {
      ...{ iss: 'cdp', sub: keyName, uri: 'GET api.coinbase.com/v2/accounts' },
      ...{ nbf: nowMs / 1000, exp: nowMs / 1000 + 120 },
    })
  })

  it('an Ed25519 key comes as its 64 bytes, or as its first 32', async () => {
    const ed = generateKeyPairSync('ed25519')
    const { d = '', x = '' } = ed.privateKey.export({ format: 'jwk' })
    const [seed, half] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]
    for (const bytes of [Buffer.concat([seed, half]), seed]) {
      const credentials: Credentials = { ...withKey, secretKey: bytes.toString('base64') }
      const { reader, asked } = open(() => ({ body: nothing }), credentials)
      await reader.fetchBalances({})
      assert.equal(part(bearerOf(asked[0]), 0)['alg'], 'EdDSA')
      assert.ok(isSignedBy(bearerOf(asked[0]), ed.publicKey))
    }
  })

  it('a PEM block works however it was pasted', async () => {
    const pasted = [
      pem.replaceAll('\n', String.raw`\n`),
      pem.replaceAll('\n', ' '),
      pem.replaceAll('\n', ''),
      pem.replaceAll(/^/gm, '  '),
      ec.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ]
    for (const secretKey of pasted) {
      const { reader, asked } = open(() => ({ body: nothing }), { ...withKey, secretKey })
      await reader.fetchBalances({})
      assert.ok(isSignedBy(bearerOf(asked[0]), ec.publicKey))
    }
  })

  it('text that cannot be a CDP key is refused before it is sent, and is not quoted', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const wrong: Credentials[] = [
      { ...withKey, apiKey: 'aBcDeFgHiJkLmNoP', secretKey: 'q'.repeat(32) },
      { ...withKey, secretKey: 'q'.repeat(32) },
      { ...withKey, secretKey: pem.split('\n').slice(1, -2).join('') },
      { ...withKey, secretKey: rsa.export({ type: 'pkcs8', format: 'pem' }).toString() },
      { ...withKey, secretKey: pem.replace('M', '!') },
    ]
    for (const credentials of wrong) {
      const { reader, asked } = open(() => ({}), credentials)
      await assert.rejects(reader.verify(), (error) => {
        assert.ok(error instanceof SourceError && error.fault === 'invalid_credentials', String(error))
        return !/q{8}|MHc|MII/.test(error.message)
      })
      assert.equal(asked.length, 0)
    }
  })

  it('a first 401 is retried, and a second is final', async () => {
    const once = open(inTime((_, call) => (call === 1 ? unauthorized : { body: nothing })))
    assert.deepEqual((await once.reader.fetchBalances({})).balances, [])
    const twice = open(inTime(() => unauthorized))
    await assert.rejects(twice.reader.fetchBalances({}), { fault: 'invalid_credentials' })
    const accounts = twice.asked.filter(({ url }) => new URL(url).pathname !== '/v2/time')
    assert.equal(accounts.length, 2)
  })

  it('a 401 because of a wrong clock is not taken for a rejected key', async () => {
    for (const skewMs of [-600_000, 600_000]) {
      const theirsMs = nowMs + skewMs
      let token = ''
      const isInTime = (): boolean => {
        const { nbf, exp } = part(token, 1)
        return Number(nbf) * 1_000 <= theirsMs && Number(exp) * 1_000 > theirsMs
      }
      const answers = inTime(() => (isInTime() ? { body: nothing } : unauthorized), theirsMs)
      const { reader, asked } = open((url, call) => {
        token = bearerOf(asked.at(-1))
        return answers(url, call)
      })
      assert.deepEqual((await reader.fetchBalances({})).balances, [])
      // What was learned of the clock holds for the calls that follow.
      const before = asked.length
      await reader.fetchBalances({})
      assert.equal(asked.length, before + 1)
    }
  })

  it('a missing scope, a rate limit, a missing wallet and an outage are distinguished', async () => {
    for (const answer of [invalidScope, denied]) {
      await assert.rejects(open(() => answer).reader.fetchBalances({}), { fault: 'missing_permission' })
    }
    await assert.rejects(open(() => ({ status: 429 })).reader.fetchBalances({}), { fault: 'rate_limited' })
    await assert.rejects(open(() => ({ status: 404 })).reader.fetchBalances({}), { fault: 'unreadable_answer' })
    await assert.rejects(open(() => ({ status: 500 })).reader.fetchBalances({}), NoAnswer)
  })
})

describe('an error that Coinbase did not write', () => {
  const page = '<!DOCTYPE html><title>Just a moment...</title>'
  const bodies = [
    { success: false, errors: [{ code: 1020, message: 'Access denied' }] },
    { message: 'Unauthorized' },
    { errors: [] },
    'RBAC: access denied',
    '',
  ]

  for (const [name, credentials] of [
    ['key', withKey],
    ['sign-in', withToken],
  ] as const) {
    it(`is not blamed on a ${name}, whatever its status`, async () => {
      for (const status of [401, 403]) {
        await assert.rejects(open(() => ({ status, body: page }), credentials).reader.fetchBalances({}), NoAnswer)
        // Coinbase itself names an error with 401.
        const named = status === 401 ? [] : [{ error: 'Forbidden', message: 'no access' }]
        for (const body of [...bodies, ...named]) {
          const { reader, asked } = open(() => ({ status, body }), credentials)
          await assert.rejects(reader.fetchBalances({}), { fault: 'unreadable_answer' })
          assert.equal(asked.length, 1)
        }
      }
    })
  }

  it('of another form than the known ones is believed with 401 if it names an error', async () => {
    const body = { error: 'unauthorized', message: 'no such key' }
    const { reader } = open(inTime(() => ({ status: 401, body })))
    await assert.rejects(reader.fetchBalances({}), { fault: 'invalid_credentials' })
  })

  it('is not blamed on a key when only the time was asked for', async () => {
    for (const status of [401, 403]) {
      const withTime = (body: unknown): AccountReader =>
        open(({ pathname }) => (pathname === '/v2/time' ? { status, body } : unauthorized)).reader
      await assert.rejects(withTime(page).fetchBalances({}), NoAnswer)
      await assert.rejects(withTime(invalidScope.body).fetchBalances({}), { fault: 'unreadable_answer' })
    }
  })

  it('is neither an empty list nor an account without wallets under HTTP 200', async () => {
    const window = { unit: 'ms', start: 0, end: nowMs } as const
    const request = { stream: 'transactions', partition: 'BTC', pageMark: null, lastingMark: null, state: {}, window }
    for (const body of [
      ...[{ message: 'Service temporarily unavailable' }, { data: null }, {}, { errors: [{ id: 'x', message: 'y' }] }],
      ...[{ success: false, code: 503, message: 'try again', data: [] }, { data: [] }, { data: [], pagination: null }],
    ]) {
      const { reader } = open(() => ({ body }))
      await assert.rejects(reader.fetchBalances({}), { fault: 'unreadable_answer' })
      await assert.rejects(async () => reader.listPartitions?.({}), { fault: 'unreadable_answer' })
      await assert.rejects(reader.fetchPage(request), { fault: 'unreadable_answer' })
      await assert.rejects(reader.verify(), { fault: 'unreadable_answer' })
    }
  })
})

describe('the owner and the rights of a key', () => {
  it('a key that can only view is accepted; rights to trade or transfer and unknown rights are excessive', async () => {
    const excessOf = async (more: object): Promise<string[]> => (await open(rightsOf(more)).reader.verify()).excess
    assert.deepEqual(await excessOf({}), [])
    assert.deepEqual(await excessOf({ can_trade: true, can_transfer: true }), ['Trade', 'Transfer'])
    assert.deepEqual(await excessOf({ can_lend: true }), ['can_lend'])
  })

  it('a key that cannot view causes no further request', async () => {
    const { reader, asked } = open(rightsOf({ can_view: false }))
    assert.deepEqual((await reader.verify()).missing, ['View'])
    assert.equal(asked.length, 1)
  })

  it('a key and a sign-in of one person are one account; a key for another portfolio is another', async () => {
    const ofKey = async (more: object): Promise<string> => (await open(rightsOf(more)).reader.verify()).fingerprint
    const scopes = ['wallet:accounts:read', 'wallet:transactions:read']
    const user: Answers = () => ({ body: { data: { id: 'user-1', scopes } } })
    const signedIn = (await open(user, withToken).reader.verify()).fingerprint
    assert.equal(await ofKey({}), signedIn)
    assert.equal(await ofKey({ portfolio_uuid: 'q' }), signedIn)
    assert.notEqual(await ofKey({ portfolio_type: 'INTX' }), signedIn)
  })

  it('scopes that the user unchecked are missing, and scopes that do more than read are excessive', async () => {
    const answer =
      (scopes: string[]): Answers =>
      () => ({ body: { data: { id: 'user-1', scopes } } })
    const { missing, excess } = await open(
      answer(['wallet:accounts:read', 'wallet:transactions:send', 'offline_access']),
      withToken,
    ).reader.verify()
    assert.deepEqual([missing, excess], [['wallet:transactions:read'], ['wallet:transactions:send']])
  })
})

const wallet = (id: string, currency: string, amount: string, name = `${currency} Wallet`): object => ({
  ...{ id, name, type: 'wallet', currency: { code: currency, name: currency }, balance: { amount, currency } },
})

describe('wallets', () => {
  const pages: Answers = ({ searchParams }) =>
    searchParams.has('starting_after')
      ? {
          body: {
            pagination: { next_uri: '' },
            data: [wallet('w3', 'SOL', '2', 'Staked SOL'), wallet('w2', 'BTC', '0')],
          },
        }
      : {
          body: {
            pagination: { next_uri: '/v2/accounts?limit=100&starting_after=w2' },
            data: [wallet('w1', 'SOL', '1.000000001'), wallet('w2', 'BTC', '0'), wallet('ETH2', 'ETH2', '4')],
          },
        }

  it('of all pages are balances, with staked ones separate, and each is a list to read, even an empty one', async () => {
    const { reader, asked } = open(pages)
    const { balances, state = {} } = await reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ symbol, liquid, staked }) => [symbol, liquid, staked]),
      [
        ['SOL', '1.000000001', '2'],
        ['ETH', '0', '4'],
      ],
    )
    assert.deepEqual(state['staked'], ['ETH2', 'w3'])
    assert.equal((await reader.fetchBalances(state)).state, undefined)
    const lists = await reader.listPartitions?.(state)
    assert.deepEqual(
      lists?.map(({ partition }) => partition),
      ['w1', 'w2', 'ETH2', 'w3'],
    )
    assert.equal(new URL(asked[0]?.url ?? '').search, '?limit=100&order=desc')
  })

  it('of more pages than an account has are refused before they are collected, however long a page is', async () => {
    const long: Answers = (_, call) => {
      const data = Array.from({ length: 3_000 }, (_row, index) => wallet(`${call}-${index}`, 'BTC', '0'))
      return { body: { pagination: { next_uri: `/v2/accounts?limit=100&starting_after=${call}` }, data } }
    }
    const { reader, asked } = open(long)
    await assert.rejects(reader.fetchBalances({}), { fault: 'unreadable_answer', message: /more than 5000 wallets/ })
    assert.equal(asked.length, 2)
  })

  it('a next link cannot send the token to another host, nor loop', async () => {
    const away: Answers = (_, call) =>
      call === 1
        ? { body: { pagination: { next_uri: 'https://evil.example/x?limit=1' }, data: [] } }
        : { body: nothing }
    const { reader, asked } = open(away)
    await reader.fetchBalances({})
    assert.deepEqual(
      asked.map(({ url }) => new URL(url).host),
      ['api.coinbase.com', 'api.coinbase.com'],
    )
    const circle = open(() => ({ body: { pagination: { next_uri: '/v2/accounts?limit=100&order=desc' }, data: [] } }))
    await assert.rejects(circle.reader.fetchBalances({}), { fault: 'unreadable_answer' })
  })
})

describe('a page of transactions', () => {
  const walletId = '2bbf394c-193b-5b2a-9155-3b4732659ede'
  const rowAt = (id: string, time: string, more: object = {}): object => ({
    ...{ id, type: 'receive', status: 'completed', created_at: time, amount: { amount: '1', currency: 'BTC' } },
    resource_path: `/v2/accounts/${walletId}/transactions/${id}`,
    ...more,
  })
  const request = (more: Partial<PageRequest> = {}): PageRequest => ({
    ...{ stream: 'transactions', partition: walletId, pageMark: null, lastingMark: null, state: {} },
    window: { unit: 'ms', start: Date.parse('2026-01-01T00:00:00Z'), end: Date.parse('2026-04-01T00:00:00Z') },
    ...more,
  })
  const listOf =
    (data: object[], next = ''): Answers =>
    () => ({ body: { pagination: { next_uri: next }, data } })

  it('newest first: keeps what is in the window, and ends when a whole page lies below it', async () => {
    const next = `/v2/accounts/${walletId}/transactions?limit=100&starting_after=b`
    const inside = open(listOf([rowAt('a', '2026-04-02T00:00:00Z'), rowAt('b', '2026-03-01T00:00:00Z')], next))
    const page = await inside.reader.fetchPage(request())
    assert.deepEqual(
      page.records.map(({ key }) => key),
      ['b'],
    )
    assert.deepEqual([page.next, page.complete], ['limit=100&starting_after=b', undefined])
    const below = open(listOf([rowAt('c', '2025-12-31T23:59:59Z')], next))
    const last = await below.reader.fetchPage(request({ pageMark: 'limit=100&starting_after=x' }))
    assert.deepEqual([last.records, last.next, last.complete], [[], null, request().window])
  })

  it('a short or empty page with a next link continues', async () => {
    const { reader } = open(listOf([], '/v2/x?starting_after=q'))
    assert.equal((await reader.fetchPage(request())).next, 'starting_after=q')
  })

  it('a row that may still change is read again, until it is too old to be waited for', async () => {
    const pending = { status: 'pending' }
    const { reader } = open(
      listOf([rowAt('a', '2026-03-20T00:00:00Z', pending), rowAt('b', '2026-01-02T00:00:00Z', pending)]),
    )
    const { records } = await reader.fetchPage(request())
    assert.deepEqual(
      records.map((record) => record.pending),
      [true, undefined],
    )
  })

  it('repeated rows come once, and a row that cannot be read is kept', async () => {
    const row = rowAt('a', '2026-03-20T00:00:00Z')
    const { reader } = open(listOf([row, row, { id: 'z', type: 'send' }]))
    const { records } = await reader.fetchPage(request())
    assert.deepEqual(
      records.map(({ unreadable }) => unreadable === undefined),
      [true, false],
    )
  })

  it('a row whose time cannot be right is kept as unreadable, and does not end the walk', async () => {
    for (const at of ['1970-01-21T00:00:00Z', '2031-01-01T00:00:00Z']) {
      const { reader } = open(listOf([rowAt('a', at), rowAt('b', at)], '/v2/x?starting_after=b'))
      const { records, next } = await reader.fetchPage(request())
      assert.deepEqual(
        records.map(({ unreadable }) => unreadable),
        ['the time is out of range', 'the time is out of range'],
      )
      assert.equal(next, 'starting_after=b')
    }
  })

  it('a wallet that received a staking transfer is a staked one', async () => {
    const { reader } = open(listOf([rowAt('a', '2026-03-20T00:00:00Z', { type: 'staking_transfer' })]))
    assert.deepEqual((await reader.fetchPage(request())).state?.['staked'], [walletId])
  })

  it('a wallet whose id was its currency code is discovered by its rows, which are read from its own list', async () => {
    const { reader } = open(listOf([rowAt('a', '2026-03-20T00:00:00Z')]))
    const { records, state = {} } = await reader.fetchPage(request({ partition: 'BTC' }))
    assert.deepEqual([records, state['discovered']], [[], [walletId]])
    const empty = open(listOf([]))
    assert.deepEqual(await empty.reader.listPartitions?.(state), [{ stream: 'transactions', partition: walletId }])
  })

  it('two states that were learned at the same time are joined in either order', () => {
    const join = connector.atOnce?.joinStates.bind(connector.atOnce)
    assert.ok(join)
    const [one, other] = [
      { staked: ['a'], discovered: ['b'] },
      { staked: ['c'], discovered: [] },
    ]
    const both = { staked: ['a', 'c'], discovered: ['b'] }
    assert.deepEqual([join(one, other), join(other, one), join(both, one)], [both, both, both])
  })
})
