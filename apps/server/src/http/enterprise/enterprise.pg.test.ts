import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  continueUserSearch,
  endUser,
  getAccountStats,
  getBalanceStats,
  getTopAssets,
  getUser,
  getUserStats,
  listAccounts,
  listEnterpriseChanges,
  listEnterpriseProviders,
  listEnterpriseTransactions,
  listUserAssets,
  listUsers,
  listUserTransactions,
  searchUsers,
  type ErrorResponse,
} from '@assay/contract'
import { openResource, until } from '../test-resource.ts'

interface Page {
  page: { next: string }
  data: { id: string; user_id: string }[]
}

/** This is for items that have both. */
const newestFirst = (a: unknown, b: unknown): number => {
  const [one, other] = [a, b].map((item) => {
    const { timestamp, id } = item as { timestamp: string; id: string }
    return `${timestamp} ${id}`
  })
  return (one ?? '') < (other ?? '') ? 1 : -1
}

const kraken = [{ provider_id: 'kraken' }]

describe('the enterprise API', async () => {
  const api = await openResource()
  await api.moveToNoon()
  const ann = await api.signIn('ann', { providers: kraken })
  const bob = await api.signIn('bob', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
  const cat = await api.signIn('cat', { scope: 'assets:read' })
  await api.untilPriced()
  const token = await api.enterpriseToken()
  const usersPath = '/enterprise/v2/users'

  async function readToEnd(first: string): Promise<{ items: unknown[]; cursor: string }> {
    const items: unknown[] = []
    let cursor = ''
    for (let next = first; next !== '';) {
      const page = await api.ask(listEnterpriseChanges, next, token)
      items.push(...page.data)
      cursor = page.cursor
      next = page.page.next
    }
    return { items, cursor }
  }

  describe('200', () => {
    it('transactions of all users are those of each user, with the user’s id', async () => {
      const seen: string[] = []
      for (let next = '/enterprise/v2/transactions?limit=100'; next !== '';) {
        const page = await api.ask(listEnterpriseTransactions, next, token)
        for (const { user_id: user, id } of page.data) {
          assert.equal(user, ann.user_id)
          seen.push(id)
        }
        next = page.page.next
      }
      const own: string[] = []
      for (let next = '/accounts/v2/transactions?limit=100'; next !== '';) {
        const { body } = await api.call<Page>('GET', next, ann.access_token)
        own.push(...body.data.map(({ id }) => id))
        next = body.page.next
      }
      assert.ok(own.length > 100)
      assert.deepEqual(seen, own)
    })

    it('pages without filters, which SQL writes, equal those with a filter that excludes nothing', async () => {
      const { db } = api.service
      const setStatus = (status: string): Promise<number> =>
        db.execute('update connections set status = $2 where user_id = $1', [ann.user_id, status])
      await setStatus('syncing')
      const read = async (query: string): Promise<unknown[]> => {
        const pages: unknown[] = []
        for (let next = `/enterprise/v2/transactions?limit=40${query}`; next !== '';) {
          const { data, errors, page } = await api.ask(listEnterpriseTransactions, next, token)
          pages.push({ data, errors })
          next = page.next
        }
        return pages
      }
      const plain = await read('')
      const filtered = await read('&start_time=1970-01-01T00:00:00Z')
      await setStatus('active')
      assert.ok(plain.length > 2)
      assert.match(JSON.stringify(plain), /"cause":"sync_in_progress"/)
      assert.deepEqual(plain, filtered)
    })

    it('errors name only connections of users who granted providers:read, and reads are recorded', async () => {
      const { db } = api.service
      const set = (scopes: readonly string[], status: string): Promise<unknown> =>
        db.transaction(async (tx) => {
          await tx.execute('update grants set scopes = $2 where user_id = $1', [ann.user_id, scopes])
          await tx.execute('update connections set status = $2 where user_id = $1', [ann.user_id, status])
        })
      const { scopes } = await db.row<{ scopes: string[] }>('select scopes from grants where user_id = $1', [
        ann.user_id,
      ])
      const paths = [
        '/enterprise/v2/transactions?limit=5',
        '/enterprise/v2/transactions?limit=5&start_time=1970-01-01T00:00:00Z',
        `${usersPath}/${ann.user_id}/transactions?limit=5`,
        `${usersPath}/${ann.user_id}/assets?limit=5`,
        `${usersPath}/${ann.user_id}`,
        '/enterprise/v2/changes?limit=5',
      ]
      const countErrors = async (): Promise<number[]> => {
        const counts: number[] = []
        for (const path of paths) {
          const { body } = await api.call<{ errors: unknown[] }>('GET', path, token)
          counts.push(body.errors.length)
        }
        return counts
      }
      await set(scopes, 'syncing')
      const open = await countErrors()
      await set(['assets:read', 'transactions:read'], 'syncing')
      const closed = await countErrors()
      await set(scopes, 'active')
      assert.deepEqual(open, [1, 1, 1, 1, 1, 1])
      assert.deepEqual(closed, [0, 0, 0, 0, 0, 0])
      const wanted = [
        ...['getUser', 'listEnterpriseChanges', 'listEnterpriseTransactions', 'listUserAssets', 'listUserTransactions'],
      ]
      const readNames = async (): Promise<string[]> => {
        const rows = await db.rows<{ endpoint: string }>(
          `select distinct endpoint from grant_accesses join users using (user_key)
           where users.id = $1 and grant_id = 'cli_enterprise'`,
          [ann.user_id],
        )
        return rows.map(({ endpoint }) => endpoint)
      }
      await until(readNames, (names) => wanted.every((name) => names.includes(name)))
    })

    it('a read is recorded for the users that it names, also by a connection, and also when they have no such transaction', async () => {
      const { user_id } = bob
      const { db } = api.service
      const { id: connection } = await db.row<{ id: string }>('select id from connections where user_id = $1', [
        user_id,
      ])
      const list = '/enterprise/v2/transactions'
      for (const path of [
        `${list}?user_ids=${user_id}`,
        `${list}?connection_ids=${connection}`,
        `${list}?connection_ids=${connection}&end_time=2020-01-01T00:00:00Z`,
        // The last: reads are recorded in their order.
        `${usersPath}/${user_id}/transactions`,
      ]) {
        const { body } = await api.call<{ data: unknown[] }>('GET', path, token)
        assert.deepEqual(body.data, [])
      }
      const countReads = async (): Promise<Record<string, number>> => {
        const rows = await db.rows<{ endpoint: string; reads: number }>(
          `select endpoint, sum(count)::int as reads from grant_accesses join users using (user_key)
           where users.id = $1 and grant_id = 'cli_enterprise' group by endpoint`,
          [user_id],
        )
        return Object.fromEntries(rows.map(({ endpoint, reads }) => [endpoint, reads]))
      }
      const { listEnterpriseTransactions: reads } = await until(countReads, (of) => 'listUserTransactions' in of)
      assert.equal(reads, 3)
    })

    it('the pages of one user’s transactions have cursors that work for no other user', async () => {
      const path = `${usersPath}/${ann.user_id}/transactions`
      const first = await api.ask(listUserTransactions, `${path}?limit=2&types=send`, token)
      assert.equal(first.data.length, 2)
      assert.ok(first.page.next.startsWith(`${path}?`), first.page.next)
      const second = await api.ask(listUserTransactions, first.page.next, token)
      assert.notDeepEqual(second.data, first.data)
      const cursor = new URLSearchParams(first.page.next.split('?')[1]).get('cursor') ?? ''
      const other = `${usersPath}/${bob.user_id}/transactions?cursor=${cursor}`
      assert.equal((await api.call('GET', other, token)).status, 400)
      const whole = await api.ask(
        listUserTransactions,
        `${path}?next_uri=${encodeURIComponent(first.page.next)}`,
        token,
      )
      assert.deepEqual(whole.data, second.data)
    })

    it('changes give a copy that equals the list, page by page, and nothing new from their last cursor', async () => {
      const list: unknown[] = []
      for (let next = '/enterprise/v2/transactions?limit=100'; next !== '';) {
        const page = await api.ask(listEnterpriseTransactions, next, token)
        list.push(...page.data)
        next = page.page.next
      }
      const copy = new Map<string, unknown>()
      let cursor = ''
      for (let next = '/enterprise/v2/changes?limit=70'; next !== '';) {
        const page = await api.ask(listEnterpriseChanges, next, token)
        assert.ok(page.data.length <= 70)
        for (const item of page.data) {
          assert.equal(item.user_id, ann.user_id)
          if (item.op === 'upsert') copy.set(item.transaction.id, item.transaction)
          else assert.fail(item.op)
        }
        assert.ok(page.page.next === '' || page.page.next.endsWith(`cursor=${page.cursor}`), page.page.next)
        cursor = page.cursor
        next = page.page.next
      }
      assert.deepEqual([...copy.values()].toSorted(newestFirst), list)
      const later = await api.ask(listEnterpriseChanges, `/enterprise/v2/changes?cursor=${cursor}`, token)
      assert.deepEqual([later.data, later.page.next], [[], ''])
    })

    it('changes are numbered within two seconds, even if the tenant does not poll', async () => {
      await api.service.db.execute(
        'insert into user_notices (user_key, tenant_key) select user_key, tenant_key from users where id = $1',
        [ann.user_id],
      )
      const listWaiting = (): Promise<unknown[]> => api.service.db.rows('select from user_notices')
      await until(listWaiting, (waiting) => waiting.length === 0)
    })

    it('updated_since: nothing has changed since a time in the far future, and everything since the year 1', async () => {
      const since = (time: string) =>
        api.ask(listEnterpriseTransactions, `/enterprise/v2/transactions?updated_since=${time}`, token)
      assert.deepEqual((await since('9999-12-31T23:59:59.999Z')).data, [])
      assert.ok((await since('0001-01-01T00:00:00Z')).data.length > 0)
    })

    it('updated_since also lists removed transactions', async () => {
      const path = '/enterprise/v2/transactions?updated_since=2020-01-01T00:00:00Z&limit=1'
      assert.deepEqual((await api.ask(listEnterpriseTransactions, path, token)).removed, [])
      const { db } = api.service
      await db.execute(
        `insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, removed_at)
         select user_key, gen_random_uuid(), tenant_key, 1, n, $2::timestamptz from users, generate_series(1, 5) n
         where id = $1`,
        [ann.user_id, db.now()],
      )
      const first = '/enterprise/v2/transactions?types=output_only&updated_since=2020-01-01T00:00:00Z'
      const all = await api.ask(listEnterpriseTransactions, `${first}&limit=100`, token)
      assert.equal(all.removed?.length, 5)
      // Each list has its own point: the longer one continues when the other has ended.
      const removed: unknown[] = []
      const data: unknown[] = []
      for (let next = `${first}&limit=2`; next !== '';) {
        const page = await api.ask(listEnterpriseTransactions, next, token)
        assert.ok((page.removed?.length ?? 0) <= 2 && page.data.length <= 2)
        removed.push(...(page.removed ?? []))
        data.push(...page.data)
        next = page.page.next
      }
      assert.deepEqual([data, removed], [all.data, all.removed])
    })

    it('the ids of removed transactions are recorded as a read of their users, and name none of them', async () => {
      const { db } = api.service
      const countReads = async (): Promise<Record<string, number>> => {
        const rows = await db.rows<{ endpoint: string; reads: number }>(
          `select endpoint, sum(count)::int as reads from grant_accesses join users using (user_key)
           where users.id = $1 and grant_id = 'cli_enterprise' group by endpoint`,
          [ann.user_id],
        )
        return Object.fromEntries(rows.map(({ endpoint, reads }) => [endpoint, reads]))
      }
      const untilRecorded = async (readsBefore: number): Promise<Record<string, number>> => {
        // Reads are recorded in their order, so that those before this one are there when it is.
        await api.ask(getUser, `${usersPath}/${ann.user_id}`, token)
        return until(countReads, ({ getUser: reads = 0 }) => reads > readsBefore)
      }
      await db.execute(
        `insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, removed_at)
         select user_key, gen_random_uuid(), tenant_key, 1, 6, $2::timestamptz from users where id = $1`,
        [ann.user_id, db.now()],
      )
      const before = await untilRecorded((await countReads())['getUser'] ?? 0)
      const path = '/enterprise/v2/transactions?updated_since=2020-01-01T00:00:00Z&end_time=1990-01-01T00:00:00Z'
      const { data, removed = [] } = await api.ask(listEnterpriseTransactions, path, token)
      assert.deepEqual([data, [...new Set(removed.map((row) => Object.keys(row).join()))]], [[], ['id,removed_at']])
      const after = await untilRecorded(before['getUser'] ?? 0)
      assert.equal(after['listEnterpriseTransactions'], (before['listEnterpriseTransactions'] ?? 0) + 1)
    })

    it('users are listed in pages, with what their consents cover', async () => {
      const first = await api.ask(listUsers, `${usersPath}?limit=2`, token)
      const second = await api.ask(listUsers, first.page.next, token)
      const users = [...first.data, ...second.data]
      assert.deepEqual(new Set(users.map((user) => user.user_id)), new Set([ann.user_id, bob.user_id, cat.user_id]))
      assert.deepEqual((await api.ask(getUser, `${usersPath}/${ann.user_id}`, token)).data.connection_count, 1)
      const { data } = await api.ask(getUser, `${usersPath}/${cat.user_id}`, token)
      assert.deepEqual([data.scopes, data.connection_count], [['assets:read'], null])
    })

    it('a consent ends to the millisecond a year after it was given', async () => {
      const { data } = await api.ask(listUsers, usersPath, token)
      for (const { granted_at: start, grant_expires_at: end } of data) {
        assert.equal(Date.parse(end) - Date.parse(start), 31_536_000_000)
      }
    })

    it('users are found by the tenant’s own ids, page by page, with the cursor in the body', async () => {
      const { data: known } = await api.ask(getUser, `${usersPath}/${ann.user_id}`, token)
      const { data: other } = await api.ask(getUser, `${usersPath}/${bob.user_id}`, token)
      const names = [known.external_user_id, other.external_user_id, 'nobody,at all']
      const path = `${usersPath}/search`
      const first = await api.ask(searchUsers, path, token, { external_user_ids: names, limit: 1 })
      assert.equal(first.data.length, 1)
      const { next } = first.page
      const cursor = new URLSearchParams(next.split('?')[1]).get('cursor')
      assert.ok(next.startsWith(`${path}?limit=1&cursor=`), next)
      const whole = encodeURIComponent(next)
      const follow = (url: string, body?: object): ReturnType<typeof api.ask<typeof searchUsers>> =>
        api.ask(searchUsers, url, token, body)
      for (const second of [
        await follow(path, { cursor }),
        await follow(path, { cursor: next }),
        await follow(path, { next_uri: next }),
        await follow(path, { cursor, external_user_ids: names.toReversed(), limit: 30 }),
        await follow(next),
        await follow(next, {}),
        await follow(next, { external_user_ids: names, limit: 1 }),
        await follow(`${path}?cursor=${whole}`),
        await follow(`${path}?next_uri=${whole}`, { external_user_ids: names }),
        await api.ask(continueUserSearch, next, token),
        await api.ask(continueUserSearch, `${path}?cursor=${whole}`, token),
        await api.ask(continueUserSearch, `${path}?next_uri=${whole}&limit=30`, token),
      ]) {
        assert.equal(second.data.length, 1)
        assert.equal(second.page.next, '')
        assert.deepEqual(
          new Set([...first.data, ...second.data].map((user) => user.user_id)),
          new Set([ann.user_id, bob.user_id]),
        )
      }
      assert.deepEqual((await api.ask(searchUsers, path, token, { emails: ['A@example.com'] })).data, [])
      for (const [body, parameter] of [
        [{ cursor, external_user_ids: ['other'] }, 'external_user_ids'],
        [{ cursor, emails: ['a@b.example'] }, 'emails'],
        [{ cursor: 'AAAA' }, 'cursor'],
        [{ cursor, next_uri: next }, 'next_uri'],
        [{ next_uri: `${usersPath}?cursor=${String(cursor)}` }, 'next_uri'],
      ] as const) {
        const { status, body: problem } = await api.call<ErrorResponse>('POST', path, token, body)
        assert.deepEqual([status, problem.errors[0]?.parameter], [400, parameter])
      }
      const twice = await api.call<ErrorResponse>('POST', next, token, { cursor })
      assert.deepEqual([twice.status, twice.body.errors[0]?.parameter], [400, 'cursor'])
    })

    it('a whole next value keeps its limit; a bare cursor has the default limit', async () => {
      const path = `${usersPath}/search`
      const { page } = await api.ask(searchUsers, path, token, { limit: 1 })
      const cursor = new URLSearchParams(page.next.split('?')[1]).get('cursor')
      const lengthOf = async (body: object): Promise<number> =>
        (await api.ask(searchUsers, path, token, body)).data.length
      assert.deepEqual([await lengthOf({ cursor: page.next }), await lengthOf({ cursor })], [1, 2])
    })

    it('a user’s assets equal those that the user’s own application reads', async () => {
      const path = `${usersPath}/${ann.user_id}/assets?limit=100`
      const { data } = await api.ask(listUserAssets, path, token)
      const own = await api.call<{ data: unknown }>('GET', '/accounts/v2/assets?limit=100', ann.access_token)
      assert.deepEqual(data, own.body.data)
    })

    it('accounts, providers and sums have the shape of the contract', async () => {
      const { data: accounts } = await api.ask(listAccounts, '/enterprise/v2/accounts', token)
      assert.deepEqual(new Set(accounts.map((account) => account.user_id)), new Set([ann.user_id, bob.user_id]))
      const { data: providers } = await api.ask(listEnterpriseProviders, '/enterprise/v2/providers', token)
      assert.ok(providers.some((provider) => provider.provider_id === 'kraken'))
      const { data: counts } = await api.ask(getUserStats, '/enterprise/v2/stats/users', token)
      assert.deepEqual(counts, { users: 3, users_with_accounts: 2 })
      const byProvider = await api.ask(getAccountStats, '/enterprise/v2/stats/accounts-by-provider', token)
      assert.deepEqual(byProvider.data, [{ name: 'Kraken', provider_id: 'kraken', accounts: 2, users: 2 }])
      const balances = await api.ask(getBalanceStats, '/enterprise/v2/stats/balances', token)
      assert.notEqual(balances.data.value_in_usd, '0')
      const top = await api.ask(getTopAssets, '/enterprise/v2/stats/top-assets', token)
      assert.ok(top.data.length > 3)
    })
  })

  it('400: unknown parameters, unknown providers, wrong bodies', async () => {
    for (const path of [
      'transactions?users=x',
      'transactions?provider_ids=nowhere',
      'users?limit=101',
      'accounts?a=b',
    ]) {
      assert.equal((await api.call('GET', `/enterprise/v2/${path}`, token)).status, 400, path)
    }
    const cursors = { altered: 'c'.repeat(60), ofAnotherList: '' }
    const { page } = await api.ask(listUsers, `${usersPath}?limit=1`, token)
    cursors.ofAnotherList = new URLSearchParams(page.next.split('?')[1]).get('cursor') ?? ''
    for (const [title, cursor] of Object.entries(cursors)) {
      assert.equal((await api.call('GET', `/enterprise/v2/changes?cursor=${cursor}`, token)).status, 400, title)
    }
    for (const body of [{ names: [] }, { emails: [] }, { limit: 0 }, { emails: 'a' }]) {
      const { status } = await api.call('POST', `${usersPath}/search`, token, body)
      assert.equal(status, 400, JSON.stringify(body))
    }
    const { body: problem } = await api.call<ErrorResponse>('POST', `${usersPath}/search`, token, { limit: 0 })
    assert.equal(problem.detail, 'limit must be a whole number from 1 to 100')
  })

  it('401, 403: no token, a user’s token, or read rights alone are not enough', async () => {
    assert.equal((await api.call('GET', usersPath)).status, 401)
    assert.equal((await api.call('GET', usersPath, ann.access_token)).status, 403)
    assert.equal((await api.call('GET', '/accounts/v2/assets', token)).status, 403)
    const reader = await api.enterpriseToken('enterprise:read')
    assert.equal((await api.call('DELETE', `${usersPath}/${bob.user_id}`, reader)).status, 403)
  })

  it('404: users that do not exist, or whose consent does not cover the request', async () => {
    for (const path of [
      `${usersPath}/usr_nobody`,
      `${usersPath}/usr_nobody/assets`,
      `${usersPath}/${cat.user_id}/transactions`,
    ]) {
      const { status, body } = await api.call<{ code: string }>('GET', path, token)
      assert.deepEqual([status, body.code], [404, 'not_found'], path)
    }
  })

  it('DELETE ends the consents: the application’s tokens fail at once and the tenant no longer sees the user', async () => {
    const path = `${usersPath}/${ann.user_id}`
    const { cursor } = await readToEnd('/enterprise/v2/changes?limit=100')
    const { data } = await api.ask(endUser, path, token)
    assert.deepEqual(data, { user_id: ann.user_id, grants_ended: 1 })
    assert.equal((await api.call('GET', '/accounts/v2/assets', ann.access_token)).status, 401)
    assert.equal((await api.call('GET', path, token)).status, 404)
    assert.equal((await api.call('DELETE', path, token)).status, 404)
    const { data: transactions } = await api.ask(listEnterpriseTransactions, '/enterprise/v2/transactions', token)
    assert.deepEqual(transactions, [])
    const { items } = await readToEnd(`/enterprise/v2/changes?cursor=${cursor}`)
    assert.deepEqual(items, [{ op: 'remove_user', user_id: ann.user_id }])
    assert.deepEqual((await readToEnd('/enterprise/v2/changes')).items, [])
  })

  it('scopes of a user include what older tokens can do, and the tenant sees what the newest consent covers', async () => {
    const older = await api.signIn('dan', { scope: 'transactions:read providers:read' })
    const { user_id: dan } = await api.signIn('dan', { scope: 'assets:read' })
    const { data: user } = await api.ask(getUser, `${usersPath}/${dan}`, token)
    const { scopes, connection_count: count } = user
    assert.deepEqual([scopes, count], [['assets:read', 'providers:read', 'transactions:read'], null])
    assert.equal((await api.call('GET', '/accounts/v2/transactions', older.access_token)).status, 200)
    assert.equal((await api.call('GET', `${usersPath}/${dan}/transactions`, token)).status, 404)
    await api.moveClock(900)
    assert.equal((await api.call('GET', '/accounts/v2/transactions', older.access_token)).status, 401)
    const later = await api.ask(getUser, `${usersPath}/${dan}`, await api.enterpriseToken())
    assert.deepEqual(later.data.scopes, ['assets:read'])
  })
  it('400: a cursor of the changes that has not been read on for longer than removals are kept; a polled one goes on', async () => {
    const path = '/enterprise/v2/changes'
    const daySeconds = 86_400
    await api.signIn('eve', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
    const read = async (query: string) => api.call<ErrorResponse>('GET', path + query, await api.enterpriseToken())
    const { body } = await api.call<{ cursor: string }>('GET', path, await api.enterpriseToken())
    await api.moveClock(60 * daySeconds)
    const polled = await read(`?cursor=${body.cursor}`)
    assert.equal(polled.status, 200)
    const { cursor } = JSON.parse(polled.text) as { cursor: string }
    await api.moveClock(31 * daySeconds)
    const expired = await read(`?cursor=${body.cursor}`)
    assert.deepEqual(
      [expired.status, expired.body.errors[0]?.cause, expired.body.errors[0]?.parameter],
      [400, 'cursor_expired', 'cursor'],
    )
    assert.equal((await read(`?cursor=${cursor}`)).status, 200)
  })
})
