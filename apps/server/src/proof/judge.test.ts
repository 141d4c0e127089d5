import { parseDecimal, type Decimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fitsNearby, judge, locate, worstOf, type Circumstances, type Weighed } from './judge.ts'

const text = (value: string): Decimal => parseDecimal(value)
const weighed = (observed: string): Weighed => ({
  opening: text('0'),
  posted: text('10'),
  observed: text(observed),
})
const calm: Circumstances = {
  holes: [],
  pending: [],
  unreadable: [],
  unknown: [],
  corrected: [],
  unit: null,
  earning: text('0'),
  rebases: false,
  credits: false,
}
const where = { startMs: 100, endMs: 200 }
const within = { startMs: 150, endMs: 160 }
const before = { startMs: 10, endMs: 20 }

describe('the verdict on an asset', () => {
  it('is proved when the sum is exact, and explained when part of the history is missing even so', () => {
    assert.deepEqual(judge(weighed('10'), undefined, where, calm), {
      grade: 'proved',
      difference: '0',
      causes: [],
      firstBad: null,
    })
    const { grade, causes } = judge(weighed('10'), undefined, where, { ...calm, holes: [before] })
    assert.deepEqual([grade, causes], ['explained', [{ cause: 'coverage_hole', amount: '0', ...before }]])
  })

  it('is open when nothing explains the difference, with the interval in which it appeared', () => {
    assert.deepEqual(judge(weighed('9.5'), undefined, where, calm), {
      grade: 'open',
      difference: '-0.5',
      causes: [{ cause: 'unexplained', amount: '-0.5', ...where }],
      firstBad: where,
    })
  })

  const causeOf = (observed: string, around: Partial<Circumstances>): string | undefined =>
    judge(weighed(observed), undefined, where, { ...calm, ...around }).causes[0]?.cause

  it('names the first matching cause, in order', () => {
    const pending = [{ amount: text('-0.5'), atMs: 120 }]
    assert.equal(causeOf('9.5', { holes: [within], pending }), 'coverage_hole')
    assert.equal(causeOf('9.5', { pending, unreadable: [within] }), 'pending')
    assert.equal(
      causeOf('9.5', { unreadable: [within], unknown: [{ amount: text('0.5'), atMs: 120 }] }),
      'unreadable_record',
    )
    assert.equal(causeOf('9.5', { unknown: [{ amount: text('0.5'), atMs: 120 }], unit: text('1') }), 'unknown_type')
    assert.equal(causeOf('9.5', { unit: text('1'), corrected: [within] }), 'rounding')
    assert.equal(causeOf('10.1', { earning: text('10'), corrected: [within] }), 'accrual')
    assert.equal(causeOf('10.5', { rebases: true, corrected: [within] }), 'accrual')
    // It grows whether or not a record can be read, which strangers can send at any time.
    assert.equal(causeOf('10.5', { rebases: true, unreadable: [within] }), 'accrual')
    assert.equal(causeOf('9.5', { rebases: true, unreadable: [within] }), 'unreadable_record')
    // A rebasing token only pays, so a decrease was not a payment.
    assert.equal(causeOf('9.5', { rebases: true, corrected: [within] }), 'provider_correction')
    assert.equal(causeOf('9.5', { corrected: [within] }), 'provider_correction')
    assert.equal(causeOf('10.5', { credits: true, unreadable: [within] }), 'unreadable_record')
    assert.equal(causeOf('10.5', { credits: true, corrected: [within] }), 'provider_correction')
    assert.equal(causeOf('10.5', { credits: true }), 'unlisted_credit')
    // Coins that have left were sent.
    assert.equal(causeOf('9.5', { credits: true }), 'unexplained')
  })

  it('ignores causes with another place, amount or sign', () => {
    const unfit: Partial<Circumstances>[] = [
      { holes: [before] },
      { unreadable: [before] },
      { corrected: [before] },
      {
        pending: [
          { amount: text('-0.4'), atMs: 120 },
          { amount: text('-0.2'), atMs: 130 },
        ],
      },
      { unknown: [{ amount: text('0.4'), atMs: 120 }] },
      { unit: text('0.5') },
      { earning: text('10') },
    ]
    for (const around of unfit) assert.equal(causeOf('9.5', around), 'unexplained')
  })

  it('treats growth as accrued when it is at most a hundredth of the balance', () => {
    assert.equal(causeOf('10.03', { earning: text('3') }), 'accrual')
    assert.equal(causeOf('10.030000000000000001', { earning: text('3') }), 'unexplained')
    assert.equal(causeOf('9.97', { earning: text('3') }), 'unexplained')
    assert.equal(causeOf('10.03', {}), 'unexplained')
  })

  it('finds pending transactions that a balance already contains, and does not treat them as the only place', () => {
    const pending = ['-0.2', '3', '-0.3'].map((amount, index) => ({ amount: text(amount), atMs: 120 + index }))
    const { grade, firstBad, causes } = judge(weighed('9.5'), undefined, where, { ...calm, pending })
    assert.deepEqual([grade, firstBad], ['explained', where])
    assert.deepEqual(causes, [{ cause: 'pending', amount: '-0.5', startMs: 120, endMs: 123 }])
  })

  it('is open where a running balance breaks, even when the sum is right', () => {
    const broken = { startMs: 30, endMs: 41, amount: text('2') }
    const { grade, difference, firstBad, causes } = judge(weighed('10'), broken, where, calm)
    assert.deepEqual([grade, difference, firstBad], ['open', '0', { startMs: 30, endMs: 41 }])
    assert.deepEqual(causes, [{ cause: 'unexplained', amount: '2', startMs: 30, endMs: 41 }])
  })
})

describe('where a difference appeared', () => {
  const at = (...differences: string[]) =>
    differences.map((one, index) => ({ atMs: index * 10, difference: text(one) }))
  it('lies between the last correct observation and the next', () => {
    assert.deepEqual(locate(at('0', '0', '3', '3'), -5), { startMs: 10, endMs: 21 })
    assert.deepEqual(locate(at('0', '2', '0', '3'), -5), { startMs: 20, endMs: 31 })
    assert.deepEqual(locate(at('3', '3'), -5), { startMs: -5, endMs: 1 })
  })
})

it('a connection has the grade of its worst asset', () => {
  assert.equal(worstOf(['proved', 'explained', 'unprovable', 'open']), 'open')
  assert.equal(worstOf(['proved', 'explained', 'unprovable']), 'unprovable')
  assert.equal(worstOf(['proved', 'explained']), 'explained')
  assert.equal(worstOf(['proved']), 'proved')
  assert.equal(worstOf([]), undefined)
})

it('records around the reading may or may not be in the balance, contiguously from its edge', () => {
  const near = { before: ['4', '-1', '2'].map(text), after: ['7', '-3'].map(text) }
  // The last one, two or three records are not in it yet, or the next one or two already are.
  for (const fits of ['-2', '-1', '-5', '7', '4']) assert.equal(fitsNearby(text(fits), near), true, fits)
  for (const not of ['-4', '1', '-3', '3', '11']) assert.equal(fitsNearby(text(not), near), false, not)
})
