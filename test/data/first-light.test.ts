/**
 * One exchange, end to end: compares what the API serves with what the simulated Kraken holds, to the digit, for every
 * scenario in which a connection can be made.
 */
import assert from 'node:assert/strict'
import { before, describe, it, after } from 'node:test'
import { authorize, connect, fetchJson, fetchText, redeem, untilRead, walk, type Page } from '../application.ts'
import {
  explainedBySymbol,
  heldBySymbol,
  movedBySymbol,
  toUnits,
  type KrakenState,
  type ServedTransaction,
} from '../reconciler.ts'
import { until } from '../until.ts'
import { startTestService, type TestService } from '../service.ts'

interface Asset {
  asset_symbol: string
  exact: { total_holdings: string; asset_holdings: string; staked_holdings: string }
}

async function control<T>(service: TestService, path: string, body?: object): Promise<T> {
  const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`${service.sandbox.controlUrl}${path}`, init)
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as T
}

/** A separate account for this test, so that its state can be queried. */
async function addAccount(
  service: TestService,
  token: string,
  scenario: string,
  account: string,
): Promise<{ accountId: string; answer: AddAnswer }> {
  const made = await control<{ account_id: string; credentials: { api_key: string; secret_key: string } }>(
    service,
    '/control/accounts',
    { provider_id: 'kraken', scenario, account },
  )
  const response = await fetch(`${service.url}/accounts/v2/providers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ provider_id: 'kraken', connection: { type: 'api_key', ...made.credentials } }),
  })
  assert.equal(response.status, 200)
  return { accountId: made.account_id, answer: (await response.json()) as AddAnswer }
}

interface AddAnswer {
  data: { added: boolean; connection_id: string | null; status: string | null }
  errors: { cause: string; message: string; fix?: string }[]
}

describe('a Kraken account, end to end', () => {
  let service: TestService
  const hooks: (() => unknown)[] = []
  before(async () => {
    service = await startTestService({ after: (end) => void hooks.push(end as () => unknown) })
  })
  after(async () => {
    for (const end of hooks) await end()
  })

  for (const scenario of ['default', 'odd', 'empty', 'rate_limited', 'flaky']) {
    it(`serves in scenario ${scenario} exactly what the provider holds`, async () => {
      const { token } = await connect(service.url, `reader of ${scenario}`, [])
      const { accountId, answer } = await addAccount(service, token, scenario, `account ${scenario}`)
      assert.equal(answer.data.added, true, JSON.stringify(answer))
      // The next run begins soon after the first. Where the provider fails at random, it may be waiting to try again.
      await until('the connection is active', async () => {
        const [connection] = await untilRead(service.url, token)
        return connection?.status === 'active' ? true : undefined
      })

      const state = await control<KrakenState>(service, `/control/accounts/${accountId}/state`)
      const assets = await walk<Asset>(service.url, '/accounts/v2/assets?limit=100', token)
      const served = new Map(assets.map((asset) => [asset.asset_symbol, toUnits(asset.exact.total_holdings)]))
      assert.deepEqual(
        [...served].toSorted(([a], [b]) => (a < b ? -1 : 1)),
        [...heldBySymbol(state)],
      )

      const transactions = await walk<ServedTransaction>(service.url, '/accounts/v2/transactions?limit=100', token)
      assert.deepEqual(explainedBySymbol(transactions), movedBySymbol(state))
      const references = new Set(transactions.map((one) => one.provider_reference))
      // The two halves of an old transfer to or from staking may have a reference each and are one transaction.
      const unseen = state.ledger.filter((entry) => !references.has(entry.refid))
      const moves = state.ledger.filter((entry) => /^(spot|staking)(to|from)(spot|staking)$/.test(entry.subtype))
      const halves = moves.filter(({ id, refid }) => moves.every((other) => other.id === id || other.refid !== refid))
      assert.ok(
        unseen.every((entry) => halves.includes(entry)),
        JSON.stringify(unseen),
      )
      assert.equal(unseen.length * 2, halves.length)
      assert.equal(new Set(transactions.map(({ id }) => id)).size, transactions.length)
    })
  }

  it('explains every balance of the default scenario by its transactions', async () => {
    const { token } = await connect(service.url, 'reader of default', [])
    const transactions = await walk<ServedTransaction>(service.url, '/accounts/v2/transactions?limit=100', token)
    const assets = await walk<Asset>(service.url, '/accounts/v2/assets?limit=100', token)
    const held = new Map(
      assets.map((asset): [string, bigint] => [asset.asset_symbol, toUnits(asset.exact.total_holdings)]),
    )
    assert.deepEqual(explainedBySymbol(transactions), new Map([...held].toSorted(([a], [b]) => (a < b ? -1 : 1))))
    assert.deepEqual(
      new Set(transactions.map(({ type }) => type)),
      new Set(['input_only', 'send', 'receive', 'output_only', 'input_and_output', 'uncategorized']),
    )
  })

  it('writes v1 numbers with every digit, in exactly the six fields of the reference', async () => {
    const { token } = await connect(service.url, 'reader of odd', [])
    const text = await fetchText(service.url, '/platform/v1/assets', token)
    assert.match(text, /"asset_symbol":"ZQNT","asset_holdings":123456789012\.123456789012345679,/)
    const rows = JSON.parse(text) as Record<string, unknown>[]
    for (const row of rows) {
      const fields = [
        'crypto_source_id',
        'asset_symbol',
        'asset_holdings',
        'staked_holdings',
        'price_in_usd',
        'time_fetched',
      ]
      assert.deepEqual(Object.keys(row), fields)
    }
    assert.doesNotMatch(text, /\d[eE][+-]?\d/)
  })

  const refused: [string, string][] = [
    ['invalid_credentials', 'invalid_credentials'],
    ['can_trade', 'excess_permission'],
    ['down', 'venue_down'],
  ]
  for (const [scenario, cause] of refused) {
    it(`refuses scenario ${scenario} with ${cause}, stores nothing and still gives the code`, async () => {
      const authorization = await authorize(service.url, `refused by ${scenario}`, [
        { provider_id: 'kraken', scenario },
      ])
      const [connection] = authorization.connections
      assert.equal(connection?.added, false)
      assert.equal(connection.connection_id, null)
      assert.deepEqual(
        connection.errors.map((error) => error.cause),
        [cause],
      )
      const { access_token: token, user_id: userId } = await redeem(service.url, authorization)
      const { data } = await fetchJson<Page<unknown>>(service.url, '/accounts/v2/providers', token)
      assert.deepEqual(data, [])
      const rows = await service.db.rows('select 1 from connections where user_id = $1', [userId])
      assert.deepEqual(rows, [])
    })
  }

  it('asks for repair when a key is revoked while it is being read, and keeps what was read', async () => {
    const { token } = await connect(service.url, 'revoked later', [])
    await addAccount(service, token, 'revoked_later', 'account revoked_later')
    const [connection] = await untilRead(service.url, token)
    assert.equal(connection?.status, 'needs_reauth')
    assert.equal(connection.status_cause, 'invalid_credentials')
    const { errors } = await fetchJson<Page<unknown>>(service.url, '/accounts/v2/assets', token)
    assert.deepEqual(
      errors.map(({ cause }) => cause),
      ['invalid_credentials'],
    )
  })

  it('finds the first connection when the same account is connected again', async () => {
    const { token } = await connect(service.url, 'twice', [])
    const first = await addAccount(service, token, 'empty', 'account twice')
    const second = await addAccount(service, token, 'empty', 'account twice')
    assert.equal(second.answer.data.added, false)
    assert.equal(second.answer.data.connection_id, first.answer.data.connection_id)
    assert.deepEqual(
      second.answer.errors.map(({ cause }) => cause),
      ['already_connected'],
    )
  })

  it('hides the connections of a session until its code is redeemed', async () => {
    const { token } = await connect(service.url, 'careful', [])
    const authorization = await authorize(service.url, 'careful', [{ provider_id: 'kraken', scenario: 'empty' }])
    assert.equal(authorization.connections[0]?.added, true)
    assert.deepEqual((await fetchJson<Page<unknown>>(service.url, '/accounts/v2/providers', token)).data, [])
    await redeem(service.url, authorization)
    assert.equal((await fetchJson<Page<unknown>>(service.url, '/accounts/v2/providers', token)).data.length, 1)
  })

  it('removes a connection with its key and everything read through it', async () => {
    const { token, authorization } = await connect(service.url, 'leaving', [{ provider_id: 'kraken' }])
    await untilRead(service.url, token)
    const id = authorization.connections[0]?.connection_id ?? ''
    const { user_key: userKey, connection_key: connectionKey } = await service.db.row<{
      user_key: string
      connection_key: number
    }>('select user_key, connection_key from connections where id = $1', [id])
    const response = await fetch(`${service.url}/platform/v1/provider?connection_id=${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${token}` },
    })
    assert.deepEqual(await response.json(), { removed: true, connection_ids: [id], data_destroyed: true })
    const tables = ['connections', 'raw_records', 'due_groups', 'transactions', 'postings', 'daily_changes', 'holdings']
    for (const table of [...tables, 'covered_windows', 'transfer_legs', 'awaited_prices', 'observed_values']) {
      const left = await service.db.rows(
        `select 1 from ${table} where (user_key, connection_key) = ($1::bigint, $2::integer)`,
        [userKey, connectionKey],
      )
      assert.deepEqual(left, [], table)
    }
  })

  it('gives the same ids and bytes when a history is derived again', async () => {
    const { user_id: userId } = await redeem(service.url, await authorize(service.url, 'reader of default', []))
    const ofUser = '(select user_key from users where id = $1)'
    const post = async (path: string, body: object, token?: string): Promise<void> => {
      const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
      const response = await fetch(`${service.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      assert.equal(response.status, 200, await response.text())
    }
    const untilNone = (what: string, text: string): Promise<true> =>
      until(what, async () => ((await service.db.rows(text, [userId])).length === 0 ? true : undefined), 50)
    // On a busy machine a price may come after the transaction that it belongs to; upkeep, due now, writes it in.
    await post('/sandbox/clock', { advance_ms: 3_600_000 })
    await untilNone('every price is there', `select 1 from awaited_prices where user_key = ${ofUser} limit 1`)
    const { token } = await connect(service.url, 'reader of default', [])
    const first = await fetchText(service.url, '/accounts/v2/transactions?limit=100', token)
    await service.db.execute(
      `insert into due_groups (user_key, connection_key, group_key, stream, partition, occurred_at, oldest_at, mark)
       select user_key, connection_key, group_key, max(stream), max(partition), max(occurred_at), min(occurred_at), 1
       from raw_records where user_key = ${ofUser} group by user_key, connection_key, group_key`,
      [userId],
    )
    // A refresh begins after its request. The next run might have begun before: it would not look at these groups.
    await post('/accounts/v2/transactions/refresh', {}, token)
    await untilNone('derived again', `select 1 from due_groups where user_key = ${ofUser} limit 1`)
    assert.equal(await fetchText(service.url, '/accounts/v2/transactions?limit=100', token), first)
  })
})
