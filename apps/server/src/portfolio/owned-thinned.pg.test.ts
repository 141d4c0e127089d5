/** A claim signs no 'no' about a moment of which a balance was read and is no longer kept. */
import { dayMs, hourMs, parseDecimal, zero, type Decimal } from '@assay/core'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { bitcoin, one, openOwned, type Account } from './test-owned.ts'

it('an account may hold more where a reading near the moment found what is no longer kept', async () => {
  const { db, ledger, openAccounts, record, judge, list } = await openOwned()
  const { userKey, accounts } = await openAccounts(1)
  const [account] = accounts as [Account]
  const dollars = { assetId: 'fiat:usd', symbol: 'USD', name: 'US Dollar', staked: zero }
  const readWith = async (bitcoins: Decimal, liquid: Decimal): Promise<string> => {
    await db.clock.advance(hourMs)
    const held = [
      { ...bitcoin, liquid: bitcoins, staked: zero },
      { ...dollars, liquid },
    ]
    await ledger.keepHoldings(account.ref, 'kraken', held)
    await judge(account)
    return db.now()
  }
  const listAmount = async (asOf: string, assetId: string | null, wholeLedgers: string[] = []): Promise<unknown> => {
    const [listed] = (await list(userKey, { wholeLedgers, asOf, assetId })).accounts
    return [listed?.isKnown, listed?.certain, listed?.amount]
  }

  await db.clock.advance(dayMs - (db.clock.now() % dayMs))
  await record(account, one, 'deposit')
  await readWith(one, zero)
  // Coins come without a record, and leave in the same way on the same day.
  const asOf = await readWith(parseDecimal('5'), one)
  const lastAt = await readWith(one, one)
  assert.deepEqual(await listAmount(asOf, bitcoin.assetId), [true, '1', '5'])

  // Of the readings of a day, the last one stays.
  await db.clock.advance(3 * dayMs)
  await readWith(zero, one)
  assert.deepEqual(await listAmount(asOf, bitcoin.assetId), [true, '0', null])
  assert.deepEqual(await listAmount(asOf, null), [true, '1', null])
  assert.deepEqual(await listAmount(asOf, 'fiat:usd'), [true, '1', '1'])
  assert.deepEqual(await listAmount(lastAt, bitcoin.assetId), [true, '0', '1'])
  assert.deepEqual(await listAmount(asOf, bitcoin.assetId, ['kraken']), [true, '0', '0'], 'a whole ledger shows it')
  // Where another asset does not add up, the history is no proof, and the reading is asked again.
  await db.execute(`update connections set proof_grade = 'open', proved_since = null where user_key = $1`, [userKey])
  assert.deepEqual(await listAmount(asOf, bitcoin.assetId, ['kraken']), [true, '0', null])
})
