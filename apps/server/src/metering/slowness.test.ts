import { SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createSlowness } from './slowness.ts'

describe('a provider', () => {
  it('is slow while a call takes long, and until one did not', async () => {
    let nowMs = 0
    const slowness = createSlowness(() => nowMs)
    const ends: (() => void)[] = []
    const call = (): Promise<void> => slowness.time('okx', () => new Promise((resolve) => ends.push(resolve)))

    const first = call()
    nowMs = 1_999
    assert.deepEqual(slowness.listSlow(), [])
    nowMs = 2_000
    assert.deepEqual(slowness.listSlow(), ['okx'])
    ends.shift()?.()
    await first
    assert.deepEqual(slowness.listSlow(), ['okx'])

    const second = call()
    nowMs = 2_100
    ends.shift()?.()
    await second
    assert.deepEqual(slowness.listSlow(), [])
  })

  it('is slow after a call that failed late, and the failure is passed on', async () => {
    let nowMs = 0
    const slowness = createSlowness(() => nowMs)
    const failing = slowness.time('okx', async () => {
      nowMs = 20_000
      throw new Error('no answer')
    })
    await assert.rejects(failing, /no answer/)
    assert.deepEqual(slowness.listSlow(), ['okx'])
    const givenUp = slowness.time('okx', () => Promise.reject(new SourceError('venue_down', 'given up')))
    await assert.rejects(givenUp, /given up/)
    assert.deepEqual(slowness.listSlow(), ['okx'])
    await assert.rejects(slowness.time('okx', () => Promise.reject(new SourceError('invalid_credentials', 'refused'))))
    assert.deepEqual(slowness.listSlow(), [])
  })
})
