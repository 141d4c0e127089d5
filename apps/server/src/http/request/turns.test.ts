import { Refusal } from '@assay/core'
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, it } from 'node:test'
import { createTurns } from './turns.ts'

/** Work that ends when it is told to, and records what has begun. */
function work() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    begun,
    end: (name: string): void => ends.get(name)?.(),
    begin: (name: string) => (): Promise<string> =>
      new Promise((resolve) => {
        begun.push(name)
        ends.set(name, () => resolve(name))
      }),
  }
}

describe('turns', () => {
  it('of one caller are taken in order, and those of another are not waited for', async () => {
    const turns = createTurns({ atOnceMax: 2, waitingMax: 10 })
    const { begun, begin, end } = work()
    const all = ['a1', 'a2', 'a3', 'a4'].map((name) => turns.take('a', begin(name)))
    const other = turns.take('b', begin('b1'))
    await nextTurn()
    assert.deepEqual(begun, ['a1', 'a2', 'b1'])
    end('a2')
    await nextTurn()
    assert.deepEqual(begun, ['a1', 'a2', 'b1', 'a3'])
    for (const name of ['a1', 'a3', 'b1']) end(name)
    await nextTurn()
    end('a4')
    assert.deepEqual(await Promise.all([...all, other]), ['a1', 'a2', 'a3', 'a4', 'b1'])
  })

  it('are handed on when the work fails', async () => {
    const turns = createTurns({ atOnceMax: 1, waitingMax: 10 })
    const failing = turns.take('a', () => Promise.reject(new Error('broken')))
    const next = turns.take('a', async () => 'next')
    await assert.rejects(failing, /broken/)
    assert.equal(await next, 'next')
    assert.equal(await turns.take('a', async () => 'later'), 'later')
  })

  it('are refused when too many wait', async () => {
    const turns = createTurns({ atOnceMax: 1, waitingMax: 1 })
    const { begin, end } = work()
    const [first, second] = ['1', '2'].map((name) => turns.take('a', begin(name)))
    await assert.rejects(
      turns.take('a', begin('3')),
      (error) => error instanceof Refusal && error.code === 'rate_limited' && error.retryAfterSeconds === 1,
    )
    end('1')
    await first
    await nextTurn()
    end('2')
    assert.equal(await second, '2')
  })

  it('go to each of those who wait in one line before one of them has a second', async () => {
    const turns = createTurns({ atOnceMax: 1, waitingMax: 10 })
    const { begun, begin, end } = work()
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) =>
      turns.take('line', begin(name), name.slice(0, 1)),
    )
    const order = ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']
    for (const [index, name] of order.entries()) {
      await nextTurn()
      assert.deepEqual(begun, order.slice(0, index + 1))
      end(name)
    }
    await Promise.all(all)
  })

  it('leave places to the others of a line when one has filled its own', async () => {
    const turns = createTurns({ atOnceMax: 1, waitingMax: 3, waitingOfEachMax: 2 })
    const { begin, end } = work()
    const take = (name: string): Promise<string> => turns.take('line', begin(name), name.slice(0, 1))
    const isRefused = (error: unknown): boolean => error instanceof Refusal && error.code === 'rate_limited'
    const all = ['a1', 'a2', 'a3'].map(take)
    await assert.rejects(take('a4'), isRefused)
    all.push(take('b1'))
    await assert.rejects(take('c1'), isRefused, 'the whole line is full')
    for (const name of ['a1', 'a2', 'b1', 'a3']) {
      await nextTurn()
      end(name)
    }
    assert.deepEqual(await Promise.all(all), ['a1', 'a2', 'a3', 'b1'])
  })
})
