/** The verdict after each run: changes are judged again, sabotage is located, and nothing else is read. */
import { hourMs, minuteMs } from '@assay/core'
import { loadConnector, type Connector } from '@assay/connectors'
import { getDefinition } from '@assay/connectors/catalog'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { recordStatements, countScanned } from '../db/test-statements.ts'
import { addPostings, type Posting } from '../ledger/deriving/postings-store.ts'
import { holdConnectionAlone } from '../ledger/locks-store.ts'
import type { ConnectionRef } from '../owner.ts'
import { toReach } from '../sync/coverage.ts'
import { loadStandings } from '../sync/store.ts'
import { listTargets, openProofWorld, sabotageOnce } from '../../../../test/campaigns/proof/proof.ts'
import { openEngine, type Account } from '../test-engine.ts'
import { until } from '../../../../test/until.ts'
import type { ProofPage } from './index.ts'
import { keepDue, listRecords, weigh } from './store.ts'

type Connected = ConnectionRef & Account

describe('a proof', async () => {
  const engine = await openEngine()
  const { db } = engine
  const source = { connector: await loadConnector('kraken'), definition: getDefinition('kraken') }

  async function connectRead(scenario: string): Promise<Connected> {
    const ref = await engine.connect(await engine.newOwner(), scenario)
    await engine.drain({ delayed: true })
    return ref
  }
  async function find(ref: ConnectionRef): Promise<ProofPage> {
    const found = await engine.proof.list(ref, ref.connectionId, { limit: 100, after: undefined })
    assert.ok(found)
    return found
  }
  const reachOf = async (ref: ConnectionRef): Promise<ReturnType<typeof toReach>> =>
    toReach(source.definition.streams, (await loadStandings(db, ref)).lists)
  /** Makes the next run happen now. */
  async function run(ref: ConnectionRef): Promise<void> {
    await engine.moveClock(minuteMs)
    await db.execute(
      `select graphile_worker.reschedule_jobs(array[id], run_at => clock_timestamp())
       from graphile_worker.jobs where key = $1`,
      [`sync:${ref.connectionId}`],
    )
    await engine.drain()
  }
  const book = (ref: Connected, entry: object): Promise<unknown> =>
    engine.control(`accounts/${ref.accountId}/entries`, { entries: [entry] })
  const deposit = (amount: string): object => ({ type: 'deposit', asset: 'XXBT', amount })

  it('exists after the first read, and follows every change one run later', async () => {
    const ref = await connectRead('default')
    const first = await find(ref)
    assert.deepEqual([first.summary.grade, first.summary.assetsByGrade.proved], ['proved', first.rows.length])
    await book(ref, deposit('0.5'))
    await run(ref)
    await run(ref)
    const next = await find(ref)
    assert.equal(next.summary.grade, 'proved')
    assert.ok((next.observedAt ?? '') > (first.observedAt ?? ''))
    const bitcoin = (page: ProofPage): number => Number(page.rows.find((row) => row.asset_symbol === 'BTC')?.observed)
    assert.ok(Math.abs(bitcoin(next) - bitcoin(first) - 0.5) < 1e-9)
    const left = await db.rows('select from due_proofs where user_key = $1', [ref.userKey])
    assert.deepEqual(left, [])
  })

  it('of an asset that moves before every reading is about the records since the last one, and leaves due what came after', async () => {
    const ref = await connectRead('empty')
    const bookAndRun = async (): Promise<void> => {
      await book(ref, deposit('0.5'))
      await run(ref)
    }
    for (let runs = 0; runs < 3; runs += 1) await bookAndRun()
    const walkedFrom = (await recordStatements(bookAndRun))
      .filter(({ text }) => text.startsWith('select stream, partition, source_key, occurred_at, body from raw_records'))
      .map(({ values }) => values[2])
    assert.ok(walkedFrom.length > 0 && !walkedFrom.includes('-infinity'), String(walkedFrom))
    const { isAfter } = await db.row<{ isAfter: boolean }>(
      `select bool_and(q.since > c.proof_balances_at) as "isAfter" from connections c
       join due_proofs q on q.user_key = c.user_key and q.connection_key = c.connection_key where c.id = $1`,
      [ref.connectionId],
    )
    assert.equal(isAfter, true)
  })

  it('that is provisional is due from its reading, also when the asset changed again while it was judged', async () => {
    const ref = await connectRead('empty')
    const at = db.now()
    const later = (ms: number): string => new Date(Date.parse(at) + ms).toISOString()
    for (const [assetKey, sinceMs, dueMs] of [
      [1, 3_000, 1],
      [2, -3_000, -3_000],
    ] as const) {
      await db.execute(
        'insert into due_proofs (user_key, connection_key, asset_key, since, marks) values ($1, $2, $3, $4, 2)',
        [ref.userKey, ref.connectionKey, assetKey, later(sinceMs)],
      )
      await keepDue(db, ref, [assetKey], { due: new Map([[assetKey, 1]]), at })
      const { since } = await db.row<{ since: string }>(
        'select since from due_proofs where user_key = $1 and asset_key = $2',
        [ref.userKey, assetKey],
      )
      assert.equal(since, later(dueMs))
    }
  })

  it('is about the newest reading, even if a run finds news that moves no balance', async () => {
    const ref = await connectRead('empty')
    const first = await find(ref)
    await engine.moveClock(hourMs)
    const readAt = engine.clock.now()
    await engine.ledger.keepHoldings(ref, 'kraken', [])
    const reach = await reachOf(ref)
    assert.ok(reach)
    await engine.proof.prove(ref, source, { ...reach, untilMs: readAt + hourMs })
    const { observedAt } = await find(ref)
    assert.ok(Date.parse(observedAt ?? '') >= Math.floor(readAt), `${observedAt}, first ${first.observedAt}`)
  })

  it('shows rows and summary of one snapshot, even if a verdict is written during the read', async () => {
    const ref = await connectRead('default')
    const before = await find(ref)
    const reading = await db.transaction(async (tx) => {
      // Only the rows need this table, so the summary can be read while the rows wait for this transaction.
      await tx.execute('lock table assets in access exclusive mode')
      const found = find(ref)
      await until('a statement that waits for the lock', async () =>
        tx.maybeRow("select from pg_locks where relation = 'assets'::regclass and not granted limit 1"),
      )
      await tx.execute("update proofs set grade = 'open' where user_key = $1", [ref.userKey])
      // The promise is inside an object, because a transaction awaits a promise that its work returns.
      return { found }
    })
    assert.deepEqual(await reading.found, before)
    assert.equal((await find(ref)).summary.assetsByGrade.open, before.rows.length)
  })

  it('keeps one observation for each change of a balance, with the last reading that still found it', async () => {
    const ref = await connectRead('empty')
    const list = (): Promise<{ observed_at: string; seen_until: string | null; liquid: string }[]> =>
      db.rows(
        'select observed_at, seen_until, liquid from observed_balances where user_key = $1 order by observed_at',
        [ref.userKey],
      )
    await book(ref, deposit('1'))
    await run(ref)
    await run(ref)
    const [row, ...others] = await list()
    assert.deepEqual([others, row?.seen_until], [[], null])
    const seenAt = (
      await db.row<{ at: string }>('select balances_at as at from connections where id = $1', [ref.connectionId])
    ).at
    await book(ref, { type: 'withdrawal', asset: 'XXBT', amount: '-1' })
    await run(ref)
    const [former, newest, ...more] = await list()
    assert.deepEqual([more, former?.seen_until, newest?.seen_until], [[], seenAt, null])
    assert.equal(Number(newest?.liquid), 0)
  })

  it('locates a dropped, duplicated or altered record in its interval, and is proved again once that is undone', async () => {
    const ref = await connectRead('default')
    await engine.webhooks.set(ref.tenantId, 'http://127.0.0.1:9/hook')
    const world = await openProofWorld(engine)
    const targets = (await listTargets(engine, ref)).filter(({ stream }) => stream === 'ledger')
    for (const [index, kind] of (['dropped', 'doubled', 'altered'] as const).entries()) {
      const target = targets[Math.floor((targets.length * (index + 1)) / 5)]
      assert.ok(target)
      assert.deepEqual(await sabotageOnce(world, ref, 'kraken', kind, target), { wrong: undefined, changed: 1 }, kind)
    }
    const messages = await db.rows<{ body: string }>('select body from webhook_messages order by seq')
    const told = messages
      .map(({ body }) => JSON.parse(body) as { type: string; data: { grade: string; previous_grade: string } })
      .filter(({ type }) => type === 'proof.changed')
      .map(({ data }) => [data.previous_grade, data.grade])
    const once = [
      ['proved', 'open'],
      ['open', 'proved'],
    ]
    assert.deepEqual(told, [...once, ...once, ...once])
    await engine.webhooks.remove(ref.tenantId)
  })

  it('locates a gap at the end of a wallet there, even when other wallets of the asset continued', async () => {
    const ref = await connectRead('default')
    const ledger = (await listTargets(engine, ref)).filter(({ stream }) => stream === 'ledger')
    const bodies = await db.rows<{ source_key: string; code: string }>(
      `select source_key, body::jsonb ->> 'asset' as code from raw_records
       where user_key = $1 and connection_key = $2 and stream = 'ledger'`,
      [ref.userKey, ref.connectionKey],
    )
    const codes = new Map(bodies.map(({ source_key, code }) => [source_key, code]))
    // There is ether in the spot wallet and in the staking wallets.
    const ether = ledger.filter(({ source_key }) => /^(XETH|ETH)/.test(codes.get(source_key) ?? ''))
    const lastOfCode = Map.groupBy(ether, ({ source_key }) => codes.get(source_key) ?? '')
    const ends = [...lastOfCode.values()].flatMap((rows) => rows.at(-1) ?? [])
    assert.ok(ends.length > 1, 'ether is in one wallet only')
    const world = await openProofWorld(engine)
    for (const end of ends) {
      assert.deepEqual(await sabotageOnce(world, ref, 'kraken', 'late', end), { wrong: undefined, changed: 1 })
    }
  })

  it('treats small growth as accrued where the provider recently paid something for the asset', async () => {
    const ref = await connectRead('empty')
    /** Loses a deposit of a two-hundredth that the balance still has. The next run reads the records again. */
    const judgeWithout = async (lost: string): Promise<string | undefined> => {
      for (let runs = 0; runs < 2; runs += 1) await run(ref)
      const removed = await db.execute(
        `delete from raw_records where user_key = $1 and (body::jsonb ->> 'amount')::numeric = $2`,
        [ref.userKey, lost],
      )
      assert.equal(removed, 1)
      await engine.ledger.replay({ connectionId: ref.connectionId, apply: true, onProgress: () => undefined })
      const growing = { connector: { providerId: 'kraken' }, definition: { accrues: 'held' } } as const
      await engine.proof.prove(ref, growing, await reachOf(ref), { thorough: true })
      const { rows } = await find(ref)
      assert.deepEqual(
        rows.map(({ difference }) => difference),
        ['0.5'],
      )
      return rows[0]?.causes[0]?.cause
    }
    await book(ref, deposit('100'))
    await book(ref, deposit('0.5'))
    assert.equal(await judgeWithout('0.5'), 'unexplained')
    await book(ref, { type: 'earn', subtype: 'reward', asset: 'XXBT', amount: '0.001' })
    assert.equal(await judgeWithout('0.5'), 'accrual')
  })

  it('takes the same statements and one row per day, with 100,000 postings of one asset', async () => {
    const ref = await connectRead('default')
    const { asset_key } = await db.row<{ asset_key: number }>(
      "select asset_key from assets where id = 'crypto:bitcoin'",
    )
    const mark = (): Promise<number> =>
      db.execute(`insert into due_proofs (user_key, connection_key, asset_key, since) values ($1, $2, $3, $4)`, [
        ref.userKey,
        ref.connectionKey,
        asset_key,
        db.now(),
      ])
    const prove = async (): Promise<string[]> => {
      const reach = await reachOf(ref)
      const sent = await recordStatements(() => engine.proof.prove(ref, source, reach))
      return sent.map(({ text }) => text)
    }
    await mark()
    const few = await prove()
    // These are pairs over a year that cancel each other.
    await db.execute(
      `with added as (
         insert into postings (user_key, connection_key, transaction_id, asset_key, occurred_at, ordinal, staked, side, spam, amount)
         select $1, $2, gen_random_uuid(), $3, $4::timestamptz - interval '2 days' - make_interval(mins => n * 5), 0, false,
           'i', false, case when n % 2 = 0 then 1 else -1 end
         from generate_series(1, 100000) n returning occurred_at, amount)
       insert into daily_changes as d (user_key, connection_key, asset_key, day, amount)
       select $1, $2, $3, (occurred_at at time zone 'UTC')::date, sum(amount) from added group by 4
       on conflict (user_key, connection_key, asset_key, day) do update set amount = d.amount + excluded.amount`,
      [ref.userKey, ref.connectionKey, asset_key, db.now()],
    )
    await db.execute('analyze postings; analyze daily_changes')
    await mark()
    assert.deepEqual(await prove(), few)
    assert.equal((await find(ref)).summary.grade, 'proved')
    assert.ok(few.length <= 12, few.join('\n'))

    const [sent] = await recordStatements(() => weigh(db, ref, [asset_key], { at: db.now(), firstAt: db.now() }))
    assert.ok(sent)
    const days = await db.row<{ days: number }>(
      'select count(*)::int as days from daily_changes where user_key = $1 and asset_key = $2',
      [ref.userKey, asset_key],
    )
    const scanned = await countScanned(db, sent)
    // The sum is read twice: at the time of the verdict and at the first observation.
    assert.ok(scanned <= 2 * days.days + 50, `${scanned} rows for ${days.days} days`)
  })

  /** Books a movement of an asset without a record of the provider. */
  async function post(
    ref: ConnectionRef,
    legs: readonly Pick<Posting, 'assetKey' | 'side' | 'amount'>[],
    at = db.now(),
  ) {
    const transactionId = randomUUID()
    const postings = legs.map((leg, ordinal) => ({
      ...{ transactionId, occurredAt: at, ordinal, isStaked: false, isSpam: false, ...leg },
    }))
    await db.transaction((tx) => addPostings(tx, ref, postings))
  }
  const newTokens = async (symbols: readonly string[]): Promise<number[]> => {
    const rows = await db.rows<{ asset_key: number }>(
      `insert into assets (id, kind, symbol, name) select 'token:' || s, 'crypto', s, s from unnest($1::text[]) s
       returning asset_key`,
      [[...symbols]],
    )
    return rows.map((row) => row.asset_key)
  }
  const wallet = { connector: { providerId: 'bitcoin' }, definition: {} } as const
  const exchange = { connector: { providerId: 'kraken' }, definition: {} } as const

  it('leaves out unknown tokens that strangers sent to a wallet and that do not add up, but not what the owner moved', async () => {
    const ref = await connectRead('empty')
    const [sent = 0, bought = 0, paid = 0] = await newTokens(['SENT', 'BOUGHT', 'PAID'])
    const prove = async (from: typeof wallet | typeof exchange): Promise<unknown> => {
      await run(ref)
      await engine.proof.prove(ref, from, await reachOf(ref), { thorough: true })
      const { summary } = await find(ref)
      return [summary.grade, summary.assetsByGrade.open]
    }
    const earlier = new Date(Date.parse(db.now()) - hourMs).toISOString()
    await post(ref, [{ assetKey: sent, side: 'i', amount: '1000' }], earlier)
    assert.deepEqual(await prove(wallet), ['proved', 0])
    const { rows } = await find(ref)
    assert.deepEqual(
      rows.map((row) => [row.asset_symbol, row.grade, row.difference]),
      [['SENT', 'open', '-1000']],
      'it is still shown',
    )
    const [forged = 0, real = 0] = await newTokens(['FORGED', 'REAL'])
    const { asset_key: bitcoin } = await db.row<{ asset_key: number }>(
      `insert into assets (id, kind, symbol, name) values ('crypto:bitcoin', 'crypto', 'BTC', 'Bitcoin')
       on conflict (id) do update set name = excluded.name returning asset_key`,
    )
    const nothing = { assetKey: bitcoin, side: 'o', amount: '0' } as const
    await post(ref, [{ assetKey: forged, side: 'o', amount: '-5' }, nothing], earlier)
    assert.deepEqual(await prove(wallet), ['proved', 0], 'anyone can write that a wallet has sent an unknown token')
    const known = [1, -1].map(
      (amount) => ({ assetKey: bitcoin, side: amount > 0 ? 'i' : 'o', amount: String(amount) }) as const,
    )
    await post(ref, known.slice(0, 1), earlier)
    await post(ref, [{ assetKey: real, side: 'i', amount: '5' }, ...known.slice(1)], earlier)
    assert.deepEqual(await prove(wallet), ['open', 1], 'it was bought')
    assert.deepEqual(await prove(exchange), ['open', 3], 'an exchange has listed what it books')
    const gas = { assetKey: paid, side: 'f', amount: '-1' } as const
    await post(ref, [{ assetKey: bought, side: 'i', amount: '5' }, gas], earlier)
    assert.deepEqual(await prove(wallet), ['open', 3])
  })

  it('leaves out unknown tokens that a wallet is said to hold and that no transaction moved, but not known ones', async () => {
    const ref = await connectRead('empty')
    await run(ref)
    const prove = async (): Promise<unknown> => {
      await run(ref)
      await engine.proof.prove(ref, wallet, await reachOf(ref), { thorough: true })
      const { rows, summary } = await find(ref)
      return [summary.grade, rows.map((row) => `${row.asset_symbol} ${row.grade} ${row.difference ?? ''}`).toSorted()]
    }
    /** What the contract answers for the wallet, after an event that moved nothing. */
    const hold = async (assetKey: number): Promise<void> => {
      const { at } = await db.row<{ at: string }>('select balances_since as at from connections where id = $1', [
        ref.connectionId,
      ])
      await db.execute(
        `insert into observed_balances (user_key, connection_key, observed_at, asset_key, liquid, staked)
         values ($1, $2, $3, $4, 5, 0)`,
        [ref.userKey, ref.connectionKey, at, assetKey],
      )
    }
    const [said = 0, moved = 0, bought = 0] = await newTokens(['SAID', 'NOTHING', 'CLAIMED'])
    const [known = 0] = (
      await db.rows<{ asset_key: number }>(
        `insert into assets (id, kind, symbol, name) values ('crypto:litecoin', 'crypto', 'LTC', 'Litecoin') returning asset_key`,
      )
    ).map((row) => row.asset_key)
    await hold(said)
    await hold(moved)
    await post(ref, [{ assetKey: moved, side: 'i', amount: '0' }])
    assert.deepEqual(await prove(), ['proved', ['NOTHING open 5', 'SAID open 5']], 'they are still shown')
    await hold(bought)
    await post(ref, [
      { assetKey: bought, side: 'i', amount: '0' },
      { assetKey: known, side: 'f', amount: '-1' },
    ])
    await post(ref, [{ assetKey: known, side: 'i', amount: '1' }])
    assert.deepEqual(await prove(), ['open', ['CLAIMED open 5', 'LTC proved 0', 'NOTHING open 5', 'SAID open 5']])
    await db.execute('delete from postings where user_key = $1 and asset_key = $2', [ref.userKey, bought])
    await hold(known)
    assert.deepEqual(await prove(), ['open', ['CLAIMED open 5', 'LTC open 5', 'NOTHING open 5', 'SAID open 5']])
  })

  it('of thousands of tokens that strangers sent takes a bounded number of statements, and once', async () => {
    const ref = await connectRead('empty')
    await run(ref)
    const tokens = await newTokens(Array.from({ length: 3_000 }, (_, index) => `FLOOD${index}`))
    const earlier = new Date(Date.parse(db.now()) - hourMs).toISOString()
    await post(
      ref,
      tokens.map((assetKey) => ({ assetKey, side: 'i', amount: '1' })),
      earlier,
    )
    const reach = await reachOf(ref)
    const prove = (options: object): ReturnType<typeof recordStatements> =>
      recordStatements(() => engine.proof.prove(ref, wallet, reach, options))
    const dueBefore = await db.rows('select * from due_proofs where user_key = $1 order by asset_key', [ref.userKey])
    for (const batchesBefore of [0, 2]) {
      let looked = 0
      const signal = {
        get aborted() {
          return looked++ === batchesBefore
        },
      }
      await prove({ thorough: true, signal })
      assert.equal(looked, batchesBefore + 1)
      assert.deepEqual((await find(ref)).rows, [], 'asked to make room, it leaves everything due')
      const left = await db.rows('select * from due_proofs where user_key = $1 order by asset_key', [ref.userKey])
      assert.deepEqual(left, dueBefore)
    }
    const first = await prove({ thorough: true })
    assert.ok(first.length <= tokens.length / 2, `${first.length} statements`)
    const sizes = first.flatMap(({ values }) => values.map((value) => (Array.isArray(value) ? value.length : 0)))
    assert.ok(Math.max(...sizes) <= 1_000, `${Math.max(...sizes)} assets at once`)
    const held = first.findIndex(({ text }) => text.includes('from existing_connections'))
    const written = first.findIndex(({ text }) => text.includes('insert into proofs'))
    assert.ok(held < written, 'the connection is held before anything is written, as by all others')
    assert.equal((await find(ref)).summary.grade, 'proved')
    const again = await prove({})
    assert.ok(again.length <= 12, `${again.length} statements`)
  })

  it('and a change of what it judges wait for each other in one order', async () => {
    const ref = await connectRead('empty')
    await run(ref)
    const [token = 0] = await newTokens(['MEANWHILE'])
    await post(ref, [{ assetKey: token, side: 'i', amount: '1' }])
    const reach = await reachOf(ref)
    let proving: Promise<unknown> = Promise.resolve()
    await db.transaction(async (tx) => {
      await holdConnectionAlone(tx, ref)
      proving = engine.proof.prove(ref, exchange, reach, { thorough: true })
      await until('the proof to wait for the connection', async () => {
        const { waits } = await db.row<{ waits: boolean }>(
          `select exists (select from pg_stat_activity where wait_event_type = 'Lock' and query like '%existing_connections%'
             and datname = current_database()) as waits`,
        )
        return waits || undefined
      })
      const posting = {
        transactionId: randomUUID(),
        assetKey: token,
        occurredAt: db.now(),
        ordinal: 0,
        side: 'i',
      } as const
      await addPostings(tx, ref, [{ ...posting, isStaked: false, isSpam: false, amount: '1' }])
    })
    await proving
    const left = await db.rows('select asset_key from due_proofs where user_key = $1', [ref.userKey])
    assert.deepEqual(left, [{ asset_key: token }], 'it has changed since it was judged')
  })

  it('by a record that the balance may not contain yet is judged again by the next reading', async () => {
    const ref = await connectRead('empty')
    const [token = 0] = await newTokens(['FALSE'])
    await run(ref)
    const { unproved_at: at } = await db.row<{ unproved_at: string }>(
      'select unproved_at from connection_proofs where user_key = $1',
      [ref.userKey],
    )
    await post(ref, [{ assetKey: token, side: 'i', amount: '1000' }], new Date(Date.parse(at) - 4_000).toISOString())
    const reach = await reachOf(ref)
    assert.ok(reach)
    await engine.proof.prove(ref, exchange, { ...reach, untilMs: Date.parse(at) + 1 })
    const verdict = async (): Promise<unknown> =>
      (await find(ref)).rows.map((row) => [row.asset_symbol, row.grade, row.difference])
    assert.deepEqual(await verdict(), [['FALSE', 'proved', '0']])
    for (let runs = 0; runs < 2; runs += 1) await run(ref)
    assert.deepEqual(await verdict(), [['FALSE', 'open', '-1000']])
  })

  it('that leaves a record out says how much more the reading found than all records come to', async () => {
    const ref = await connectRead('empty')
    const [token = 0] = await newTokens(['TWICE'])
    await post(
      ref,
      [{ assetKey: token, side: 'i', amount: '5' }],
      new Date(Date.parse(db.now()) - hourMs).toISOString(),
    )
    await run(ref)
    const { at } = await db.row<{ at: string }>('select unproved_at as at from connection_proofs where user_key = $1', [
      ref.userKey,
    ])
    await db.execute(
      `insert into observed_balances (user_key, connection_key, observed_at, asset_key, liquid, staked)
       values ($1, $2, $3, $4, 5, 0)`,
      [ref.userKey, ref.connectionKey, at, token],
    )
    await post(ref, [{ assetKey: token, side: 'o', amount: '-5' }], new Date(Date.parse(at) - 4_000).toISOString())
    const reach = await reachOf(ref)
    assert.ok(reach)
    await engine.proof.prove(ref, exchange, { ...reach, untilMs: Date.parse(at) + 1 })
    const [verdict] = (await find(ref)).rows
    assert.deepEqual([verdict?.grade, verdict?.difference], ['proved', '0'])
    const [said] = await db.rows<{ excess: string }>('select excess::text from asset_grades where user_key = $1', [
      ref.userKey,
    ])
    assert.equal(said?.excess, '5')
  })

  it('leaves out records that a provider has made long: a page of them would fill the memory', async () => {
    const ref = await connectRead('default')
    const page = { after: '-infinity', until: db.now(), limit: 5_000 }
    // Records of one moment come in any order.
    const list = async () =>
      (await listRecords(db, ref, page)).toSorted((a, b) => (a.source_key < b.source_key ? -1 : 1))
    const [first, ...others] = await list()
    await db.execute(
      `update raw_records set body = rtrim(body, '}') || ',"note":"' || repeat('x', 16384) || '"}'
       where user_key = $1 and source_key = $2`,
      [ref.userKey, first?.source_key],
    )
    assert.deepEqual(await list(), others)
  })

  it('follows a wallet whose code cannot be stored as it is', async () => {
    const ref = await connectRead('default')
    const runningBalance: NonNullable<Connector['runningBalance']> = (record) => {
      const found = source.connector.runningBalance?.(record)
      return found && { ...found, wallet: `${found.wallet}\0` }
    }
    const odd = { ...source, connector: { ...source.connector, runningBalance } }
    await engine.proof.prove(ref, odd, await reachOf(ref), { thorough: true })
    const wallets = await db.rows<{ wallet: string }>('select wallet from running_balances where user_key = $1', [
      ref.userKey,
    ])
    assert.ok(wallets.length > 0 && wallets.every(({ wallet }) => wallet.endsWith('\ufffd')))
  })

  it('is destroyed with its connection', async () => {
    const ref = await connectRead('default')
    await engine.connections.remove(ref, { connectionId: ref.connectionId })
    await engine.drain({ delayed: true })
    for (const table of ['observed_balances', 'due_proofs', 'proofs', 'running_balances']) {
      assert.deepEqual(await db.rows(`select from ${table} where user_key = $1`, [ref.userKey]), [], table)
    }
  })
})
