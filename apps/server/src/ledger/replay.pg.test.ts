import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReplayOptions } from './index.ts'
import { addConnection, fundingRow, ledgerRow, noonMs, openLedger, refOf } from './test-ledger.ts'
import { toTransactionId } from './transaction-ids.ts'

const old = '00000000-0000-0000-0000-000000000001'

const look: ReplayOptions = { connectionId: undefined, apply: false, onProgress: () => undefined }
const apply: ReplayOptions = { ...look, apply: true }

describe('a replay', () => {
  it('of what the present rules have written finds nothing to change', async (t) => {
    const { ledger, keep, derive } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', { amount: 'a lot' }), ledgerRow('L3', 'R3', {}, noonMs - 1))
    await derive()
    assert.deepEqual(await ledger.replay(look), {
      connections: 1,
      gone: 0,
      groups: 3,
      regrouped: 0,
      unreadable: 1,
      changes: [],
      examples: [],
    })
  })

  it('shows what a better rule would change, by provider, category and field, and touches nothing', async (t) => {
    const { db, ledger, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'), ledgerRow('L3', 'R3', { type: 'reward' }))
    await derive()
    const [first, second, third] = await listWritten()
    assert.ok(first && second && third)
    // As if an older rule had called the deposit an airdrop, had not known of the second, and had seen something else.
    await db.execute(
      `update transactions set category = 'airdrop',
         document = replace(document, '"category":"deposit"', '"category":"airdrop"') where id = $1`,
      [first.id],
    )
    await db.execute('delete from transactions where id = $1', [second.id])
    await db.execute(
      `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type,
         category, pending, staked_legs, provider_id, group_key, document)
       select user_key, $2, occurred_at, change_seq, updated_at, connection_key, tenant_key, type,
         'other', pending, staked_legs, provider_id, group_key,
         replace(document, '"category":"staking_reward"', '"category":"other"')
       from transactions where id = $1`,
      [third.id, old],
    )
    const before = await listWritten()
    const report = await ledger.replay(look)
    assert.deepEqual(report.changes, [
      { provider_id: 'kraken', category: 'deposit', added: 1, changed: 1, removed: 0 },
      { provider_id: 'kraken', category: 'other', added: 0, changed: 0, removed: 1 },
    ])
    assert.deepEqual(
      report.examples.map(({ change, id, fields }) => [change, id, fields]),
      [
        [
          'changed',
          toTransactionId(first.id),
          [{ field: 'categorization.category', before: '"airdrop"', after: '"deposit"' }],
        ],
        ['added', toTransactionId(second.id), []],
        ['removed', toTransactionId(old), []],
      ],
    )
    assert.deepEqual(await listWritten(), before)
  })

  it('that is applied makes it so, and a second one finds nothing', async (t) => {
    const { db, ledger, keep, derive, listWritten, listRemovedIds } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    await derive()
    const derived = await listWritten()
    await db.execute(`update transactions set updated_at = '2020-01-01T00:00:00Z'`)
    await db.execute(
      `update transactions set document = replace(document, '0.5', '0.6'), id = $1 where group_key = 'R1'`,
      [old],
    )
    const { changes } = await ledger.replay(apply)
    assert.deepEqual(changes, [{ provider_id: 'kraken', category: 'deposit', added: 1, changed: 0, removed: 1 }])
    const after = await listWritten()
    assert.deepEqual(
      after.map(({ id, document }) => [id, document]),
      derived.map(({ id, document }) => [id, document]),
    )
    assert.deepEqual(
      after.map(({ updated_at }) => updated_at > '2026'),
      [true, false],
    )
    assert.deepEqual(await listRemovedIds(), [old])
    assert.deepEqual((await ledger.replay(look)).changes, [])
  })

  it('of one connection leaves the others alone, and finds transfers between them that were not known', async (t) => {
    const { db, ledger, keep, keepAt, keepFunding, derive, listWritten } = await openLedger(t)
    const other = refOf(1, 2)
    await addConnection(db, other)
    await keep(ledgerRow('L1', 'R1', { type: 'withdrawal', amount: '-0.5' }))
    await keepFunding('withdrawals', fundingRow('R1', { txid: 'ab'.repeat(32) }))
    await keepAt(other, 'ledger', ledgerRow('L2', 'R2'))
    await keepAt(other, 'deposits', fundingRow('R2', { txid: 'ab'.repeat(32) }))
    await derive()
    await derive(other)
    const matched = await listWritten()
    assert.match(matched[0]?.document ?? '', /"category":"transfer"/)
    // As it was written before own transfers were known.
    await db.execute('delete from transfer_matches')
    await db.execute('delete from transfer_legs')
    await db.execute(
      `update transactions set document = regexp_replace(document, '"category":.*?}', '"category":"other","method":"venue","confidence":1}')`,
    )
    const progress: number[] = []
    await ledger.replay({
      ...apply,
      connectionId: other.connectionId,
      onProgress: ({ groups }) => progress.push(groups),
    })
    assert.match((await listWritten())[0]?.document ?? '', /"category":"other"/)
    assert.deepEqual(progress, [1, 1])
    await ledger.replay(apply)
    assert.deepEqual(
      (await listWritten()).map(({ document }) => document),
      matched.map(({ document }) => document),
    )
  })
})
