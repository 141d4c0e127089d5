import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { pino, type Logger } from 'pino'
import { openTestDatabase, testDatabase } from '../../../../../test/postgres.ts'
import type { Database } from '../sql.ts'
import { whenAnswering } from './when-answering.ts'

function collectWarnings(): { log: Logger; lines: string[] } {
  const lines: string[] = []
  return { log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }), lines }
}

async function openNowhere(t: TestContext): Promise<Database> {
  const { connection } = await testDatabase(t)
  const nowhere = openTestDatabase({ ...connection, host: '/nowhere' })
  t.after(() => nowhere.close())
  return nowhere
}

describe('a start', () => {
  it('continues as soon as the database answers, and logs once that it waits', async (t) => {
    const { db } = await testDatabase(t)
    const nowhere = await openNowhere(t)
    const { log, lines } = collectWarnings()
    const places = [nowhere, nowhere]
    const wavering = { rows: <Row>(text: string): Promise<Row[]> => (places.shift() ?? db).rows<Row>(text) }
    const answer = await whenAnswering({ db: wavering, log }, () => db.row<{ one: number }>('select 1 as one'))
    assert.deepEqual([answer.one, places.length, lines.length], [1, 0, 1])
  })

  it('begins again from its first step when the database dies during a later one', async (t) => {
    const { db } = await testDatabase(t)
    const nowhere = await openNowhere(t)
    const second = [nowhere, nowhere, db]
    const steps: string[] = []
    await whenAnswering({ db, log: collectWarnings().log }, async () => {
      steps.push('first')
      await (second.shift() ?? db).rows('select 1')
      steps.push('second')
    })
    assert.deepEqual(steps, ['first', 'first', 'first', 'second'])
  })

  it('does not retry on other errors', async (t) => {
    const { db } = await testDatabase(t)
    const { log, lines } = collectWarnings()
    await assert.rejects(
      whenAnswering({ db, log }, () => db.row('select from nothing_of_that_name')),
      /nothing_of_that_name/,
    )
    assert.equal(lines.length, 0)
  })

  it('stops waiting when it is aborted', async (t) => {
    const nowhere = await openNowhere(t)
    const asked = new AbortController()
    const { log } = collectWarnings()
    const waiting = whenAnswering({ db: nowhere, log, signal: asked.signal }, () => assert.fail('there is no database'))
    asked.abort()
    await assert.rejects(waiting, (error) => error === asked.signal.reason)
  })
})
