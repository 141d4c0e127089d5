import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { readPositions, readSourcePositions, type PositionPoint } from './positions-store.ts'
import { addConnection, addUser, type TestConnection, type TestUser } from './test-portfolio.ts'

interface Held {
  assetId: string
  liquid: string
  staked?: string
  symbol?: string
  spam?: boolean
}

const readAt = '2026-03-02T10:11:12.300Z'

async function hold(db: Database, user: TestUser, connection: TestConnection, held: readonly Held[]): Promise<void> {
  await addConnection(db, user, { balancesAt: readAt, ...connection })
  for (const { assetId, liquid, staked = '0', symbol = 'BTC', spam = false } of held) {
    await db.execute(
      `insert into assets (id, kind, symbol, name) values ($1, 'crypto', $2, $2) on conflict do nothing`,
      [assetId, symbol],
    )
    await db.execute(
      `insert into holdings (user_key, connection_key, asset_key, liquid, staked, spam, changed_at)
       select $1, $2, asset_key, $4, $5, $6, $7 from assets where id = $3`,
      [user.userKey, connection.key, assetId, liquid, staked, spam, db.now()],
    )
  }
}

interface Position {
  connection_id: string
  icon_url: string
  provider_id: string
  asset_symbol: string
  value_in_usd: string | null
  spam: boolean
  time_fetched: string
  exact: { asset_holdings: string; staked_holdings: string; total_holdings: string; price_in_usd: string | null }
}

interface SourcePosition {
  crypto_source_id: string
  asset_symbol: string
  time_fetched: string
}

interface Opened {
  db: Database
  ann: TestUser
  list(request?: Partial<Parameters<typeof readPositions>[2]>): Promise<Position[]>
  listSources(request?: Partial<Parameters<typeof readSourcePositions>[2]>): Promise<SourcePosition[]>
  /** The text as the service writes it, with every digit. */
  sourcesText(): Promise<string>
}

async function open(t: TestContext): Promise<Opened> {
  const { db } = await testDatabase(t)
  const ann = await addUser(db, 'a')
  const sourcesText: Opened['sourcesText'] = async () =>
    (await readSourcePositions(db, ann.access, { limit: undefined, after: undefined }))?.result.items ?? ''
  return {
    db,
    ann,
    sourcesText,
    async list(request = {}) {
      const reading = await readPositions(db, ann.access, { limit: 100, after: undefined, ...request })
      return JSON.parse(`[${reading?.result.items ?? ''}]`) as Position[]
    },
    async listSources(request = {}) {
      const reading = await readSourcePositions(db, ann.access, { limit: undefined, after: undefined, ...request })
      return JSON.parse(`[${reading?.result.items ?? ''}]`) as SourcePosition[]
    },
  }
}

