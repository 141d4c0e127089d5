import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createSharedMarkets } from './shared-markets.ts'

/** A list of three markets. */
const three = { markets: { 'BTC/EUR': {}, 'ETH/EUR': {}, 'SOL/EUR': {} } }

function open() {
  const shared = createSharedMarkets<{ markets?: object }>(7)
  return {
    share: (host: string, list: Promise<object> = Promise.resolve(three)) => shared.share(host, list, 0),
    /** Those that are kept, without using them. */
    isKept: (host: string): boolean => shared.find(host) !== undefined,
  }
}

describe('the lists of markets that a process keeps', () => {
  it('have a limit together, and the one that was not used for the longest time goes', async () => {
    const { share, isKept } = open()
    await share('first')
    await share('second')
    assert.equal(isKept('first'), true, 'used once more')
    await share('third')
    assert.deepEqual(['first', 'second', 'third'].map(isKept), [true, false, true])
    await share('second')
    assert.deepEqual(['first', 'second', 'third'].map(isKept), [false, true, true])
  })

  it('count once when they are read again', async () => {
    const { share, isKept } = open()
    for (const host of ['first', 'second', 'first', 'second', 'second']) await share(host)
    assert.deepEqual(['first', 'second'].map(isKept), [true, true])
  })

  it('have room for one that is longer than the limit, and for no other beside it', async () => {
    const { share, isKept } = open()
    await share('first')
    await share('long', Promise.resolve({ markets: Object.fromEntries([...'abcdefgh'].map((name) => [name, {}])) }))
    assert.deepEqual(['first', 'long'].map(isKept), [false, true])
  })

  it('stay where the exchange cannot be read any more', async () => {
    const { share, isKept } = open()
    await share('first')
    for (const host of ['first', 'second']) {
      await assert.rejects(share(host, Promise.reject(new Error('away'))), /away/)
    }
    assert.deepEqual(['first', 'second'].map(isKept), [true, false])
  })
})
