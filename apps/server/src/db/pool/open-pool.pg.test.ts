import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { patienceMs } from '../../../../../test/until.ts'
import { openPool, type PoolEvents } from './open-pool.ts'

const toEvents = (onLost: PoolEvents['onLost']): PoolEvents => ({ onLost, onPrimary: () => undefined })

it('a closed pool has no connection left on the server, and reports no loss', async (t) => {
  const { db, connection } = await testDatabase(t)
  const lost: Error[] = []
  const { pool, close } = openPool(
    connection,
    { max: 20, application_name: 'leaving' },
    toEvents((error) => void lost.push(error)),
    patienceMs,
  )
  await Promise.all(Array.from({ length: 20 }, () => pool.query('select pg_sleep(0.02)')))
  const present = "select from pg_stat_activity where application_name = 'leaving'"
  assert.equal((await db.rows(present)).length, 20)
  await close()
  // This does what a stopping server would do to the remaining connections.
  const terminated = await db.rows(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'leaving'`,
  )
  assert.deepEqual(terminated, [])
  assert.deepEqual(lost, [])
})

it('a connection lost while it is idle is reported, and replaced at the next use', async (t) => {
  const { db, connection } = await testDatabase(t)
  let tell: (error: Error) => void = () => undefined
  const told = new Promise<Error>((resolve) => (tell = resolve))
  const { pool, close } = openPool(
    connection,
    { max: 1, application_name: 'losing' },
    toEvents((error) => tell(error)),
  )
  await pool.query('select 1')
  await db.rows("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'losing'")
  assert.match((await told).message, /terminat/)
  const { rows } = await pool.query<{ answer: number }>('select 42 as answer')
  assert.deepEqual(rows, [{ answer: 42 }])
  await close()
})
