import assert from 'node:assert/strict'
import { it } from 'node:test'
import { pino } from 'pino'
import { openTestDatabase, testDatabase } from '../../../../test/postgres.ts'
import { whenAnswering } from './when-answering.ts'

it('a start goes on as soon as the database is there, and does not wait out a mistake', async (t) => {
  const { db, connection } = await testDatabase(t)
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const nowhere = openTestDatabase({ ...connection, host: '/nowhere' })
  t.after(() => nowhere.close())
  const places = [nowhere, nowhere, db]
  const answer = await whenAnswering(log, async () => (places.shift() ?? db).row<{ one: number }>('select 1 as one'))
  assert.deepEqual([answer.one, lines.length], [1, 2])
  await assert.rejects(
    whenAnswering(log, () => db.row('select from nothing_of_that_name')),
    /nothing_of_that_name/,
  )
  assert.equal(lines.length, 2)
})
