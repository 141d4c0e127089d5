import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import { userFlags } from './shares.ts'
import { openQueue, queueTask, type TestTask } from './test-queue.ts'

describe('a background job', async () => {
  const queue = await openQueue()

  /** Reads until it is asked to end; interactive jobs end at once. */
  function tasks(): { began: string[]; ended: string[]; read: TestTask; serve: TestTask; release(): void } {
    const began: string[] = []
    const ended: string[] = []
    const letGo = new AbortController()
    return {
      began,
      ended,
      release: () => letGo.abort(),
      async read(payload, signal) {
        const { name } = payload as { name: string }
        began.push(name)
        const either = AbortSignal.any([signal, letGo.signal])
        if (!either.aborted) await once(either, 'abort')
        ended.push(`${name} ${signal.aborted ? 'asked to end' : 'by itself'}`)
      },
      async serve(payload) {
        ended.push((payload as { name: string }).name)
      },
    }
  }
  const add = (name: string, lane: string): Promise<void> =>
    queueTask(queue.db, { task: 'read', payload: { name }, key: name, lane })
  const serve = (name: string, lane: string): Promise<void> =>
    queueTask(queue.db, { task: 'serve', payload: { name }, key: name, lane, priority: 'interactive' })

  it('that has run longest ends early when a person waits and every slot is taken', async () => {
    const { began, ended, read, serve: task, release } = tasks()
    await queue.start({ read, serve: task }, { makeRoom: ['read'], concurrency: 2 })
    for (const name of ['first', 'second']) {
      await add(name, name)
      await until(name, () => (began.includes(name) ? true : undefined))
    }
    await serve('person', 'another lane')
    await until('the person', () => (ended.includes('person') ? true : undefined))
    assert.deepEqual(ended, ['first asked to end', 'person'])
    release()
  })

  it('ends early when it holds the lane that a person waits for, even if slots are free', async () => {
    const { began, ended, read, serve: task, release } = tasks()
    await queue.start({ read, serve: task }, { makeRoom: ['read'], concurrency: 4 })
    for (const name of ['same', 'other']) await add(name, `lane of ${name}`)
    await until('both', () => (began.length === 2 ? true : undefined))
    await serve('person', 'lane of same')
    await until('the person', () => (ended.includes('person') ? true : undefined))
    assert.deepEqual(ended, ['same asked to end', 'person'])
    release()
  })

  it('ends early when its user waits and has used up a share of the places, and those of others continue', async (t) => {
    const { began, ended, read, serve: task, release } = tasks()
    t.after(release)
    await queue.start({ read, serve: task }, { makeRoom: ['read'], concurrency: 8 })
    const flagsOf = (user: string): string[] => userFlags('kraken', user)
    for (const [name, user] of [
      ['other', '2'],
      ...Array.from({ length: 6 }, (_, index) => [`own ${index}`, '1']),
    ] as const) {
      await queueTask(queue.db, {
        task: 'read',
        payload: { name },
        key: name ?? '',
        lane: name ?? '',
        flags: flagsOf(user ?? ''),
      })
      await until(`${name}`, () => (began.includes(name ?? '') ? true : undefined))
    }
    const person = { task: 'serve', payload: { name: 'person' }, key: 'person', lane: 'person', flags: flagsOf('1') }
    await queueTask(queue.db, { ...person, priority: 'interactive' })
    await until('the person', () => (ended.includes('person') ? true : undefined))
    assert.deepEqual(ended, ['own 0 asked to end', 'person'])
  })

  it('that a person waits for does not end early for the next one of the same user', async (t) => {
    const { began, ended, read, serve: task, release } = tasks()
    t.after(release)
    await queue.start({ read, serve: task }, { makeRoom: ['read'], concurrency: 4 })
    const flags = userFlags('kraken', '1')
    for (const name of ['first', 'second', 'third', 'fourth']) {
      const job = { task: 'read', payload: { name }, key: name, lane: name, flags }
      await queueTask(queue.db, { ...job, priority: 'interactive' })
    }
    await until('three of them', () => (began.length === 3 ? true : undefined))
    // Checked after the worker has looked for those that wait: it asks another user's background to end.
    const background = { task: 'read', payload: { name: 'other' }, key: 'other', lane: 'other' }
    await queueTask(queue.db, { ...background, flags: userFlags('kraken', '2') })
    await until('the other user', () => (began.includes('other') ? true : undefined))
    await serve('person', 'another lane')
    await until('the person', () => (ended.includes('person') ? true : undefined))
    assert.deepEqual([ended.length, began.includes('fourth')], [2, false])
  })

  it('continues while slots are free, and when its task does not make room', async () => {
    const { began, ended, read, serve: task, release } = tasks()
    await queue.start({ read, serve: task }, { makeRoom: [], concurrency: 2 })
    await add('kept', 'a')
    await until('the job', () => (began.length === 1 ? true : undefined))
    await serve('person', 'b')
    await until('the person', () => (ended.includes('person') ? true : undefined))
    assert.deepEqual(ended, ['person'])
    release()
    await until('its end', () => (ended.length === 2 ? true : undefined))
    assert.deepEqual(ended, ['person', 'kept by itself'])
  })

  it('that reads a long history lets every job queued before it go first', async () => {
    const order: string[] = []
    /** Queues itself again, as reading does. */
    const long: TestTask = async () => {
      order.push('long')
      if (order.length < 9) await queueTask(queue.db, { task: 'long', payload: {}, key: 'long', lane: 'long' })
    }
    const short: TestTask = async (payload) => void order.push((payload as { name: string }).name)
    await queueTask(queue.db, { task: 'long', payload: {}, key: 'long', lane: 'long' })
    const others = ['a', 'b', 'c', 'd', 'e']
    for (const name of others) await queueTask(queue.db, { task: 'short', payload: { name }, key: name, lane: name })
    await queue.start({ long, short }, { concurrency: 1 })
    await until('all of them', () => (order.length >= 9 ? true : undefined))
    assert.deepEqual(order.slice(0, 7), ['long', ...others, 'long'])
  })
})
