import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { control, openAccount, startTestSandbox, type TestAccount } from '../../testing/kraken-client.ts'

interface Funding {
  refid: string
  time: number
  asset: string
  amount: string
  fee: string
  status: string
  txid: string | null
}

let sandbox: Sandbox
let account: TestAccount
let state: { deposits: Funding[]; withdrawals: Funding[]; ledger: { refid: string; amount: string; fee: string }[] }

before(async () => {
  sandbox = await startTestSandbox()
  account = await openAccount(sandbox, 'default')
  state = (await control(sandbox, 'GET', `accounts/${account.accountId}/state`)) as typeof state
})
after(() => sandbox.close())

describe('DepositStatus', () => {
  it('without a cursor is a plain list of the newest 25', async () => {
    const { result } = await account.ask('DepositStatus')
    assert.deepEqual(result, state.deposits.toReversed().slice(0, 25))
  })

  it('is walked by cursor until there is none, every deposit once', async () => {
    const walked: Funding[] = []
    let cursor: string | null = 'true'
    while (cursor !== null) {
      const { result } = await account.ask('DepositStatus', { cursor, limit: '40' })
      const page = result as { deposit: Funding[]; next_cursor: string | null }
      walked.push(...page.deposit)
      cursor = page.next_cursor
    }
    assert.deepEqual(walked, state.deposits.toReversed())
  })

  it('keeps its filters in the cursor', async () => {
    const first = (await account.ask('DepositStatus', { cursor: 'true', limit: '1', asset: 'XBT' })).result as {
      next_cursor: string
    }
    const { result } = await account.ask('DepositStatus', { cursor: first.next_cursor })
    const bitcoin = state.deposits.filter((deposit) => deposit.asset === 'XXBT').reverse()
    assert.deepEqual(result, { deposit: bitcoin.slice(1, 2), next_cursor: null })
  })

  it('includes both edges, in seconds', async () => {
    const [, early, late] = state.deposits
    assert.ok(early && late)
    const { result } = await account.ask('DepositStatus', { start: String(early.time), end: String(late.time) })
    assert.deepEqual(result, [late, early])
  })

  it('refuses an asset it does not know', async () => {
    assert.deepEqual((await account.ask('DepositStatus', { asset: 'NOPE' })).error, ['EFunding:Unknown asset'])
  })
})

describe('WithdrawStatus', () => {
  it('names the reference of the ledger entry, with the same amount and fee', async () => {
    const { result } = await account.ask('WithdrawStatus', { cursor: 'true' })
    const page = result as { withdrawals: Funding[] }
    assert.deepEqual(page.withdrawals, state.withdrawals.toReversed())
    for (const withdrawal of page.withdrawals) {
      const booked = state.ledger.find((entry) => entry.refid === withdrawal.refid)
      assert.equal(booked?.amount, `-${withdrawal.amount}`)
      assert.equal(booked?.fee, withdrawal.fee)
    }
  })

  it('shows a failed one without a transaction id, and the ledger holds a pair that cancels', () => {
    const failed = state.withdrawals.filter((withdrawal) => withdrawal.status === 'Failure')
    assert.equal(failed.length, 2)
    for (const withdrawal of failed) {
      assert.equal(withdrawal.txid, null)
      const pair = state.ledger.filter((entry) => entry.refid === withdrawal.refid)
      assert.deepEqual(
        pair.map((entry) => entry.amount),
        [`-${withdrawal.amount}`, withdrawal.amount],
      )
      assert.deepEqual(
        pair.map((entry) => entry.fee),
        [withdrawal.fee, `-${withdrawal.fee}`],
      )
    }
  })
})
