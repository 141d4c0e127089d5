import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openResource, type SignedIn } from '../../../apps/server/src/http/test-resource.ts'
import { demo } from '../../../test/application.ts'
import {
  createClient,
  createEnterpriseClient,
  createPkce,
  exchangeCode,
  OAuthError,
  ProblemError,
  toTokenClient,
  type Tokens,
  type Transaction,
  type TransactionChange,
} from './index.ts'

async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of list) items.push(item)
  return items
}

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1)

describe('the client, against a running service', async () => {
  const api = await openResource()
  const noonMs = await api.moveToNoon()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken', scenario: 'odd' }] })
  await api.untilPriced()
  const app = { baseUrl: api.url, clientId: demo.clientId, clientSecret: demo.secret }
  interface Setting {
    expiresAtMs?: number
    onTokens?: (tokens: Tokens) => void
    fetch?: typeof fetch
  }
  const clientOf = (who: SignedIn, { expiresAtMs = Date.now() + 900_000, ...more }: Setting = {}) => {
    const { access_token: accessToken, refresh_token: refreshToken, scope, user_id: userId, grant_id: grantId } = who
    const tokens = { accessToken, refreshToken, scope, userId, grantId, expiresAtMs }
    return createClient({ ...app, tokens, ...more })
  }

  it('walks transactions page by page, with filters as lists and dates', async () => {
    const all = await collect(clientOf(ann).transactions())
    assert.ok(all.length > 200)
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length)
    const [newest] = all
    assert.ok(newest !== undefined)
    const since = new Date(newest.timestamp)
    const latest = await collect(clientOf(ann).transactions({ start_time: since, types: ['send', newest.type] }))
    assert.ok(latest.some(({ id }) => id === newest.id))
    assert.deepEqual(await clientOf(ann).transaction(newest.id), newest)
  })

  it('stops fetching when the reader stops reading', async () => {
    for await (const transaction of clientOf(ann).transactions()) {
      assert.match(transaction.id, /^txn_/)
      break
    }
  })

  it('follows changes, and keeps a copy that equals the list', async () => {
    const kay = await api.signIn('kay', { providers: [{ provider_id: 'kraken' }] })
    await api.untilPriced()
    const client = clientOf(kay)
    const changes = client.changes()
    const ids = new Set<string>()
    for await (const change of changes) ids.add(change.op === 'upsert' ? change.transaction.id : change.id)
    const listed = await collect(client.transactions())
    assert.deepEqual(ids, new Set(listed.map(({ id }) => id)))
    assert.deepEqual(await collect(client.changes({ cursor: changes.cursor })), [])
    assert.equal((await client.changesPage({ cursor: changes.cursor })).isLast, true)

    const copy = new Map<string, Transaction>()
    let cursor: string | undefined
    const kept = {
      loadCursor: () => cursor,
      reset: () => assert.fail('the cursor is young'),
      apply(page: readonly TransactionChange[], next: string) {
        for (const change of page) {
          if (change.op === 'upsert') copy.set(change.transaction.id, change.transaction)
          else copy.delete(change.id)
        }
        cursor = next
      },
    }
    assert.equal(await client.syncCopy(kept), listed.length)
    assert.deepEqual([...copy.values()].toSorted(byId), listed.toSorted(byId))
    await client.providers.remove({ provider_id: 'kraken' })
    assert.equal(await client.syncCopy(kept), listed.length)
    assert.equal(copy.size, 0)
  })

  it('returns removed transactions with a page of those changed since', async () => {
    const pat = await api.signIn('pat', { providers: [{ provider_id: 'kraken' }] })
    const client = clientOf(pat)
    const total = (await collect(client.transactions())).length
    await client.providers.remove({ provider_id: 'kraken' })
    const first = await client.transactionsPage({ updated_since: new Date('2020-01-01'), limit: 100 })
    assert.deepEqual([first.data.length, first.removed.length], [0, 100])
    const removed = first.removed.map(({ id }) => id)
    for (let { next } = first; next !== undefined;) {
      const page = await client.transactionsPage({ cursor: next })
      removed.push(...page.removed.map(({ id }) => id))
      next = page.next
    }
    assert.equal(new Set(removed).size, total)
    assert.deepEqual((await client.transactionsPage({ limit: 1 })).removed, [])
  })

  it('follows the changes of all users of a tenant', async () => {
    const tenant = createEnterpriseClient({
      ...{ baseUrl: api.url, clientId: 'cli_enterprise', clientSecret: 'sandbox-enterprise-secret' },
    })
    const ids = new Set<string>()
    for await (const change of tenant.changes()) if (change.op === 'upsert') ids.add(change.transaction.id)
    const listed = await collect(tenant.transactions())
    assert.deepEqual(ids, new Set(listed.map(({ id }) => id)))
  })

  it('exports what the list has, line by line, and as a table', async () => {
    const filters = { types: ['send', 'receive'] } as const
    const listed = await collect(clientOf(ann).transactions(filters))
    assert.deepEqual(await collect(clientOf(ann).exportTransactions(filters)), listed)
    const table = await new Response(await clientOf(ann).exportCsv(filters)).text()
    assert.equal(table.split('\r\n').length, listed.length + 2)
    await assert.rejects(collect(clientOf(ann).exportTransactions({ provider_ids: ['nowhere'] })), ProblemError)
    const reason = new Error('enough')
    await assert.rejects(clientOf(ann).exportCsv({}, { signal: AbortSignal.abort(reason) }), reason)
  })

  it('shows a tenant what its users have granted, and ends a consent', async () => {
    const client = { clientId: 'cli_enterprise', clientSecret: 'sandbox-enterprise-secret' }
    const tenant = createEnterpriseClient({
      baseUrl: api.url,
      ...client,
      scopes: ['enterprise:read', 'enterprise:manage'],
    })
    const eve = await api.signIn('eve')
    const users = await collect(tenant.users.list())
    assert.ok(users.some(({ user_id: id }) => id === ann.user_id))
    assert.equal((await tenant.users.get(eve.user_id)).connection_count, 0)
    assert.deepEqual(await collect(tenant.users.search({ external_user_ids: ['nobody'] })), [])
    const ofAnn = await collect(tenant.users.transactions(ann.user_id, { types: ['send'] }))
    assert.deepEqual(await collect(tenant.transactions({ user_ids: [ann.user_id], types: ['send'] })), ofAnn)
    assert.ok(ofAnn.length > 0 && ofAnn.every(({ user_id: id }) => id === ann.user_id))
    assert.deepEqual(await collect(tenant.users.assets(ann.user_id)), await collect(clientOf(ann).assets()))
    assert.ok((await collect(tenant.accounts())).some(({ user_id: id }) => id === ann.user_id))
    assert.ok((await collect(tenant.providers())).some(({ provider_id: id }) => id === 'kraken'))
    assert.ok((await tenant.stats.users()).data.users >= 2)
    assert.equal((await tenant.stats.accountsByProvider()).data[0]?.provider_id, 'kraken')
    assert.match((await tenant.stats.balances()).data.value_in_usd, /^\d+\.\d+$/)
    assert.ok((await tenant.stats.topAssets()).data.length > 3)
    assert.deepEqual(await tenant.users.end(eve.user_id), { user_id: eve.user_id, grants_ended: 1 })
    await assert.rejects(tenant.users.get(eve.user_id), ProblemError)
    const reader = createEnterpriseClient({ baseUrl: api.url, ...client })
    await assert.rejects(
      reader.users.end(ann.user_id),
      (error) => error instanceof ProblemError && error.status === 403,
    )
  })

  it('reports with a page of positions which connections are not up to date', async () => {
    const [connectionId = ''] = ann.connectionIds
    const setStatus = (status: string): Promise<number> =>
      api.service.db.execute('update connections set status = $2 where id = $1', [connectionId, status])
    await setStatus('needs_reauth')
    const page = await clientOf(ann).assetsPage({ limit: 2 })
    await setStatus('active')
    assert.deepEqual(
      page.errors.map(({ connection_id: id }) => id),
      [connectionId],
    )
    assert.equal(page.data.length, 2)
    const rest = await clientOf(ann).assetsPage({ cursor: page.next ?? '', limit: 100 })
    const all = await collect(clientOf(ann).assets())
    assert.deepEqual([...page.data, ...rest.data], all)
    assert.equal(rest.next, undefined)
  })

  it('gives quantities with every digit, in v1 and v2', async () => {
    const positions = await collect(clientOf(ann).assets())
    for (const { exact, asset_holdings: held, staked_holdings: staked, price_in_usd: price } of positions) {
      assert.deepEqual([held, staked, price], [exact.asset_holdings, exact.staked_holdings, exact.price_in_usd])
    }
    const rows = await clientOf(ann).assetsV1({ asset_symbols: ['ZQNT'] })
    assert.equal(rows[0]?.asset_holdings, '123456789012.123456789012345679')
  })

  it('shows what holdings were worth, day by day', async () => {
    const [yesterday, today] = [noonMs - 86_400_000, noonMs].map((ms) => new Date(ms).toISOString())
    const points = await clientOf(ann).assetHistory({ start_time: yesterday ?? '' })
    assert.deepEqual(
      points.map(({ date }) => date),
      [yesterday?.slice(0, 10), today?.slice(0, 10)],
    )
    assert.match(points[1]?.value_in_usd ?? '', /^\d+\.\d+$/)
  })

  it('lists, adds and removes providers; a refused key is an answer and not an exception', async () => {
    const bob = clientOf(await api.signIn('bob', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] }))
    const [connected] = await collect(bob.providers.list())
    assert.equal(connected?.provider_id, 'kraken')
    assert.equal((await bob.providers.coverage(connected.connection_id)).length, 3)
    assert.equal((await collect(bob.providers.catalog({ search: 'krak' })))[0]?.provider_id, 'kraken')
    const secret = Buffer.alloc(64).toString('base64')
    const added = await bob.providers.add({
      provider_id: 'kraken',
      connection: { type: 'api_key', api_key: 'k'.repeat(56), secret_key: secret },
    })
    assert.deepEqual([added.added, added.errors[0]?.cause], [false, 'invalid_credentials'])
    const removed = await bob.providers.remove({ connection_id: connected.connection_id })
    assert.deepEqual(removed.connection_ids, [connected.connection_id])
    assert.deepEqual(await collect(bob.providers.list()), [])
  })

  it('asks for a refresh and follows it', async () => {
    const client = clientOf(ann)
    const { refresh_id: id } = await client.refreshTransactions(ann.connectionIds)
    assert.equal((await client.refresh(id)).refresh_id, id)
    assert.equal((await clientOf(await api.signIn('zoe')).refreshAssets()).status, 'succeeded')
  })

  it('throws refusals as problems, with the request id and what was wrong', async () => {
    const wrong = collect(clientOf(ann).transactions({ provider_ids: ['nowhere'] }))
    await assert.rejects(wrong, (error) => {
      assert.ok(error instanceof ProblemError)
      assert.deepEqual([error.status, error.code], [400, 'invalid_request'])
      assert.equal(error.errors[0]?.cause, 'unknown_provider')
      assert.match(error.requestId, /^req_/)
      return true
    })
  })

  it('is stopped by its signal', async () => {
    const reason = new Error('enough')
    const list = collect(clientOf(ann).assets({}, { signal: AbortSignal.abort(reason) }))
    await assert.rejects(list, reason)
  })

  it('refreshes an expiring token once for all waiting calls, and passes the new pair on', async () => {
    const kept: Tokens[] = []
    const client = clientOf(await api.signIn('kim'), {
      expiresAtMs: Date.now() + 1_000,
      onTokens: (tokens) => void kept.push(tokens),
    })
    await Promise.all([collect(client.assets()), collect(client.providers.list()), client.assetsV1()])
    assert.equal(kept.length, 1)
    assert.deepEqual(client.tokens(), kept[0])
  })

  it('repeats a refresh at once whose answer was lost, so that the consent lives', async () => {
    let lost = 0
    const losing: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init)
      if (!new Request(input).url.endsWith('/oauth/token') || lost > 0) return answer
      lost += 1
      throw new TypeError('the connection was cut')
    }
    const client = clientOf(await api.signIn('liv'), { expiresAtMs: Date.now() + 1_000, fetch: losing })
    await client.assetsV1()
    assert.equal(lost, 1)
    await api.moveClock(901)
    await client.assetsV1()
  })

  it('passes a pair on again that the application could not store', async () => {
    const kept: Tokens[] = []
    let tries = 0
    const client = clientOf(await api.signIn('mia'), {
      expiresAtMs: Date.now() + 1_000,
      onTokens(tokens) {
        tries += 1
        if (tries === 1) throw new Error('the disk is full')
        kept.push(tokens)
      },
    })
    await assert.rejects(client.assetsV1(), /the disk is full/)
    await client.assetsV1()
    assert.deepEqual([tries, kept], [2, [client.tokens()]])
  })

  it('shares stored tokens between processes, which spend refresh tokens one at a time (RFC 9700 §4.14)', async () => {
    const {
      access_token: accessToken,
      refresh_token: refreshToken,
      scope,
      user_id: userId,
      ...ned
    } = await api.signIn('ned')
    const ending = (): number => Date.now() + 1_000
    let stored: Tokens = { accessToken, refreshToken, scope, userId, grantId: ned.grant_id, expiresAtMs: ending() }
    const kept: Tokens[] = []
    let last: Promise<void> = Promise.resolve()
    const openProcess = () =>
      createClient({
        ...app,
        tokens: stored,
        loadTokens: () => stored,
        onTokens: (tokens) => void kept.push((stored = tokens)),
        lock: (work) => (last = last.then(work)),
      })
    const [first, second] = [openProcess(), openProcess()]
    await first.assetsV1()
    // After the time in which the service accepts a repeated refresh as a retry.
    await api.moveClock(11)
    await second.assetsV1()
    assert.deepEqual([kept.length, second.tokens()], [1, stored])

    stored = { ...stored, expiresAtMs: ending() }
    await Promise.all([openProcess(), openProcess()].map((each) => each.assetsV1()))
    assert.equal(kept.length, 2)
    // The family lives: its newest token can be spent.
    stored = { ...stored, expiresAtMs: ending() }
    await openProcess().assetsV1()
    assert.equal(kept.length, 3)

    // What one process could not store does not replace the newer pair of another.
    stored = { ...stored, expiresAtMs: ending() }
    const spent = stored
    const failing = createClient({
      ...app,
      tokens: stored,
      loadTokens: () => stored,
      onTokens() {
        throw new Error('the disk is full')
      },
    })
    await assert.rejects(failing.assetsV1(), /the disk is full/)
    await openProcess().assetsV1()
    assert.notEqual(stored.refreshToken, spent.refreshToken)
    await failing.assetsV1()
    assert.deepEqual(failing.tokens(), stored)
  })

  it('refreshes a token that the service no longer accepts, and says when the consent has ended', async () => {
    const lou = await api.signIn('lou')
    await api.service.db.execute('delete from access_tokens where user_id = $1', [lou.user_id])
    const client = clientOf(lou)
    assert.deepEqual(await collect(client.assets()), [])
    await client.revoke()
    await assert.rejects(
      collect(client.assets()),
      (error) => error instanceof OAuthError && error.code === 'invalid_grant',
    )
  })

  it('redeems a code with its verifier', async () => {
    const { codeVerifier, codeChallenge } = await createPkce()
    const { body } = await api.call<{ code: string }>('POST', '/sandbox/authorizations', undefined, {
      client_id: demo.clientId,
      code_challenge: codeChallenge,
      code_challenge_method: 'S256',
      state: crypto.randomUUID(),
      user: 'max',
      providers: [],
    })
    const exchange = { code: body.code, codeVerifier, redirectUri: demo.redirectUri }
    const browser = { baseUrl: app.baseUrl, clientId: app.clientId }
    const shortTerm = await exchangeCode(toTokenClient(browser), exchange)
    assert.equal(shortTerm.refreshToken, undefined)
    assert.match(shortTerm.userId, /^usr_/)
    await assert.rejects(exchangeCode(toTokenClient(app), exchange), OAuthError)
  })
})
