import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { parseDecimal, isNegative, sum, type Decimal } from '@assay/core'
import { unitDecimals } from '../../coinbase/assets.ts'
import { balanceOf, buildWorld, type TransactionRow, type World } from '../../coinbase/history.ts'
import { toShortText } from '../../core/units.ts'
import type { Sandbox } from '../../index.ts'
import { openKey, openSignIn, startCoinbase, type TestClock } from '../../testing/coinbase-client.ts'
import { coinbaseScenarios } from './index.ts'
import { outsideTransfers } from './outside.ts'

const nowMs = Date.UTC(2026, 10, 15)
const worlds = new Map(
  [...new Set(coinbaseScenarios.map(({ story }) => story))].map((story) => [story, buildWorld(story())]),
)

function worldOf(name: string): World {
  const scenario = coinbaseScenarios.find((one) => one.name === name)
  const world = scenario && worlds.get(scenario.story)
  assert.ok(world)
  return world
}

function rowsOf({ wallets }: World): TransactionRow[] {
  return wallets.flatMap(({ rows }) => rows.rows)
}

function fingerprint(world: World): string {
  const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
  return JSON.stringify(
    world.wallets.map(({ key, rows, settled }) => [key, rows.rows, settled]),
    plain,
  )
}

/** What a row moves today, in decimal text. */
function movedBy({ type, amount, charge, status, isEcho }: TransactionRow): string {
  const counts = status === 'completed' || (status === 'pending' && amount < 0n)
  return toShortText(counts && !isEcho && type !== 'request' ? amount - charge : 0n, unitDecimals)
}

describe('every scenario of Coinbase', () => {
  it('is one that the contract names, or "odd"', () => {
    const names = 'default empty large invalid_credentials can_trade rate_limited down revoked_later flaky odd'
    assert.deepEqual(
      coinbaseScenarios.map(({ name }) => name),
      names.split(' '),
    )
  })

  for (const [story, world] of worlds) {
    it(`${story.name}: a wallet’s balance is the exact sum of its rows, computed with the product’s decimals`, () => {
      for (const wallet of world.wallets) {
        const moves = wallet.rows.rows.map((row): Decimal => parseDecimal(movedBy(row)))
        const held = parseDecimal(toShortText(balanceOf(wallet, nowMs), unitDecimals))
        assert.deepEqual(sum(moves), held, wallet.key)
        assert.equal(isNegative(held), false)
      }
    })

    it(`${story.name}: building it twice gives the same bytes`, () => {
      assert.equal(fingerprint(buildWorld(story())), fingerprint(world))
    })
  }
})

describe('the scenario default', () => {
  const world = worldOf('default')
  const rows = rowsOf(world)

  it('has some hundreds of transactions in a score of wallets between January 2021 and October 2026', () => {
    assert.deepEqual([rows.length, world.wallets.length], [630, 19])
    const months = rows.map(({ atTicks }) => new Date(atTicks / 10).toISOString().slice(0, 7)).toSorted()
    assert.deepEqual([months[0], months.at(-1)], ['2021-01', '2026-10'])
  })

  it('has transfers whose other side another simulator can show', () => {
    for (const { at, amount, hash, address } of Object.values(outsideTransfers)) {
      const row = rows.find(({ detail }) => detail?.kind === 'chain' && detail.hash === hash)
      assert.ok(row?.detail?.kind === 'chain' && row.detail.address === address)
      assert.equal(row.atTicks / 10, Date.parse(at))
      assert.equal(toShortText(row.amount, unitDecimals).replace('-', ''), amount)
    }
  })
})

it('the scenario odd has an unknown code, and amounts from 10^-18 to twelve digits with eighteen behind the point', () => {
  const world = worldOf('odd')
  const amounts = new Set(rowsOf(world).map(({ amount }) => toShortText(amount, unitDecimals)))
  for (const amount of ['0.000000000000000001', '123456789012.123456789012345678', '98765432109.876543210123456789']) {
    assert.ok(amounts.has(amount), amount)
  }
  assert.deepEqual(
    world.wallets.filter(({ currency }) => !currency.listed).map(({ key }) => key),
    ['ZQNT'],
  )
})

it('the scenario large has exactly 100,000 transactions in 60 wallets', () => {
  const world = worldOf('large')
  assert.deepEqual([rowsOf(world).length, world.wallets.length], [100_000, 60])
})

describe('scenarios on the wire', () => {
  let sandbox: Sandbox
  let clock: TestClock
  before(async () => {
    ;({ sandbox, clock } = await startCoinbase())
  })
  after(() => sandbox.close())

  const statuses = async (scenario: string, count: number): Promise<number[]> => {
    const { get } = await openKey({ sandbox, clock }, scenario, 'statuses')
    const seen: number[] = []
    for (let index = 0; index < count; index += 1) {
      try {
        const response = await get('/v2/user')
        await response.text()
        seen.push(response.status)
      } catch {
        seen.push(0)
      }
    }
    return seen
  }

  it('empty: wallets with a code for an id, and no transactions', async () => {
    const { readAll } = await openKey({ sandbox, clock }, 'empty')
    const wallets = await readAll<{ id: string; balance: { amount: string } }>('/v2/accounts')
    assert.deepEqual(
      wallets.map(({ id }) => id),
      ['BTC', 'ETH', 'ETH2'],
    )
    assert.deepEqual(await readAll('/v2/accounts/BTC/transactions'), [])
  })

  it('large: a wallet of 4,365 rows is read to its end by following next_uri', async () => {
    const { readAll } = await openKey({ sandbox, clock }, 'large')
    const [staked] = (await readAll<{ id: string; name: string }>('/v2/accounts?limit=100')).filter(
      ({ name }) => name === 'Staked SOL',
    )
    const rows = await readAll<{ id: string }>(`/v2/accounts/${staked?.id ?? ''}/transactions?limit=100`)
    assert.equal(rows.length, 4_365)
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length)
  })

  it('invalid_credentials: 401 for the key; down: 503; signing in always works', async () => {
    assert.deepEqual(await statuses('invalid_credentials', 2), [401, 401])
    assert.deepEqual(await statuses('down', 2), [503, 503])
    const client = openSignIn(sandbox)
    const { access_token } = await client.refresh(await client.signIn('down'))
    assert.equal((await client.get(access_token, '/v2/user')).status, 503)
  })

  it('revoked_later: twelve calls with a key or a sign-in; signing in again starts fresh', async () => {
    assert.deepEqual(await statuses('revoked_later', 14), [...Array<number>(12).fill(200), 401, 401])
    const client = openSignIn(sandbox)
    for (let round = 0; round < 2; round += 1) {
      const { access_token } = await client.signIn('revoked_later')
      const seen: number[] = []
      for (let index = 0; index < 13; index += 1) seen.push((await client.get(access_token, '/v2/user')).status)
      assert.deepEqual(seen, [...Array<number>(12).fill(200), 401])
    }
  })

  it('flaky: eight calls pass, then every other one fails until the next eight, the same in every run', async () => {
    const calm = Array<number>(8).fill(200)
    const cycle = [503, 200, 0, 200, 200, 200, 200, 200, 200, 200, 503, 200, 429, 200, ...calm]
    assert.deepEqual(await statuses('flaky', 52), [...calm, ...cycle, ...cycle])
  })
})
