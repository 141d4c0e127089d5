import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import { declarations } from './declarations.ts'
import { addJob } from './index.ts'
import { checkFlags, readFlags } from './shares.ts'
import { openQueue, queueTask } from './test-queue.ts'

describe('the places of a worker', async () => {
  const queue = await openQueue()

  /** Jobs that run until they are released by name, or all together. */
  function holding() {
    const running = new Set<string>()
    const began: string[] = []
    let isOver = false
    return {
      running,
      began,
      release: () => (isOver = true),
      async hold(payload: unknown): Promise<void> {
        const { name } = payload as { name: string }
        running.add(name)
        began.push(name)
        await until(`${name} may end`, () => (isOver ? true : undefined))
        running.delete(name)
      },
    }
  }
  const add = (name: string, flags: readonly string[], priority: 'interactive' | 'background'): Promise<void> =>
    queueTask(queue.db, { task: 'hold', payload: { name }, key: name, priority, flags })

  it('are never all taken by checks of keys: one is left to the background', async () => {
    const { hold, running, began, release } = holding()
    for (const index of [1, 2, 3, 4, 5]) await add(`check ${index}`, checkFlags(`provider${index}`), 'interactive')
    await queue.start({ hold })
    await until('three checks', () => (running.size === 3 ? true : undefined))
    await add('read', readFlags('kraken'), 'background')
    await until('the read', () => (running.has('read') ? true : undefined))
    assert.equal(began.filter((name) => name.startsWith('check')).length, 3)
    release()
    await until('all of them', () => (began.length === 6 && running.size === 0 ? true : undefined))
  })

  it('are half open to mail, which leaves one to the background even beside checks of keys', async (t) => {
    const { hold, running, began, release } = holding()
    t.after(release)
    const mails = declarations.sign_in_mail.flags?.({ sessionId: 'a session' }) ?? []
    for (const index of [1, 2, 3, 4]) await add(`mail ${index}`, mails, 'interactive')
    await queue.start({ hold })
    await until('two mails', () => (running.size === 2 ? true : undefined))
    for (const index of [1, 2]) await add(`check ${index}`, checkFlags(`provider${index}`), 'interactive')
    await add('read', readFlags('kraken'), 'background')
    await until('a check and the read', () => (running.size === 4 ? true : undefined))
    assert.deepEqual(began.toSorted(), ['check 1', 'mail 1', 'mail 2', 'read'])
    release()
    await until('all of them', () => (began.length === 7 && running.size === 0 ? true : undefined))
  })

  it('are never all taken by the histories of one user', async (t) => {
    const { hold, running, began, release } = holding()
    t.after(release)
    const of = (userKey: string) => ({
      ref: { tenantKey: 1, tenantId: 'ten_1', userKey, userId: 'usr_1', connectionKey: 1, connectionId: 'con_1' },
      lane: 'kraken key',
    })
    const readOf = (userKey: string): string[] => declarations.sync.flags?.(of(userKey)) ?? []
    const refresh = { ...of('1'), kind: 'transactions', attempt: 0 } as const
    assert.deepEqual(declarations.refresh.flags?.(refresh), readOf('1'))
    assert.deepEqual(declarations.sync.flags?.({ ...of('1'), interactive: true }), readOf('1'))
    for (const index of [1, 2, 3, 4, 5]) await add(`many ${index}`, readOf('1'), 'background')
    await queue.start({ hold })
    await until('three of them', () => (running.size === 3 ? true : undefined))
    await add('another', readOf('2'), 'background')
    await until('the read of another user', () => (running.has('another') ? true : undefined))
    assert.equal(began.length, 4)
    release()
    await until('all of them', () => (began.length === 6 && running.size === 0 ? true : undefined))
  })

  it('are shared with others by the jobs of a provider that takes long to answer', async () => {
    const { hold, running, began, release } = holding()
    for (const index of [1, 2, 3]) await add(`slow check ${index}`, checkFlags('okx'), 'interactive')
    for (const index of [1, 2, 3]) await add(`slow read ${index}`, readFlags('okx'), 'background')
    await queue.start({ hold }, { listSlow: () => ['okx'] })
    await until('two jobs', () => (running.size === 2 ? true : undefined))
    await add('check', checkFlags('kraken'), 'interactive')
    await add('read', readFlags('kraken'), 'background')
    await until('both others', () => (running.has('check') && running.has('read') ? true : undefined))
    assert.equal(began.filter((name) => name.startsWith('slow')).length, 2)
    release()
    await until('all of them', () => (began.length === 8 && running.size === 0 ? true : undefined))
  })

  it('are half taken by webhooks at most, and a quarter by receivers that take long to answer', async () => {
    const { hold, running, began, release } = holding()
    const webhook = (payload: unknown): Promise<void> => {
      const { tenant_id: tenantId, slow } = payload as { tenant_id: string; slow?: boolean }
      return hold({ name: slow === true ? `slow ${tenantId}` : tenantId })
    }
    for (const tenantId of ['ten_1', 'ten_2', 'ten_3']) await addJob(queue.db, 'webhook', { tenantId, slow: true })
    for (const tenantId of ['ten_4', 'ten_5']) await addJob(queue.db, 'webhook', { tenantId })
    await queue.start({ hold, webhook })
    await until('a webhook that is not slow', () => (running.has('ten_4') || running.has('ten_5') ? true : undefined))
    for (const name of ['first', 'second']) await add(name, readFlags('kraken'), 'background')
    await until('both reads', () => (running.has('first') && running.has('second') ? true : undefined))
    assert.equal(began.filter((name) => name.startsWith('slow')).length, 1)
    assert.equal(began.length, 4)
    release()
    await until('all of them', () => (began.length === 7 && running.size === 0 ? true : undefined))
  })

  it('are all open to the jobs of one provider that answers, and to a worker with a single place', async () => {
    const { hold, running, release } = holding()
    for (const index of [1, 2, 3, 4]) await add(`read ${index}`, readFlags('okx'), 'background')
    const worker = await queue.start({ hold })
    await until('four reads', () => (running.size === 4 ? true : undefined))
    release()
    await worker.stop()

    const single = holding()
    await add('slow check', checkFlags('okx'), 'interactive')
    await queue.start({ hold: single.hold }, { concurrency: 1, listSlow: () => ['okx'] })
    await until('the check', () => (single.running.size === 1 ? true : undefined))
    single.release()
  })

  it('are not given up by background jobs for checks that have to wait anyway', async () => {
    const asked: string[] = []
    const { hold, running, release } = holding()
    const read = async (_payload: unknown, signal: AbortSignal): Promise<void> => {
      signal.addEventListener('abort', () => asked.push('read'))
      await hold({ name: 'read' })
    }
    await queueTask(queue.db, { task: 'read', payload: {}, key: 'read', flags: readFlags('kraken') })
    await queue.start({ hold, read }, { makeRoom: ['read'], concurrency: 2 })
    await until('the read', () => (running.has('read') ? true : undefined))
    await add('first', checkFlags('okx'), 'interactive')
    await until('the first check', () => (running.has('first') ? true : undefined))
    await add('second', checkFlags('bybit'), 'interactive')
    // Not a check, and comes after the second one: a place is asked for with the next look.
    await add('first read', readFlags('bybit'), 'interactive')
    await until('the read is asked', () => (asked.length > 0 ? true : undefined))
    assert.deepEqual([...running].toSorted(), ['first', 'read'])
    release()
  })
})
