import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { buildWorld } from '../../harbor/history.ts'
import type { Sandbox } from '../../index.ts'
import { openHarbor, type HarborClient } from '../../testing/harbor-client.ts'
import { startTestSandbox } from '../../testing/kraken-client.ts'
import { defaultStory } from './default.ts'
import { harborScenarios } from './index.ts'
import { largeStory } from './large.ts'

interface Page {
  entries: { id: string; kind: string; reference: string; hash: string | null; address: string | null }[]
  next: string | null
}

let sandbox: Sandbox
let harbor: HarborClient
before(async () => {
  sandbox = await startTestSandbox()
  harbor = openHarbor(sandbox)
})
after(() => sandbox.close())

describe('the scenarios of Harbor', () => {
  it('are those that its document names', () => {
    const names = harborScenarios.map(({ name }) => name)
    assert.deepEqual(names, [
      'default',
      'empty',
      'large',
      'invalid_credentials',
      'can_trade',
      'rate_limited',
      'down',
      'revoked_later',
      'flaky',
    ])
  })

  it('default: 149 entries of every kind over two years, the same whenever it is built', () => {
    const { rows } = buildWorld(defaultStory()).entries
    assert.equal(rows.length, 149)
    assert.deepEqual(
      [rows[0], rows.at(-1)].map((row) => new Date((row?.atTicks ?? 0) / 10).toISOString().slice(0, 7)),
      ['2024-11', '2026-10'],
    )
    assert.deepEqual(new Set(rows.map(({ kind }) => kind)), new Set(['deposit', 'trade', 'reward', 'withdrawal']))
    const trades = Map.groupBy(rows, ({ reference }) => reference)
    for (const legs of trades.values()) assert.equal(legs.length, legs[0]?.kind === 'trade' ? 2 : 1)
    assert.deepEqual(buildWorld(defaultStory()).entries.rows, rows)
  })

  it('default: amounts from the smallest step to fifteen digits before the point', () => {
    const { rows } = buildWorld(defaultStory()).entries
    const amounts = new Set(rows.map(({ amount }) => amount))
    for (const amount of [1n, 123456789012345123456789012345678n]) assert.ok(amounts.has(amount), String(amount))
    assert.ok(rows.some(({ fee }) => fee === 1n))
  })

  it('default: transfers have hash and address, and two withdrawals in one transaction are told apart', async () => {
    const { access_token } = await harbor.signIn('default:hashes')
    const { entries } = await harbor.read<Page>(access_token, '/v1/entries')
    const withHash = entries.filter(({ hash }) => hash !== null)
    assert.ok(withHash.every(({ kind, address }) => address !== null && /deposit|withdrawal/.test(kind)))
    const [pair] = [...Map.groupBy(withHash, ({ hash }) => hash).values()].filter(({ length }) => length > 1)
    assert.deepEqual(
      pair?.map(({ kind }) => kind),
      ['withdrawal', 'withdrawal'],
    )
    assert.equal(new Set(pair?.map(({ address }) => address)).size, 2)
  })

  it('empty: nothing, and nothing missing', async () => {
    const { access_token } = await harbor.signIn('empty')
    assert.deepEqual(await harbor.read(access_token, '/v1/balances'), { balances: [] })
    assert.deepEqual(await harbor.read(access_token, '/v1/entries'), { entries: [], next: null })
  })

  it('large: 100,000 entries within the same two years, of which nobody spends what is not there', () => {
    const { rows } = buildWorld(largeStory()).entries
    assert.equal(rows.length, 100_000)
    assert.deepEqual(
      [rows[0], rows.at(-1)].map((row) => new Date((row?.atTicks ?? 0) / 10).toISOString().slice(0, 7)),
      ['2024-11', '2026-10'],
    )
  })

  it('invalid_credentials: there is a code, and no tokens for it', async () => {
    await assert.rejects(harbor.signIn('invalid_credentials'), { error: 'invalid_grant' })
  })

  it('rate_limited: the third call at once is told to wait, and is answered after that', async (t) => {
    let now = Date.UTC(2026, 10, 1)
    const slow = await startTestSandbox({ now: () => now, pace: 'real' })
    t.after(() => slow.close())
    const client = openHarbor(slow)
    const { access_token } = await client.signIn('rate_limited')
    const call = (): Promise<Response> => client.get(access_token, '/v1/me')
    const statuses = [(await call()).status, (await call()).status]
    const refused = await call()
    now += Number(refused.headers.get('retry-after')) * 1_000
    assert.deepEqual([...statuses, refused.status, (await call()).status], [200, 200, 429, 200])
  })

  it('can_trade: has the right to trade, although only reading was asked for', async () => {
    const tokens = await harbor.signIn('can_trade', 'read')
    assert.equal(tokens.scope, 'read trade')
    const { scopes } = await harbor.read<{ scopes: string[] }>(tokens.access_token, '/v1/me')
    assert.deepEqual(scopes, ['read', 'trade'])
  })

  it('down: signing in and refreshing work, every call of the API answers 503', async () => {
    const { access_token } = await harbor.refresh(await harbor.signIn('down'))
    for (const path of ['/v1/me', '/v1/balances', '/v1/entries']) {
      const answer = await harbor.get(access_token, path)
      assert.deepEqual([answer.status, await answer.json()], [503, { error: 'unavailable' }])
    }
  })

  it('revoked_later: tokens end with the fiftieth entry; after signing in again the rest can be read', async () => {
    const tokens = await harbor.signIn('revoked_later')
    const { next } = await harbor.read<Page>(tokens.access_token, '/v1/entries?limit=49')
    const page = await harbor.read<Page>(tokens.access_token, `/v1/entries?limit=51&cursor=${next ?? ''}`)
    assert.equal((await harbor.get(tokens.access_token, '/v1/me')).status, 401)
    await assert.rejects(harbor.refresh(tokens), { error: 'invalid_grant' })
    const again = await harbor.signIn('revoked_later')
    const rest = await harbor.read<Page>(again.access_token, `/v1/entries?cursor=${page.next ?? ''}`)
    assert.deepEqual([rest.entries.length, rest.next], [49, null])
    assert.equal((await harbor.get(again.access_token, '/v1/me')).status, 200)
  })

  it('flaky: two calls pass, then 500 and 429 come and go, the same in every run', async () => {
    const { access_token } = await harbor.signIn('flaky')
    const statuses: number[] = []
    for (let count = 0; count < 12; count += 1) statuses.push((await harbor.get(access_token, '/v1/me')).status)
    const cycle = [500, 200, 429, 200, 200]
    assert.deepEqual(statuses, [200, 200, ...cycle, ...cycle])
  })
})
