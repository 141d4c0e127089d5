/** The lock of the example application, which integrators copy: a refresh token that two processes spend is lost. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openStore, type Store } from '../../examples/application/store.ts'

interface Crowd {
  work: () => Promise<void>
  most: () => number
  ran: () => number
}

/** Work that counts how many run it at once. */
function count(during: () => Promise<unknown>): Crowd {
  let [inside, most, ran] = [0, 0, 0]
  const work = async (): Promise<void> => {
    inside += 1
    ran += 1
    most = Math.max(most, inside)
    await during()
    inside -= 1
  }
  return { work, most: () => most, ran: () => ran }
}

/** Nobody renews a lock in these tests, however long they take: they are about processes that are late or dead. */
function stopTime(t: TestContext): void {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: Date.now() })
}

function passTime(t: TestContext, ms: number): void {
  t.mock.timers.setTime(Date.now() + ms)
}

async function openDirectory(t: TestContext): Promise<{ directory: string; store: Store }> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-example-lock-'))
  t.after(() => rm(directory, { recursive: true }))
  return { directory, store: await openStore(directory) }
}

describe('the lock of the example application', () => {
  it('admits one at a time, however long the others have waited', async (t) => {
    stopTime(t)
    const { store } = await openDirectory(t)
    const crowd = count(async () => {
      passTime(t, 12_000)
      // Those who wait have looked at the lock several times meanwhile.
      await wait(120)
    })
    await Promise.all(Array.from({ length: 6 }, () => store.withLock('usr_1', crowd.work)))
    assert.deepEqual([crowd.ran(), crowd.most()], [6, 1])
  })

  it('does not outlive a process that died inside it, and is then taken by one', async (t) => {
    stopTime(t)
    const { store } = await openDirectory(t)
    const [begun, never] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    void store.withLock('usr_1', () => {
      begun.resolve(undefined)
      return never.promise
    })
    await begun.promise
    const crowd = count(() => wait(60))
    const others = Promise.all(Array.from({ length: 6 }, () => store.withLock('usr_1', crowd.work)))
    passTime(t, 29_000)
    await wait(120)
    assert.equal(crowd.ran(), 0)
    passTime(t, 2_000)
    await others
    assert.deepEqual([crowd.ran(), crowd.most()], [6, 1])
    never.resolve(undefined)
  })

  it('that was taken over stays with the one who has it when the one before ends late', async (t) => {
    stopTime(t)
    const { directory, store } = await openDirectory(t)
    const [late, next] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const [held, begun] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const first = store.withLock('usr_1', () => {
      held.resolve(undefined)
      return late.promise
    })
    await held.promise
    passTime(t, 31_000)
    const second = store.withLock('usr_1', () => {
      begun.resolve(undefined)
      return next.promise
    })
    await begun.promise
    late.resolve(undefined)
    await first
    const crowd = count(async () => undefined)
    const third = store.withLock('usr_1', crowd.work)
    await wait(120)
    assert.equal(crowd.ran(), 0)
    next.resolve(undefined)
    await Promise.all([second, third])
    assert.equal(crowd.ran(), 1)
    assert.deepEqual((await readdir(directory)).toSorted(), ['messages', 'sessions', 'tokens'])
  })
})
