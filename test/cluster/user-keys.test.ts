/**
 * Every statement of the hot paths names the user's key, so that a database distributed by it answers from one node.
 * The statements are those that the service sends, and the tables those that the database has.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { connectClient, type TestClient } from '../../apps/server/src/db/test-client.ts'
import { ownedBySuite } from '../../apps/server/src/oauth/test-oauth.ts'
import { walkHotPaths, type HotPaths } from './hot-paths.ts'
import { testDatabase, toDatabaseUrl } from '../postgres.ts'
import { findUnnamedTables, isPlannable, listUserTables, type UserTables } from './user-keys.ts'

/** Tables that are not looked up by user, and why. */
const otherTables: Record<string, string> = {
  users: 'the directory of users: a user is found by the tenant’s own id, and the key comes from here',
  connect_sessions: 'found by the secret of a session, before the user has signed in',
  provider_states: 'found by the state that a provider sends back',
  manage_sessions: 'found by the secret of a session, before the user has signed in',
  user_notices: 'the tenant’s queue: one job takes the notices of all users of a tenant',
  feed_users: 'the tenant’s feed, by tenant',
  tenant_changes: 'the tenant’s feed, by tenant',
  user_statistics: 'the tenant’s statistics, by tenant',
}

/** Paths over all users of a tenant: a page is asked of every node. */
const tenantPaths = new Set([
  'tenant page',
  'tenant feed',
  'tenant lists',
  'statistics',
  'page of one user, for the tenant',
])

