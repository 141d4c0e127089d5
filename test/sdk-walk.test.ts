/**
 * The promise of a walk, at its full length: every confirmed transaction that was there when it began comes exactly once,
 * while others are being added before, behind and at the very place where the walk is. A thousand pages by the SDK.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openResource } from '../apps/server/src/http/test-resource.ts'
import { createClient } from '../packages/sdk/src/index.ts'
import { demo } from './application.ts'

const rows = 100_000
const addedAtATime = 200

/** Copies of a short real row. Seven share each millisecond, so that most pages end in the middle of one. */
const insertCopies = `
  insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type, category,
    pending, staked_legs, provider_id, group_key, document)
  select c.user_key, md5($3 || n::text)::uuid, timestamptz '2020-01-01' + (n / 7) * interval '1 ms', t.change_seq,
    t.updated_at, c.connection_key, t.tenant_key, t.type, t.category, t.pending, t.staked_legs, t.provider_id,
    $3 || n::text, t.document
  from connections c,
    (select * from transactions where user_key = (select user_key from users where id = $1) order by length(document) limit 1) t,
    generate_series($4::int, $5::int, $6::int) n
  where c.id = $2`

describe('a walk of the SDK over 100,000 transactions', async () => {
  const api = await openResource()
  const { db } = api.service
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const big = await api.signIn('big', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
  const copies = (prefix: string, from: number, to: number, step: number): Promise<unknown> =>
    db.execute(insertCopies, [ann.user_id, big.connectionIds[0], prefix, from, to, step])
  for (let from = 1; from <= rows; from += 10_000) await copies('first ', from, from + 9_999, 1)
  await db.execute('analyze transactions')

  it('sees each that was there exactly once, in order, while 20,000 are added', async () => {
    const { access_token: accessToken, scope, user_id: userId, grant_id: grantId } = big
    const tokens = { accessToken, scope, userId, grantId, expiresAtMs: Date.now() + 900_000 }
    const client = createClient({ baseUrl: api.url, clientId: demo.clientId, tokens })
    const seen = new Set<string>()
    let [count, added, last] = [0, 0, '9']
    for await (const { id, timestamp } of client.transactions()) {
      count += 1
      seen.add(id)
      assert.ok(timestamp <= last, 'newest first')
      last = timestamp
      if (count % 1_000 !== 0 || added >= 20_000) continue
      // Spread over the whole history: some are passed already, some still lie ahead, some share the walk's millisecond.
      await copies(`added ${added} `, 1 + (added % 499), rows, rows / addedAtATime)
      added += addedAtATime
    }
    assert.equal(seen.size, count, 'none twice')
    const first = await db.rows<{ id: string }>(
      `select 'txn_' || replace(id::text, '-', '') as id from transactions
       where user_key = (select user_key from users where id = $1) and group_key ~ '^first [0-9]+$'`,
      [userId],
    )
    assert.equal(first.length, rows)
    assert.deepEqual(
      first.filter(({ id }) => !seen.has(id)),
      [],
      'none missing',
    )
    assert.ok(added === 20_000 && count > rows, `${count} seen, ${added} added`)
  })
})
