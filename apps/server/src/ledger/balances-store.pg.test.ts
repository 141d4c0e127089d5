import type { Balance } from '@assay/connectors'
import { dayMs, parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { msUntilNoon } from '../../../../test/noon.ts'
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

/** Far from the end of a day: values are kept for days. */
async function startAtNoon({ db }: TestLedger): Promise<void> {
  await markInstallation(db, 'sandbox')
  await db.clock.advance(msUntilNoon(db.clock.now()))
}

const toTime = (ms: number): string => new Date(ms).toISOString()
const listObservations = async ({ db }: TestLedger, assetId: string): Promise<string[]> => {
  const rows = await db.rows<{ at: string }>(
    `select observed_at as at from observed_balances join assets a using (asset_key) where a.id = $1 order by 1`,
    [assetId],
  )
  return rows.map(({ at }) => at)
}
const [day, hour] = ['2026-03-02'.length, '2026-03-02T10'.length]
/** Times that have no later one in the same span; `spanOf` gives how much of their text names it. */
const toLastOfEach = (times: readonly string[], spanOf: (time: string) => number): string[] =>
  times.filter((time, index) => {
    const next = times[index + 1]
    return next?.slice(0, spanOf(time)) !== time.slice(0, spanOf(time))
  })

describe('holdings', () => {
  it('are written only when they change, while the time of reading is always written', async (t) => {
    const opened = await openLedger(t)
    const { db } = opened
    await startAtNoon(opened)
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

  it('are those of the time at which they were read, however long their prices take', async (t) => {
    const opened: TestLedger = await openLedger(t, {
      beforeCurrent: async () => void (await opened.db.clock.advance(20_000)),
    })
    const { db } = opened
    await startAtNoon(opened)
    const askedMs = db.clock.now()
    await hold(opened, balance('crypto:bitcoin', '0.1'))
    assert.ok(db.clock.now() - askedMs >= 20_000)
    const { at } = await db.row<{ at: string }>('select balances_at as at from connections')
    assert.ok(Date.parse(at) - askedMs < 10_000, `${Date.parse(at) - askedMs} ms later`)
    assert.deepEqual(await listObservations(opened, 'crypto:bitcoin'), [at])
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
    await startAtNoon(opened)
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

  it('that change with every reading leave one observation an hour', async (t) => {
    const opened = await openLedger(t)
    const { db } = opened
    const readings: string[] = []
    for (const amount of ['1', '2', '3', '4', '5', '6']) {
      await hold(opened, balance('crypto:bitcoin', amount), balance('crypto:ethereum', '2'))
      readings.push((await db.row<{ at: string }>('select balances_at as at from connections')).at)
    }
    const [first = '', last = ''] = [readings[0], readings.at(-1)]
    const expected = new Set([first, ...toLastOfEach(readings.slice(0, -1), () => hour), last])
    assert.deepEqual(await listObservations(opened, 'crypto:bitcoin'), [...expected])
    assert.equal((await listObservations(opened, 'crypto:ethereum')).length, 1)
  })

  it('leave one observation a day after two days, and all that a proof weighs', async (t) => {
    const opened = await openLedger(t)
    const { db } = opened
    await hold(opened, balance('crypto:bitcoin', '1'))
    // Five whole days that end with yesterday, with a change every quarter of an hour.
    const midnightMs = Math.floor(Date.parse(db.now()) / dayMs) * dayMs
    const readings = Array.from({ length: 480 }, (_, index) => toTime(midnightMs - (480 - index) * 900_000))
    await db.execute(
      `with emptied as (update observed_balances set observed_at = $2::timestamptz returning *)
       insert into observed_balances (user_key, connection_key, asset_key, observed_at, seen_until, liquid, staked)
       select e.user_key, e.connection_key, e.asset_key, o.at, o.at, 1, 0
       from emptied e, unnest($1::timestamptz[]) as o (at)`,
      [readings.slice(0, -1), readings.at(-1)],
    )
    const [since, judged, toJudge] = [readings[5] ?? '', readings[101] ?? '', readings[401] ?? '']
    // The moments of the proof are readings that found what the one before had found.
    const later = (time: string): string => toTime(Date.parse(time) + 60_000)
    await db.execute(
      'update connections set balances_since = $1::timestamptz, proof_balances_at = $2, unproved_at = $3',
      [later(since), later(judged), later(toJudge)],
    )
    await hold(opened, balance('crypto:bitcoin', '2'))
    const { at: now } = await db.row<{ at: string }>('select balances_at as at from connections')
    const hourlyAfter = toTime(Date.parse(now) - 2 * dayMs)
    const lasts = toLastOfEach(readings, (at) => (at > hourlyAfter ? hour : day))
    const expected = new Set([...lasts, since, judged, toJudge, now])
    assert.deepEqual(await listObservations(opened, 'crypto:bitcoin'), [...expected].toSorted())
  })

  it('of a connection that was removed are not kept', async (t) => {
    const opened = await openLedger(t)
    await opened.db.execute(`update connections set status = 'removed'`)
    await assert.rejects(hold(opened, balance('crypto:bitcoin', '1')), { name: 'ConnectionGone' })
    assert.deepEqual([...(await listHeld(opened)), ...(await listObserved(opened))], [])
  })
})
