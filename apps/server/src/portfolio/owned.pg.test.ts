/** What each account held at the one moment of a claim: coins that are moved between accounts count once. */
import { dayMs, hourMs, minuteMs, parseDecimal, subtract, add, zero, sum, type Decimal } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ledgerRow } from '../ledger/test-ledger.ts'
import type { Owned, OwnedRequest } from './owned-store.ts'
import { amounts, bitcoin, one, openOwned, totalOf, type Account } from './test-owned.ts'

describe('the accounts of a claim', async () => {
  const { db, ledger, keepAt, derive, openAccounts, record, move, read, judge, makeProvisional, readAndJudge, list } =
    await openOwned()

  it('hold coins once that were moved on after each reading', async () => {
    const { userKey, accounts } = await openAccounts(3)
    const [first, second, third] = accounts as [Account, Account, Account]
    await record(first, one, 'deposit')
    const firstReadAt = await readAndJudge(first)
    for (const [from, to] of [
      [first, second],
      [second, third],
    ] as const) {
      await db.clock.advance(hourMs)
      await move(from, to, one)
      await db.clock.advance(hourMs)
      await readAndJudge(to)
    }
    const owned = await list(userKey)
    assert.deepEqual([amounts(owned), owned.asOf], [['1', '0', '0'], firstReadAt])
  })

  it('hold coins once that left between two readings and came back', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [home, away] = accounts as [Account, Account]
    await record(home, one, 'deposit')
    await readAndJudge(home)
    await db.clock.advance(hourMs)
    await move(home, away, one)
    await readAndJudge(away)
    await db.clock.advance(hourMs)
    await move(away, home, one)
    await db.clock.advance(hourMs)
    await readAndJudge(home)
    assert.deepEqual(amounts(await list(userKey)), ['0', '1'])
  })

  /** An exchange that does not list every movement, as most do not. */
  const partial = { wholeLedgers: [] }
  const known = ({ accounts }: Owned): boolean[] => accounts.map(({ isKnown }) => isKnown)

  it('hold coins once that left between two readings and came back by a way that is not listed', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [home, away] = accounts as [Account, Account]
    await record(home, one, 'deposit')
    await readAndJudge(home)
    await db.clock.advance(hourMs)
    await record(away, one, 'deposit')
    await db.clock.advance(2 * minuteMs)
    const awayAt = await readAndJudge(away)
    await db.clock.advance(hourMs)
    await readAndJudge(home)
    const owned = await list(userKey, partial)
    assert.deepEqual([owned.asOf, amounts(owned), known(owned)], [awayAt, ['0', '1'], [false, true]])
    const past = await list(userKey, { ...partial, asOf: new Date(Date.parse(awayAt) - minuteMs).toISOString() })
    assert.deepEqual(amounts(past), ['0', '1'])
    assert.deepEqual(known(past), [false, true])
  })

  it('hold what readings within minutes of each other found', async () => {
    const { userKey, accounts } = await openAccounts(2)
    for (const account of accounts) await record(account, one, 'deposit')
    const [first, second] = accounts as [Account, Account]
    const asOf = await readAndJudge(first)
    await db.clock.advance(3 * minuteMs)
    await record(second, one, 'deposit')
    await db.clock.advance(minuteMs)
    await readAndJudge(second)
    const owned = await list(userKey, partial)
    assert.deepEqual([owned.asOf, amounts(owned), known(owned)], [asOf, ['1', '1'], [true, true]])
    await db.clock.advance(hourMs)
    await readAndJudge(first)
    await db.clock.advance(6 * minuteMs)
    await readAndJudge(second)
    assert.deepEqual(known(await list(userKey, partial)), [true, false])
    assert.deepEqual(known(await list(userKey)), [true, true], 'a history with every movement leads back further')
  })

  it('are at least and at most what a reading near the moment and the history say', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [empty, account] = accounts as [Account, Account]
    // A coin leaves without a record, and comes back in the same way later: the history leads back to it all the time.
    await record(account, one, 'deposit')
    await record(empty, one, 'deposit')
    await readAndJudge(account)
    await db.clock.advance(hourMs)
    account.held = zero
    await readAndJudge(account)
    await readAndJudge(empty)
    await db.clock.advance(hourMs)
    account.held = one
    await readAndJudge(account)
    const [, back] = (await list(userKey, partial)).accounts
    assert.deepEqual([back?.isKnown, back?.certain, back?.amount], [true, '0', '1'])
  })

  it('are certainly no more than a reading near the moment found, though the history leads back to more', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [other, account] = accounts as [Account, Account]
    await record(account, one, 'deposit')
    await readAndJudge(account)
    await db.clock.advance(hourMs)
    await readAndJudge(other)
    await db.clock.advance(minuteMs)
    // It may be read at its next place already, if its arrival there is not listed.
    await record(account, parseDecimal('-0.75'), 'withdrawal')
    await db.clock.advance(minuteMs)
    await readAndJudge(account)
    const [, listed] = (await list(userKey, partial)).accounts
    assert.deepEqual([listed?.isKnown, listed?.certain, listed?.amount], [true, '0.25', '1'])
    assert.deepEqual(amounts(await list(userKey)), ['0', '1'], 'a whole ledger shows where it was')
  })

  it('are not known before they began, unless the whole history shows that there was nothing', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [first, second] = accounts as [Account, Account]
    await record(first, one, 'deposit')
    await readAndJudge(first)
    await db.clock.advance(20_000)
    await record(second, one, 'deposit')
    await readAndJudge(second, 'open')
    assert.deepEqual(known(await list(userKey)), [true, false])
    await judge(second, 'proved')
    const owned = await list(userKey)
    assert.deepEqual(known(owned), [true, true])
    assert.deepEqual(amounts(owned), ['1', '0'])
    assert.deepEqual(known(await list(userKey, partial)), [true, false])
  })

  it('do not hold coins that the newest reading found and whose arrival is not in the history yet', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [from, to] = accounts as [Account, Account]
    await record(from, one, 'deposit')
    const judgedAt = await readAndJudge(to)
    await readAndJudge(from)
    await db.clock.advance(hourMs)
    to.held = one
    await read(to)
    const owned = await list(userKey)
    assert.deepEqual([totalOf(owned), owned.asOf], ['1', judgedAt])
  })

  it('hold no coins that only a record within seconds of the reading leads back to', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await readAndJudge(account)
    await db.clock.advance(hourMs)
    const asOf = db.now()
    await db.clock.advance(hourMs)
    // The withdrawal is in the history, and the reading a moment later does not show it yet.
    await record(account, subtract(zero, one), 'withdrawal')
    account.held = one
    await read(account)
    await judge(account)
    await makeProvisional(account)
    assert.deepEqual(amounts(await list(userKey, { asOf })), ['1'])
  })

  it('hold a coin once that a reading found twice, because it was moved between wallets while it was made', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await readAndJudge(account)
    await db.clock.advance(hourMs)
    account.held = add(one, one)
    await readAndJudge(account)
    // The record of the move may look as if it were not in the reading yet.
    await makeProvisional(account)
    assert.deepEqual(amounts(await list(userKey)), ['1'])
  })

  it('hold no more at a moment than the judged reading leads back to, whatever was found at that moment', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await readAndJudge(account)
    await db.clock.advance(hourMs)
    account.held = add(one, one)
    const asOf = await readAndJudge(account, 'open')
    await db.clock.advance(hourMs)
    account.held = one
    await readAndJudge(account)
    const past = await list(userKey, { ...partial, asOf })
    assert.deepEqual([known(past), amounts(past), past.accounts[0]?.amount], [[true], ['1'], '2'])
    assert.deepEqual(amounts(await list(userKey, { asOf })), ['1'])
  })

  it('may hold more where a record within seconds of the reading leads back to less', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [account, other] = accounts as [Account, Account]
    for (const each of accounts) {
      await record(each, one, 'deposit')
      await readAndJudge(each)
    }
    await db.clock.advance(hourMs)
    const asOf = db.now()
    await db.clock.advance(hourMs)
    // The deposit is in the history, and the reading a moment later does not show it yet.
    await record(account, one, 'deposit')
    account.held = one
    await read(account)
    await judge(account)
    await readAndJudge(other)
    const listAmounts = async (more = {}): Promise<(string | null)[]> =>
      (await list(userKey, { asOf, ...more })).accounts.map(({ amount }) => amount)
    assert.deepEqual(await listAmounts(), ['0', '1'])
    await makeProvisional(account)
    assert.deepEqual(await listAmounts(), [null, '1'])
    assert.deepEqual((await listAmounts({ assetId: null }))[0], null)
    assert.deepEqual(await listAmounts({ assetId: 'crypto:ethereum' }), ['0', '0'])
    // At the reading itself nothing leads back.
    assert.deepEqual((await listAmounts({ asOf: undefined }))[0], '1')
  })

  it('are of the newest moment that is known when a later one is wanted', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    const readAt = await readAndJudge(account)
    await db.clock.advance(hourMs)
    const owned = await list(userKey, { asOf: db.now() })
    assert.deepEqual([owned.asOf, amounts(owned)], [readAt, ['1']])
  })

  /** An account with a deposit, a moment an hour later, and a judged reading an hour after that. */
  async function openJudged(): Promise<{ userKey: string; account: Account; asOf: string; readAt: string }> {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await db.clock.advance(hourMs)
    const asOf = db.now()
    await db.clock.advance(hourMs)
    return { userKey, account, asOf, readAt: await readAndJudge(account) }
  }

  it('are proved at a moment only if the time since then adds up', async () => {
    const { userKey, account, asOf, readAt } = await openJudged()
    const gradesAt = async (at: string): Promise<string[]> =>
      (await list(userKey, { asOf: at })).accounts.map(({ grade }) => grade)
    assert.deepEqual([await gradesAt(asOf), await gradesAt(readAt)], [['proved'], ['proved']])
    // The provider no longer had the beginning, so the sums begin with the first reading.
    await judge(account, 'proved', readAt)
    assert.deepEqual([await gradesAt(asOf), await gradesAt(readAt)], [['unprovable'], ['proved']])
  })

  it('equal a book of all movements, whatever is moved and read in which order', async () => {
    const step = fc.record({
      kind: fc.constantFrom('move', 'move', 'read'),
      from: fc.nat(2),
      to: fc.nat(2),
      passesMs: fc.constantFrom(minuteMs, 3 * hourMs),
    })
    const story = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 9 }), async (steps) => {
      const { userKey, accounts } = await openAccounts(3)
      for (const account of accounts) await record(account, one, 'deposit')
      for (const account of accounts) await readAndJudge(account)
      for (const { kind, from, to, passesMs } of steps) {
        await db.clock.advance(passesMs)
        const [giver, taker] = [accounts[from], accounts[to]]
        assert.ok(giver && taker)
        if (kind === 'read') await readAndJudge(giver)
        else if (giver !== taker) await move(giver, taker, giver.held)
      }
      const everRead = { freshForMs: 365 * dayMs }
      assert.equal(totalOf(await list(userKey, everRead)), '3')
    })
    await fc.assert(story, { numRuns: 12, endOnFailure: true })
  })

  it('never hold more than there is, nor less if all are known, when some movements are not listed', async () => {
    const step = fc.record({
      kind: fc.constantFrom('move', 'unlisted move', 'unlisted move', 'read', 'read'),
      from: fc.nat(1),
    })
    const story = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 9 }), async (steps) => {
      const { userKey, accounts } = await openAccounts(2)
      for (const account of accounts) await record(account, one, 'deposit')
      await db.clock.advance(6 * minuteMs)
      for (const account of accounts) await readAndJudge(account)
      for (const { kind, from } of steps) {
        const [giver, taker] = [accounts[from], accounts[1 - from]]
        assert.ok(giver && taker)
        if (kind === 'read') {
          await db.clock.advance(minuteMs)
          await readAndJudge(giver)
        } else {
          await db.clock.advance(6 * minuteMs)
          const moved = giver.held
          if (kind === 'move') await move(giver, taker, moved)
          else [giver.held, taker.held] = [zero, add(taker.held, moved)]
          await db.clock.advance(6 * minuteMs)
        }
      }
      const owned = await list(userKey, partial)
      assert.ok(Number(totalOf(owned)) <= 2, totalOf(owned))
      const amounts = owned.accounts.flatMap(({ amount }) => (amount === null ? [] : [amount]))
      if (!known(owned).every(Boolean) || amounts.length < owned.accounts.length) return
      assert.ok(Number(sum(amounts)) >= 2, sum(amounts))
    })
    await fc.assert(story, { numRuns: 40, endOnFailure: true })
  })

  it('are left out when they were not read for a day, and do not set the moment back', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [dead, alive] = accounts as [Account, Account]
    await record(dead, one, 'deposit')
    await readAndJudge(dead)
    await db.clock.advance(dayMs + minuteMs)
    await record(alive, one, 'deposit')
    const readAt = await readAndJudge(alive)
    const owned = await list(userKey)
    assert.deepEqual([known(owned), amounts(owned)].flat(), [false, true, '0', '1'])
    assert.equal(owned.asOf, readAt)
  })

  it('do not count where it is not known what is in the balances of their provider, nor set the moment back', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [unknown, account] = accounts as [Account, Account]
    await db.execute("update connections set provider_id = 'binance' where user_key = $1 and connection_key = $2", [
      userKey,
      unknown.ref.connectionKey,
    ])
    for (const one of [unknown, account]) await record(one, parseDecimal('2'), 'deposit')
    await db.clock.advance(hourMs)
    await readAndJudge(unknown)
    await db.clock.advance(minuteMs)
    const at = await readAndJudge(account)
    const owned = await list(userKey)
    assert.deepEqual([owned.asOf, amounts(owned), known(owned)], [at, ['0', '2'], [false, true]])
    assert.deepEqual(amounts(await list(userKey, { claimable: ['kraken', 'binance'] })), ['2', '2'])
  })

  it('are those that were read a day before the moment that is asked for, or later, however long ago', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [dead, alive] = accounts as [Account, Account]
    await record(dead, one, 'deposit')
    await record(alive, one, 'deposit')
    const atMs = Date.parse(await readAndJudge(dead))
    await db.clock.advance(40 * dayMs)
    const laterMs = Date.parse(await readAndJudge(alive))
    const freshAt = async (ms: number): Promise<[boolean[], number]> => {
      const owned = await list(userKey, { asOf: new Date(ms).toISOString() })
      return [owned.accounts.map(({ isKnown }) => isKnown), Date.parse(owned.asOf)]
    }
    assert.deepEqual(await freshAt(atMs - 1), [[true, true], atMs - 1])
    assert.deepEqual(await freshAt(atMs + dayMs), [[true, true], atMs])
    assert.deepEqual(await freshAt(atMs + dayMs + 1), [[false, true], atMs + dayMs + 1])
    assert.deepEqual(await freshAt(laterMs + dayMs), [[false, true], laterMs])
  })

  it('are certain of what is not proved only as far as a reading before the moment found it', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [idle, later] = accounts as [Account, Account]
    await record(idle, one, 'deposit')
    await record(later, one, 'deposit')
    await readAndJudge(idle, 'explained')
    // Its first reading, an hour after the moment, found a second coin that the history does not show.
    await db.clock.advance(hourMs)
    later.held = add(one, one)
    await readAndJudge(later, 'explained')
    const owned = await list(userKey)
    assert.ok(owned.accounts.every(({ grade }) => grade === 'explained'))
    assert.deepEqual([known(owned), amounts(owned)].flat(), [true, false, '1', '0'])
    await judge(later, 'proved', db.now())
    assert.deepEqual(amounts(await list(userKey)), ['1', '0'], 'proved since its first reading only')
    await judge(later, 'proved')
    assert.deepEqual(amounts(await list(userKey)), ['1', '2'])
  })

  it('are not known from a reading that may contain borrowed coins, even when they were paid back', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    const readInDoubt = (isInDoubt: boolean): Promise<boolean> =>
      ledger.keepHoldings(account.ref, 'kraken', [{ ...bitcoin, liquid: account.held, staked: zero }], {
        isWhole: !isInDoubt,
      })
    await record(account, one, 'deposit')
    await readInDoubt(true)
    const asOf = db.now()
    assert.deepEqual(known(await list(userKey, partial)), [false])
    await db.clock.advance(hourMs)
    await record(account, subtract(zero, one), 'withdrawal')
    await readAndJudge(account)
    assert.deepEqual(known(await list(userKey, { ...partial, asOf })), [false])
    const owned = await list(userKey, partial)
    assert.deepEqual([known(owned), amounts(owned)], [[true], ['0']])
    await db.clock.advance(hourMs)
    await readInDoubt(true)
    assert.deepEqual(known(await list(userKey, partial)), [true], 'the judged reading stays what it is')
  })

  it('are followed where their provider lists every movement and they are proved at the moment', async () => {
    const { userKey, account, asOf, readAt } = await openJudged()
    const isFollowed = async (more: Partial<OwnedRequest> = {}): Promise<boolean | undefined> =>
      (await list(userKey, more)).accounts[0]?.isFollowed
    assert.deepEqual([await isFollowed(), await isFollowed(partial)], [true, false])
    await judge(account, 'proved', readAt)
    assert.deepEqual([await isFollowed(), await isFollowed({ asOf })], [true, false])
    await judge(account, 'explained')
    assert.equal(await isFollowed(), false)
  })

  it('are not known while the fees of a margin position show that a loss may be open', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await readAndJudge(account)
    assert.deepEqual(known(await list(userKey)), [true])
    await db.clock.advance(dayMs)
    const openedAt = db.clock.now()
    for (const [id, type] of Object.entries({ opens: 'margin', stays: 'rollover' })) {
      const rows = ledgerRow(
        `${id} ${userKey}`,
        `position ${userKey}`,
        { type, amount: zero, fee: '0.1', asset: bitcoin.code },
        db.clock.now(),
      )
      await keepAt(account.ref, 'ledger', rows)
      await derive(account.ref)
      account.held = subtract(account.held, parseDecimal('0.1'))
      await db.clock.advance(4 * hourMs)
    }
    await readAndJudge(account)
    assert.deepEqual(known(await list(userKey)), [false])
    await db.clock.advance(8 * hourMs)
    await readAndJudge(account)
    const owned = await list(userKey)
    assert.deepEqual([known(owned), amounts(owned)], [[true], ['0.8']])
    const before = new Date(openedAt - 1).toISOString()
    assert.deepEqual(known(await list(userKey, { asOf: before })), [true])
    const between = new Date(openedAt + hourMs).toISOString()
    assert.deepEqual(known(await list(userKey, { asOf: between })), [false])
  })

  it('are not known from a reading whose balances may still have what open contracts have lost', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    const readLosing = async (mayHaveLost: boolean): Promise<void> => {
      await db.clock.advance(hourMs)
      const held = [{ ...bitcoin, liquid: account.held, staked: zero }]
      await ledger.keepHoldings(account.ref, 'kraken', held, { isWhole: true, mayHaveLost })
    }
    await record(account, one, 'deposit')
    await readLosing(true)
    await judge(account)
    const asOf = db.now()
    assert.deepEqual(known(await list(userKey, partial)), [false])
    assert.deepEqual(known(await list(userKey)), [false])
    await readLosing(false)
    await judge(account)
    assert.deepEqual(known(await list(userKey, partial)), [true])
    assert.deepEqual(known(await list(userKey)), [true])
    assert.deepEqual(known(await list(userKey, { ...partial, asOf })), [false])
    assert.deepEqual(known(await list(userKey, { asOf })), [false])
    await readLosing(true)
    assert.deepEqual(known(await list(userKey, partial)), [false], 'the judged reading may have been like it')
  })

  it('are certainly worth nothing beside a debt in an asset without a price', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    const odd = { assetId: 'kraken:ODD', symbol: 'ODD', name: 'ODD', staked: zero }
    const certainBeside = async (debt: Decimal): Promise<string[]> => {
      await ledger.keepHoldings(account.ref, 'kraken', [
        { ...bitcoin, liquid: one, staked: zero },
        { ...odd, liquid: debt },
      ])
      await judge(account)
      return amounts(await list(userKey, { assetId: null }))
    }
    const [worth] = await certainBeside(one)
    assert.ok(Number(worth) > 0, worth)
    await db.clock.advance(hourMs)
    assert.deepEqual(await certainBeside(subtract(zero, one)), ['0'])
  })

  it('are certainly worth nothing beside a debt without a price that only a reading near the moment found', async () => {
    const { userKey, accounts } = await openAccounts(2)
    const [account, other] = accounts as [Account, Account]
    await record(account, one, 'deposit')
    const odd = { assetId: 'kraken:ODD', symbol: 'ODD', name: 'ODD', staked: zero }
    const readOwing = async (debt: Decimal): Promise<void> => {
      await ledger.keepHoldings(account.ref, 'kraken', [
        { ...bitcoin, liquid: one, staked: zero },
        { ...odd, liquid: debt },
      ])
      await judge(account)
    }
    await readOwing(subtract(zero, one))
    await readAndJudge(other)
    await db.clock.advance(hourMs)
    // The debt was paid back in a way that is not listed, so the history leads back to none.
    await readOwing(zero)
    const { accounts: listed } = await list(userKey, { ...partial, assetId: null })
    assert.deepEqual([listed[0]?.isKnown, listed[0]?.certain], [true, '0'])
    assert.ok(Number(listed[0]?.amount) > 0, String(listed[0]?.amount))
  })

  it('are certainly no more of an asset than the account could keep if it paid its debts', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    const dollars = { assetId: 'fiat:usd', symbol: 'USD', name: 'US Dollar', staked: zero }
    const odd = { assetId: 'kraken:ODD', symbol: 'ODD', name: 'ODD', staked: zero }
    // A bitcoin is worth three dollars.
    const heldBeside = async (usd: string, oddAmount: string, bitcoins = '2'): Promise<(string | null)[]> => {
      await db.clock.advance(hourMs)
      await ledger.keepHoldings(account.ref, 'kraken', [
        { ...bitcoin, liquid: parseDecimal(bitcoins), staked: zero },
        { ...dollars, liquid: parseDecimal(usd) },
        { ...odd, liquid: parseDecimal(oddAmount) },
      ])
      await judge(account)
      const [listed] = (await list(userKey)).accounts
      return [listed?.certain ?? '', listed?.amount ?? null]
    }
    assert.deepEqual(await heldBeside('0', '0'), ['2', '2'])
    assert.deepEqual(await heldBeside('-4.5', '0'), ['0.5', '2'])
    assert.deepEqual(await heldBeside('-4', '0'), ['0.666666666666666666', '2'])
    assert.deepEqual(await heldBeside('-6', '0'), ['0', '2'])
    assert.deepEqual(await heldBeside('-7', '0'), ['0', '2'])
    assert.deepEqual(await heldBeside('100', '-1'), ['0', '2'], 'a debt without a price may be worth more')
    assert.deepEqual(await heldBeside('9', '0', '-2'), ['-2', '-2'])
    const ofOdd = await list(userKey, { assetId: odd.assetId })
    assert.deepEqual(amounts(ofOdd), ['0'])
    await heldBeside('-1', '5')
    assert.deepEqual(amounts(await list(userKey, { assetId: odd.assetId })), ['0'], 'no price says what it could keep')
  })

  it('are worth their prices, after midnight too, and a user without an account has none', async () => {
    const { userKey, accounts } = await openAccounts(1)
    const [account] = accounts as [Account]
    await record(account, one, 'deposit')
    await readAndJudge(account)
    await db.execute(
      `insert into current_prices (asset_id, price_in_usd, source, method, fetched_at) values ($1, 7, 'test', 'simple_price', $2)
       on conflict (asset_id) do update set price_in_usd = excluded.price_in_usd`,
      [bitcoin.assetId, db.now()],
    )
    await db.execute('delete from daily_prices where asset_id = $1', [bitcoin.assetId])
    assert.deepEqual(amounts(await list(userKey, { assetId: null })), ['7'])
    await db.clock.advance(23 * hourMs)
    assert.deepEqual(amounts(await list(userKey, { assetId: null })), ['7'])
    assert.deepEqual(amounts(await list(userKey, { assetId: null, asOf: db.now() })), ['7'])
    // At an earlier day's moment it was not worth what it is worth today.
    await db.clock.advance(dayMs)
    const dayBefore = new Date(db.clock.now() - dayMs).toISOString()
    const { accounts: unpriced } = await list(userKey, { assetId: null, asOf: dayBefore })
    assert.deepEqual([unpriced[0]?.certain, unpriced[0]?.amount], ['0', null], 'nor is it known to have been less')
    // While the price source does not answer, a coin may be worth less than it was, or more.
    await readAndJudge(account)
    await db.execute(`update current_prices set fetched_at = $2 where asset_id = $1`, [
      bitcoin.assetId,
      new Date(db.clock.now() - dayMs - minuteMs).toISOString(),
    ])
    const { accounts: old } = await list(userKey, { assetId: null })
    assert.deepEqual([old[0]?.certain, old[0]?.amount], ['0', null])
    const { userKey: other } = await openAccounts(0)
    assert.deepEqual((await list(other)).accounts, [])
  })
})
