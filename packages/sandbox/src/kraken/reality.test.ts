import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { control, openAccount, startTestSandbox, type TestAccount } from '../testing/kraken-client.ts'

interface Entry {
  refid: string
  time: number
  type: string
  subtype: string
  aclass: string
  asset: string
  amount: string
  fee: string
}

interface Withdrawal {
  refid: string
  status: string
  'status-prop'?: string
  txid: string | null
  time: number
}

let sandbox: Sandbox
let account: TestAccount
let held: (Entry & { id: string })[]

before(async () => {
  sandbox = await startTestSandbox()
  account = await openAccount(sandbox, 'reality')
  held = ((await control(sandbox, 'GET', `accounts/${account.accountId}/state`)) as { ledger: typeof held }).ledger
})
after(() => sandbox.close())

async function page(
  of: TestAccount,
  parameters: Record<string, string>,
): Promise<{ ids: string[]; count: number; next_cursor?: string }> {
  const { error, result } = await of.ask('Ledgers', parameters)
  assert.deepEqual(error, [])
  const { ledger, ...rest } = result as { ledger: object; count: number; next_cursor?: string }
  return { ids: Object.keys(ledger), ...rest }
}

describe('Ledgers in reality', () => {
  it('reports a count that is lower than the number of entries', async () => {
    const ids: string[] = []
    for (let offset = 0; ; offset += 50) {
      const part = await page(account, { ofs: String(offset) })
      assert.equal(part.count, held.length - 7)
      ids.push(...part.ids)
      if (part.ids.length < 50) break
    }
    assert.equal(new Set(ids).size, held.length)
  })

  it('is walked by cursor to the end, every entry once, even when one is booked into the past meanwhile', async () => {
    const own = await openAccount(sandbox, 'reality', 'walker')
    const before = (await page(own, { with_cursor: 'true' })).ids
    const ids: string[] = []
    let cursor: string | undefined
    do {
      const part = await page(own, { with_cursor: 'true', ...(cursor !== undefined && { cursor }) })
      ids.push(...part.ids)
      cursor = part.next_cursor
      const entries = [{ type: 'deposit', asset: 'EUR', amount: '1', time: '2026-11-10T00:00:00Z' }]
      await control(sandbox, 'POST', `accounts/${own.accountId}/entries`, { entries })
    } while (cursor !== undefined)
    assert.deepEqual(ids.slice(0, 50), before)
    assert.equal(new Set(ids).size, ids.length)
    assert.equal(ids.length, held.length)
  })

  it('keeps its filters in the cursor, and refuses a cursor that it did not issue', async () => {
    const deposits = held.filter((entry) => entry.type === 'deposit').map((entry) => entry.id)
    const first = await page(account, { with_cursor: 'true', type: 'deposit' })
    const second = await page(account, { cursor: first.next_cursor ?? '' })
    assert.deepEqual([...first.ids, ...second.ids], deposits.toReversed())
    assert.equal(second.next_cursor, undefined)
    const refused = await account.ask('Ledgers', { cursor: 'nonsense' })
    assert.deepEqual(refused.error, ['EGeneral:Invalid arguments:cursor'])
  })

  it('has no cursor unless asked for, and no next page after the last', async () => {
    assert.equal((await page(account, {})).next_cursor, undefined)
    assert.equal((await page(account, { with_cursor: 'true', asset: 'SAI' })).next_cursor, undefined)
  })

  // Fields and types: https://docs.kraken.com/api-reference/account-data/get-ledgers-info; "Unknown" and an empty
  // subtype on Earn entries: https://github.com/AlexanderLill/PP-Crypto-Parser/issues/4; the class of a tokenized
  // stock: https://github.com/rotki/rotki/pull/12566.
  it('writes every entry with the documented fields', async () => {
    const { result } = await account.ask('Ledgers')
    for (const entry of Object.values((result as { ledger: Record<string, Entry> }).ledger)) {
      const fields = 'aclass amount asset balance fee refid subtype time type'
      assert.deepEqual(Object.keys(entry).toSorted(), fields.split(' '))
      assert.equal(typeof entry.time, 'number')
      for (const field of ['amount', 'fee'] as const) assert.match(entry[field], /^-?\d+\.\d+$/)
    }
    const stock = held.find((entry) => entry.asset === 'TSLAx.T')
    assert.equal(stock?.aclass, 'tokenized_asset')
  })

  it('has lost the reference of Earn entries that have nothing to do with each other', () => {
    const lost = held.filter((entry) => entry.refid === 'Unknown')
    assert.ok(lost.every((entry) => entry.type === 'earn' && entry.subtype === ''))
    assert.deepEqual(new Set(lost.map((entry) => entry.asset)), new Set(['XBT.M', 'XXBT', 'XETH']))
    assert.ok(new Set(lost.map((entry) => Math.floor(entry.time))).size >= 3)
  })

  it('uses an Earn reference again half a year later', () => {
    const byReference = Map.groupBy(held, (entry) => entry.refid)
    const spans = [...byReference.entries()]
      .filter(([refid, entries]) => refid !== 'Unknown' && entries[0]?.type === 'earn')
      .map(([, entries]) => ((entries.at(-1)?.time ?? 0) - (entries[0]?.time ?? 0)) * 1000)
    assert.ok(Math.max(...spans) > 180 * dayMs)
  })

  it('books one coin for another under two references', () => {
    for (const [from, to] of [
      ['SAI', 'DAI'],
      ['MATIC', 'POL'],
    ] as const) {
      const [out] = held.filter((entry) => entry.asset === from && entry.amount.startsWith('-'))
      const [back] = held.filter((entry) => entry.asset === to)
      assert.equal(out?.amount, `-${back?.amount ?? ''}`)
      assert.notEqual(out?.refid, back?.refid)
    }
  })

  it('returns entries of every kind that readers report', () => {
    const headings = new Set(held.map((entry) => `${entry.type}/${entry.subtype}`))
    for (const heading of [
      ...['transfer/spotfromfutures', 'transfer/airdrop', 'earn/airdrop', 'airdrop/', 'earn/', 'credit/'],
      ...['earn/delistingconversion', 'transfer/delistingconversion'],
    ]) {
      assert.ok(headings.has(heading), heading)
    }
  })
})

