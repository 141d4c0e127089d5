import { parseDecimal, zero, type TransactionDraft } from '@assay/core'
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { ownedBySuite } from '../../oauth/test-oauth.ts'
import { addConnection, ledgerRow, openLedger, refOf, walletId } from '../test-ledger.ts'

describe('spam', async () => {
  const { db, ledger, connector, keepAt, derive } = await openLedger(ownedBySuite())
  const name = 'Visit usdc-rewards.example'
  const token = { assetId: 'ethereum:0xdead', symbol: 'USDCR', name }
  /** A connector of a wallet or of an exchange, for which every record is a gift of that token. */
  const givenBy = (providerId: string): typeof connector => ({
    ...connector,
    providerId,
    toTransactions: (...given) =>
      connector.toTransactions(...given).map((draft): TransactionDraft => {
        return { ...draft, inputs: [{ ...token, amount: parseDecimal('1000') }], outputs: [], fees: [] }
      }),
  })

  for (const [user, provider, isSpam] of [
    [2, walletId, true],
    [3, 'kraken', false],
  ] as const) {
    it(`${isSpam ? 'is marked in a wallet' : 'is never marked on an exchange, which lists what it books'}`, async () => {
      const of = refOf(user, 1)
      await addConnection(db, of, { providerId: provider })
      await keepAt(of, 'ledger', ledgerRow('L1', 'R1'))
      await derive(of, { by: givenBy(provider) })
      const { document } = await db.row<{ document: string }>('select document from transactions where user_key = $1', [
        of.userKey,
      ])
      assert.match(document, new RegExp(`"spam":${isSpam}`))
      const ether = {
        assetId: 'crypto:ethereum',
        symbol: 'ETH',
        name: 'Ethereum',
        liquid: parseDecimal('1'),
        staked: zero,
      }
      await ledger.keepHoldings(of, provider, [{ ...token, liquid: parseDecimal('1000'), staked: zero }, ether])
      const held = await db.rows<{ symbol: string; name: string; spam: boolean }>(
        `select a.symbol, a.name, h.spam from holdings h join assets a using (asset_key) where h.user_key = $1 order by 1`,
        [of.userKey],
      )
      assert.deepEqual(held, [
        { symbol: 'ETH', name: 'Ethereum', spam: false },
        { symbol: 'USDCR', name, spam: isSpam },
      ])
      // It has postings, because lists can be filtered by them, but it changes the sums of no day.
      const [sums, moved] = await Promise.all(
        ['daily_changes', 'postings'].map((table) => db.rows(`select from ${table} where user_key = $1`, [of.userKey])),
      )
      assert.deepEqual([sums?.length, moved?.length], [isSpam ? 0 : 1, 1])
      const [observed] = await db.rows<{ unpriced: number }>(
        'select unpriced from observed_values where user_key = $1',
        [of.userKey],
      )
      assert.equal(observed?.unpriced, isSpam ? 0 : 1)
    })
  }
})

describe('a token that takes the symbol and name of a known asset', async () => {
  const { db, ledger, connector, keepAt, derive } = await openLedger(ownedBySuite())
  const fake = { assetId: `evm:1:0xdead${'0'.repeat(32)}beef`, symbol: 'USDC', name: 'USD Coin' }
  const real = { assetId: 'crypto:usd-coin', symbol: 'USDC', name: 'USD Coin' }
  const amount = parseDecimal('1000000')
  const received: typeof connector = {
    ...connector,
    providerId: walletId,
    toTransactions: (...given) =>
      connector.toTransactions(...given).map((draft): TransactionDraft => {
        return { ...draft, inputs: [fake, real].map((one) => ({ ...one, amount })), outputs: [], fees: [] }
      }),
  }
  const wallet = refOf(2, 1)
  before(async () => {
    await addConnection(db, wallet, { providerId: walletId })
    await keepAt(wallet, 'ledger', ledgerRow('L1', 'R1'))
    await derive(wallet, { by: received })
    const balances = [fake, real].map((one) => ({ ...one, liquid: amount, staked: zero }))
    await ledger.keepHoldings(wallet, walletId, balances)
  })

  it('has another symbol than that asset in transactions', async () => {
    const { document } = await db.row<{ document: string }>('select document from transactions where user_key = $1', [
      wallet.userKey,
    ])
    const symbols = [...document.matchAll(/"asset_symbol":"([^"]*)"/g)].map(([, symbol]) => symbol)
    assert.deepEqual(symbols, ['USDC (0xdead…beef)', 'USDC'])
  })

  it('has another symbol and name among the holdings, and is not spam: bridged tokens take names, too', async () => {
    const held = await db.rows<{ id: string; symbol: string; name: string; spam: boolean }>(
      `select a.id, a.symbol, a.name, h.spam from holdings h join assets a using (asset_key)
       where h.user_key = $1 order by a.symbol`,
      [wallet.userKey],
    )
    assert.deepEqual(held, [
      { id: real.assetId, symbol: 'USDC', name: 'USD Coin', spam: false },
      { id: fake.assetId, symbol: 'USDC (0xdead…beef)', name: 'USD Coin (0xdead…beef)', spam: false },
    ])
  })
})
