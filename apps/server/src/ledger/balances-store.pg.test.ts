import type { Balance } from '@assay/connectors'
import { dayMs, parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { markInstallation } from '../db/index.ts'
import { openLedger, type TestLedger } from './test-ledger.ts'

const names: Record<string, [string, string]> = {
  'crypto:bitcoin': ['BTC', 'Bitcoin'],
  'crypto:ethereum': ['ETH', 'Ethereum'],
  'kraken:ZQNT': ['ZQNT', 'ZQNT'],
}

function balance(assetId: string, liquid: string, staked = '0'): Balance {
  const [symbol = '', name = ''] = names[assetId] ?? []
  return { assetId, symbol, name, liquid: parseDecimal(liquid), staked: parseDecimal(staked) }
}

interface Held {
  id: string
  liquid: string
  staked: string
  version: string
}

const listHeld = ({ db }: TestLedger): Promise<Held[]> =>
  db.rows(
    `select a.id, trim_scale(h.liquid)::text as liquid, trim_scale(h.staked)::text as staked, h.xmin::text as version
     from holdings h join assets a using (asset_key) order by a.id`,
  )
const listObserved = ({ db }: TestLedger): Promise<{ value: string; unpriced: number; version: string }[]> =>
  db.rows(
    `select trim_scale(value_in_usd)::text as value, unpriced, xmin::text as version from observed_values order by day`,
  )
const hold = ({ ledger, ref }: TestLedger, ...balances: Balance[]): Promise<boolean> =>
  ledger.keepHoldings(ref, 'kraken', balances)

describe('holdings', () => {
  it('are written only when they change, while the time of reading is always written', async (t) => {
    const opened = await openLedger(t)
    const { db } = opened
    await markInstallation(db, 'sandbox')
    const readAt = async (): Promise<string> =>
      (await db.row<{ balances_at: string }>('select balances_at from connections')).balances_at
    await hold(opened, balance('crypto:bitcoin', '0.1', '0.02'), balance('crypto:ethereum', '2'))
    const [before, observed, first] = [await listHeld(opened), await listObserved(opened), await readAt()]
    assert.equal(before.length, 2)
    await db.clock.advance(60_000)
    await hold(opened, balance('crypto:ethereum', '2.0'), balance('crypto:bitcoin', '0.10', '0.020'))
    assert.deepEqual(await listHeld(opened), before)
    assert.deepEqual(await listObserved(opened), observed)
    assert.ok((await readAt()) > first)
    assert.equal((await db.rows('select from user_notices')).length, 1)
    await hold(opened, balance('crypto:bitcoin', '0.1', '0.02'), balance('crypto:ethereum', '2.5'))
    const after = await listHeld(opened)
    assert.deepEqual(after[0], before[0])
    assert.equal(after[1]?.liquid, '2.5')
    assert.notEqual(after[1]?.version, before[1]?.version)
    assert.equal((await db.rows('select from user_notices')).length, 2)
  })

  it('with both amounts zero are not kept, and a sold position is gone at the next read', async (t) => {
    const opened = await openLedger(t)
    const ids = async (): Promise<string[]> => (await listHeld(opened)).map(({ id }) => id)
    await hold(opened, balance('crypto:bitcoin', '1'), balance('crypto:ethereum', '0'))
    assert.deepEqual(await ids(), ['crypto:bitcoin'])
    await hold(opened, balance('crypto:ethereum', '0', '0.5'))
    assert.deepEqual(await ids(), ['crypto:ethereum'])
    await hold(opened)
    assert.deepEqual(await ids(), [])
  })

  it('have a value for every day on which they are read; the last read of a day counts', async (t) => {
    const opened = await openLedger(t, { price: parseDecimal('64000.5') })
    await markInstallation(opened.db, 'sandbox')
    await hold(opened, balance('crypto:bitcoin', '0.1', '0.02'), balance('kraken:ZQNT', '5'))
    const values = async (): Promise<unknown> =>
      (await listObserved(opened)).map(({ value, unpriced }) => [value, unpriced])
    assert.deepEqual(await values(), [['7680.06', 1]])
    await hold(opened, balance('crypto:bitcoin', '1'))
    assert.deepEqual(await values(), [['64000.5', 0]])
    await opened.db.clock.advance(dayMs)
    await hold(opened)
    assert.deepEqual(await values(), [
      ['64000.5', 0],
      ['0', 0],
    ])
  })

  it('of a connection that was removed are not kept', async (t) => {
    const opened = await openLedger(t)
    await opened.db.execute(`update connections set status = 'removed'`)
    await assert.rejects(hold(opened, balance('crypto:bitcoin', '1')), { name: 'ConnectionGone' })
    assert.deepEqual([...(await listHeld(opened)), ...(await listObserved(opened))], [])
  })
})
