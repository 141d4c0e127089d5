import { dayMs, hourMs } from '@assay/core'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Market } from './client.ts'
import { listPartitions } from './state.ts'

const connectedAtMs = Date.UTC(2026, 2, 2, 12)
const markets = new Map([
  ['BTC/USDT', { symbol: 'BTC/USDT', base: 'BTC', quote: 'USDT' } as Market],
  ['ETH/USDT', { symbol: 'ETH/USDT', base: 'ETH', quote: 'USDT' } as Market],
])
const state = { connectedAtMs, assets: ['BTC', 'USDT'] }

function listAt(nowMs: number, isSlow: boolean): string[] {
  return listPartitions([{ stream: 'trades', by: 'symbol', isSlow }], markets, state, nowMs).map(
    ({ partition }) => partition,
  )
}

it('a pair with one known side is read at once, and in turns from the start where a pair takes hundreds of calls', () => {
  assert.deepEqual(listAt(connectedAtMs + hourMs, false), ['BTC/USDT', 'ETH/USDT'])
  const days = Array.from({ length: 28 }, (_, day) => listAt(connectedAtMs + day * dayMs, true))
  assert.equal(days.filter((symbols) => symbols.includes('BTC/USDT')).length, 28)
  assert.equal(days.filter((symbols) => symbols.includes('ETH/USDT')).length, 1)
})
