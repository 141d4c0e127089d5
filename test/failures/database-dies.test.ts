/**
 * PostgreSQL dies: at the first statement of a start, at the second of the next try, and so on until a try has got
 * through; at every statement of a running service; and when it is stopped. The service waits for it each time.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it, mock, type TestContext } from 'node:test'
import { connect, untilRead } from '../application.ts'
import { startMortalPostgres, type MortalPostgres } from './mortal-postgres.ts'
import { emptyDatabase, testDatabase, type TestAddress } from '../postgres.ts'
import { lastFirst, startTestService, type TestService, type TestServiceOptions } from '../service.ts'
import { until } from '../until.ts'

/** Fewer would mean that something other than a death ends a try. */
const deathsMin = 12
const runningDeaths = 30

const isReady = async (url: string): Promise<true | undefined> =>
  (await fetch(`${url}/readyz`)).status === 200 ? true : undefined

async function open(
  t: Pick<TestContext, 'after'>,
  target: TestAddress,
  role: TestServiceOptions['role'],
): Promise<{ postgres: MortalPostgres; start(): Promise<TestService>; lines: string[] }> {
  const postgres = await startMortalPostgres(t, target)
  const lines: string[] = []
  const settings = { DATABASE_URL: postgres.url }
  const start = (): Promise<TestService> =>
    startTestService(t, { ...(role && { role }), settings, logTo: (line) => void lines.push(line) })
  return { postgres, start, lines }
}

// graphile-worker reports a database that dies while it stops twice: in its log, which is ours, and on the terminal.
before(() => void mock.method(console, 'trace', () => undefined))
after(() => mock.restoreAll())

describe('PostgreSQL dies at each statement of a start', { concurrency: true }, () => {
  for (const role of ['api', 'all'] as const) {
    it(`serve --role ${role} starts, on a database that is up to date`, async (test) => {
      const t = lastFirst(test)
      const { connection } = await testDatabase(t)
      const { postgres, start } = await open(t, connection, role)
      const first = await start()
      await first.stop()
      postgres.beginDying()
      const { url } = await start()
      postgres.settle()
      assert.ok(postgres.deaths() > deathsMin, String(postgres.deaths()))
      await until('readiness', () => isReady(url))
    })
  }

  it('the very first start leaves a complete schema', async (test) => {
    const t = lastFirst(test)
    const { db, connection } = await emptyDatabase(t)
    const { postgres, start } = await open(t, connection, 'all')
    postgres.beginDying()
    const { url } = await start()
    postgres.settle()
    assert.ok(postgres.deaths() > deathsMin, String(postgres.deaths()))
    await until('readiness', () => isReady(url))
    const { token } = await connect(url, 'reader', [{ provider_id: 'kraken', scenario: 'default' }])
    await untilRead(url, token)
    assert.deepEqual(await db.rows('select sandbox from installation'), [{ sandbox: true }])
  })
})

describe('PostgreSQL dies', () => {
  it('under a running service, which then continues', async (test) => {
    const t = lastFirst(test)
    const { connection } = await testDatabase(t)
    const { postgres, start } = await open(t, connection, 'all')
    const { url } = await start()
    const { token } = await connect(url, 'reader', [])
    postgres.beginDying()
    await until(`${runningDeaths} deaths`, async () => {
      const { status, headers } = await fetch(`${url}/accounts/v2/providers`, {
        headers: { authorization: `Bearer ${token}` },
      })
      assert.ok(status === 200 || (status === 503 && headers.has('retry-after')), String(status))
      return postgres.deaths() >= runningDeaths || undefined
    })
    postgres.settle()
    await until('readiness', () => isReady(url))
    const again = await connect(url, 'reader', [{ provider_id: 'kraken', scenario: 'default' }])
    await untilRead(url, again.token)
  })

  it('and stays away while the service is stopped, which ends in order', async (test) => {
    const t = lastFirst(test)
    const { connection } = await testDatabase(t)
    const { postgres, start } = await open(t, connection, 'all')
    const { stop } = await start()
    postgres.vanish()
    await stop()
  })
})
