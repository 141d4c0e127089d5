/** What may be read changes after a connection was made: the key gains rights, or the user's last grant ends. */
import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connect, fetchJson, redeem, authorize, untilRead, type Page } from '../application.ts'
import { startTestService, untilAtRest, type TestService } from '../service.ts'
import { until } from '../until.ts'

async function post(url: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as Record<string, unknown>
}

const advance = (service: TestService, byMs: number): Promise<unknown> =>
  post(`${service.url}/sandbox/clock`, { advance_ms: byMs })

/** Counts only calls to the exchange, because prices are requested whether or not a user has a grant. */
async function countCalls(service: TestService): Promise<number> {
  const response = await fetch(`${service.sandbox.controlUrl}/control/log`)
  const { requests } = (await response.json()) as { requests: { provider_id: string; count: number }[] }
  return requests.reduce((sum, one) => sum + (one.provider_id === 'kraken' ? one.count : 0), 0)
}

describe('rights that change', () => {
  it('a key that has gained trading rights is no longer used, and its owner sees what to do', async (t) => {
    const service = await startTestService(t)
    const { token } = await connect(service.url, 'grown', [])
    const made = await post(`${service.sandbox.controlUrl}/control/accounts`, {
      provider_id: 'kraken',
      scenario: 'empty',
      account: 'grown',
    })
    const response = await fetch(`${service.url}/accounts/v2/providers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        provider_id: 'kraken',
        connection: { type: 'api_key', ...(made['credentials'] as object) },
      }),
    })
    assert.equal(response.status, 200)
    assert.equal((await untilRead(service.url, token))[0]?.status, 'active')
    await untilAtRest(service)
    const accountId = String(made['account_id'])
    await post(`${service.sandbox.controlUrl}/control/accounts/${accountId}/key`, {
      permissions: ['query-funds', 'query-ledger', 'query-closed-trades', 'modify-trades'],
    })
    // Rights are read once a day.
    await advance(service, 25 * 3_600_000)
    const { token: later } = await connect(service.url, 'grown', [])
    const state = async () =>
      (
        await fetchJson<Page<{ status: string; status_cause: string | null }>>(
          service.url,
          '/accounts/v2/providers',
          later,
        )
      ).data[0]
    const found = await until('a key that is read no longer', async () => {
      const now = await state()
      return now?.status === 'needs_reauth' ? now : undefined
    })
    assert.equal(found.status_cause, 'excess_permission')
  })

  it('without a live grant nothing is read, and after thirty days nothing is left', async (t) => {
    const service = await startTestService(t)
    const authorization = await authorize(service.url, 'gone', [{ provider_id: 'kraken', scenario: 'empty' }])
    const { access_token: token, grant_id: grantId, user_id: userId } = await redeem(service.url, authorization)
    await untilRead(service.url, token)
    await untilAtRest(service)
    await service.db.execute('update grants set revoked_at = $2::timestamptz where id = $1', [
      grantId,
      service.db.now(),
    ])

    const before = await countCalls(service)
    await advance(service, 2 * 3_600_000)
    const jobs = "select from graphile_worker.jobs where task_identifier = 'sync' and key like 'sync:%'"
    await until('the job', async () => ((await service.db.rows(jobs)).length === 0 ? true : undefined))
    assert.equal(await countCalls(service), before)

    const rows = (): Promise<unknown[]> => service.db.rows('select 1 from connections where user_id = $1', [userId])
    assert.equal((await rows()).length, 1)
    await advance(service, 29 * dayMs)
    assert.equal((await rows()).length, 1)
    await advance(service, 2 * dayMs)
    await until('the end of the connection', async () => ((await rows()).length === 0 ? true : undefined))
  })

  it('a new grant causes overdue connections to be read again', async (t) => {
    const service = await startTestService(t)
    const authorization = await authorize(service.url, 'back', [{ provider_id: 'kraken', scenario: 'empty' }])
    const { access_token: token, grant_id: grantId } = await redeem(service.url, authorization)
    await untilRead(service.url, token)
    await untilAtRest(service)
    await service.db.execute('update grants set revoked_at = $2::timestamptz where id = $1', [
      grantId,
      service.db.now(),
    ])
    await advance(service, dayMs)
    const { token: again } = await connect(service.url, 'back', [])
    const syncedAt = async () =>
      (await fetchJson<Page<{ last_synced_at: string }>>(service.url, '/accounts/v2/providers', again)).data[0]
        ?.last_synced_at ?? ''
    const yesterday = await syncedAt()
    await until('the next read', async () => {
      const atMs = Date.parse(await syncedAt())
      return atMs > Date.parse(yesterday) + dayMs / 2 || atMs > Date.now() + dayMs / 2 ? true : undefined
    })
  })
})
