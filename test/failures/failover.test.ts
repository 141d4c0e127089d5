/**
 * The primary of two PostgreSQL servers is lost and its standby takes over, under a service that knows both by name.
 */
import { runDoctor } from '@assay/server/admin'
import { createLog } from '@assay/server/log'
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, it, mock } from 'node:test'
import { createDatabase, isDatabaseAway, type Database } from '../../apps/server/src/db/index.ts'
import { connect, untilRead } from '../application.ts'
import { openTestDatabase, silentLog } from '../postgres.ts'
import { lastFirst, startTestService } from '../service.ts'
import { startPair, type Pair } from './standby.ts'
import { patienceMs, until } from '../until.ts'

const ends: (() => unknown)[] = []
let pair: Pair
before(async () => {
  pair = await startPair({ after: (end) => void ends.unshift(end as () => unknown) })
})
after(async () => {
  for (const end of ends) await end()
})

// graphile-worker reports a database that dies while it works twice: in its log, which is ours, and on the terminal.
before(() => void mock.method(console, 'trace', () => undefined))
after(() => mock.restoreAll())

it('a pool accepts no standby, names the hosts that it tried, and reports a wrong password as such', async (test) => {
  const t = lastFirst(test)
  const open = (url: string): Database => {
    const options = { pooler: 'none', poolSizeMax: 2, log: silentLog } as const
    const patience = { statementTimeoutMs: patienceMs, acquireTimeoutMs: patienceMs }
    const db = createDatabase({ connection: { url }, ...options, ...patience })
    t.after(() => db.close())
    return db
  }
  const look = 'select pg_is_in_recovery() as standby'
  assert.deepEqual(await open(pair.url).rows(look), [{ standby: false }])
  const [, { host }] = pair.addresses
  const standbyAlone = open(pair.url.replace(/,[^/]*/, ''))
  await assert.rejects(
    standbyAlone.rows(look),
    (error: Error) => isDatabaseAway(error) && error.message.includes(`${host}: it is a standby, or read-only`),
  )
  await assert.rejects(open(pair.url.replace(/:[^:@]+@/, ':wrong@')).rows(look), { code: '28P01' })
})

it('the doctor reports the role of each host', async (t) => {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-doctor-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const doctor = async (url: string): Promise<unknown[]> => {
    const findings = await runDoctor(
      { ASSAY_MODE: 'sandbox', ASSAY_DATA_DIRECTORY: directory, DATABASE_URL: url },
      createLog({ level: 'silent' }),
    )
    return findings.filter(({ check }) => check === 'database hosts').map(({ well, found }) => [well, found])
  }
  const [{ host: primary }, { host: standby }] = pair.addresses
  assert.deepEqual(await doctor(pair.url), [[true, `${standby} is a standby, ${primary} takes writes`]])
  const withGone = pair.url.replace('@', `@${encodeURIComponent('/nowhere')},`)
  assert.deepEqual(await doctor(withGone), [
    [true, `/nowhere does not answer, ${standby} is a standby, ${primary} takes writes`],
  ])
  assert.deepEqual(await doctor(pair.url.replace(/,[^/]*/, '')), [[false, `${standby} is a standby`]])
  assert.deepEqual(await doctor(pair.url.replace(/@[^,]*,/, '@').replace(/\?.*/, '')), [])
})

it('a service follows its primary, and answers every request with 200 or with 503 and Retry-After', async (test) => {
  const t = lastFirst(test)
  const lines: string[] = []
  const settings = { DATABASE_URL: pair.url, DATABASE_LISTEN_URL: pair.url, ASSAY_LOG_LEVEL: 'info' }
  const { url, stop } = await startTestService(t, { settings, logTo: (line) => void lines.push(line) })
  const { token } = await connect(url, 'reader', [{ provider_id: 'kraken', scenario: 'default' }])
  await untilRead(url, token)
  const [, standbyAddress] = pair.addresses
  const standby = openTestDatabase(standbyAddress)
  t.after(() => standby.close())

  const seen: number[] = []
  const ask = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/accounts/v2/transactions?limit=5`, { headers })
    await response.arrayBuffer()
    assert.ok(response.status === 200 || (response.status === 503 && response.headers.has('retry-after')))
    seen.push(response.status)
    return response.status
  }
  assert.equal(await ask(), 200)
  await pair.stopPrimary()
  assert.equal(await ask(), 503, 'a standby must not be read: a revoked token may still be live there')
  await pair.promote()
  await until('an answer from the new primary', async () => ((await ask()) === 200 ? true : undefined))
  // The worker follows as well: a new connection is read to its end.
  const again = await connect(url, 'second reader', [{ provider_id: 'kraken', scenario: 'default' }])
  await untilRead(url, again.token)
  const { count } = await standby.row<{ count: number }>('select count(*)::int as count from connections')
  assert.equal(count, 2)
  const found = lines.filter((line) => line.includes('found the primary of the database'))
  assert.equal(found.length, 2, found.join(''))
  await stop()
})
