import assert from 'node:assert/strict'
import { finished } from 'node:stream/promises'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import { createStreams, followSession } from './events.ts'

describe('following sessions', () => {
  const ended = async (): Promise<{ step: string }> => ({ step: 'ended' })
  const isLimited = (error: unknown): boolean => error instanceof Refusal && error.code === 'rate_limited'

  it('one session is followed four times at once', () => {
    const streams = createStreams(new AbortController().signal)
    const follow = () => followSession(streams, { sessionId: 'one', address: '192.0.2.1' }, ended)
    for (let place = 0; place < 4; place += 1) follow()
    assert.throws(follow, isLimited)
  })

  it('one network follows a hundred sessions at once, however many it begins; others have room of their own', async () => {
    const streams = createStreams(new AbortController().signal)
    let sessions = 0
    const follow = (address: string) => followSession(streams, { sessionId: String((sessions += 1)), address }, ended)
    const first = follow('2001:db8::1')
    for (let place = 1; place < 100; place += 1) follow(`2001:db8::${place + 1}`)
    assert.throws(() => follow('2001:db8::ffff'), isLimited)
    assert.doesNotThrow(() => follow('2001:db8:0:1::1'))
    await finished(first.resume())
    assert.doesNotThrow(() => follow('2001:db8::ffff'))
    assert.throws(() => follow('2001:db8::ffff'), isLimited)
  })
})
