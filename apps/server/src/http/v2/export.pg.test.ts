import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { exportTransactions, listTransactions } from '@assay/contract'
import { openResource, until } from '../test-resource.ts'

const rows = 5_000

describe('GET /accounts/v2/transactions/export', async () => {
  const api = await openResource()
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const big = await api.signIn('big', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
  const path = '/accounts/v2/transactions/export'
  // These are 5,000 copies of a real row, two kilobytes each.
  await api.service.db.execute(
    `insert into transactions (user_key, id, connection_key, provider_id, tenant_key, group_key, occurred_at, change_seq,
       updated_at, type, category, pending, staked_legs, document)
     select c.user_key, md5(n::text)::uuid, c.connection_key, t.provider_id, t.tenant_key, n::text,
       t.occurred_at + n * interval '1 ms', n, t.updated_at, t.type, t.category, false, 0,
       replace(t.document, '"description":null', '"description":"' || repeat('x', 2000) || '"')
     from (select t.* from transactions t join users u using (user_key) where u.id = $1 limit 1) t, connections c,
       generate_series(1, $3::int) n
     where c.id = $2`,
    [ann.user_id, big.connectionIds[0], rows],
  )

  it('200 ndjson: the transactions of the list, in the same order, one per line', async () => {
    const { text, headers } = await api.call('GET', `${path}?format=ndjson&types=send,receive`, ann.access_token)
    assert.equal(headers.get('content-type'), 'application/x-ndjson')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('content-disposition'), 'attachment; filename="transactions.ndjson"')
    const lines = text.split('\n').filter((line) => line !== '')
    const listed: unknown[] = []
    for (let next = '/accounts/v2/transactions?types=send,receive&limit=100'; next !== '';) {
      const page = await api.ask(listTransactions, next, ann.access_token)
      listed.push(...page.data)
      next = page.page.next
    }
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      listed,
    )
    assert.deepEqual(exportTransactions.response.safeParse(listed[0]).error?.issues ?? [], [])
  })

  it('200 csv: a header row, then one row per transaction with the same number of cells', async () => {
    const { text, headers } = await api.call('GET', `${path}?format=csv`, ann.access_token)
    assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
    const [header = '', ...lines] = text.trimEnd().split('\r\n')
    assert.match(header, /^id,timestamp,type,category,/)
    assert.match(header, /,input_amounts,input_assets,output_amounts,output_assets,fee_amounts,fee_assets,/)
    // A single amount is a number to a spreadsheet.
    assert.ok(lines.some((line) => /,\d+\.\d+,BTC,/.test(line)))
    const { body } = await api.call<{ data: { transaction_count: number }[] }>(
      'GET',
      '/accounts/v2/providers',
      ann.access_token,
    )
    assert.equal(lines.length, body.data[0]?.transaction_count)
    for (const line of lines) {
      const cells = line.replaceAll(/"(?:[^"]|"")*"/g, 'quoted').split(',')
      assert.equal(cells.length, header.split(',').length, line)
    }
  })

  it('200: 5,000 rows in one answer, and none for a user without transactions', async () => {
    const { text } = await api.call('GET', `${path}?format=ndjson`, big.access_token)
    assert.equal(text.split('\n').length - 1, rows)
    const zoe = await api.signIn('zoe')
    assert.equal((await api.call('GET', `${path}?format=ndjson`, zoe.access_token)).text, '')
    assert.equal((await api.call('GET', `${path}?format=csv`, zoe.access_token)).text.split('\r\n').length, 2)
  })

  it('429: a fourth export at once; a client that goes away ends its walk and frees its place', async () => {
    const begin = async (): Promise<{ status: number; leave: () => Promise<void> }> => {
      const abort = new AbortController()
      const headers = { authorization: `Bearer ${big.access_token}` }
      const response = await fetch(`${api.url}${path}?format=ndjson`, { headers, signal: abort.signal })
      const reader = response.body?.getReader()
      return {
        status: response.status,
        async leave() {
          await reader?.read()
          abort.abort()
        },
      }
    }
    // The client leaves at once, because the buffers in between can hold a whole unread export.
    const four = await Promise.all([begin(), begin(), begin(), begin()])
    assert.deepEqual(four.map(({ status }) => status).toSorted(), [200, 200, 200, 429])
    for (const { status, leave } of four) if (status === 200) await leave()
    await until(begin, ({ status }) => status === 200).then(({ leave }) => leave())
    const { text } = await api.call('GET', `${path}?format=ndjson`, big.access_token)
    assert.equal(text.split('\n').length - 1, rows)
  })

  /** Copies of one row, large enough that the buffers in between hold only part of them. */
  async function fill(connectionId: string, count: number): Promise<void> {
    await api.service.db.execute(
      `insert into transactions (user_key, id, connection_key, provider_id, tenant_key, group_key, occurred_at,
         change_seq, updated_at, type, category, pending, staked_legs, document)
       select c.user_key, md5('long' || n)::uuid, c.connection_key, t.provider_id, t.tenant_key, n::text,
         t.occurred_at + n * interval '1 ms', n, t.updated_at, t.type, t.category, false, 0,
         replace(t.document, '"description":null', '"description":"' || repeat('x', 20000) || '"')
       from (select t.* from transactions t join users u using (user_key) where u.id = $1 limit 1) t, connections c,
         generate_series(1, $3::int) n
       where c.id = $2`,
      [ann.user_id, connectionId, count],
    )
  }

  it('200, then cut off: a slow reader gets no further page once the consent or the sign-in has ended', async () => {
    const ends = {
      'the user revokes': (token: string, grantId: string) =>
        api.service.db.execute('update grants set revoked_at = $2 where id = $1', [grantId, api.service.db.now()]),
      'the sign-in is replayed': (_: string, grantId: string) =>
        api.service.db.execute(
          `update token_families set revoked_at = $2, revoked_for = 'refresh_replay' where grant_id = $1`,
          [grantId, api.service.db.now()],
        ),
    }
    for (const [why, end] of Object.entries(ends)) {
      const slow = await api.signIn(why, { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
      await fill(slow.connectionIds[0] ?? '', 3_000)
      const headers = { authorization: `Bearer ${slow.access_token}` }
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get(`${api.url}${path}?format=ndjson`, { headers }, resolve).on('error', reject)
      })
      assert.equal(response.statusCode, 200)
      await end(slow.access_token, slow.grant_id)
      let lines = 0
      await assert.rejects(async () => {
        for await (const chunk of response) lines += String(chunk).split('\n').length - 1
      }, why)
      assert.ok(lines < 3_000, `${why}: ${lines}`)
    }
  })

  it('400: without a format, with another one, or with paging', async () => {
    for (const query of ['', '?format=xml', '?format=csv&limit=10', '?format=csv&cursor=x', '?format=csv&types=x']) {
      assert.equal((await api.call('GET', `${path}${query}`, ann.access_token)).status, 400, query)
    }
  })

  it('401, 403: needs transactions:read', async () => {
    assert.equal((await api.call('GET', `${path}?format=csv`)).status, 401)
    const narrow = await api.signIn('ann', { scope: 'assets:read' })
    assert.equal((await api.call('GET', `${path}?format=csv`, narrow.access_token)).status, 403)
  })
})
