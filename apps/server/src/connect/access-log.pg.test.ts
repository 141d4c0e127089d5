import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { createAccessLog } from './access-log.ts'

const never = 1_000_000_000
const read = { tenantId: 'ten_1', userId: 'usr_ann', grantId: 'grt_1', endpoint: 'listAssets' }

function listCounts(db: Database): Promise<{ endpoint: string; count: string }[]> {
  return db.rows('select endpoint, count from grant_accesses order by endpoint')
}

function refuse(error: unknown): never {
  throw error
}

describe('the access log', () => {
  it('writes nothing while requests come, and everything that is left when it stops', async (t) => {
    const { db } = await testDatabase(t)
    const log = createAccessLog({ db, onFailure: refuse, flushEveryMs: never })
    for (let request = 0; request < 1_000; request += 1) log.count(read)
    log.count({ ...read, endpoint: 'listTransactions' })
    assert.deepEqual(await listCounts(db), [])
    await log.stop()
    assert.deepEqual(await listCounts(db), [
      { endpoint: 'listAssets', count: '1000' },
      { endpoint: 'listTransactions', count: '1' },
    ])
  })

  it('counts of several processes add up', async (t) => {
    const { db } = await testDatabase(t)
    for (let process = 0; process < 3; process += 1) {
      const log = createAccessLog({ db, onFailure: refuse, flushEveryMs: never })
      log.count(read)
      log.count(read)
      await log.stop()
    }
    assert.deepEqual(await listCounts(db), [{ endpoint: 'listAssets', count: '6' }])
  })

  it('a write that fails loses nothing', async (t) => {
    const { db } = await testDatabase(t)
    const failures: unknown[] = []
    let away = true
    const flaky = {
      ...db,
      execute: (text: string, values?: readonly unknown[]) =>
        away ? Promise.reject(new Error('away')) : db.execute(text, values),
    }
    const log = createAccessLog({ db: flaky, onFailure: (error) => void failures.push(error), flushEveryMs: never })
    log.count(read)
    await log.stop()
    away = false
    log.count(read)
    await log.stop()
    assert.equal(failures.length, 1)
    assert.deepEqual(await listCounts(db), [{ endpoint: 'listAssets', count: '2' }])
  })

  it('memory is bounded: while a write hangs, what finds no room is not counted', async (t) => {
    const { db } = await testDatabase(t)
    const hanging = Promise.withResolvers<void>()
    const slow = {
      ...db,
      execute: async (text: string, values?: readonly unknown[]) => {
        await hanging.promise
        return db.execute(text, values)
      },
    }
    const log = createAccessLog({ db: slow, onFailure: refuse, flushEveryMs: never, entriesMax: 10 })
    for (let user = 0; user < 35; user += 1) {
      log.count({ ...read, userId: `usr_${user}` })
      await new Promise((resolve) => setImmediate(resolve))
    }
    hanging.resolve()
    await log.stop()
    const { total } = await db.row<{ total: string }>('select sum(count)::text as total from grant_accesses')
    assert.equal(total, '20', 'ten on their way to the database and ten waiting')
  })
})
