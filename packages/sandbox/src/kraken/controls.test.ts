import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { AccountContents } from '../core/controls.ts'
import type { Sandbox } from '../index.ts'
import { openAccount, startTestSandbox, type TestAccount } from '../testing/kraken-client.ts'

interface Entry {
  refid: string
  time: number
  type: string
  asset: string
  amount: string
  fee: string
  balance: string
}

let sandbox: Sandbox
before(async () => {
  sandbox = await startTestSandbox()
})
after(() => sandbox.close())

const entriesOf = (reading: AccountContents): [string, Entry][] =>
  (reading.records['Ledgers'] ?? []).map(({ id, body }) => [id, body as Entry])

/** The sum of amount − fee of one code, in whole units of its smallest step. */
function sumOf(reading: AccountContents, code: string): bigint {
  const units = (text: string): bigint => BigInt(text.replace('.', ''))
  return entriesOf(reading)
    .filter(([, entry]) => entry.asset === code)
    .reduce((sum, [, entry]) => sum + units(entry.amount) - units(entry.fee), 0n)
}

async function wireBalance(account: TestAccount, code: string): Promise<string> {
  return ((await account.ask('Balance')).result as Record<string, string>)[code] ?? ''
}

async function assertLaw(account: TestAccount, code: string): Promise<void> {
  const reading = sandbox.controls.kraken.readAccount(account.accountId)
  assert.equal(sumOf(reading, code), BigInt((await wireBalance(account, code)).replace('.', '')))
}

describe('the controls of Kraken', () => {
  it('return exactly what the account shows over the wire', async () => {
    const account = await openAccount(sandbox, 'reality', 'reading')
    const reading = sandbox.controls.kraken.readAccount(account.accountId)
    const { ledger } = (await account.ask('Ledgers')).result as { ledger: Record<string, Entry> }
    const newest = entriesOf(reading).toReversed().slice(0, 50)
    assert.deepEqual(Object.entries(ledger), newest)
    const shown = (await account.ask('Balance')).result as Record<string, string>
    assert.deepEqual(Object.keys(reading.balances), Object.keys(shown))
    for (const code of Object.keys(shown)) await assertLaw(account, code)
  })

  it('withdraw a record that was shown: it and the deposit behind it disappear, and the balance follows', async () => {
    const account = await openAccount(sandbox, 'reality', 'withdrawn')
    const controls = sandbox.controls.kraken
    const [id, entry] =
      entriesOf(controls.readAccount(account.accountId)).find(([, { asset }]) => asset === 'ZMXN') ?? []
    assert.ok(id !== undefined && entry !== undefined)
    controls.withdrawRecord(account.accountId, id)
    assert.deepEqual((await account.ask('Ledgers', { asset: 'MXN' })).result, { ledger: {}, count: 0 })
    assert.deepEqual((await account.ask('DepositStatus', { asset: 'MXN' })).result, [])
    assert.equal(await wireBalance(account, 'ZMXN'), '0.0000')
    assert.deepEqual((await account.ask('QueryLedgers', { id })).error, ['EGeneral:Invalid arguments:id'])
    assert.throws(() => controls.withdrawRecord(account.accountId, id), RangeError)
  })

  it('refuse to withdraw an amount that was spent afterwards', async () => {
    const account = await openAccount(sandbox, 'reality', 'spent')
    const controls = sandbox.controls.kraken
    const [id] = entriesOf(controls.readAccount(account.accountId)).find(([, { asset }]) => asset === 'SAI') ?? []
    assert.throws(() => controls.withdrawRecord(account.accountId, id ?? ''), /SAI would be -250/)
    assert.equal(await wireBalance(account, 'SAI'), '0.0000000000')
  })

  it('add a late record into the past', async () => {
    const account = await openAccount(sandbox, 'reality', 'late')
    const controls = sandbox.controls.kraken
    const late = { time: '2023-03-03T03:03:03.000Z', asset: 'USD', amount: '12.34' }
    const id = controls.addLateRecord(account.accountId, late)
    const { result } = await account.ask('QueryLedgers', { id })
    const entry = (result as Record<string, Entry>)[id]
    assert.deepEqual([entry?.time, entry?.asset, entry?.amount], [1_677_812_583, 'ZUSD', '12.3400'])
    await assertLaw(account, 'ZUSD')
  })

  it('correct a record, which keeps its id', async () => {
    const account = await openAccount(sandbox, 'reality', 'corrected')
    const controls = sandbox.controls.kraken
    const [id] = entriesOf(controls.readAccount(account.accountId)).find(([, { asset }]) => asset === 'ZARS') ?? []
    controls.correctRecord(account.accountId, id ?? '', { amount: '240000.75', time: '2025-04-02T00:00:00Z' })
    const { ledger } = (await account.ask('Ledgers', { asset: 'ARS' })).result as { ledger: Record<string, Entry> }
    assert.deepEqual(Object.keys(ledger), [id])
    const [deposit] = (await account.ask('DepositStatus', { asset: 'ARS' })).result as Entry[]
    assert.deepEqual([deposit?.amount, deposit?.time], ['240000.7500', Date.UTC(2025, 3, 2) / 1000])
    assert.equal(await wireBalance(account, 'ZARS'), '240000.7500')
  })

  it('end the review of a withdrawal at once', async () => {
    const account = await openAccount(sandbox, 'reality', 'reviewed')
    const [newest] = (await account.ask('WithdrawStatus')).result as { refid: string; status: string }[]
    assert.equal(newest?.status, 'Pending')
    sandbox.controls.kraken.endHold(account.accountId, newest.refid, 'Success')
    const [ended] = (await account.ask('WithdrawStatus')).result as { status: string }[]
    assert.equal(ended?.status, 'Success')
  })

  it('leave every other account of the scenario alone', async () => {
    const other = await openAccount(sandbox, 'reality', 'untouched')
    assert.equal(await wireBalance(other, 'ZMXN'), '12000.5000')
  })

  it('know no account of another provider', () => {
    assert.throws(() => sandbox.controls.kraken.readAccount('kraken.reality.zz'), RangeError)
  })
})
