/** What it costs to find where a difference appeared, and why, in a wallet that strangers sent very much to. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { addPostings } from '../ledger/deriving/postings-store.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { ConnectionRef } from '../owner.ts'
import { openEngine } from '../test-engine.ts'
import { prove } from './prove.ts'
import { listCorrected, listObservations, listPending } from './differences-store.ts'
import { settleDue } from './store.ts'

describe('a difference', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const at = new Date(db.now()).toISOString()
  const ref: ConnectionRef = {
    ...{ tenantKey: 1, tenantId: 'ten_a', userKey: '1000', userId: 'usr_a' },
    ...{ connectionKey: 1, connectionId: 'con_a' },
  }

  async function countRows(work: () => Promise<unknown>): Promise<number> {
    const [sent] = await recordStatements(work)
    assert.ok(sent !== undefined)
    return countScanned(db, sent)
  }

  it('of a token with a long history and many readings looks at each of its movements once', async () => {
    const [movements, days] = [3_000, 60]
    for (const [assetKey, isSpam] of [
      [1, false],
      [2, true],
    ] as const) {
      await addMoves(db, assetKey, { isSpam, movements, days })
      await db.execute(
        `insert into observed_balances (user_key, connection_key, observed_at, asset_key, liquid, staked)
         select 1000, 1, $1::timestamptz - make_interval(hours => n), $2, 7, 0 from generate_series(1, 90) n`,
        [at, assetKey],
      )
    }
    await db.execute('vacuum analyze postings, daily_changes, observed_balances')
    for (const assetKey of [1, 2]) {
      const scanned = await countRows(async () => {
        const found = await listObservations(db, ref, assetKey, { at, firstAt: toDaysAgo(days + 1) })
        assert.equal(found.at(-1)?.posted, '3000')
        assert.equal(found[0]?.posted, '0')
      })
      assert.ok(scanned < 3 * movements, `${scanned} rows`)
    }
  })

  it('looks at the corrected records of a long history only', async () => {
    await db.execute(
      `insert into raw_records (user_key, connection_key, pending, occurred_at, fetched_at, stream, partition, source_key,
         group_key, body, retired_at, missing_since)
       select 1000, 1, false, $1::timestamptz - make_interval(mins => n), $1, 'erc20', '1', n, n, '{}',
         case n when 7 then $1::timestamptz end, case n when 9 then $1::timestamptz end
       from generate_series(1, 5000) n`,
      [at],
    )
    await db.execute('vacuum analyze raw_records')
    const scanned = await countRows(async () => {
      assert.equal((await listCorrected(db, ref, { startMs: 0, endMs: Date.parse(at) })).length, 2)
    })
    assert.ok(scanned < 10, `${scanned} rows`)
  })

  it('of a token in many pending transactions looks at what they move of this token only', async () => {
    const [transactions, tokens] = [200, 100]
    const of = (token: number): string => `evm:8453:0x${token.toString(16).padStart(40, '0')}`
    const leg = (token: number, amount: string): object => ({ asset_id: of(token), amount })
    const legs = Array.from({ length: tokens }, (_, index) => leg(index, '1'))
    const document = (inputs: object[], outputs: object[], fees: object[]): string =>
      JSON.stringify({ inputs, outputs, fees: { items: fees } }).slice(1)
    const add = (prefix: string, count: number, text: string): Promise<unknown> =>
      db.execute(
        `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type,
           category, pending, staked_legs, provider_id, group_key, document)
         select 1000, md5($2 || n)::uuid, $1::timestamptz - make_interval(secs => n), n, $1, 1, 1, 'receive', 'deposit',
           true, 0, 'evm', $2 || n, '"hash":"' || n || '",' || $4 from generate_series(1, $3::integer) n`,
        [at, prefix, count, text],
      )
    // The balance contains what has postings. A withdrawal that an exchange has not debited has none.
    await add('in the balance ', transactions, document(legs, [], []))
    await db.execute(
      `insert into postings (user_key, connection_key, transaction_id, asset_key, occurred_at, ordinal, staked, side, spam,
         amount)
       select 1000, 1, id, 1000 + token, occurred_at, token, false, 'i', true, 1
       from transactions cross join generate_series(1, $1::integer) token`,
      [tokens],
    )
    await add('not yet ', 1, document([], [leg(7, '3')], [leg(7, '0.5')]))
    await db.execute('vacuum analyze transactions, postings')
    const scanned = await countRows(async () => {
      const found = await listPending(db, ref, { asset_key: 1007, asset_id: of(7) }, { at, hasUndebited: true })
      assert.deepEqual(
        [found.length, new Set(found.map(({ amount }) => amount))],
        [transactions + 1, new Set(['1', '-3.5'])],
      )
    })
    assert.ok(scanned < 10 * transactions, `${scanned} rows`)
  })

  it('is settled without a look at the assets of other batches', async () => {
    const [assets, batch] = [3_000, 1_000]
    // The table was last analysed when it was empty.
    await db.execute('vacuum analyze due_proofs')
    const fill = (): Promise<unknown> =>
      db.execute(
        `insert into due_proofs (user_key, connection_key, asset_key, since)
         select 1000, 1, n, $1 from generate_series(1, $2::integer) n on conflict do nothing`,
        [at, assets],
      )
    const due = new Map(Array.from({ length: batch }, (_, index) => [index + 1, 1]))
    await fill()
    const [sent] = await recordStatements(() => settleDue(db, ref, due, at))
    assert.ok(sent !== undefined)
    assert.deepEqual(await db.rows('select count(*)::integer as left from due_proofs'), [{ left: assets - batch }])
    await fill()
    const scanned = await countScanned(db, sent)
    assert.ok(scanned < (assets * batch) / 10, `${scanned} rows`)
  })

  const toDaysAgo = (days: number): string => new Date(Date.parse(at) - days * 86_400_000).toISOString()

  async function addMoves(
    sql: Database,
    assetKey: number,
    { isSpam, movements, days }: { isSpam: boolean; movements: number; days: number },
  ): Promise<void> {
    await sql.execute(
      `insert into postings (user_key, connection_key, transaction_id, asset_key, occurred_at, ordinal, staked, side, spam,
         amount)
       select 1000, 1, md5($2::integer || ' ' || n)::uuid, $2, $1::timestamptz - make_interval(secs => n * $4 * 86400.0 / $3),
         0, false, 'i', $5, 1 from generate_series(1, $3::integer) n`,
      [at, assetKey, movements, days, isSpam],
    )
    await sql.execute(
      `insert into daily_changes (user_key, connection_key, asset_key, day, amount)
       select user_key, connection_key, asset_key, (occurred_at at time zone 'UTC')::date, sum(amount)
       from postings where asset_key = $1 and not spam group by 1, 2, 3, 4`,
      [assetKey],
    )
  }
})

it('many differences cost one look at what strangers sent, and not one each', async () => {
  const engine = await openEngine()
  const { db } = engine
  const ref = await engine.connect(await engine.newOwner(), 'empty')
  await engine.drain({ delayed: true })
  const [tokens, strange] = [20, 300]
  const at = new Date(Date.parse(db.now()) - 3_600_000).toISOString()
  const ids = Array.from({ length: tokens }, (_, index) => ({ assetId: `evm:1:${index}`, symbol: 'T', name: 'T' }))
  const keys = await engine.assets.ensureKeys(db, ids)
  const head = { transactionId: randomUUID(), occurredAt: at, side: 'i', isStaked: false, isSpam: false } as const
  await addPostings(
    db,
    ref,
    [...keys.values()].map((assetKey, ordinal) => ({ ...head, assetKey, ordinal, amount: '1' })),
  )
  // Calls to the wallet that move nothing, and transfers of a token whose contract does not say its decimals.
  for (const isPending of [true, false]) {
    await db.execute(
      `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type,
         category, pending, staked_legs, provider_id, group_key, document)
       select $1::bigint, md5($5::text || n)::uuid, $4::timestamptz, n, $4::timestamptz, $2::integer, $3::integer,
         'uncategorized', 'other', $5::boolean, 0, 'evm', n, '"inputs":[],"outputs":[],"fees":{"items":[]}}'
       from generate_series(1, $6::integer) n`,
      [ref.userKey, ref.connectionKey, ref.tenantKey, at, isPending, strange],
    )
  }
  await db.execute(
    `with kept as (
       insert into raw_records (user_key, connection_key, pending, occurred_at, fetched_at, stream, partition, source_key,
         group_key, body, unreadable)
       select $1::bigint, $2::integer, false, $3::timestamptz, $3::timestamptz, 'erc20', '1', n, n, '{}', 'no decimals'
       from generate_series(1, $4::integer) n returning group_key)
     insert into poison_groups (user_key, connection_key, group_key, reason, seen_at)
     select $1::bigint, $2::integer, group_key, 'no decimals', $3::timestamptz from kept`,
    [ref.userKey, ref.connectionKey, at, strange],
  )
  // In a table of one page no index is used.
  await db.execute(
    `insert into postings (user_key, connection_key, transaction_id, asset_key, occurred_at, ordinal, staked, side, spam,
       amount)
     select 1, 1, md5(n::text)::uuid, 1, $1::timestamptz, 0, false, 'i', false, 1 from generate_series(1, 5000) n`,
    [at],
  )
  await db.execute('vacuum analyze transactions, postings, raw_records, poison_groups')
  const deps = { db, ledger: engine.ledger, isWallet: () => false, onChanged: async () => undefined }
  const source = { connector: { providerId: 'kraken' }, definition: {} } as const
  const reach = { untilMs: Infinity, beginningMs: 0, holes: [], hasUnread: false, partitions: new Set<string>() }
  const sent = await recordStatements(() => prove(deps, ref, source, reach))
  let scanned = 0
  for (const one of sent.filter(({ text }) => text.startsWith('select'))) scanned += await countScanned(db, one)
  const explained = await db.row(
    `select count(*)::integer as count from proofs where user_key = $1 and causes @> '[{"cause":"unreadable_record"}]'`,
    [ref.userKey],
  )
  assert.deepEqual(explained, { count: tokens })
  assert.ok(scanned < tokens * strange, `${scanned} rows`)
})
