/**
 * Wallets on Solana, through the real engine, a real Solana virtual machine and a real PostgreSQL. The suite for
 * exchanges does not fit: a wallet has no key, and its records cannot be booked in the past. The expected values are
 * computed independently: the code knows the simulator's effects and the reads of @solana/kit, and nothing of the
 * connector.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { minuteMs, SourceError } from '@assay/core'
import { address as toAddress, createSolanaRpc, signature as toSignature } from '@solana/kit'
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import { openEngine, type TestEngine } from '../../../apps/server/src/test-engine.ts'
import { toUnits } from '../../reconciler.ts'
import { until } from '../../until.ts'
import { refusalsOf, scenariosOf } from '../scenario-table.ts'
import { listEffects, sol, toAssetId, toHeld, type State } from '../books/solana-books.ts'
import { assertVerdict } from '../verdict.ts'

type Sums = Record<string, bigint>

/** By asset, in 10⁻³⁰; zeros are left out. */
function sum(pairs: readonly (readonly [assetId: string, units: bigint])[]): Sums {
  const sums = new Map<string, bigint>()
  for (const [assetId, units] of pairs) sums.set(assetId, (sums.get(assetId) ?? 0n) + units)
  return Object.fromEntries([...sums].filter(([, units]) => units !== 0n).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function toScaled(units: string | bigint, decimals: number): bigint {
  return BigInt(units) * 10n ** BigInt(30 - decimals)
}

/** What the wallet has, by the virtual machine. */
function heldNow({ accounts }: State, kinds: readonly string[] = ['wallet', 'token', 'stake']): Sums {
  return sum(
    accounts
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ lamports, token }) =>
        token === undefined
          ? [sol, toScaled(lamports, 9)]
          : [toAssetId(token.mint), toScaled(token.amount, token.decimals)],
      ),
  )
}

interface Wallet {
  address: string
  path: string
  state(): Promise<State>
  book(...entries: object[]): Promise<string[]>
}

interface World {
  engine: TestEngine
  newWallet(scenario: string): Promise<Wallet>
  connect(wallet: Pick<Wallet, 'address'>, choices?: { read?: boolean }): Promise<ConnectionRef>
  readAgain(ref: ConnectionRef): Promise<void>
}

async function openWorld(): Promise<World> {
  const engine = await openEngine()
  const { db } = engine
  let count = 0
  return {
    engine,
    async newWallet(scenario) {
      count += 1
      const minted = await engine.control<{ account_id: string; credentials: { address: string } }>('accounts', {
        ...{ provider_id: 'solana', scenario, account: `wallet-${count}` },
      })
      const path = `accounts/${minted.account_id}`
      return {
        address: minted.credentials.address,
        path,
        state: () => engine.control<State>(`${path}/state`),
        book: async (...entries) => (await engine.control<{ ids: string[] }>(`${path}/entries`, { entries })).ids,
      }
    },
    async connect({ address }, { read = true } = {}) {
      const owner = await engine.newOwner()
      const credentials = { type: 'wallet', address } as const
      const request = { providerId: 'solana', displayLabel: null, credentials, connectSessionId: null }
      const adding = engine.connections.add(owner, request)
      const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
      await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
      await engine.drain({ delayed: true, enough: async () => (await db.rows(verifying)).length === 0 })
      const { connectionId, errors } = await adding
      if (connectionId === null) throw new Error(JSON.stringify(errors))
      if (read) await engine.drain({ delayed: true })
      return engine.toRef(owner, connectionId)
    },
    async readAgain(ref) {
      const row = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
        ref.connectionId,
      ])
      await engine.sync.beginReading(db, ref, row.key_lane)
      await engine.drain({ delayed: true })
    },
  }
}

async function explained({ engine: { db } }: World, ref: ConnectionRef): Promise<Sums> {
  const rows = await db.rows<{ id: string; amount: string }>(
    `select a.id, p.amount::text as amount from postings p join assets a using (asset_key)
     where p.user_key = $1 and p.connection_key = $2`,
    [ref.userKey, ref.connectionKey],
  )
  return sum(rows.map(({ id, amount }) => [id, toUnits(amount)]))
}

async function holdings({ engine: { db } }: World, ref: ConnectionRef, part = 'liquid + h.staked'): Promise<Sums> {
  const rows = await db.rows<{ id: string; amount: string }>(
    `select a.id, (h.${part})::text as amount from holdings h join assets a using (asset_key)
     where h.user_key = $1 and h.connection_key = $2`,
    [ref.userKey, ref.connectionKey],
  )
  return sum(rows.map(({ id, amount }) => [id, toUnits(amount)]))
}

