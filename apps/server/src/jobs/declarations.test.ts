/**
 * The directive @ts-expect-error marks what the compiler must refuse: the type check fails when it accepts the mistake.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Sql } from '../db/index.ts'
import { declarations, parseStored, toStored, type Handler, type Handlers, type PayloadOf } from './declarations.ts'
import { addJob, toAddJob } from './index.ts'

const owner = { tenantKey: 3, tenantId: 'ten_1', userKey: '-9223372036854775808', userId: 'usr_1' }
const ref = { ...owner, connectionKey: 2, connectionId: 'con_1' }

/** One payload of each job, with every member that it may have. */
const payloads: { [Name in keyof typeof declarations]: PayloadOf<Name> } = {
  verify: {
    ...{ ref, lane: 'a lane', providerId: 'kraken' },
    tried: { attempts: 1, wasCalled: true, lastTryAtMs: 1_700_000_000_000 },
  },
  destroy: { ref },
  sync: { ref, lane: 'a lane', run: { untilMs: 1_700_000_000_000, stage: 'rest', leftOut: ['X'] }, interactive: true },
  refresh: { ref, lane: 'a lane', kind: 'assets', attempt: 2, run: { untilMs: 5, stage: 'recent' } },
  webhook: { tenantId: 'ten_1', messageId: 'msg_1', slow: true },
  match: { owner },
  upkeep: {},
  sign_in_mail: { sessionId: 'ses_1' },
}
const names = Object.keys(declarations) as (keyof typeof declarations)[]

describe('the payload of a job', () => {
  for (const name of names) {
    it(`of ${name} is read back as it was added, and is snake_case in the table`, () => {
      const stored: unknown = JSON.parse(toStored(name, payloads[name]))
      assert.deepEqual(parseStored(name, stored), payloads[name])
      assert.doesNotMatch(JSON.stringify(stored), /"[a-z]+[A-Z]\w*":/)
    })
  }

  it('drops members that the job does not need, such as a secret beside its owner', () => {
    const more = { ...owner, apiKey: 'hunter2' }
    assert.doesNotMatch(toStored('match', { owner: more }), /hunter2/)
  })

  it('is refused when its handler could not read it, however it got into the table', () => {
    assert.throws(() => parseStored('sync', { ref: {}, lane: 'a lane' }))
    assert.throws(() => parseStored('refresh', { ...payloads.refresh, kind: 'prices' }))
  })

  it('that is wrong does not compile, where it is added and where it is handled', () => {
    const add = (sql: Sql): Promise<void>[] => [
      // @ts-expect-error: a verification needs its lane.
      addJob(sql, 'verify', { ref }),
      // @ts-expect-error: this job does not exist.
      addJob(sql, 'verfy', { ref, lane: 'a lane' }),
      // @ts-expect-error: a key is a number.
      addJob(sql, 'destroy', { ref: { ...ref, connectionKey: '2' } }),
      addJob(sql, 'destroy', { ref }, { delayMs: 5 }),
    ]
    // @ts-expect-error: a match job has an owner and no connection.
    const handle: Handler<'match'> = async ({ ref: { connectionId } }) => void connectionId
    // @ts-expect-error: every job has a handler, or is named as one that has none.
    const handlers: Handlers = { match: undefined }
    assert.deepEqual([typeof add, typeof handle, typeof handlers], ['function', 'function', 'object'])
  })
})

describe('a job', () => {
  it('has one key for each subject', () => {
    const keys = names.map((name) => toAddJob(name, payloads[name], 0, 'interval').values[3])
    assert.deepEqual(keys, [
      'verify:con_1',
      'destroy:con_1',
      'sync:con_1',
      'refresh:assets:con_1',
      'webhook:msg_1',
      'match:usr_1',
      'upkeep',
      'sign_in_mail:ses_1',
    ])
  })

  it('goes first while a user waits', () => {
    const begins = { ref, lane: 'a lane', attempt: 1 }
    const priorityOf = (payload: PayloadOf<'refresh'>): string => declarations.refresh.priority(payload)
    assert.equal(priorityOf({ ...begins, kind: 'transactions' }), 'interactive')
    assert.equal(priorityOf({ ...payloads.refresh, kind: 'transactions' }), 'background')
    assert.equal(declarations.sync.priority(payloads.sync), 'interactive')
    assert.equal(declarations.sync.priority({ ref, lane: 'a lane' }), 'background')
  })
})
