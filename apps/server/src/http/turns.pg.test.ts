/** One caller must not take all connections to the database: those who wait for a lock hold one each. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { demo } from '../../../../test/application.ts'
import { until } from '../../../../test/until.ts'
import { openResource } from './test-resource.ts'

const poolSize = 5
/** Two of five connections: a caller has less than half. */
const atOnce = 2

describe('a caller whose requests wait', async () => {
  const api = await openResource({
    settings: { DATABASE_POOL_SIZE: String(poolSize), DATABASE_ACQUIRE_TIMEOUT: '3000' },
  })
  const { db } = api.service
  const eve = await api.signIn('eve', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken', scenario: 'empty' }] })

  /** Runs `work` while `requests` of one caller wait for a row that is locked here. */
  async function whileWaiting(
    lock: string,
    query: string,
    requests: () => Promise<{ status: number }>[],
    work: () => Promise<void>,
  ): Promise<number[]> {
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%${query}%'`
    let sent: Promise<{ status: number }>[] = []
    await db.transaction(async (tx) => {
      await tx.rows(lock)
      sent = requests()
      await until('the requests wait', async () => ((await db.rows(waiting)).length >= atOnce ? true : undefined))
      await work()
    })
    return (await Promise.all(sent)).map(({ status }) => status)
  }

  it('for each other leaves connections to all other users', async () => {
    const claim = (): Promise<{ status: number }> =>
      api.call('POST', '/accounts/v2/claims', eve.access_token, { claim: 'value_at_least', amount_in_usd: '1' })
    assert.equal((await claim()).status, 200)
    const statuses = await whileWaiting(
      'select from claim_subjects for update',
      'insert into claim_subjects',
      () => Array.from({ length: 3 * poolSize }, claim),
      async () => {
        const page = await api.call('GET', '/accounts/v2/transactions', ann.access_token)
        assert.equal(page.status, 200, page.text)
      },
    )
    assert.deepEqual(new Set(statuses), new Set([200]), 'every claim is made in its turn')
  })

  it('without an account leaves connections to the others, whichever session it uses', async () => {
    const beginSession = async (): Promise<string> => {
      const query = new URLSearchParams({
        ...{ client_id: demo.clientId, code_challenge_method: 'S256', state: randomUUID() },
        code_challenge: createHash('sha256').update(randomBytes(8)).digest('base64url'),
      }).toString()
      const { body } = await api.call<{ session_secret: string }>('POST', '/connect/v1/session', undefined, { query })
      return body.session_secret
    }
    const sessions = await Promise.all(Array.from({ length: 3 * poolSize }, beginSession))
    await whileWaiting(
      'select from connect_sessions for update',
      'connect_sessions where id',
      () => sessions.map((secret) => api.call('POST', '/connect/v1/session/decline', secret)),
      async () => {
        const page = await api.call('GET', '/accounts/v2/transactions', ann.access_token)
        assert.equal(page.status, 200, page.text)
      },
    )
  })
})
