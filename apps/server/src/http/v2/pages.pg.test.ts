/** The rules of pages (http/paging/pages.ts), over HTTP, for every list of v1, v2 and enterprise. */
import type { ErrorResponse } from '@assay/contract'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openResource, type Answer } from '../test-resource.ts'

interface List {
  path: string
  token: string | undefined
  /** Where the rows and the next page are in the answer. */
  style: 'page' | 'link'
  /** A filter that all rows pass, and one that contradicts it. */
  filter?: [name: string, value: string, other: string]
  limitDefault: number | null
}

const transactionsTotal = 41

describe('pages of every list', async () => {
  const api = await openResource({ role: 'api' })
  const { db } = api.service
  const ann = await api.signIn('ann')
  const bob = await api.signIn('bob')
  const cat = await api.signIn('cat')
  const tenant = await api.enterpriseToken()

  await db.execute(
    `insert into assets (id, kind, symbol, name) select 'test:' || a, 'crypto', 'S' || a, 'S' from generate_series(1, 2) a`,
    [],
  )
  for (const { user_id: user } of [ann, bob, cat]) {
    await db.execute(
      `with ledger as (
         insert into user_ledgers (user_key, connection_keys) select user_key, 3 from users where id = $1
       ), connected as (
         insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
           status, key_lane, created_at, added_at, shown_at, shown_seq, balances_at)
         select u.user_key, n, 'con_' || n || u.id, u.tenant_key, u.tenant_id, u.id, 'kraken', 'api_key', 'active', n || u.id,
           $2, $2, $2, 0, $2
         from users u, generate_series(1, 3) n where u.id = $1 returning *)
       insert into holdings (user_key, connection_key, asset_key, liquid, staked, changed_at)
       select user_key, connection_key, asset_key, 1, 0, $2 from connected, assets where assets.id like 'test:%'`,
      [user, db.now()],
    )
    await addTransactions(user, user === ann.user_id ? transactionsTotal : 2)
  }
  /** Adds transactions to the user's first connection, three for each second. */
  async function addTransactions(user: string, count: number, name = '', second = 'n / 3'): Promise<void> {
    await db.execute(
      `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type, category,
         pending, staked_legs, provider_id, group_key, document)
       select u.user_key, md5(u.id || $3 || ' ' || n)::uuid, timestamptz '2026-01-01Z' + (${second}) * interval '1 second', n, $4, 1,
         u.tenant_key, 'send', 'withdrawal', false, 0, 'kraken', $3 || n, '"type":"send","description":"' || $3 || '"}'
       from users u, generate_series(1, $2::int) n where u.id = $1`,
      [user, count, name, db.now()],
    )
  }
  const token = ann.access_token
  const types: List['filter'] = ['types', 'send', 'receive']
  const lists: List[] = [
    { path: '/accounts/v2/providers', token, style: 'page', limitDefault: 30 },
    {
      path: '/accounts/v2/providers/catalog',
      token: undefined,
      style: 'page',
      limitDefault: 30,
      filter: ['kind', 'exchange', 'wallet'],
    },
    {
      path: '/accounts/v2/assets',
      token,
      style: 'page',
      limitDefault: 30,
      filter: ['provider_ids', 'kraken', 'bitcoin'],
    },
    { path: '/accounts/v2/transactions', token, style: 'page', limitDefault: 30, filter: types },
    { path: '/enterprise/v2/transactions', token: tenant, style: 'page', limitDefault: 30, filter: types },
    { path: '/enterprise/v2/users', token: tenant, style: 'page', limitDefault: 30 },
    { path: `/enterprise/v2/users/${ann.user_id}/assets`, token: tenant, style: 'page', limitDefault: 30 },
    {
      path: `/enterprise/v2/users/${ann.user_id}/transactions`,
      token: tenant,
      style: 'page',
      limitDefault: 30,
      filter: types,
    },
    { path: '/enterprise/v2/accounts', token: tenant, style: 'page', limitDefault: 30 },
    { path: '/enterprise/v2/providers', token: tenant, style: 'page', limitDefault: 30 },
    { path: '/platform/v1/provider', token, style: 'link', limitDefault: null },
    {
      path: '/platform/v1/assets',
      token,
      style: 'link',
      limitDefault: null,
      filter: ['crypto_sources', 'kraken', 'bitcoin'],
    },
    {
      path: '/platform/v1/transactions',
      token,
      style: 'link',
      limitDefault: 30,
      filter: ['crypto_sources', 'kraken', 'bitcoin'],
    },
  ]

  interface Page {
    rows: unknown[]
    next: string
  }

  function readAnswer(list: List, answer: Answer): Page {
    assert.equal(answer.status, 200, answer.text)
    if (list.style === 'link') {
      const link = answer.headers.get('link')
      if (link === null) return { rows: answer.body as unknown[], next: '' }
      // RFC 8288 §3.
      const [, next = ''] = /^<([^<>]+)>; rel="next"$/.exec(link) ?? []
      assert.notEqual(next, '', link)
      return { rows: answer.body as unknown[], next }
    }
    const body = answer.body as { data: unknown[]; page: { next: string } }
    assert.equal(answer.headers.get('link'), null)
    return { rows: body.data, next: body.page.next }
  }
  const ask = async (list: List, uri: string): Promise<Page> => readAnswer(list, await api.call('GET', uri, list.token))
  const withQuery = (list: List, query: string): string => `${list.path}?${query}`
  const filterOf = ({ filter }: List): string => (filter === undefined ? '' : `&${filter[0]}=${filter[1]}`)
  const cursorOf = (next: string): string => new URLSearchParams(next.split('?')[1]).get('cursor') ?? ''

  async function walk(list: List, first: string): Promise<unknown[]> {
    const rows: unknown[] = []
    for (let next = first; next !== '';) {
      const page = await ask(list, next)
      rows.push(...page.rows)
      next = page.next
    }
    return rows
  }

  async function refused(list: List, query: string, parameter: string, as = list.token): Promise<string> {
    const { status, body, text } = await api.call<ErrorResponse>('GET', withQuery(list, query), as)
    assert.equal(status, 400, `${query}: ${text}`)
    assert.equal(body.errors[0]?.parameter, parameter, query)
    return body.errors[0]?.message ?? ''
  }

  for (const list of lists) {
    describe(list.path.replace(ann.user_id, '{id}'), () => {
      it('limit is from 1 to 100, otherwise a 400, never clamped', async () => {
        for (const limit of ['0', '101', '-1', '1.5', 'abc', '1e1', '']) await refused(list, `limit=${limit}`, 'limit')
        await refused(list, 'limit=5&limit=5', 'limit')
        assert.equal((await ask(list, withQuery(list, 'limit=1'))).rows.length, 1)
      })

      it('limit defaults to 30, except in v1 lists that return all rows unless a limit is given', async () => {
        const { rows } = await ask(list, list.path)
        const all = await walk(list, withQuery(list, 'limit=100'))
        assert.equal(rows.length, list.limitDefault === null ? all.length : Math.min(all.length, list.limitDefault))
      })

      it('next is empty on the last page, otherwise a relative URI of the path with filters, limit and cursor', async () => {
        assert.ok((await walk(list, withQuery(list, `limit=100${filterOf(list)}`))).length > 1)
        const { next } = await ask(list, withQuery(list, `limit=1${filterOf(list)}`))
        assert.ok(next.startsWith(`${list.path}?`), next)
        const query = new URLSearchParams(next.split('?')[1])
        const names = [...(list.filter === undefined ? [] : [list.filter[0]]), 'limit', 'cursor']
        assert.deepEqual([...query.keys()].toSorted(), names.toSorted())
        assert.equal(query.get('limit'), '1')
      })

      it('a walk with any limit returns every row once, in one order', async () => {
        const all = await walk(list, withQuery(list, `limit=100${filterOf(list)}`))
        assert.equal(new Set(all.map((row) => JSON.stringify(row))).size, all.length)
        assert.deepEqual(await walk(list, withQuery(list, `limit=7${filterOf(list)}`)), all)
      })

      it('every documented way fetches the next page', async () => {
        const { next } = await ask(list, withQuery(list, `limit=1${filterOf(list)}`))
        const expected = await ask(list, next)
        const whole = encodeURIComponent(next)
        const forms = [
          `limit=1&cursor=${cursorOf(next)}`,
          `cursor=${whole}`,
          `limit=1${filterOf(list)}&cursor=${whole}`,
        ]
        if (list.style === 'page') forms.push(`next_uri=${whole}`, `limit=1&next_uri=${cursorOf(next)}`)
        for (const form of forms) assert.deepEqual(await ask(list, withQuery(list, form)), expected, form)
        if (list.style === 'link') await refused(list, `next_uri=${whole}`, 'next_uri')
        else await refused(list, `cursor=${whole}&next_uri=${whole}`, 'next_uri')
      })

      it('limit is not a filter: it may change, and with a bare cursor it has its default', async () => {
        const { next } = await ask(list, withQuery(list, `limit=1${filterOf(list)}`))
        const rest = (await walk(list, withQuery(list, `limit=100${filterOf(list)}`))).slice(1)
        for (const [query, count] of [
          [`limit=2&cursor=${encodeURIComponent(next)}`, 2],
          [`cursor=${cursorOf(next)}`, list.limitDefault ?? rest.length],
        ] as const) {
          assert.deepEqual((await ask(list, withQuery(list, query))).rows, rest.slice(0, count), query)
        }
      })

      it('a filter that contradicts the cursor, or that the first request lacked, is a 400 that names it', async () => {
        if (list.filter === undefined) return
        const [name, value, other] = list.filter
        const filtered = cursorOf((await ask(list, withQuery(list, `limit=1${filterOf(list)}`))).next)
        await refused(list, `cursor=${filtered}&${name}=${other}`, name)
        const unfiltered = cursorOf((await ask(list, withQuery(list, 'limit=1'))).next)
        await refused(list, `cursor=${unfiltered}&${name}=${value}`, name)
      })

      it('a cursor that was altered, or belongs to another list or user, is a 400 that says so', async () => {
        const { next } = await ask(list, withQuery(list, 'limit=1'))
        const cursor = cursorOf(next)
        const altered = `${cursor.startsWith('A') ? 'B' : 'A'}${cursor.slice(1)}`
        for (const wrong of [altered, cursor.slice(0, -1), `${cursor}AA`, 'x']) {
          assert.match(await refused(list, `cursor=${wrong}`, 'cursor'), /altered/, wrong)
        }
        for (const other of lists.filter(({ path }) => path !== list.path)) {
          await refused(other, `cursor=${cursor}`, 'cursor')
        }
        if (list.token === token) await refused(list, `cursor=${cursor}`, 'cursor', bob.access_token)
      })
    })
  }

  it('the catalogue’s cursor is bound only to its filters: any caller may follow it, with or without a token', async () => {
    const [, catalog] = lists
    assert.ok(catalog)
    const { next } = await ask(catalog, withQuery(catalog, 'limit=1'))
    for (const as of [undefined, token, bob.access_token]) assert.equal((await api.call('GET', next, as)).status, 200)
  })

  it('rows that are added during a walk neither repeat nor hide one that was there', async () => {
    const list = lists.find(({ path }) => path === '/accounts/v2/transactions')
    assert.ok(list)
    const idsOf = (rows: readonly unknown[]): string[] => (rows as { id: string }[]).map(({ id }) => id)
    const before = idsOf(await walk(list, withQuery(list, 'limit=100')))
    const seen: string[] = []
    for (let next = withQuery(list, 'limit=5'), turn = 0; next !== ''; turn += 1) {
      const page = await ask(list, next)
      seen.push(...idsOf(page.rows))
      next = page.next
      // The rows are newer, older and in the middle of the existing ones.
      await addTransactions(ann.user_id, 4, `turn ${turn}`, 'n * 7 - 14')
    }
    assert.equal(new Set(seen).size, seen.length)
    assert.deepEqual(
      seen.filter((id) => before.includes(id)),
      before,
    )
  })

  it('a cursor survives new tokens and does not expire', async () => {
    const list = lists.find(({ path }) => path === '/accounts/v2/transactions')
    assert.ok(list)
    const { next } = await ask(list, withQuery(list, 'limit=1'))
    const expected = await ask(list, next)
    await api.moveClock(400 * 86_400)
    assert.equal((await api.call('GET', next, token)).status, 401)
    const again = await api.signIn('ann')
    assert.equal(again.user_id, ann.user_id)
    assert.deepEqual(await ask({ ...list, token: again.access_token }, next), expected)
  })
})
