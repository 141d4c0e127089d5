import { parseDecimal, type Decimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { follow, type RunningRecord, type Wallet } from './running.ts'

const text = (value: string): Decimal => parseDecimal(value)
/** `+2=5`: two were added, and the balance is five. Without `=`, the record has no balance. */
function records(...rows: [atMs: number, row: string][]): RunningRecord[] {
  return rows.map(([atMs, row]) => {
    const [change = '', balance] = row.replace('+', '').split('=')
    const told = balance === undefined ? undefined : text(balance)
    return {
      atMs,
      order: String(atMs).padStart(9, '0'),
      wallet: 'XXBT',
      assetId: 'crypto:bitcoin',
      change: text(change),
      balance: told,
    }
  })
}
function walk(beginningMs: number | undefined, ...batches: RunningRecord[][]): Wallet | undefined {
  const wallets = new Map<string, Wallet>()
  for (const batch of batches) follow(wallets, batch, beginningMs)
  return wallets.get('XXBT')
}

describe('running balances', () => {
  const sound = records([10, '+5=5'], [20, '-2=3'], [30, '+4=7'], [40, '-7=0'])

  it('that follow from each other end at the last record’s balance', () => {
    assert.deepEqual(walk(0, sound), { assetId: 'crypto:bitcoin', lastAtMs: 40, balance: '0', firstBreak: undefined })
    assert.equal(walk(0, sound.slice(0, 2), sound.slice(2))?.firstBreak, undefined)
  })

  it('break where a record is missing, between its neighbours', () => {
    const expected = [
      { startMs: 0, endMs: 21, amount: '5' },
      { startMs: 10, endMs: 31, amount: '-2' },
      { startMs: 20, endMs: 41, amount: '4' },
    ]
    for (const [index, found] of expected.entries()) {
      const rest = sound.filter((_, at) => at !== index)
      assert.deepEqual(walk(0, rest)?.firstBreak, found, `without record ${index}`)
    }
  })

  it('break at a duplicate record, and at one that was changed', () => {
    assert.deepEqual(walk(0, records([10, '+5=5'], [20, '-2=3'], [20, '-2=3'], [30, '+4=7']))?.firstBreak, {
      startMs: 20,
      endMs: 21,
      amount: '2',
    })
    assert.deepEqual(walk(0, records([10, '+5=5'], [20, '-1=3'], [30, '+4=7']))?.firstBreak, {
      startMs: 10,
      endMs: 21,
      amount: '-1',
    })
  })

  it('of the same time may come in any order', () => {
    const moment: [number, string][] = [
      [20, '+0=5'],
      [20, '-2=3'],
      [20, '+4=7'],
      [20, '-7=0'],
    ]
    for (const order of [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [1, 3, 0, 2],
      [2, 0, 3, 1],
    ]) {
      const shuffled = order.flatMap((at) => (moment[at] === undefined ? [] : [moment[at]]))
      assert.equal(walk(0, records([10, '+5=5'], ...shuffled))?.firstBreak, undefined, String(order))
    }
  })

  it('trust the first record of a history that begins late, and add a record without a balance', () => {
    assert.equal(walk(undefined, records([20, '-2=3'], [30, '+4=7']))?.firstBreak, undefined)
    assert.equal(walk(undefined, records([20, '-2'], [30, '+4=7'], [40, '-7=0']))?.firstBreak, undefined)
    assert.equal(walk(0, records([10, '+5'], [20, '-2=3']))?.firstBreak, undefined)
    assert.equal(walk(0, records([20, '-2=3']))?.firstBreak?.amount, '5')
  })
})
