/**
 * What `npm start` shows first: three accounts of one person that belong together, and no asset that dwarfs the rest.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { connect, untilRead, walk } from '../application.ts'
import { startTestService } from '../service.ts'
import { until } from '../until.ts'

interface Moved {
  id: string
  provider_id: string
  type: string
  counterpart: { transaction_id: string; confidence: number } | null
}

interface Held {
  asset_symbol: string
  value_in_usd: string | null
  exact: { staked_holdings: string }
}

it('Kraken, Coinbase and a wallet: own transfers are matched by hash, and no asset is above 40 % of the value', async (t) => {
  const service = await startTestService(t)
  const { token } = await connect(service.url, 'nora', [
    { provider_id: 'kraken' },
    { provider_id: 'coinbase' },
    { provider_id: 'bitcoin', scenario: 'savings' },
  ])
  await untilRead(service.url, token)

  const path = '/accounts/v2/transactions?limit=100&categories=transfer'
  const matched = await until('four matched transfers', async () => {
    const moved = (await walk<Moved>(service.url, path, token)).filter(({ counterpart }) => counterpart !== null)
    return moved.length >= 8 ? moved : undefined
  })
  const byId = new Map(matched.map((one) => [one.id, one]))
  const pairs = matched
    .filter(({ type }) => type === 'send')
    .map((one) => `${one.provider_id} → ${byId.get(one.counterpart?.transaction_id ?? '')?.provider_id}`)
  assert.deepEqual(pairs.toSorted(), ['coinbase → kraken', 'kraken → bitcoin', 'kraken → bitcoin', 'kraken → bitcoin'])
  assert.ok(matched.every(({ counterpart }) => counterpart?.confidence === 1))

  // The test uses the prices of one day, because today's prices change tomorrow.
  const held = await walk<Held>(service.url, '/accounts/v2/assets?limit=100&as_of=2026-11-10T12:00:00Z', token)
  // Only shares are compared, so no amount is computed in floats.
  const worth = Map.groupBy(held, ({ asset_symbol }) => asset_symbol)
    .entries()
    .map(([symbol, rows]) => [symbol, rows.reduce((sum, row) => sum + Number(row.value_in_usd ?? 0), 0)] as const)
    .toArray()
  const total = worth.reduce((sum, [, value]) => sum + value, 0)
  for (const [symbol, value] of worth) assert.ok(value / total < 0.4, `${symbol}: ${value} of ${total}`)
  assert.ok(held.filter(({ exact }) => exact.staked_holdings !== '0').length >= 4, 'something is staked')
})
