import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTimeline } from './timeline.ts'

// Rows 3, 4 and 5 happened in the same instant, as the legs of a trade do.
const times = [10, 20, 30, 40, 40, 40, 50]
const timeline = createTimeline(times.map((atTicks, number) => ({ number, atTicks })))
const odd = { name: 'odd', keep: (row: { number: number }) => row.number % 2 === 1 }

function numbers(view: { cut(offset: number, size: number): { number: number }[] }, offset = 0, size = 100): number[] {
  return view.cut(offset, size).map((row) => row.number)
}

describe('a timeline', () => {
  it('is read newest first, in pages that meet without gap or overlap', () => {
    const view = timeline.view({})
    assert.equal(view.count, 7)
    assert.deepEqual(
      [numbers(view, 0, 3), numbers(view, 3, 3), numbers(view, 6, 3), numbers(view, 9, 3)],
      [[6, 5, 4], [3, 2, 1], [0], []],
    )
  })

  it('excludes the lower time and includes the upper one', () => {
    assert.deepEqual(numbers(timeline.view({ afterTicks: 20, untilTicks: 40 })), [5, 4, 3, 2])
    assert.deepEqual(numbers(timeline.view({ afterTicks: 40 })), [6])
    assert.deepEqual(numbers(timeline.view({ untilTicks: 9 })), [])
  })

  it('excludes the lower row and includes the upper one, even among rows of the same instant', () => {
    assert.deepEqual(numbers(timeline.view({ afterNumber: 3, untilNumber: 5 })), [5, 4])
    assert.deepEqual(numbers(timeline.view({ untilNumber: 4 })), [4, 3, 2, 1, 0])
  })

  it('filters before it counts and cuts', () => {
    const view = timeline.view({ afterNumber: 2 }, odd)
    assert.equal(view.count, 2)
    assert.deepEqual(numbers(view), [5, 3])
    assert.deepEqual(numbers(timeline.view({ untilNumber: 4 }, odd)), [3, 1])
  })

  it('finds a row by its number', () => {
    assert.equal(timeline.find(2)?.atTicks, 30)
    assert.equal(timeline.find(7), undefined)
  })
})
