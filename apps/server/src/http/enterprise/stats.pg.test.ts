import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openResource, until } from '../test-resource.ts'

/** More than the users of a sum that counts as a read of each. */
const strangers = 101

describe('the statistics of a tenant', async () => {
  const api = await openResource()
  const { db } = api.service
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const token = await api.enterpriseToken()
  await db.execute(
    `insert into users (user_key, tenant_key, tenant_id, id, external_user_id, created_at)
     select n, tenant_key, tenant_id, 'usr_stranger' || n, n::text, created_at from users, generate_series(1, $2::int) n
     where id = $1`,
    [ann.user_id, strangers],
  )
  await db.execute(
    `insert into grants (user_key, client_id, id, tenant_key, tenant_id, user_id, scopes, consent, granted_at, expires_at)
     select u.user_key, g.client_id, 'grt_' || u.id, u.tenant_key, u.tenant_id, u.id, g.scopes, g.consent, g.granted_at,
       g.expires_at
     from users u, grants g where u.id like 'usr_stranger%' and g.user_id = $1`,
    [ann.user_id],
  )
  const note = (): Promise<number> =>
    db.execute(
      `insert into user_notices (user_key, tenant_key)
       select user_key, tenant_key from users where id like 'usr_stranger%'`,
    )
  await note()

  const sums = ['users', 'accounts-by-provider', 'balances', 'top-assets']

  /** Reads all sums; the endpoints that the page of each user then shows in addition. */
  async function readSums(): Promise<{ ann: string[]; strangers: string[] }> {
    const listReads = (): Promise<{ user: string; endpoint: string; reads: number }[]> =>
      db.rows(
        `select users.id as user, endpoint, sum(count)::int as reads from grant_accesses join users using (user_key)
         where grant_id = 'cli_enterprise' group by users.id, endpoint`,
      )
    const countMarks = (rows: Awaited<ReturnType<typeof listReads>>): number =>
      rows.find(({ endpoint }) => endpoint === 'getUser')?.reads ?? 0
    const before = await listReads()
    // Reads are recorded in their order, so that those of the sums are there when this one is.
    for (const path of [...sums.map((name) => `stats/${name}`), `users/${ann.user_id}`]) {
      assert.equal((await api.call('GET', `/enterprise/v2/${path}`, token)).status, 200)
    }
    const after = await until(listReads, (rows) => countMarks(rows) > countMarks(before))
    const isNew = ({ user, endpoint, reads }: (typeof after)[number]): boolean =>
      endpoint !== 'getUser' &&
      !before.some((row) => row.user === user && row.endpoint === endpoint && row.reads === reads)
    const news = after.filter(isNew)
    const listOf = (rows: typeof after): string[] => [...new Set(rows.map(({ endpoint }) => endpoint))].toSorted()
    return {
      ann: listOf(news.filter(({ user }) => user === ann.user_id)),
      strangers: listOf(news.filter(({ user }) => user !== ann.user_id)),
    }
  }

  it('a sum over few users is recorded for them, however many others have consented and add nothing to it', async () => {
    assert.deepEqual(await readSums(), {
      ann: ['getAccountStats', 'getBalanceStats', 'getTopAssets', 'getUserStats'],
      strangers: [],
    })
  })

  it('a sum over few users is recorded for them, also when it is one row beside the sums of many', async () => {
    await db.execute(
      `insert into connections (user_key, tenant_key, tenant_id, user_id, connection_key, id, provider_id,
         connection_type, status, key_lane, created_at, added_at, shown_at, shown_seq)
       select user_key, tenant_key, tenant_id, id, 1, 'con_' || id, 'bitcoin', 'wallet', 'active', id, $1, $1, $1, 1
       from users where id like 'usr_stranger%'`,
      [db.now()],
    )
    await db.execute(
      `insert into holdings (user_key, connection_key, asset_key, liquid, staked, changed_at)
       select user_key, 1, asset_key, 0.1, 0, $1 from users, assets
       where users.id like 'usr_stranger%' and assets.id = 'crypto:bitcoin'`,
      [db.now()],
    )
    await note()
    assert.deepEqual(await readSums(), { ann: ['getAccountStats', 'getTopAssets'], strangers: [] })
  })
})
