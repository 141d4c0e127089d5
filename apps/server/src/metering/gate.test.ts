import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createEntrance, createGate, type Gate } from './ask.ts'

interface Act {
  name: string
  end(): void
}

/** Calls that a test ends by hand. `begun` names them in the order in which they began. */
function createActs(gate: Gate): { begun: string[]; begin(name: string): Act & { ended: Promise<void> } } {
  const begun: string[] = []
  return {
    begun,
    begin(name) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const ended = gate(async () => {
        begun.push(name)
        await promise
      })
      return { name, end: resolve, ended }
    },
  }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a gate', () => {
  it('lets a fixed number of calls run, and admits the next ones in order of arrival', async () => {
    const { begun, begin } = createActs(createGate(2))
    const [a, , c] = [begin('a'), begin('b'), begin('c'), begin('d')]
    await turn()
    assert.deepEqual(begun, ['a', 'b'])
    a.end()
    await a.ended
    begin('e')
    await turn()
    assert.deepEqual(begun, ['a', 'b', 'c'])
    c.end()
    await turn()
    assert.deepEqual(begun, ['a', 'b', 'c', 'd'])
  })

  it('opens again after a call that failed', async () => {
    const gate = createGate(1)
    await assert.rejects(gate(() => Promise.reject(new Error('no'))))
    assert.equal(await gate(async () => 'yes'), 'yes')
  })
})

describe('an entrance', () => {
  it('lets calls through one after another until it is open, and then all at once', async () => {
    let isOpen = false
    const { begun, begin } = createActs(createEntrance(() => isOpen))
    const [a, b] = [begin('a'), begin('b'), begin('c'), begin('d')]
    await turn()
    assert.deepEqual(begun, ['a'])
    a.end()
    await turn()
    assert.deepEqual(begun, ['a', 'b'])
    isOpen = true
    b.end()
    await turn()
    assert.deepEqual(begun, ['a', 'b', 'c', 'd'])
  })
})
