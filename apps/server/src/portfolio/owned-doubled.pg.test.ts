/** A claim counts a coin once that a reading of the balances found in two wallets of an account. */
import { add, hourMs, minuteMs, parseDecimal, type Decimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ledgerRow } from '../ledger/test-ledger.ts'
import { amounts, bitcoin, one, openOwned, type Account } from './test-owned.ts'

describe('a coin that a reading found twice', async () => {
  const { db, keepAt, openAccounts, record, readAndJudge, judge, makeProvisional, list } = await openOwned()
  const everyLedger = { wholeLedgers: ['kraken'] }
  const partial = { wholeLedgers: [] }

  /** What the verdict says that the newest reading found beyond what the records come to. */
  async function exceed({ ref }: Account, column: 'difference' | 'in_flight', by: Decimal): Promise<void> {
    await db.execute(
      `update proofs set ${column} = $3 where user_key = $1 and connection_key = $2
         and asset_key = (select asset_key from assets where id = $4)`,
      [ref.userKey, ref.connectionKey, by, bitcoin.assetId],
    )
  }

  it('counts once when a movement of the same amount, whose meaning is not known, explains the difference', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await readAndJudge(account)
    await db.clock.advance(hourMs)
    account.held = add(one, one)
    await readAndJudge(account, 'explained')
    await exceed(account, 'difference', one)
    for (const lists of [partial, everyLedger]) {
      const owned = await list(userKey, lists)
      assert.deepEqual([amounts(owned), owned.accounts[0]?.amount], [['1'], '2'])
    }
  })

  it('counts once when two readings found it twice, each beside a record that it may not contain yet', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await readAndJudge(account)
    account.held = add(one, one)
    for (let readings = 0; readings < 2; readings += 1) {
      await db.clock.advance(hourMs)
      await readAndJudge(account)
      await makeProvisional(account)
      await exceed(account, 'in_flight', one)
    }
    for (const lists of [partial, everyLedger]) assert.deepEqual(amounts(await list(userKey, lists)), ['1'])
  })

  it('is not known where sums begin with the first reading, and something moved while that or the judged one was made', async () => {
    /** Whether the account is known after a reading, and after a second one that adds up with it. */
    const readTwice = async (beforeFirstMs: number, beforeSecondMs: number): Promise<(boolean | undefined)[]> => {
      const { userKey, accounts } = await openAccounts(1)
      const [account] = accounts as [Account]
      const isKnown = async (): Promise<boolean | undefined> => (await list(userKey, partial)).accounts[0]?.isKnown
      await record(account, one, 'deposit')
      await db.clock.advance(beforeFirstMs)
      const firstAt = await readAndJudge(account)
      await judge(account, 'proved', firstAt)
      const first = await isKnown()
      await db.clock.advance(hourMs)
      await record(account, one, 'deposit')
      await db.clock.advance(beforeSecondMs)
      await readAndJudge(account)
      await judge(account, 'proved', firstAt)
      return [first, await isKnown()]
    }
    assert.deepEqual(await readTwice(2 * minuteMs, 2 * minuteMs), [true, true])
    assert.deepEqual(await readTwice(2 * minuteMs, 20_000), [true, false])
    assert.deepEqual(await readTwice(20_000, 2 * minuteMs), [false, false])
  })

  it('is not known either where nothing but moves between the wallets was listed, and another asset does not add up', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    account.held = one
    const move = ledgerRow('moved', 'moved', { type: 'transfer', amount: one, asset: bitcoin.code }, db.clock.now())
    await keepAt(account.ref, 'ledger', move)
    await db.clock.advance(20_000)
    const firstAt = await readAndJudge(account)
    await db.clock.advance(hourMs)
    await readAndJudge(account)
    await judge(account, 'proved', firstAt)
    await db.execute(`update connections set proof_grade = 'open', proved_since = null where user_key = $1`, [userKey])
    const [owned] = (await list(userKey, partial)).accounts
    assert.deepEqual([owned?.grade, owned?.isKnown], ['proved', false])
  })

  it('is no reason to leave out an account whose history is whole, although another asset does not add up', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await db.clock.advance(20_000)
    await readAndJudge(account)
    await db.execute(`update connections set proof_grade = 'open', proved_since = null where user_key = $1`, [userKey])
    const [owned] = (await list(userKey, partial)).accounts
    assert.deepEqual([owned?.grade, owned?.isKnown, owned?.certain], ['proved', true, '1'])
  })

  it('takes nothing from a reading that found less than the records come to', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, add(one, one), 'deposit')
    account.held = one
    await readAndJudge(account, 'explained')
    await exceed(account, 'difference', parseDecimal('-1'))
    assert.deepEqual(amounts(await list(userKey, partial)), ['1'])
  })
})
