import { parseDecimal, zero, type TransactionDraft } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import { addConnection, ledgerRow, openLedger, walletId } from './test-ledger.ts'

describe('spam', async () => {
  const { db, ledger, connector, ref, keepAt } = await openLedger(ownedBySuite())
  const name = 'Visit usdc-rewards.example'
  const token = { assetId: 'ethereum:0xdead', symbol: 'USDCR', name }
  /** A connector of a wallet or of an exchange, for which every record is a gift of that token. */
  const givenBy = (providerId: string): typeof connector => ({
    ...connector,
    providerId,
    toTransactions: (records) =>
      connector.toTransactions(records).map((draft): TransactionDraft => {
        return { ...draft, inputs: [{ ...token, amount: parseDecimal('1000') }], outputs: [], fees: [] }
      }),
  })

  for (const [provider, isSpam] of [
    [walletId, true],
    ['kraken', false],
  ] as const) {
    it(`of ${isSpam ? 'a wallet is marked' : 'an exchange there is none: it lists what it books'}`, async () => {
      const of = { ...ref, userId: `usr_${provider}`, connectionId: `con_${provider}` }
      await addConnection(db, of)
      await keepAt(of, 'ledger', ledgerRow('L1', 'R1'))
      await ledger.derive(of, givenBy(provider), () => true)
      const [row] = await ledger.listTransactions(of, { filters: {}, limit: 1, after: undefined })
      assert.match(row?.document ?? '', new RegExp(`"spam":${isSpam}`))
      const ether = {
        assetId: 'crypto:ethereum',
        symbol: 'ETH',
        name: 'Ethereum',
        liquid: parseDecimal('1'),
        staked: zero,
      }
      await ledger.keepHoldings(of, provider, [{ ...token, liquid: parseDecimal('1000'), staked: zero }, ether])
      const positions = await ledger.listPositions(of, { limit: 10, after: undefined })
      assert.deepEqual(
        positions.map(({ asset_symbol, spam }) => [asset_symbol, spam]),
        [
          ['ETH', false],
          ['USDCR', isSpam],
        ],
      )
      const inV1 = await ledger.listSourcePositions(of, { limit: undefined, after: undefined })
      assert.deepEqual(
        inV1.map(({ asset_symbol }) => asset_symbol),
        isSpam ? ['ETH'] : ['ETH', 'USDCR'],
      )
      const [observed] = await db.rows<{ unpriced: number }>(
        'select unpriced from observed_values where connection_id = $1',
        [of.connectionId],
      )
      assert.equal(observed?.unpriced, isSpam ? 0 : 1)
    })
  }
})