describe('codes in the scenario reality', () => {
  it('are those of the balances too', async () => {
    const balance = (await account.ask('Balance')).result as Record<string, string>
    for (const code of [
      ...['ZMXN', 'ZARS', 'FLOWH', 'FLOWH.S', 'ETH.INK', 'USDT0.TEMPO', 'HYPER.CORE', 'TSLAx.T'],
      ...['ETHW', 'STRK'],
    ]) {
      assert.match(balance[code] ?? '', /^\d+\.\d+$/, code)
    }
  })

  // The parameter aclass: https://docs.kraken.com/api-reference/market-data/get-asset-info.
  it('of tokenized stocks are named by Assets only when their class is asked for', async () => {
    const ask = async (query: string): Promise<Record<string, { aclass: string }>> => {
      const response = await fetch(`${sandbox.urls.kraken}/0/public/Assets${query}`)
      return ((await response.json()) as { result: Record<string, { aclass: string }> }).result
    }
    const stocks = await ask('?aclass=tokenized_asset')
    assert.deepEqual(Object.keys(stocks), ['TSLAx', 'SPYx'])
    assert.ok(Object.values(stocks).every((asset) => asset.aclass === 'tokenized_asset'))
    const currencies = await ask('')
    assert.ok('ZMXN' in currencies && !('TSLAx' in currencies) && !('TSLAx.T' in currencies))
  })
})

describe('a withdrawal on hold', () => {
  let own: Sandbox
  let nowMs = Date.UTC(2026, 10, 15)
  before(async () => {
    own = await startTestSandbox({ now: () => (nowMs += 1_000) })
  })
  after(() => own.close())

  async function openWithdrawals(of: TestAccount): Promise<Withdrawal[]> {
    const { result } = await of.ask('WithdrawStatus', { start: String(Date.UTC(2026, 9, 1) / 1000) })
    return (result as Withdrawal[]).toReversed()
  }

  // Fields, the statuses and the words of status-prop:
  // https://docs.kraken.com/api/docs/rest-api/get-status-recent-withdrawals
  it('is reported as on hold for more than two weeks, with the documented fields and without a transaction id', async () => {
    const open = await openAccount(own, 'reality')
    const withdrawals = await openWithdrawals(open)
    assert.equal(withdrawals.length, 2)
    for (const withdrawal of withdrawals) {
      assert.deepEqual([withdrawal.status, withdrawal['status-prop'], withdrawal.txid], ['Pending', 'onhold', null])
      assert.ok(nowMs - withdrawal.time * 1000 > 14 * dayMs)
    }
    const fields = 'aclass amount asset fee info key method network refid status status-prop time txid'
    assert.deepEqual(Object.keys(withdrawals[0] ?? {}).toSorted(), fields.split(' '))
  })

  it('ends on time: one is sent, and the other comes back with its fee', async () => {
    const open = await openAccount(own, 'reality')
    const before = (await open.ask('Balance')).result as Record<string, string>
    await control(own, 'POST', 'clock', { offset_ms: 30 * dayMs })
    const [sent, returned] = await openWithdrawals(open)
    assert.deepEqual([sent?.status, sent?.['status-prop']], ['Success', undefined])
    assert.match(sent?.txid ?? '', /^0x[0-9a-f]{64}$/)
    assert.deepEqual([returned?.status, returned?.['status-prop'], returned?.txid], ['Failure', 'return', null])
    const { ledger } = (await open.ask('Ledgers')).result as { ledger: Record<string, Entry> }
    const pair = Object.values(ledger).filter((entry) => entry.refid === returned?.refid)
    assert.deepEqual(
      pair.map((entry) => [entry.type, entry.amount, entry.fee]),
      [
        ['withdrawal', '150.0000', '-1.0000'],
        ['withdrawal', '-150.0000', '1.0000'],
      ],
    )
    const after = (await open.ask('Balance')).result as Record<string, string>
    assert.equal(after['XETH'], before['XETH'])
    const cents = (text: string | undefined): number => Number((text ?? '').replace('.', ''))
    assert.equal(cents(after['ZEUR']) - cents(before['ZEUR']), 1_510_000)
  })
})