interface StoredTransaction {
  id: string
  status: string
  type: string
  category: string
  hash: string | null
  spam: boolean
}

function listTransactions({ engine: { db } }: World, ref: ConnectionRef): Promise<StoredTransaction[]> {
  return db.rows<StoredTransaction>(
    `select t.id::text, d.body ->> 'status' as status, t.type::text, t.category::text, d.body ->> 'hash' as hash,
       (d.body ->> 'spam')::boolean as spam
     from transactions t cross join lateral (select ('{' || t.document)::jsonb as body) d
     where t.user_key = $1 and t.connection_key = $2 order by t.id`,
    [ref.userKey, ref.connectionKey],
  )
}

/** What each transaction did to the SOL of a wallet, in order of time. */
async function listKinds({ engine: { db } }: World, ref: ConnectionRef): Promise<string[]> {
  const rows = await db.rows<{ line: string }>(
    `select concat_ws(' ', to_char(t.occurred_at at time zone 'UTC', 'YYYY-MM-DD'), t.type, t.category,
       string_agg(case when p.amount > 0 then '+' else '' end || trim_scale(p.amount)::text, ' ' order by p.ordinal)) as line
     from transactions t join postings p on p.user_key = t.user_key and p.transaction_id = t.id
     join assets a using (asset_key)
     where t.user_key = $1 and t.connection_key = $2 and a.id = $3
     group by t.id, t.occurred_at, t.type, t.category order by t.occurred_at, t.type::text`,
    [ref.userKey, ref.connectionKey, sol],
  )
  return rows.map(({ line }) => line)
}

/**
 * The transactions explain what the chain says. Each signature and each reward is one transaction, and a deposit that
 * comes back besides something else is another.
 */
async function assertSame(world: World, ref: ConnectionRef, wallet: Wallet): Promise<void> {
  const state = await wallet.state()
  const held = heldNow(state)
  assert.deepEqual(await explained(world, ref), held)
  assert.deepEqual(await holdings(world, ref), held)
  assert.deepEqual(await holdings(world, ref, 'staked'), heldNow(state, ['stake']))
  const transactions = await listTransactions(world, ref)
  const signatures = new Set(listEffects(state).flatMap(({ signature }) => signature ?? []))
  const shown = transactions.flatMap(({ hash }) => hash ?? [])
  const returns = transactions.filter(({ category }) => category === 'transfer').flatMap(({ hash }) => hash ?? [])
  const others = transactions.filter(({ category }) => category !== 'transfer').flatMap(({ hash }) => hash ?? [])
  for (const hashes of [returns, others]) assert.equal(new Set(hashes).size, hashes.length)
  assert.deepEqual([...signatures.difference(new Set(shown))], [])
  const rewards = state.effects.filter(({ signature }) => signature === null)
  assert.equal(transactions.filter(({ hash }) => hash === null).length, rewards.length)
}

/**
 * Two slots and 32 slots after its own a transaction is confirmed and final; our own reading stops some seconds ago.
 */
const confirmedMs = 1_500
const finalMs = minuteMs

/** The run after a balance was read judges it, as the chain's own books do. */
async function assertJudged(world: World, ref: ConnectionRef, wallet: Wallet): Promise<void> {
  await world.engine.moveClock(finalMs)
  await world.readAgain(ref)
  const account = { hold: async () => toHeld(await wallet.state()) }
  await assertVerdict(world.engine, { ref, account }, { symbolOf: (assetId) => assetId, by: 'asset_id' })
}

/** Of the scenario `odd`: tokens that came by the call of another program are as real as a transfer. */
async function assertInnerMove(world: World, ref: ConnectionRef, wallet: Wallet): Promise<void> {
  const { effects } = await wallet.state()
  const [back] = effects.filter(({ amount }) => amount === '9007199254740995')
  const rpc = createSolanaRpc(world.engine.sandbox.urls.solana)
  const found = await rpc
    .getTransaction(toSignature(back?.signature ?? ''), { encoding: 'jsonParsed', maxSupportedTransactionVersion: 0 })
    .send()
  const outer = found?.transaction.message.instructions.map((one) => ('program' in one ? one.program : ''))
  assert.deepEqual(outer, ['spl-associated-token-account'])
  const transactions = await listTransactions(world, ref)
  const own = transactions.filter(({ hash }) => hash === back?.signature)
  assert.deepEqual(
    own.map(({ type, category }) => `${type} ${category}`),
    ['receive deposit'],
  )
}