describe('positions', () => {
  it('are summed exactly over the connections of a source, and written with every digit', async (t) => {
    const { db, ann, list, sourcesText } = await open(t)
    const [tiny, huge] = ['0.000000000000000001', '123456789012.123456789012345678']
    await hold(db, ann, { key: 1, id: 'con_a' }, [{ assetId: 'crypto:bitcoin', liquid: tiny, staked: huge }])
    await hold(db, ann, { key: 2, id: 'con_b' }, [{ assetId: 'crypto:bitcoin', liquid: huge, staked: tiny }])
    const sum = '123456789012.123456789012345679'
    assert.equal(
      await sourcesText(),
      `{"crypto_source_id":"kraken","asset_symbol":"BTC","asset_holdings":${sum},"staked_holdings":${sum},"price_in_usd":null,"time_fetched":"${readAt}"}`,
    )
    assert.deepEqual(
      (await list()).map(({ connection_id: id, exact }) => [id, exact]),
      [
        ['con_a', { asset_holdings: tiny, staked_holdings: huge, total_holdings: sum, price_in_usd: null }],
        ['con_b', { asset_holdings: huge, staked_holdings: tiny, total_holdings: sum, price_in_usd: null }],
      ],
    )
    const reading = await readPositions(db, ann.access, { limit: 100, after: undefined })
    const written = `"asset_holdings":${tiny},"staked_holdings":${huge},"price_in_usd":null,"time_fetched":"${readAt}"`
    assert.ok(reading?.result.items.includes(written), reading?.result.items)
  })

  it('have an exact value, or none without a price', async (t) => {
    const { db, ann, list } = await open(t)
    await hold(db, ann, { key: 1, id: 'con_a' }, [
      { assetId: 'crypto:bitcoin', liquid: '0.1', staked: '0.02' },
      { assetId: 'kraken:ZQNT', liquid: '5', symbol: 'ZQNT' },
    ])
    await db.execute(
      `insert into current_prices (asset_id, price_in_usd, source, method, fetched_at)
       values ('crypto:bitcoin', 64000.1234567890, 'a test', 'simple_price', $1)`,
      [db.now()],
    )
    assert.deepEqual(
      (await list()).map((row) => [row.asset_symbol, row.exact.price_in_usd, row.value_in_usd]),
      [
        ['BTC', '64000.123456789', '7680.01481481468'],
        ['ZQNT', null, null],
      ],
    )
  })

  it('may have names that need escaping', async (t) => {
    const { db, ann, list, listSources } = await open(t)
    const symbol = 'a"b\\c\u0001é'
    await hold(db, ann, { key: 1, id: 'con_a' }, [{ assetId: `kraken:${symbol}`, liquid: '1', symbol }])
    assert.equal((await list())[0]?.asset_symbol, symbol)
    assert.equal((await listSources())[0]?.asset_symbol, symbol)
  })

  it('have an icon whose address is one segment of a path, whatever the code', async (t) => {
    const { db, ann, list } = await open(t)
    const code = String.raw`PURR/../U\S?D#%`
    await hold(db, ann, { key: 1, id: 'con_a' }, [{ assetId: `kraken:${code}`, liquid: '1', symbol: code }])
    assert.equal((await list())[0]?.icon_url, '/icons/assets/kraken:PURR%2F..%2FU%5CS%3FD%23%25.svg')
  })

  it('of two assets with one symbol are two rows', async (t) => {
    const { db, ann, sourcesText } = await open(t)
    await hold(db, ann, { key: 1, id: 'con_a' }, [
      { assetId: 'crypto:bitcoin', liquid: '1' },
      { assetId: 'kraken:BTC', liquid: '2' },
    ])
    const held = [...(await sourcesText()).matchAll(/"asset_symbol":"BTC","asset_holdings":(\d)/g)].map(([, n]) => n)
    assert.deepEqual(held, ['1', '2'])
  })

  it('have the time of their oldest part, which v1 filters by', async (t) => {
    const { db, ann, listSources } = await open(t)
    const oldest = '2026-01-01T00:00:00.001Z'
    await hold(db, ann, { key: 1, id: 'con_a', balancesAt: oldest }, [{ assetId: 'crypto:bitcoin', liquid: '1' }])
    await hold(db, ann, { key: 2, id: 'con_b' }, [{ assetId: 'crypto:bitcoin', liquid: '1' }])
    const ask = async (startTime?: string, endTime?: string): Promise<number> =>
      (await listSources({ startTime, endTime })).length
    assert.equal((await listSources())[0]?.time_fetched, oldest)
    assert.equal(await ask(oldest), 1)
    assert.equal(await ask('2026-01-01T00:00:00.002Z'), 0)
    assert.equal(await ask(undefined, oldest), 0)
    assert.equal(await ask(undefined, '2026-01-01T00:00:00.002Z'), 1)
  })

  it('omit spam in v1, and mark it in v2', async (t) => {
    const { db, ann, list, listSources } = await open(t)
    await hold(db, ann, { key: 1, id: 'con_a' }, [{ assetId: 'crypto:bitcoin', liquid: '1', spam: true }])
    assert.deepEqual(await listSources(), [])
    assert.deepEqual(
      (await list()).map(({ spam }) => spam),
      [true],
    )
  })

  it('of other users, and of a provisional or removed connection, are not shown', async (t) => {
    const { db, ann, list, sourcesText } = await open(t)
    const bob = await addUser(db, 'b')
    await hold(db, ann, { key: 1, id: 'con_a' }, [{ assetId: 'crypto:bitcoin', liquid: '1' }])
    await hold(db, bob, { key: 1, id: 'con_b' }, [{ assetId: 'crypto:bitcoin', liquid: '9' }])
    await hold(db, ann, { key: 2, id: 'con_c', connectSessionId: 'x' }, [{ assetId: 'crypto:bitcoin', liquid: '5' }])
    await hold(db, ann, { key: 3, id: 'con_d', status: 'removed' }, [{ assetId: 'crypto:bitcoin', liquid: '7' }])
    assert.match(await sourcesText(), /"asset_holdings":1,/)
    assert.deepEqual(
      (await list()).map(({ connection_id: id }) => id),
      ['con_a'],
    )
  })

  it('are filtered by provider, connection and symbol, exact case', async (t) => {
    const { db, ann, list, listSources } = await open(t)
    const held = ['ltc', 'LTC'].map((symbol) => ({ assetId: `kraken:${symbol}`, liquid: '1', symbol }))
    await hold(db, ann, { key: 1, id: 'con_a' }, held)
    await hold(db, ann, { key: 2, id: 'con_b', providerId: 'another' }, held)
    const briefly = (rows: readonly Position[]): string[] =>
      rows.map((row) => `${row.connection_id} ${row.asset_symbol}`)
    assert.deepEqual(briefly(await list({ providerIds: ['another'] })), ['con_b LTC', 'con_b ltc'])
    assert.deepEqual(briefly(await list({ connectionIds: ['con_a', 'con_x'] })), ['con_a LTC', 'con_a ltc'])
    assert.deepEqual(briefly(await list({ assetSymbols: ['ltc'] })), ['con_a ltc', 'con_b ltc'])
    const sources = await listSources({ sourceIds: ['kraken'], assetSymbols: ['LTC'] })
    assert.deepEqual(
      sources.map((row) => [row.crypto_source_id, row.asset_symbol]),
      [['kraken', 'LTC']],
    )
  })

  it('are walked page by page in order, without a gap, in both shapes', async (t) => {
    const { db, ann, list, listSources } = await open(t)
    const names = ['ADA', 'BTC', 'a', 'Z', 'ETH', 'B.T-C', 'é', '1INCH']
    for (const [index, id] of ['con_b', 'con_a', 'con_c'].entries()) {
      const held = names.map((symbol, at) => ({ assetId: `kraken:${symbol}`, liquid: String(index + at + 1), symbol }))
      await hold(db, ann, { key: index + 1, id, providerId: index === 2 ? 'another' : 'kraken' }, held)
    }
    const [whole, sources] = [await list(), await listSources()]
    assert.deepEqual([whole.length, sources.length], [24, 16])
    for (const limit of [1, 3, 8]) {
      for (const [read, all] of [
        [readPositions, whole],
        [readSourcePositions, sources],
      ] as const) {
        const walked: unknown[] = []
        for (let after: PositionPoint | undefined; ;) {
          const reading = await read(db, ann.access, { limit, after })
          const rows = JSON.parse(`[${reading?.result.items ?? ''}]`) as unknown[]
          walked.push(...rows)
          after = reading?.result.end
          if (after === undefined) break
          assert.equal(rows.length, limit)
        }
        assert.deepEqual(walked, all)
      }
    }
  })

  it('are read in one statement, with the caller and the issues of the connections', async (t) => {
    const { db, ann } = await open(t)
    await hold(db, ann, { key: 1, id: 'con_a', status: 'syncing' }, [{ assetId: 'crypto:bitcoin', liquid: '1' }])
    let statements = 0
    const counting: Database = { ...db, maybeRow: (...given) => ((statements += 1), db.maybeRow(...given)) }
    for (const read of [readPositions, readSourcePositions]) {
      const reading = await read(counting, ann.access, { limit: 30, after: undefined })
      assert.equal(reading?.caller.userId, ann.userId)
      assert.deepEqual(
        reading?.issues.map(({ cause }) => cause),
        ['sync_in_progress'],
      )
    }
    assert.equal(statements, 2)
    await db.execute(`update access_tokens set scopes = '{transactions:read}'`, [])
    const other = await readPositions(db, ann.access, { limit: 30, after: undefined })
    assert.deepEqual(other?.result, { items: '', end: undefined })
  })
})
