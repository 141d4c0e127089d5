/**
 * Other services lost money over two coins with one ticker. Throughout our ledger an asset is identified by its id, not
 * by its symbol.
 */
import { dayMs, getAsset, parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ledgerRow, noonMs, openLedger } from '../ledger/test-ledger.ts'
import { keepCurrent } from './store.ts'

const coin = 'crypto:bitcoin'
// A Kraken code that is missing from the table of its codes, so the service cannot know that it is bitcoin.
const namesake = 'kraken:BTC'

describe('two assets with one symbol', () => {
  it('have one symbol', () => {
    assert.equal(getAsset(coin).symbol, getAsset(namesake).symbol)
  })

  it('have holdings and current prices of their own', async (t) => {
    const { db, ledger, ref } = await openLedger(t)
    const balances = [coin, namesake].map((assetId, index) => {
      const { symbol, name } = getAsset(assetId)
      return { assetId, symbol, name, liquid: parseDecimal(String(index + 1)), staked: parseDecimal('0') }
    })
    const listHeld = async (): Promise<unknown[]> => {
      const rows = await db.rows<{ held: unknown[] }>(
        `select json_build_array(a.id, a.symbol, trim_scale(h.liquid)::text, trim_scale(p.price_in_usd)::text) as held
         from holdings h join assets a using (asset_key) left join current_prices p on p.asset_id = a.id
         where h.user_key = $1 order by a.id`,
        [ref.userKey],
      )
      return rows.map(({ held }) => held)
    }
    await ledger.keepHoldings(ref, 'kraken', balances)
    const unpriced = [
      [coin, 'BTC', '1', '64000.5'],
      [namesake, 'BTC', '2', null],
    ]
    assert.deepEqual(await listHeld(), unpriced)
    await keepCurrent(db, 'a test', [{ assetId: namesake, price: parseDecimal('7e-8'), method: 'simple_price' }])
    const priced = [
      [coin, 'BTC', '1', '64000.5'],
      [namesake, 'BTC', '2', '0.00000007'],
    ]
    assert.deepEqual(await listHeld(), priced)
  })

  it('have transactions of their own, each at the price of its own asset', async (t) => {
    const { connector, ref, keep, derive, listWritten } = await openLedger(t)
    const confusing: typeof connector = {
      ...connector,
      toTransactions: (records, facts) =>
        connector.toTransactions(records, facts).map((draft) => ({
          ...draft,
          inputs: draft.inputs.map((leg) => (records[0]?.key === 'L2' ? { ...leg, assetId: namesake } : leg)),
        })),
    }
    await keep(ledgerRow('L1', 'R1'), ledgerRow('L2', 'R2', {}, noonMs - dayMs))
    await derive(ref, { by: confusing })
    const inputs = (await listWritten()).map(({ document }) => /"inputs":\[(\{.*?\})\]/.exec(document)?.[1] ?? '')
    const [one, other] = inputs.map((text): unknown => JSON.parse(text))
    assert.deepEqual(one, {
      asset_symbol: 'BTC',
      asset_id: coin,
      amount: '0.5',
      price_in_usd: '64000.5',
      value_in_usd: '32000.25',
    })
    assert.deepEqual(other, {
      asset_symbol: 'BTC',
      asset_id: namesake,
      amount: '0.5',
      price_in_usd: null,
      value_in_usd: null,
    })
  })
})