describe('wallets on Solana', async () => {
  const world = await openWorld()
  const { engine } = world

  // The longest history of these tests is read once: nearly a thousand epochs are requested.
  const wallet = await world.newWallet('default')
  const ref = await world.connect(wallet)

  it('a full read explains every balance to the lamport, and @solana/kit reads the same', async () => {
    await assertSame(world, ref, wallet)
    const rpc = createSolanaRpc(engine.sandbox.urls.solana)
    const owner = toAddress(wallet.address)
    const expected: [string, bigint][] = [[sol, toScaled((await rpc.getBalance(owner).send()).value, 9)]]
    for (const programId of [
      'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
      'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
    ]) {
      const { value } = await rpc
        .getTokenAccountsByOwner(owner, { programId: toAddress(programId) }, { encoding: 'jsonParsed' })
        .send()
      for (const { account } of value) {
        const { mint, tokenAmount } = account.data.parsed.info
        expected.push([toAssetId(mint), toScaled(tokenAmount.amount, tokenAmount.decimals)])
      }
    }
    assert.deepEqual(await holdings(world, ref, 'liquid'), sum(expected))
    assert.ok(Object.keys(sum(expected)).length > 4)
  })

  it('tokens have the names that Metaplex or the mint gives them, however much text is beside a name', async () => {
    const named = await world.newWallet('empty')
    const deposit = { type: 'deposit', amount: '1' }
    await named.book(...['SOL', 'PICTURE', 'TAXED'].map((asset) => ({ ...deposit, asset })))
    await engine.moveClock(finalMs)
    const { userKey, connectionKey } = await world.connect(named)
    const rows = await engine.db.rows<{ symbol: string; name: string }>(
      `select a.symbol, a.name from holdings h join assets a using (asset_key)
       where h.user_key = $1 and h.connection_key = $2 order by a.symbol`,
      [userKey, connectionKey],
    )
    assert.deepEqual(rows, [
      { symbol: 'PIC', name: 'Picture of a Mountain' },
      { symbol: 'SOL', name: 'Solana' },
      { symbol: 'TAX', name: 'Taxed' },
    ])
  })

  it('every kind of event has its own meaning, and the balances are proved', async () => {
    await assertJudged(world, ref, wallet)
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.proof_grade, 'proved')
    const transactions = await listTransactions(world, ref)
    const kinds = new Set(transactions.map(({ type, category, status }) => `${type} ${category} ${status}`))
    for (const kind of [
      'send withdrawal confirmed',
      'receive deposit confirmed',
      'input_and_output trade confirmed',
      'input_and_output staking_lock confirmed',
      'input_and_output staking_unlock confirmed',
      'input_only staking_reward confirmed',
      'output_only fee confirmed',
      'output_only fee failed',
    ]) {
      assert.ok(kinds.has(kind), `${kind} is not among ${[...kinds].join(', ')}`)
    }
    assert.ok(transactions.some(({ spam }) => spam))
    const coverage = await engine.sync.findCoverage(ref, ref.connectionId)
    assert.deepEqual(
      coverage?.flatMap(({ holes }) => holes),
      [],
    )
    assert.deepEqual(
      coverage?.map(({ partitions }) => partitions.incomplete),
      [0, 0],
    )
  })

  it('whole numbers beyond 2⁵³, 18 decimals and a token that taxes its transfers are exact', async () => {
    const odd = await world.newWallet('odd')
    const oddRef = await world.connect(odd)
    await assertSame(world, oddRef, odd)
    await assertJudged(world, oddRef, odd)
    await assertInnerMove(world, oddRef, odd)
  })

  it('handed_stake: the past of a stake account that a stranger hands over, or only names the wallet in, is not its history', async () => {
    const victim = await world.newWallet('handed_stake')
    const victimRef = await world.connect(victim)
    const rpc = createSolanaRpc(engine.sandbox.urls.solana)
    const { accounts } = await victim.state()
    const stakes = accounts.filter(({ kind }) => kind === 'stake')
    assert.equal(stakes.length, 2)
    for (const { address } of stakes) {
      const { value } = await rpc.getAccountInfo(toAddress(address), { encoding: 'jsonParsed' }).send()
      assert.match(inspect(value?.data, { depth: null }), new RegExp(`withdrawer: '${victim.address}'`))
    }
    const rows = await engine.db.rows<{ kind: string; amount: string }>(
      `select concat_ws(' ', t.type, t.category) as kind, p.amount::text as amount
       from transactions t join postings p on p.user_key = t.user_key and p.transaction_id = t.id
       where t.user_key = $1 and t.connection_key = $2`,
      [victimRef.userKey, victimRef.connectionKey],
    )
    const amounts = rows.filter(({ kind }) => kind !== 'input_only staking_reward').map(({ amount }) => Number(amount))
    assert.ok(rows.length > amounts.length)
    assert.ok(Math.max(...amounts) < 100 && Math.min(...amounts) > -5, amounts.join(', '))
    await assertSame(world, victimRef, victim)
    await assertJudged(world, victimRef, victim)
    assert.equal((await engine.connections.find(victimRef, victimRef.connectionId))?.proof_grade, 'proved')
  })

  it('stray_sol: SOL that strangers put into token accounts, and mints that they close, change nothing', async () => {
    const victim = await world.newWallet('stray_sol')
    const victimRef = await world.connect(victim)
    const { accounts } = await victim.state()
    const laid = accounts.filter(({ kind }) => kind === 'token').map(({ lamports }) => BigInt(lamports))
    assert.ok(laid.some((lamports) => lamports > 990n * 10n ** 9n))
    await assertSame(world, victimRef, victim)
    const { [sol]: held = 0n } = await holdings(world, victimRef)
    assert.ok(held > toScaled(11n, 0) && held < toScaled(13n, 0), String(held))
    await assertJudged(world, victimRef, victim)
    assert.equal((await engine.connections.find(victimRef, victimRef.connectionId))?.proof_grade, 'proved')
    const kinds = await listKinds(world, victimRef)
    // What the wallet itself did with its accounts: opened, filled in a step of its own, made tokens of it, closed.
    assert.deepEqual(kinds, [
      '2026-03-02 receive deposit +12',
      '2026-03-11 receive transfer +0.00207408 -0.000005',
      '2026-03-14 output_only fee -0.00204428',
      '2026-03-15 send withdrawal -2.5 -0.000005',
      '2026-03-15 receive deposit +2.5 -0.000005',
      '2026-03-17 receive deposit +0.25 -0.000005',
      '2026-03-18 receive transfer +0.00203928 -0.000005',
      '2026-03-19 output_only fee -0.00204428',
      '2026-03-20 send withdrawal -0.75 -0.000005',
      '2026-03-21 receive transfer +0.002039281',
      '2026-03-21 send withdrawal -0.000005',
    ])
  })

  it('a lamport that a stranger pays to a token account leaves the wallet proved', async () => {
    const victim = await world.newWallet('empty')
    await victim.book({ type: 'deposit', asset: 'SOL', amount: '3' }, { type: 'deposit', asset: 'USDC', amount: '50' })
    const stranger = await world.newWallet('empty')
    await stranger.book({ type: 'deposit', asset: 'SOL', amount: '5' })
    await engine.moveClock(finalMs)
    const victimRef = await world.connect(victim)
    await assertJudged(world, victimRef, victim)
    const before = await holdings(world, victimRef)
    const { accounts } = await victim.state()
    const address = accounts.find(({ kind }) => kind === 'token')?.address
    const [paid] = await stranger.book({ type: 'withdrawal', asset: 'SOL', amount: '0.000000001', address })
    await engine.moveClock(finalMs)
    await world.readAgain(victimRef)
    assert.deepEqual(await holdings(world, victimRef), before)
    await assertSame(world, victimRef, victim)
    await assertJudged(world, victimRef, victim)
    assert.equal((await engine.connections.find(victimRef, victimRef.connectionId))?.proof_grade, 'proved')
    const shown = (await listTransactions(world, victimRef)).filter(({ hash }) => hash === paid)
    assert.deepEqual(
      shown.map(({ type, spam }) => `${type} ${spam}`),
      ['uncategorized true'],
    )
  })

  it('the account of an advertisement adds no SOL to earlier days: its days add up to what a wallet holds', async () => {
    const days = await engine.db.rows<{ amount: string }>(
      `select d.amount::text as amount from daily_changes d join assets a using (asset_key)
       where d.user_key = $1 and d.connection_key = $2 and a.id = $3`,
      [ref.userKey, ref.connectionKey, sol],
    )
    assert.ok((await listTransactions(world, ref)).some(({ spam }) => spam))
    assert.deepEqual(sum(days.map(({ amount }) => [sol, toUnits(amount)]))[sol], (await holdings(world, ref))[sol])
  })

  it('an address that was never used is read without a fault, and a later payment to it appears once', async () => {
    const fresh = await world.newWallet('empty')
    const empty = await world.connect(fresh)
    assert.deepEqual(await listTransactions(world, empty), [])
    assert.equal((await engine.connections.find(empty, empty.connectionId))?.status, 'active')
    await fresh.book({ type: 'deposit', asset: 'SOL', amount: '0.25' }, { type: 'deposit', asset: 'USDC', amount: '5' })
    await engine.moveClock(finalMs)
    for (let reads = 0; reads < 2; reads += 1) {
      await world.readAgain(empty)
      assert.equal((await listTransactions(world, empty)).length, 2)
      await assertSame(world, empty, fresh)
    }
    await assertJudged(world, empty, fresh)
  })

  it('a new transaction is pending until it is final, counts at once, and keeps its id; a dropped one disappears', async () => {
    const fresh = await world.newWallet('empty')
    await fresh.book({ type: 'deposit', asset: 'SOL', amount: '1' })
    await engine.moveClock(finalMs)
    const empty = await world.connect(fresh)
    // The chain continues while it is read: on a slow machine a block may be final too soon, and another one is tried.
    const { kept, dropped, id } = await until('a block that is read and dropped before it is final', async () => {
      const booked = [
        ...(await fresh.book({ type: 'withdrawal', asset: 'SOL', amount: '0.01' })),
        ...(await fresh.book({ type: 'deposit', asset: 'SOL', amount: '5' })),
      ]
      await engine.moveClock(confirmedMs)
      await world.readAgain(empty)
      await assertSame(world, empty, fresh)
      const shown = (await listTransactions(world, empty)).filter(({ hash }) => booked.includes(hash ?? ''))
      assert.equal(shown.length, 2)
      const [first = '', second = ''] = booked
      const hasDropped = await engine.control(`${fresh.path}/withdrawn`, { ids: [second] }).then(
        () => true,
        () => false,
      )
      if (!hasDropped || shown.some(({ status }) => status !== 'pending')) return undefined
      return { kept: first, dropped: second, id: shown.find(({ hash }) => hash === first)?.id }
    })
    await engine.moveClock(finalMs)
    await world.readAgain(empty)
    const after = await listTransactions(world, empty)
    assert.deepEqual([...new Set(after.map(({ status }) => status))], ['confirmed'])
    assert.equal(after.find(({ hash }) => hash === kept)?.id, id)
    assert.ok(!after.some(({ hash }) => hash === dropped))
    await assertSame(world, empty, fresh)
  })

  it('no record is lost or doubled when the node fails in the middle of a history', async () => {
    const odd = await world.newWallet('odd')
    const reading = await world.connect(odd, { read: false })
    let interruptions = 0
    for (let after = 4; after < 40; after += 12) {
      await engine.control('providers/solana/faults', { kind: 'http_5xx', after })
      let jobs = 0
      await engine.drain({ delayed: true, enough: async () => (jobs += 1) > 2 })
      await clearFaults(world)
      if ((await engine.connections.listIssues(reading)).length > 0) interruptions += 1
      await engine.moveClock(10 * minuteMs)
    }
    assert.ok(interruptions > 0, 'reading was never interrupted')
    await world.readAgain(reading)
    await assertSame(world, reading, odd)
  })

  const further = scenariosOf('solana', 'own file').filter(
    (name) => !['default', 'empty', 'odd', 'handed_stake', 'stray_sol'].includes(name),
  )
  for (const scenario of further) {
    it(`${scenario}: everything is read, and the proof is right about every asset`, async () => {
      const other = await world.newWallet(scenario)
      const otherRef = await world.connect(other)
      await assertSame(world, otherRef, other)
      await assertJudged(world, otherRef, other)
    })
  }

  for (const { scenario, cause } of refusalsOf('solana')) {
    it(`${scenario}: is not added, because of ${cause}`, async () => {
      await assert.rejects(world.connect(await world.newWallet(scenario)), new RegExp(`"cause":"${cause}"`))
    })
  }

  it('an address of a mint is refused', async () => {
    const usdc = { address: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v' }
    await assert.rejects(world.connect(usdc), /invalid_credentials/)
  })

  for (const [kind, fault] of [
    ['http_5xx', 'venue_down'],
    ['http_429_retry_after', 'rate_limited'],
    ['rate_limited', 'rate_limited'],
    ['reset', 'venue_down'],
    ['truncated_json', 'unreadable_answer'],
    ['html', 'venue_down'],
  ] as const) {
    it(`${kind} is ${fault}`, async () => {
      const opened = await engine.connections.open(ref)
      await engine.control('providers/solana/faults', { kind })
      const reading = opened?.reader.fetchBalances({})
      await assert.rejects(reading ?? Promise.resolve(), (error) => {
        assert.ok(error instanceof SourceError, String(error))
        return error.fault === fault
      })
      await clearFaults(world)
    })
  }
})

async function clearFaults({ engine }: World): Promise<void> {
  const url = `${engine.sandbox.controlUrl}/control/providers/solana/faults`
  assert.equal((await fetch(url, { method: 'DELETE' })).status, 200)
}
