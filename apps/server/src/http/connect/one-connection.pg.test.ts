/**
 * No step needs a second database connection while it holds one: as many such requests at once as there are
 * connections would wait for each other, and everyone else for them.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startConnect, until } from './test-browser.ts'

describe('a service that has one database connection left', async () => {
  const connect = await startConnect({
    settings: {
      DATABASE_POOL_SIZE: '2',
      // Jobs that are due meanwhile wait for the same connection.
      DATABASE_ACQUIRE_TIMEOUT: '30000',
      ASSAY_TRUSTED_PROXIES: '127.0.0.1',
    },
  })

  /** Another person's request waits for a lock, and holds the second connection. */
  async function withOneConnection(work: () => Promise<void>): Promise<void> {
    const other = await connect.beginConnectSession()
    const waiting = `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%connect_sessions%'`
    const { declining } = await connect.db.transaction(async (tx) => {
      await tx.rows('select from connect_sessions where id = $1 for update', [other.session.session_id])
      const declining = fetch(`${connect.url}/connect/v1/session/decline`, {
        method: 'POST',
        headers: { authorization: `Bearer ${other.secret}`, 'x-forwarded-for': '198.51.100.7' },
      })
      await until(async () => ((await connect.db.rows(waiting)).length > 0 ? true : undefined))
      await work()
      assert.equal((await connect.db.rows(waiting)).length, 1, 'the other request waited all the time')
      // Wrapped: its answer comes after this transaction.
      return { declining }
    })
    assert.equal((await declining).status, 200)
  }

  it('leads a person from the first page to the code, through a repair, and to the end of the consent', async () => {
    const email = 'patient@example.com'
    await withOneConnection(async () => {
      const browser = await connect.beginConnectSession()
      await browser.enter(email)
      const { data } = await browser.add(await connect.mintKey('empty'))
      const { grant_id: grantId } = await browser.redeem(await browser.finish())

      const repair = await connect.beginConnectSession({ connection_id: data.connection_id ?? '' })
      assert.equal((await repair.signIn(email)).step, 'connect')

      const { body } = await connect.call<{ session_secret: string }>('POST', '/me/session', {
        body: { client_id: 'cli_demo' },
      })
      const secret = body.session_secret
      await connect.call('POST', '/me/email', { secret, body: { email } })
      type Help = { mail: { code: string } | null }
      const code = await until(async () => (await connect.call<Help>('GET', '/me/sandbox', { secret })).body.mail?.code)
      assert.equal((await connect.call('POST', '/me/code', { secret, body: { code } })).status, 200)
      assert.equal((await connect.call('DELETE', `/me/grants/${grantId}`, { secret })).status, 200)
    })
  })
})
