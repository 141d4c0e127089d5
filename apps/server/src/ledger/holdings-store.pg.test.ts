import { parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { listPositions, listSourcePositions, replaceHoldings, type JudgedBalance } from './holdings-store.ts'
import { addConnection } from './test-ledger.ts'

const owner = { tenantId: 'ten_a', userId: 'usr_a' }
const refOf = (connectionId: string): typeof owner & { connectionId: string } => ({ ...owner, connectionId })
const page = { limit: 100, after: undefined }

function balance(assetId: string, liquid: string, staked = '0', symbol = 'BTC'): JudgedBalance {
  return { assetId, symbol, name: symbol, liquid: parseDecimal(liquid), staked: parseDecimal(staked), spam: false }
}

const hold = (
  db: Database,
  connectionId: string,
  balances: readonly JudgedBalance[],
  providerId = 'kraken',
): Promise<void> => replaceHoldings(db, refOf(connectionId), providerId, balances)

describe('holdings', () => {
  it('are summed exactly over the connections of a source', async (t) => {
    const { db } = await testDatabase(t)
    await hold(db, 'con_a', [balance('crypto:bitcoin', '0.000000000000000001', '123456789012.123456789012345678')])
    await hold(db, 'con_b', [balance('crypto:bitcoin', '123456789012.123456789012345678', '0.000000000000000001')])
    const [row, ...others] = await listSourcePositions(db, owner, { limit: undefined, after: undefined })
    assert.deepEqual(others, [])
    assert.equal(row?.liquid, '123456789012.123456789012345679')
    assert.equal(row.staked, '123456789012.123456789012345679')
    const positions = await listPositions(db, owner, page)
    assert.deepEqual(
      positions.map(({ connection_id, total }) => [connection_id, total]),
      [
        ['con_a', '123456789012.123456789012345679'],
        ['con_b', '123456789012.123456789012345679'],
      ],
    )
  })

  it('have an exact value, or none without a price', async (t) => {
    const { db } = await testDatabase(t)
    await hold(db, 'con_a', [balance('crypto:bitcoin', '0.1', '0.02'), balance('kraken:ZQNT', '5', '0', 'ZQNT')])
    await db.execute("insert into current_prices values ('crypto:bitcoin', 64000.123456789, 'a test', assay_now())")
    const rows = await listPositions(db, owner, page)
    assert.deepEqual(
      rows.map((row) => [row.asset_symbol, row.price_in_usd, row.value_in_usd]),
      [
        ['BTC', '64000.123456789', '7680.01481481468'],
        ['ZQNT', null, null],
      ],
    )
  })

  it('of zero and zero are not listed, and what is sold is gone at the next read', async (t) => {
    const { db } = await testDatabase(t)
    await hold(db, 'con_a', [balance('crypto:bitcoin', '1'), balance('crypto:ethereum', '0', '0', 'ETH')])
    assert.equal((await listPositions(db, owner, page)).length, 1)
    await hold(db, 'con_a', [balance('crypto:ethereum', '0', '0.5', 'ETH')])
    const rows = await listPositions(db, owner, page)
    assert.deepEqual(
      rows.map(({ asset_symbol, liquid, staked }) => [asset_symbol, liquid, staked]),
      [['ETH', '0', '0.5']],
    )
    await hold(db, 'con_a', [])
    assert.deepEqual(await listPositions(db, owner, page), [])
  })

  it('of two assets with one symbol are two rows', async (t) => {
    const { db } = await testDatabase(t)
    await hold(db, 'con_a', [balance('crypto:bitcoin', '1'), balance('kraken:BTC', '2')])
    const rows = await listSourcePositions(db, owner, { limit: undefined, after: undefined })
    assert.deepEqual(
      rows.map(({ asset_symbol, liquid }) => [asset_symbol, liquid]),
      [
        ['BTC', '1'],
        ['BTC', '2'],
      ],
    )
  })

  it('have the time of their oldest part, by which v1 filters', async (t) => {
    const { db } = await testDatabase(t)
    await hold(db, 'con_a', [balance('crypto:bitcoin', '1')])
    await hold(db, 'con_b', [balance('crypto:bitcoin', '1')])
    await db.execute("update holdings set fetched_at = '2026-01-01T00:00:00.001Z' where connection_id = 'con_a'")
    const ask = async (startTime?: string, endTime?: string): Promise<number> =>
      (await listSourcePositions(db, owner, { limit: undefined, after: undefined, startTime, endTime })).length
    const [row] = await listSourcePositions(db, owner, { limit: undefined, after: undefined })
    assert.equal(row?.fetched_at, '2026-01-01T00:00:00.001Z')
    assert.equal(await ask('2026-01-01T00:00:00.001Z'), 1)
    assert.equal(await ask('2026-01-01T00:00:00.002Z'), 0)
    assert.equal(await ask(undefined, '2026-01-01T00:00:00.001Z'), 0)
    assert.equal(await ask(undefined, '2026-01-01T00:00:00.002Z'), 1)
  })

  it('leave spam out in v1, and name it in v2', async (t) => {
    const { db } = await testDatabase(t)
    await hold(db, 'con_a', [balance('crypto:bitcoin', '1')])
    await db.execute('update holdings set spam = true')
    assert.deepEqual(await listSourcePositions(db, owner, { limit: undefined, after: undefined }), [])
    assert.deepEqual(
      (await listPositions(db, owner, page)).map(({ spam }) => spam),
      [true],
    )
  })

  it('of others, and of a connection that is still its session’s, are not shown', async (t) => {
    const { db } = await testDatabase(t)
    await hold(db, 'con_a', [balance('crypto:bitcoin', '1')])
    await replaceHoldings(db, { ...refOf('con_b'), userId: 'usr_b' }, 'kraken', [balance('crypto:bitcoin', '9')])
    await addConnection(db, refOf('con_c'), { sessionId: 'a session' })
    await hold(db, 'con_c', [balance('crypto:bitcoin', '5')])
    const [source] = await listSourcePositions(db, owner, { limit: undefined, after: undefined })
    assert.equal(source?.liquid, '1')
    assert.deepEqual(
      (await listPositions(db, owner, page)).map(({ connection_id }) => connection_id),
      ['con_a'],
    )
  })

  it('are walked page by page in order, without a gap, in both shapes', async (t) => {
    const { db } = await testDatabase(t)
    const names = ['ADA', 'BTC', 'a', 'Z', 'ETH', 'B.T-C', 'é', '1INCH']
    for (const [index, connectionId] of ['con_b', 'con_a', 'con_c'].entries()) {
      const balances = names.map((name, at) => balance(`kraken:${name}`, String(index + at + 1), '0', name))
      await hold(db, connectionId, balances, index === 2 ? 'another' : 'kraken')
    }
    const whole = await listPositions(db, owner, page)
    const sources = await listSourcePositions(db, owner, { limit: undefined, after: undefined })
    assert.deepEqual([whole.length, sources.length], [24, 16])
    for (const limit of [1, 3, 8]) {
      const walked = []
      for (let last = whole[-1]; ;) {
        const after = last && { connectionId: last.connection_id, symbol: last.asset_symbol, assetId: last.asset_id }
        const rows = await listPositions(db, owner, { limit, after })
        if (rows.length === 0) break
        walked.push(...rows)
        last = rows.at(-1)
      }
      assert.deepEqual(walked, whole)
      const seen = []
      for (let last = sources[-1]; ;) {
        const after = last && { sourceId: last.crypto_source_id, symbol: last.asset_symbol, assetId: last.asset_id }
        const rows = await listSourcePositions(db, owner, { limit, after })
        if (rows.length === 0) break
        seen.push(...rows)
        last = rows.at(-1)
      }
      assert.deepEqual(seen, sources)
    }
  })
})
