/** The pairs whose trades are read, and what is learned about them. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { dayMs } from '@assay/core'
import type { ConnectorState } from '../kit/connector.ts'
import { connector } from './connector.ts'
import { nowMs, useBinance } from './test-binance.ts'

const binance = useBinance()
const { received, answerBy, openAt } = binance

describe('the pairs to read', () => {
  const symbols = ['BTC/USDT', 'ETH/BTC', 'ETH/EUR', 'DOGE/USDT', 'XRP/EUR'].map((name) => {
    const [baseAsset = '', quoteAsset = ''] = name.split('/')
    return { symbol: `${baseAsset}${quoteAsset}`, status: 'BREAK', baseAsset, quoteAsset }
  })
  const namesOf = async (state: ConnectorState): Promise<string[]> =>
    ((await binance.reader.listPartitions?.(state)) ?? []).map(({ partition }) => partition)

  beforeEach(() => answerBy({ exchangeInfo: { body: { symbols } } }))

  it('of an account without any asset are none, and cost no request', async () => {
    assert.deepEqual(await namesOf({}), [])
    assert.equal(received.length, 0)
  })

  it('are all that touch a seen asset while the connection is new', async () => {
    assert.deepEqual(await namesOf({ assets: ['BTC'], connectedAtMs: nowMs - 1 }), ['BTC/USDT', 'ETH/BTC'])
    assert.deepEqual(await namesOf({ assets: ['ETH', 'EUR'], connectedAtMs: nowMs }), ['ETH/BTC', 'ETH/EUR', 'XRP/EUR'])
    assert.equal(received.length, 1, 'a reader asks for the pairs once')
  })

  it('are later those of two seen assets, and every other one within four weeks', async () => {
    const turns = new Set<string>()
    for (let day = 0; day < 28; day += 1) {
      const later = openAt(nowMs + day * dayMs)
      const listed = (await later.listPartitions?.({ assets: ['BTC', 'USDT'], connectedAtMs: 0 })) ?? []
      assert.ok(listed.some(({ partition }) => partition === 'BTC/USDT'))
      for (const { partition } of listed) turns.add(partition)
    }
    assert.deepEqual([...turns].toSorted(), ['BTC/USDT', 'DOGE/USDT', 'ETH/BTC'])
  })

  it('include those of an asset that Binance no longer lists', async () => {
    const names = await namesOf({ assets: ['LEND', 'USDT'], connectedAtMs: 0 })
    assert.ok(names.includes('LEND/USDT'))
  })

  it('include one with stored trades that Binance no longer lists', async () => {
    const known = [
      { stream: 'trades', partition: 'ADA/BTC', lastingMark: '17@1' },
      { stream: 'trades', partition: 'SOL/BTC', lastingMark: '0@1' },
      { stream: 'trades', partition: 'BTC/USDT', lastingMark: '9@1' },
    ]
    const state = { assets: ['ADA', 'BTC', 'SOL', 'USDT'], connectedAtMs: 0 }
    const listed = ((await binance.reader.listPartitions?.(state, known)) ?? []).map(({ partition }) => partition)
    assert.deepEqual(
      listed.filter((partition) => known.some((one) => one.partition === partition)),
      ['BTC/USDT', 'ADA/BTC', 'SOL/BTC'],
    )
    // SOL is in no pair and is guessed; ADA was guessed and known, and is named once.
    assert.equal(new Set(listed).size, listed.length)
    const withEth = { assets: ['BTC', 'ETH', 'XRP'], connectedAtMs: 0 }
    const kept = [{ stream: 'trades', partition: 'XRP/ETH', lastingMark: '3@1' }]
    assert.ok((await binance.reader.listPartitions?.(withEth, kept))?.some(({ partition }) => partition === 'XRP/ETH'))
    assert.ok(!(await binance.reader.listPartitions?.(withEth, []))?.some(({ partition }) => partition === 'XRP/ETH'))
  })
})

describe('two states that were learned at the same time', () => {
  it('are joined in either order, and one that adds nothing changes nothing', () => {
    const joined = connector.atOnce?.joinStates.bind(connector.atOnce)
    assert.ok(joined)
    const one = { assets: ['BTC', 'ETH'], lost: ['LEND/BTC'], connectedAtMs: nowMs }
    const other = { assets: ['BTC', 'SOL'], connectedAtMs: nowMs }
    const both = { assets: ['BTC', 'ETH', 'SOL'], lost: ['LEND/BTC'], connectedAtMs: nowMs }
    assert.deepEqual(joined(one, other), both)
    assert.deepEqual(joined(other, one), both)
    assert.deepEqual(joined(both, one), both)
  })
})
