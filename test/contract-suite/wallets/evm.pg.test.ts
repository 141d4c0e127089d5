/**
 * Wallets on EVM chains, through the real engine, a real EVM and a real PostgreSQL. The suite for exchanges does not
 * fit: a wallet has no key, its lists are in blocks, and its records cannot be booked in the past. The expected values
 * are computed independently: it knows the simulator's effects and viem's reads, and nothing of the connector.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hourMs, minuteMs, SourceError } from '@assay/core'
import { createPublicClient, erc20Abi, http, type Address } from 'viem'
import { openEngine, type TestEngine } from '../../../apps/server/src/test-engine.ts'
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import { toUnits } from '../../reconciler.ts'
import { until } from '../../until.ts'
import { toAssetId, toHeld, type Network } from '../books/evm-books.ts'
import { refusalsOf, scenariosOf } from '../scenario-table.ts'
import { assertVerdict, listVerdicts } from '../verdict.ts'

type Sums = Record<string, bigint>

/** By asset, in 10⁻³⁰; zeros are left out. */
function sum(pairs: readonly (readonly [assetId: string, units: bigint])[]): Sums {
  const sums = new Map<string, bigint>()
  for (const [assetId, units] of pairs) sums.set(assetId, (sums.get(assetId) ?? 0n) + units)
  return Object.fromEntries([...sums].filter(([, units]) => units !== 0n).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function toScaled(units: string, decimals: number): bigint {
  return BigInt(units) * 10n ** BigInt(30 - decimals)
}

/** What the chains did to the wallet, by the simulator's own books. */
function heldChanges(networks: readonly Network[]): Sums {
  return sum(
    networks.flatMap(({ chain_id: chainId, effects, balances }) =>
      effects.map(({ asset, token_id: tokenId, amount }): [string, bigint] => {
        const decimals = balances.find((one) => one.asset === asset)?.decimals ?? 0
        const assetId = toAssetId(chainId, asset)
        return [tokenId === undefined ? assetId : `${assetId}:${tokenId}`, toScaled(amount, decimals)]
      }),
    ),
  )
}

interface Wallet {
  address: Address
  path: string
  networks(): Promise<Network[]>
  book(...entries: object[]): Promise<string[]>
}

interface World {
  engine: TestEngine
  newWallet(scenario: string): Promise<Wallet>
  connect(wallet: Wallet, choices?: { read?: boolean }): Promise<ConnectionRef>
  readAgain(ref: ConnectionRef, enough?: () => Promise<boolean>): Promise<void>
}

async function openWorld(): Promise<World> {
  const engine = await openEngine()
  const { db } = engine
  let count = 0
  return {
    engine,
    async newWallet(scenario) {
      count += 1
      const minted = await engine.control<{ account_id: string; credentials: { address: Address } }>('accounts', {
        ...{ provider_id: 'evm', scenario, account: `wallet-${count}` },
      })
      const path = `accounts/${minted.account_id}`
      return {
        address: minted.credentials.address,
        path,
        networks: async () => (await engine.control<{ networks: Network[] }>(`${path}/state`)).networks,
        book: async (...entries) => (await engine.control<{ ids: string[] }>(`${path}/entries`, { entries })).ids,
      }
    },
    async connect({ address }, { read = true } = {}) {
      const owner = await engine.newOwner()
      const credentials = { type: 'wallet', address } as const
      const request = { providerId: 'evm', displayLabel: null, credentials, connectSessionId: null }
      const adding = engine.connections.add(owner, request)
      const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
      await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
      await engine.drain({ delayed: true, enough: async () => (await db.rows(verifying)).length === 0 })
      const { connectionId, errors } = await adding
      if (connectionId === null) throw new Error(JSON.stringify(errors))
      if (read) await engine.drain({ delayed: true })
      return engine.toRef(owner, connectionId)
    },
    async readAgain(ref, enough = async () => false) {
      const row = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
        ref.connectionId,
      ])
      await engine.sync.beginReading(db, ref, row.key_lane)
      await engine.drain({ delayed: true, enough })
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

async function holdings({ engine: { db } }: World, ref: ConnectionRef): Promise<Sums> {
  const rows = await db.rows<{ id: string; amount: string }>(
    `select a.id, (h.liquid + h.staked)::text as amount from holdings h join assets a using (asset_key)
     where h.user_key = $1 and h.connection_key = $2`,
    [ref.userKey, ref.connectionKey],
  )
  return sum(rows.map(({ id, amount }) => [id, toUnits(amount)]))
}

interface StoredTransaction {
  id: string
  network: string
  status: string
  type: string
  category: string
  hash: string | null
  spam: boolean
}

function listTransactions({ engine: { db } }: World, ref: ConnectionRef): Promise<StoredTransaction[]> {
  return db.rows<StoredTransaction>(
    `select t.id::text, d.body ->> 'network' as network, d.body ->> 'status' as status, t.type::text, t.category::text,
       d.body ->> 'hash' as hash, (d.body ->> 'spam')::boolean as spam
     from transactions t cross join lateral (select ('{' || t.document)::jsonb as body) d
     where t.user_key = $1 and t.connection_key = $2 order by t.id`,
    [ref.userKey, ref.connectionKey],
  )
}

/** The transactions explain what the chain says, and each hash of each chain is one transaction. */
async function assertSame(world: World, ref: ConnectionRef, wallet: Wallet): Promise<void> {
  const networks = await wallet.networks()
  const changes = heldChanges(networks)
  assert.deepEqual(await explained(world, ref), changes)
  assert.deepEqual(await holdings(world, ref), changes)
  const transactions = await listTransactions(world, ref)
  const hashes = networks.flatMap(({ chain_id: chainId, effects }) =>
    effects.flatMap(({ hash }) => (hash === null ? [] : [`${chainId}:${hash}`])),
  )
  const withdrawals = networks.flatMap(({ effects }) => effects.filter(({ hash }) => hash === null))
  const shown = new Set(transactions.map(({ network, hash }) => `${network === 'base' ? 8453 : 1}:${hash ?? ''}`))
  assert.deepEqual(
    [...new Set(hashes)].filter((hash) => !shown.has(hash)),
    [],
  )
  assert.equal(shown.size, transactions.length - Math.max(0, withdrawals.length - 1))
  assert.equal(transactions.filter(({ hash }) => hash === null).length, withdrawals.length)
}

/** Every chain is deep enough after this. */
const finalMs = 30 * minuteMs

/** The run after a balance was read judges it, as the chains' own books do. */
async function assertJudged(world: World, ref: ConnectionRef, wallet: Wallet): Promise<void> {
  await world.engine.moveClock(finalMs)
  await world.readAgain(ref)
  const account = { hold: async () => toHeld({ networks: await wallet.networks() }) }
  await assertVerdict(world.engine, { ref, account }, { symbolOf: (assetId) => assetId, by: 'asset_id' })
}

describe('wallets on EVM chains', async () => {
  const world = await openWorld()
  const { engine } = world

  it('a full read explains every balance to the wei, on both chains, and viem reads the same', async () => {
    const wallet = await world.newWallet('default')
    const ref = await world.connect(wallet)
    await assertSame(world, ref, wallet)
    const held = await holdings(world, ref)
    const expected: [string, bigint][] = []
    for (const { chain_id: chainId, balances } of await wallet.networks()) {
      const client = createPublicClient({ transport: http(`${engine.sandbox.urls.evm}/rpc/${chainId}`) })
      expected.push(['crypto:ethereum', toScaled(String(await client.getBalance(wallet)), 18)])
      for (const { asset, standard, decimals } of balances.filter((one) => one.standard === 'erc20')) {
        const question = { address: asset as Address, abi: erc20Abi, functionName: 'balanceOf' } as const
        const units = await client.readContract({ ...question, args: [wallet.address] })
        assert.equal(standard, 'erc20')
        expected.push([toAssetId(chainId, asset), toScaled(String(units), decimals)])
      }
    }
    const sums = sum(expected)
    for (const [assetId, units] of Object.entries(sums)) assert.equal(held[assetId], units, assetId)
    assert.ok(Object.keys(sums).length > 3)
  })

  it('every kind of event has its own meaning, and the balances are proved', async () => {
    const wallet = await world.newWallet('default')
    const ref = await world.connect(wallet)
    await assertJudged(world, ref, wallet)
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.proof_grade, 'proved')
    const transactions = await listTransactions(world, ref)
    const kinds = new Set(transactions.map(({ type, category, status }) => `${type} ${category} ${status}`))
    for (const kind of [
      'send withdrawal confirmed',
      'receive deposit confirmed',
      'input_and_output trade confirmed',
      'input_and_output convert confirmed',
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
      coverage?.map(({ partitions }) => partitions.count),
      [2, 2, 2, 2, 2, 1],
    )
  })

  it('an address that was never used is read without a fault, and a later payment to it appears once', async () => {
    const wallet = await world.newWallet('empty')
    const ref = await world.connect(wallet)
    assert.deepEqual(await listTransactions(world, ref), [])
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
    await wallet.book({ type: 'deposit', asset: 'ETH', amount: '0.25' })
    await engine.moveClock(finalMs)
    for (let reads = 0; reads < 2; reads += 1) {
      await world.readAgain(ref)
      assert.equal((await listTransactions(world, ref)).length, 1)
      await assertSame(world, ref, wallet)
    }
    await assertJudged(world, ref, wallet)
  })

  it('a new transaction is pending until the chain is deep enough, counts at once, and keeps its id', async () => {
    const wallet = await world.newWallet('empty')
    await wallet.book({ type: 'deposit', asset: 'ETH', amount: '1' })
    await engine.moveClock(finalMs)
    const ref = await world.connect(wallet)
    await wallet.book(
      { type: 'withdrawal', asset: 'ETH', amount: '0.1' },
      { type: 'deposit', asset: 'USDC', amount: '5' },
    )
    await engine.moveClock(minuteMs)
    await world.readAgain(ref)
    const before = await listTransactions(world, ref)
    assert.deepEqual(before.map(({ status }) => status).toSorted(), ['confirmed', 'pending', 'pending'])
    await assertSame(world, ref, wallet)
    await engine.moveClock(finalMs)
    await world.readAgain(ref)
    const after = await listTransactions(world, ref)
    assert.deepEqual(
      after.map(({ status }) => status),
      ['confirmed', 'confirmed', 'confirmed'],
    )
    assert.deepEqual(
      after.map(({ id }) => id),
      before.map(({ id }) => id),
    )
    await assertSame(world, ref, wallet)
  })

  it('a replaced block leaves no ghost and no duplicate', async () => {
    const wallet = await world.newWallet('empty')
    await wallet.book({ type: 'deposit', asset: 'ETH', amount: '1' })
    await engine.moveClock(finalMs)
    const ref = await world.connect(wallet)
    const [moved = ''] = await wallet.book({ type: 'deposit', asset: 'USDC', amount: '7' })
    await engine.moveClock(minuteMs)
    await world.readAgain(ref)
    const [before] = (await listTransactions(world, ref)).filter(({ hash }) => hash === moved)
    await engine.control(`${wallet.path}/records`, { id: moved })
    await engine.moveClock(minuteMs)
    await world.readAgain(ref)
    const [after, ...others] = (await listTransactions(world, ref)).filter(({ hash }) => hash === moved)
    assert.deepEqual([after?.id, others.length], [before?.id, 0])
    await assertSame(world, ref, wallet)
    await engine.control(`${wallet.path}/withdrawn`, { ids: [moved] })
    await engine.moveClock(minuteMs)
    await world.readAgain(ref)
    assert.ok(!(await listTransactions(world, ref)).some(({ hash }) => hash === moved))
    await assertSame(world, ref, wallet)
  })

  for (const [what, minutes, asset] of [
    ['10 blocks of Ethereum, which are pending', 2, 'USDC'],
    ['100 blocks of Ethereum, which were taken for final', 20, 'USDC'],
    ['450 blocks of Base, which were taken for final', 15, 'ETH@8453'],
  ] as const) {
    it(`a reorganisation of ${what}, leaves no ghost and no duplicate`, async () => {
      const wallet = await world.newWallet('empty')
      await wallet.book({ type: 'deposit', asset: 'ETH', amount: '1' }, { type: 'deposit', asset, amount: '1' })
      await engine.moveClock(finalMs)
      const ref = await world.connect(wallet)
      const [moved = ''] = await wallet.book({ type: 'deposit', asset, amount: '7' })
      const readAfter = async (ms: number): Promise<string[]> => {
        await engine.moveClock(ms)
        await world.readAgain(ref)
        await assertSame(world, ref, wallet)
        const transactions = await listTransactions(world, ref)
        return transactions.flatMap(({ hash, status }) => (hash === moved ? [status] : []))
      }
      const status = minutes === 2 ? 'pending' : 'confirmed'
      assert.deepEqual(await readAfter(minutes * minuteMs), [status])
      await engine.control(`${wallet.path}/records`, { id: moved })
      assert.deepEqual(await readAfter(minuteMs), [status])
      await engine.control(`${wallet.path}/withdrawn`, { ids: [moved] })
      assert.deepEqual(await readAfter(minuteMs), [])
    })
  }

  it('what an index lists hours late is not lost, and meanwhile its lag is named', async () => {
    const wallet = await world.newWallet('default')
    const ref = await world.connect(wallet)
    await engine.moveClock(finalMs)
    await world.readAgain(ref)
    const coveredTo = async (): Promise<number> =>
      Math.min(...((await engine.sync.findCoverage(ref, ref.connectionId)) ?? []).map(endOf))
    const endOf = ({ windows }: { windows: readonly { endMs: number }[] }): number => windows.at(-1)?.endMs ?? 0
    await engine.control('providers/evm/faults', { kind: 'clock_skew', skew_ms: -6 * hourMs, endpoint: '/api' })
    await engine.moveClock(3 * hourMs)
    // One of them goes away again before the index has it, so that its balance alone does not show it.
    const entry = (type: string, asset: string) => ({ type, asset, amount: '5' })
    await wallet.book(entry('deposit', 'CBBTC@8453'), entry('deposit', 'USDC@8453'))
    await wallet.book(entry('withdrawal', 'USDC@8453'))
    await engine.moveClock(3 * hourMs)
    const startedMs = engine.clock.now()
    let jobs = 0
    await world.readAgain(ref, async () => (jobs += 1) > 3)
    assert.ok((await coveredTo()) <= startedMs - 6 * hourMs + minuteMs)
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.deepEqual([row?.status, row?.status_cause], ['degraded', 'data_hole'])

    await clearFaults(world)
    await world.readAgain(ref)
    assert.ok((await coveredTo()) >= startedMs)
    await assertSame(world, ref, wallet)
    await assertJudged(world, ref, wallet)
    assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
  })

  it('no record is lost or doubled when the chains fail in the middle of a history', async () => {
    const wallet = await world.newWallet('default')
    const ref = await world.connect(wallet, { read: false })
    const whole = new Set((await wallet.networks()).flatMap(({ effects }) => effects.map(({ hash }) => hash))).size
    let interruptions = 0
    for (let after = 3; after < 40; after += 9) {
      await engine.control('providers/evm/faults', { kind: 'http_5xx', after })
      let jobs = 0
      await engine.drain({ delayed: true, enough: async () => (jobs += 1) > 2 })
      await clearFaults(world)
      const stored = await countRecords(world, ref)
      if (stored > 0 && stored < whole) interruptions += 1
      await engine.moveClock(10 * minuteMs)
    }
    assert.ok(interruptions > 0, 'the history was never read in part')
    await world.readAgain(ref)
    await assertSame(world, ref, wallet)
  })

  for (const scenario of scenariosOf('evm', 'own file').filter((name) => name !== 'default' && name !== 'empty')) {
    it(`${scenario}: everything is read, and the proof is right about every asset`, async () => {
      const wallet = await world.newWallet(scenario)
      const ref = await world.connect(wallet)
      await assertSame(world, ref, wallet)
      await assertJudged(world, ref, wallet)
      await assertSame(world, ref, wallet)
      assert.ok((await listVerdicts(engine, ref)).rows.length > 5)
    })
  }

  for (const { scenario, cause } of refusalsOf('evm')) {
    it(`${scenario}: is not added, because of ${cause}`, async () => {
      await assert.rejects(world.connect(await world.newWallet(scenario)), new RegExp(`"cause":"${cause}"`))
    })
  }

  it('an address of a contract is refused', async () => {
    const wallet = await world.newWallet('empty')
    const usdc = { ...wallet, address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' } as const
    await assert.rejects(world.connect(usdc), /belongs to a contract/)
  })

  for (const [kind, fault] of [
    ['http_5xx', 'venue_down'],
    ['http_429_retry_after', 'rate_limited'],
    ['reset', 'venue_down'],
    ['truncated_json', 'unreadable_answer'],
    ['html', 'venue_down'],
  ] as const) {
    it(`${kind} is ${fault}`, async () => {
      const ref = await world.connect(await world.newWallet('empty'))
      const opened = await engine.connections.open(ref)
      await engine.control('providers/evm/faults', { kind })
      const reading = opened?.reader.fetchBalances({})
      await assert.rejects(reading ?? Promise.resolve(), (error) => {
        assert.ok(error instanceof SourceError, String(error))
        return error.fault === fault
      })
      await clearFaults(world)
    })
  }
})

async function countRecords({ engine: { db } }: World, ref: ConnectionRef): Promise<number> {
  const { count } = await db.row<{ count: number }>(
    'select count(*)::integer as count from raw_records where user_key = $1 and connection_key = $2',
    [ref.userKey, ref.connectionKey],
  )
  return count
}

async function clearFaults({ engine }: World): Promise<void> {
  const url = `${engine.sandbox.controlUrl}/control/providers/evm/faults`
  assert.equal((await fetch(url, { method: 'DELETE' })).status, 200)
}
