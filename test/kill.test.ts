/**
 * `kill -9` of a worker in the middle of a long history, while it reads and while it derives: nothing is lost and
 * nothing is there twice. An undisturbed run over the same account is the judge, byte for byte.
 */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { it } from 'node:test'
import { authorize, redeem } from './application.ts'
import { startTestService, type TestService } from './service.ts'
import { until } from './until.ts'

const assay = path.resolve(import.meta.dirname, '../apps/cli/bin/assay.mjs')
const entriesTotal = 100_000
const phaseMaxMs = 120_000

function startWorker(service: TestService): ChildProcess {
  return spawn(process.execPath, [assay, 'worker'], {
    env: { PATH: process.env['PATH'], ...service.environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

interface Progress {
  raw: number
  transactions: number
  status: string | null
}

async function progressOf({ db }: TestService, userId: string): Promise<Progress> {
  return db.row<Progress>(
    `select (select count(*)::int from raw_records where user_id = $1 and stream = 'ledger') as raw,
       (select count(*)::int from transactions where user_id = $1) as transactions,
       (select status from connections where user_id = $1) as status`,
    [userId],
  )
}

/** Two users connect one account, so that the provider's own ids are the same for both. */
async function connectAccount(service: TestService, user: string): Promise<string> {
  const { access_token: token, user_id: userId } = await redeem(service.url, await authorize(service.url, user, []))
  const send = async (url: string, body: object): Promise<{ status: number; body: unknown }> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const account = { provider_id: 'kraken', scenario: 'large', account: 'one account' }
  const made = await send(`${service.sandbox.controlUrl}/control/accounts`, account)
  const { credentials } = made.body as { credentials: object }
  const connection = { type: 'api_key', ...credentials }
  const added = await send(`${service.url}/accounts/v2/providers`, { provider_id: 'kraken', connection })
  assert.equal((added.body as { data: { added: boolean } }).data.added, true, JSON.stringify(added.body))
  return userId
}

it('a worker killed while it reads and while it derives 100,000 entries loses nothing and repeats nothing', async (t) => {
  const service = await startTestService(t, { role: 'api' })
  const { db } = service
  let worker = startWorker(service)
  t.after(() => worker.kill('SIGKILL'))

  const untilProgress = (userId: string, what: string, holds: (progress: Progress) => boolean): Promise<true> =>
    until(what, async () => (holds(await progressOf(service, userId)) ? true : undefined), phaseMaxMs)

  const killed = await connectAccount(service, 'killed')
  const moments: [string, (progress: Progress) => boolean][] = [
    ['the first pages', ({ raw }) => raw >= 500],
    ['the middle of the history', ({ raw }) => raw >= entriesTotal / 2],
    ['the middle of deriving', ({ transactions }) => transactions >= 10_000],
  ]
  for (const [moment, holds] of moments) {
    await untilProgress(killed, moment, holds)
    worker.kill('SIGKILL')
    await once(worker, 'exit')
    assert.notEqual(
      (await progressOf(service, killed)).status,
      'active',
      `${moment}: killed too late to prove anything`,
    )
    worker = startWorker(service)
  }
  await untilProgress(killed, 'the killed run to end', ({ status }) => status === 'active')

  const undisturbed = await connectAccount(service, 'undisturbed')
  await untilProgress(undisturbed, 'the undisturbed run to end', ({ status }) => status === 'active')

  const [one, other] = [await progressOf(service, killed), await progressOf(service, undisturbed)]
  assert.equal(one.raw, entriesTotal)
  assert.deepEqual(one, other)
  const views = {
    raw_records: 'stream, source_key, group_key, occurred_at, body, derived',
    transactions: 'occurred_at, group_key, type, category, document',
    transaction_assets: 'asset_symbol, occurred_at',
    holdings: 'asset_id, asset_symbol, asset_name, liquid, staked',
  }
  for (const [table, columns] of Object.entries(views)) {
    const rowsOf = (user: string): string => `(select ${columns} from ${table} where user_id = ${user})`
    const differences = await db.rows(
      `(${rowsOf('$1')} except all ${rowsOf('$2')}) union all (${rowsOf('$2')} except all ${rowsOf('$1')}) limit 3`,
      [killed, undisturbed],
    )
    assert.deepEqual(differences, [], table)
  }
  assert.deepEqual(await db.rows('select from poison_groups'), [])
  assert.deepEqual(await db.rows('select from removed_transactions'), [])
  assert.deepEqual(await db.rows('select from stream_bookmarks'), [])
  const covered =
    'select stream, count(*)::int as windows from covered_windows where user_id = $1 group by 1 order by 1'
  assert.deepEqual(await db.rows(covered, [killed]), await db.rows(covered, [undisturbed]))

  worker.kill('SIGTERM')
  const [code] = (await once(worker, 'exit')) as [number | null]
  assert.equal(code, 0)
})
