/**
 * What a walk guarantees, at its full length: every confirmed transaction that was there when it began comes exactly
 * once, while others are being added before, behind and at the very place where the walk is. A thousand pages by the
 * SDK.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openResource } from '../../apps/server/src/http/test-resource.ts'
import { createClient } from '../../packages/sdk/src/index.ts'
import { demo } from '../application.ts'
import { addCopies, fillCopies, type Copies } from './transaction-copies.ts'

const rows = 100_000
const addedAtATime = 200

describe('a walk of the SDK over 100,000 transactions', async () => {
  const api = await openResource()
  const { db } = api.service
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const big = await api.signIn('big', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
  const [connectionId = ''] = big.connectionIds
  const copiesOf = (prefix: string): Copies => ({ userId: ann.user_id, connectionId, prefix })
  await fillCopies(db, copiesOf('first '), rows)

  it('returns each existing transaction exactly once, in order, while 20,000 are added', async () => {
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
      // They are spread over the whole history: some lie behind the walk, some ahead, and some share its millisecond.
      await addCopies(db, copiesOf(`added ${added} `), [1 + (added % 499), rows, rows / addedAtATime])
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