/** Statements over many users, and why. */
const exceptions: [text: RegExp, reason: string][] = [
  [/^delete from connections where status = 'pending'/, 'upkeep: connections that were never verified'],
  [/^select distinct key_lane .* from key_checks k where at <=/, 'upkeep: keys whose checks no longer count'],
  [/^delete from key_checks where at <=/, 'upkeep: checks of keys that no longer count'],
  [/from connections c where c\.session_id is not null and not exists/, 'upkeep: connections of sessions that ended'],
  [/from connections where status = 'removed' order by/, 'upkeep: removals without a job'],
  [/from connections where session_id is null and status in .* and next_sync_at </, 'upkeep: stalled connections'],
  [/from grants where not lapse_seen/, 'upkeep: grants that ended'],
  [/^delete from (removed_transactions|transaction_versions) where \(user_key, /, 'upkeep: what was kept long enough'],
  [
    /^delete from (grant_accesses|refreshes|authorization_codes|access_tokens|token_families) where \(user_key, /,
    'upkeep: what has expired',
  ],
  [/from awaited_prices where \(asset_key, day\) >/, 'upkeep: prices that transactions of any user wait for'],
  [
    /^select distinct p\.user_key .* join awaited_prices p on p\.asset_key = w\.asset_key/,
    'upkeep: transactions to price',
  ],
  [/from pending_announcements p .* where p\.due_at <=/, 'announcements that are due, for any user'],
  [/^insert into grant_accesses as a .* from unnest\(\$1::bigint\[\]/, 'reads of many users, counted in one batch'],
  [
    /^with before as materialized \( select ledger\.user_key, .* unnest\(\$1::bigint\[\]/,
    'reads of many users, noted in one batch',
  ],
  [
    /from connections where user_key = any\(\$1::bigint\[\]\)/,
    'issues of the users of an answer: one, or a tenant’s page',
  ],
  [/from \(with accounts as materialized/, 'the tenant’s statistics: the users of a batch of notices'],
  [/^with (counted|looked) as materialized/, 'the tenant’s sums and feed, by tenant'],
  [
    /from grant_terms g where g\.user_key = any\(\$2::bigint\[\]\)/,
    'the tenant’s feed: the users of a batch of notices',
  ],
]

const toLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

describe('user keys', async () => {
  // The first to end: the database goes with its connections.
  after(() => client.end())
  const { db, connection } = await testDatabase(ownedBySuite())
  const connectionString = toDatabaseUrl(connection)
  const client: TestClient = await connectClient(connectionString)
  let tables: UserTables = new Map()
  let paths: HotPaths = new Map()
  before(async () => {
    tables = await listUserTables(client)
    paths = await walkHotPaths(connectionString, db)
  })

  const find = async (text: string): Promise<string[]> =>
    (await findUnnamedTables(client, tables, text)).filter((table) => !Object.hasOwn(otherTables, table))
  const statementsOf = (path: string): string[] => (paths.get(path) ?? []).map(({ text }) => text).filter(isPlannable)

  it('are in every statement of the hot paths', async () => {
    const texts = new Set([...paths.keys()].filter((path) => !tenantPaths.has(path)).flatMap(statementsOf))
    const unnamed: string[] = []
    for (const text of texts) {
      if (exceptions.some(([known]) => known.test(toLine(text)))) continue
      const found = await find(text)
      if (found.length > 0) unnamed.push(`${found.join(', ')}: ${toLine(text)}`)
    }
    assert.deepEqual(unnamed, [])
    assert.ok(texts.size > 100, `only ${texts.size} statements`)
  })

  it('are checked in statements over every table that is read or written', () => {
    for (const path of [
      ...[
        'page',
        'page, v1',
        'page, filtered',
        'page by updated_since',
        'single transaction',
        'assets, v1',
        'assets, v2',
      ],
      ...['history', 'change feed', 'token exchange', 'token refresh', 'revoke', 'first read', 'idle run'],
      ...['refresh request', 'read by request', 'removal'],
    ]) {
      assert.ok(statementsOf(path).length > 0, path)
    }
    const written = [...paths.values()].flat().map(({ text }) => toLine(text))
    for (const table of ['raw_records', 'transactions', 'postings', 'holdings', 'access_tokens', 'refreshes']) {
      assert.ok(tables.has(table), table)
      assert.ok(
        written.some((text) => text.includes(`insert into ${table}`)),
        table,
      )
    }
    for (const table of Object.keys(otherTables)) assert.ok(tables.has(table), table)
  })

  describe('are reported as missing', () => {
    it('in a page without the predicate of its transactions, of its connections or of the token', async () => {
      // Upkeep may send a statement of its own while the page is read, so the page is not always the first.
      const page = statementsOf('page').find((text) => text.includes('from transactions t'))
      assert.ok(page)
      assert.deepEqual(await find(page), [])
      const without = (predicate: string): Promise<string[]> => {
        assert.ok(page.includes(predicate), predicate)
        return find(page.replaceAll(predicate, 'true'))
      }
      assert.deepEqual(await without('t.user_key = $1::bigint'), ['transactions'])
      assert.deepEqual(await without('c.user_key = $1::bigint'), ['connections'])
      assert.deepEqual(await without('family.user_key = token.user_key'), ['token_families'])
      assert.deepEqual(await without('token.user_key = $1::bigint'), ['access_tokens', 'token_families'])
    })

    it('in a join on anything but the key', async () => {
      const join = 'select from transactions t join postings p on p.transaction_id = t.id where'
      assert.deepEqual(await find(`${join} t.user_key = $1`), ['postings'])
      assert.deepEqual(await find(`${join} t.user_key = $1 and p.user_key = t.user_key`), [])
      assert.deepEqual(await find(`${join} t.user_key = $1 and p.user_key = $2`), [])
      assert.deepEqual(await find(`${join} p.user_key = t.user_key`), ['postings', 'transactions'])
    })

    it('where a key is compared with many, or not for equality', async () => {
      assert.deepEqual(await find('select from holdings where user_key = any($1::bigint[])'), ['holdings'])
      assert.deepEqual(await find('select from holdings where user_key >= $1'), ['holdings'])
      assert.deepEqual(
        await find('select from holdings h join unnest($1::bigint[]) u (user_key) on u.user_key = h.user_key'),
        ['holdings'],
      )
      assert.deepEqual(await find('select from holdings where user_key = $1 or connection_key = $2'), ['holdings'])
    })

    it('in writes', async () => {
      assert.deepEqual(await find('update holdings set spam = true where connection_key = $1'), ['holdings'])
      assert.deepEqual(await find('delete from holdings where connection_key = $1'), ['holdings'])
      const insert = 'insert into sync_failures (user_key, connection_key, failures)'
      assert.deepEqual(await find(`${insert} values ($1, $2, 1)`), [])
      assert.deepEqual(await find(`${insert} select user_key, 1, 1 from unnest($1::bigint[]) u (user_key)`), [
        'sync_failures',
      ])
      assert.deepEqual(await find(`${insert} select user_key, connection_key, 1 from holdings where asset_key = $1`), [
        'holdings',
        'sync_failures',
      ])
    })
  })
})
