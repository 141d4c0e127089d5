import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReplayFinding, ReplayOptions } from '../index.ts'
import { addConnection, fundingRow, ledgerRow, noonMs, openLedger, refOf, walletId } from '../test-ledger.ts'
import { toTransactionId } from '../deriving/document.ts'

const old = '00000000-0000-0000-0000-000000000001'

const look: ReplayOptions = { connectionId: undefined, apply: false, onProgress: () => undefined }
const apply: ReplayOptions = { ...look, apply: true }

describe('a replay', () => {
  it('of what the current rules wrote finds nothing to change', async (t) => {
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

  it('leaves a group unreadable that has more records than memory has room for, and derives all others', async (t) => {
    const { db, ledger, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('M1', 'R2'), ledgerRow('N1', 'R3', {}, noonMs + 1_000))
    await derive()
    const written = await listWritten()
    const note = 'x'.repeat(1_000_000)
    const rows = Array.from({ length: 70 }, (_, index) => ledgerRow(`L1-${index}`, 'R1', { note }, noonMs + index))
    for (let at = 0; at < rows.length; at += 10) await keep(...rows.slice(at, at + 10))
    await derive()
    const faults = 'select group_key, reason from poison_groups'
    const before = await db.rows(faults)
    assert.equal(before.length, 1)
    for (const options of [look, apply]) {
      const { groups, unreadable, changes } = await ledger.replay(options)
      assert.deepEqual({ groups, unreadable, changes }, { groups: 3, unreadable: 1, changes: [] })
      assert.deepEqual(await listWritten(), written)
      assert.deepEqual(await db.rows(faults), before)
    }
  })

  it('shows what a better rule would change, by provider, category and field, and touches nothing', async (t) => {
    const { db, ledger, keep, derive, listWritten } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'), ledgerRow('L3', 'R3', { type: 'reward' }))
    await derive()
    const [first, second, third] = await listWritten()
    assert.ok(first && second && third)
    // Simulates an older rule that called the deposit an airdrop, missed the second one, and found something else.
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

  it('makes these changes when it is applied, and a second one finds nothing', async (t) => {
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

  it('of one connection leaves the others alone, and finds unknown transfers between them', async (t) => {
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
    // This is the text from before own transfers were known.
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

  it('keeps its findings, which can be applied for one provider or connection, or discarded', async (t) => {
    const { db, ledger, keep, keepAt, derive, listWritten, listRemovedIds } = await openLedger(t)
    const other = refOf(1, 2)
    await addConnection(db, other, { providerId: walletId })
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2'))
    await keepAt(other, 'ledger', ledgerRow('L3', 'R3'))
    await derive()
    await derive(other)
    const right = await listWritten()
    const spoil = async (): Promise<void> => {
      await db.execute(`update transactions set document = replace(document, '"0.5"', '"0.6"'), change_seq = 0`)
      await db.execute(`update transactions set id = $1 where group_key = 'R2'`, [old])
    }
    await spoil()
    const spoilt = await listWritten()
    await ledger.replay(look)
    const list = async (which = {}): Promise<ReplayFinding[]> => {
      const all: ReplayFinding[] = []
      for await (const one of ledger.listFindings(which)) all.push(one)
      return all
    }
    const found = await list()
    const toText = (group: string): string | undefined => right.find((row) => row.group_key === group)?.document
    assert.deepEqual(
      found.map(({ change, connectionId, before, after }) => [change, connectionId, before === null, after]).toSorted(),
      [
        ['added', 'con_1_1', true, toText('R2')],
        ['changed', 'con_1_1', false, toText('R1')],
        ['changed', 'con_1_2', false, toText('R3')],
        ['removed', 'con_1_1', false, null],
      ].toSorted(),
    )
    assert.match(found.find(({ change }) => change === 'changed')?.reason ?? '', /inputs\.0\.amount/)
    assert.equal((await list({ providerId: walletId })).length, 1)
    assert.deepEqual(await listWritten(), spoilt)

    // Another replay replaces the earlier findings.
    await ledger.replay({ ...look, connectionId: other.connectionId })
    assert.equal((await list()).length, found.length)
    assert.equal(await ledger.discardFindings({ connectionId: other.connectionId }), 1)
    await ledger.replay({ ...apply, only: 'findings' })
    const texts = (await listWritten()).map(({ group_key, document }) => [group_key, document])
    assert.deepEqual(
      texts.slice(0, 2),
      right.slice(0, 2).map(({ group_key, document }) => [group_key, document]),
    )
    assert.notEqual(texts[2]?.[1], right[2]?.document, 'what was discarded is not applied')
    assert.deepEqual(await list(), [])
    // The feed shows it: change numbers after all earlier ones, and the removal.
    const fed = (await listWritten()).map(({ change_seq: seq }) => seq !== '0')
    assert.deepEqual([fed, await listRemovedIds()], [[true, true, false], [old]])
  })

  it('of a connection that is removed leaves no findings', async (t) => {
    const { db, ledger, keep, derive, ref } = await openLedger(t)
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    await db.execute(`update transactions set document = replace(document, '"0.5"', '"0.6"')`)
    await ledger.replay(look)
    await db.execute(`update connections set status = 'removed'`)
    const destroy = ledger.startDestroying(ref, { hiddenSeq: null })
    let isDone = false
    while (!isDone) isDone = await db.transaction((tx) => destroy(tx))
    assert.deepEqual(await db.rows('select from replay_findings'), [])
  })
})
