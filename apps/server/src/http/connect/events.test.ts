import assert from 'node:assert/strict'
import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import { createSlots } from '../../limits/index.ts'
import { createStreams, followSession, toRestMs } from './events.ts'

describe('following sessions', () => {
  const ended = async (): Promise<{ step: string }> => ({ step: 'ended' })
  const isLimited = (error: unknown): boolean => error instanceof Refusal && error.code === 'rate_limited'

  const openStreams = () => createStreams(new AbortController().signal, createSlots())

  it('one session can be followed at most four times at once', async () => {
    const streams = openStreams()
    const follow = () => followSession(streams, { sessionId: 'one', address: '192.0.2.1' }, ended)
    for (let slot = 0; slot < 4; slot += 1) await follow()
    await assert.rejects(follow, isLimited)
  })

  it('a stream whose page has left gives its slot back at once, and not with the next line', async () => {
    const streams = openStreams()
    const follow = () =>
      followSession(streams, { sessionId: 'one', address: '192.0.2.1' }, async () => ({ step: 'connect' }))
    const all = await Promise.all([follow(), follow(), follow(), follow()])
    for (const stream of all) {
      await once(stream, 'data')
      stream.destroy()
    }
    const beforePing = AbortSignal.timeout(10_000)
    for (const stream of all) if (!stream.closed) await once(stream, 'close', { signal: beforePing })
    const again = await follow()
    again.destroy()
  })

  it('one network can follow at most a hundred sessions at once; other networks have their own limit', async () => {
    const streams = openStreams()
    let sessions = 0
    const follow = (address: string) => followSession(streams, { sessionId: String((sessions += 1)), address }, ended)
    const first = await follow('2001:db8::1')
    for (let slot = 1; slot < 100; slot += 1) await follow(`2001:db8::${slot + 1}`)
    await assert.rejects(follow('2001:db8::ffff'), isLimited)
    await follow('2001:db8:0:1::1')
    await finished(first.resume())
    await follow('2001:db8::ffff')
    await assert.rejects(follow('2001:db8::ffff'), isLimited)
  })

  it('a session without a user is read 15 times in the two minutes of a stream, and one that connects three times a second', () => {
    const countReads = (step: string): number => {
      let reads = 0
      for (let ageMs = 0; ageMs < 120_000; ageMs += toRestMs({ step }, ageMs)) reads += 1
      return reads
    }
    assert.deepEqual(
      ['sign_in', 'consent', 'connect'].map((step) => countReads(step)),
      [15, 120, 400],
    )
  })
})
