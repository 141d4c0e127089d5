/**
 * `kill -9` of a worker in the middle of a long history: nothing is lost and nothing is there twice. The undisturbed run
 * beside it is the judge, byte for byte.
 */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { it } from 'node:test'
import { connect, fetchText, redeem, authorize, type Page } from './application.ts'
import { startTestService, type TestService } from './service.ts'

const assay = path.resolve(import.meta.dirname, '../apps/cli/bin/assay.mjs')

function startWorker(service: TestService): ChildProcess {
  return spawn(process.execPath, [assay, 'worker'], {
    env: { PATH: process.env['PATH'], ...service.environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

async function until<T>(what: string, find: () => Promise<T | undefined>, timeoutMs = 90_000): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    assert.ok(performance.now() < deadline, `${what}: not within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** All pages as text, with what two runs cannot share cut out: ids of connection and transaction, and when it was derived. */
async function readAll(url: string, token: string): Promise<string[]> {
  const rows: string[] = []
  for (let next = '/accounts/v2/transactions?limit=100'; next !== '';) {
    const text = await fetchText(url, next, token)
    const body = JSON.parse(text) as Page<unknown>
    rows.push(
      ...text
        .slice(text.indexOf('"data":[') + 8)
        .split('{"id":')
        .slice(1),
    )
    next = body.page.next
  }
  return rows.map((row) =>
    row
      .replace(/^"txn_\w+",/, '')
      .replace(/"(connection_id|updated_at)":"[^"]*",?/g, '')
      .replace(/\](,"errors".*)?$|,$/, ''),
  )
}

it('a worker killed again and again in a history of 100,000 entries loses nothing and repeats nothing', async (t) => {
  const service = await startTestService(t, { role: 'api' })
  const counts = async (userId: string): Promise<{ raw: number; covered: number }> =>
    service.db.row(
      `select (select count(*)::int from raw_records where user_id = $1) as raw,
         (select count(*)::int from covered_windows where user_id = $1) as covered`,
      [userId],
    )

  let worker = startWorker(service)
  t.after(() => worker.kill('SIGKILL'))
  const { token, authorization } = await connect(service.url, 'killed', [{ provider_id: 'kraken', scenario: 'large' }])
  assert.equal(authorization.connections[0]?.added, true, JSON.stringify(authorization.connections))
  const { user_id: userId } = await redeem(service.url, await authorize(service.url, 'killed', []))

  for (const raw of [500, 20_000, 60_000]) {
    await until(`${raw} records`, async () => ((await counts(userId)).raw >= raw ? true : undefined))
    worker.kill('SIGKILL')
    await once(worker, 'exit')
    worker = startWorker(service)
  }
  const status = async (): Promise<true | undefined> => {
    const text = await fetchText(service.url, '/accounts/v2/providers', token)
    return (JSON.parse(text) as Page<{ status: string }>).data[0]?.status === 'active' ? true : undefined
  }
  await until('the killed run to be read', status, 120_000)

  const facts = await service.db.row<{
    raw: number
    keys: number
    groups: number
    transactions: number
    poison: number
  }>(
    `select (select count(*)::int from raw_records where user_id = $1 and stream = 'ledger') as raw,
       (select count(distinct source_key)::int from raw_records where user_id = $1 and stream = 'ledger') as keys,
       (select count(distinct group_key)::int from raw_records where user_id = $1 and stream = 'ledger') as groups,
       (select count(*)::int from transactions where user_id = $1) as transactions,
       (select count(*)::int from poison_groups where user_id = $1) as poison`,
    [userId],
  )
  assert.equal(facts.raw, 100_000)
  assert.equal(facts.keys, 100_000)
  assert.equal(facts.poison, 0)

  const undisturbed = await connect(service.url, 'undisturbed', [{ provider_id: 'kraken', scenario: 'large' }])
  await until('the undisturbed run to be read', async () => {
    const text = await fetchText(service.url, '/accounts/v2/providers', undisturbed.token)
    return (JSON.parse(text) as Page<{ status: string }>).data[0]?.status === 'active' ? true : undefined
  })
  const [killed, whole] = [await readAll(service.url, token), await readAll(service.url, undisturbed.token)]
  assert.equal(killed.length, facts.transactions)
  assert.equal(killed.length, whole.length)
  worker.kill('SIGTERM')
  await once(worker, 'exit')
})
