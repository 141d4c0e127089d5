/**
 * `kill -9` of a worker in the middle of a long history, while it reads and while it derives: nothing is lost and
 * nothing is there twice. What the provider itself holds is the judge.
 */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { it } from 'node:test'
import { authorize, redeem } from './application.ts'
import { explainedBySymbol, movedBySymbol, type KrakenState, type ServedTransaction } from './reconciler.ts'
import { startTestService, type TestService } from './service.ts'
import { until } from './until.ts'

const assay = path.resolve(import.meta.dirname, '../apps/cli/bin/assay.mjs')
const entriesTotal = 100_000
const phaseMaxMs = 120_000
/** Counting 100,000 rows takes a while; done all the time it would take the database from the worker. */
const pollMs = 200

/** The simulated account has no call limit, so our own restraint, made for real ones, is lifted too: 40 s of waiting. */
const liftBudgets = `
  create function fill_bucket() returns trigger language plpgsql as $$ begin new.tokens := 1000; return new; end $$;
  create trigger fill_bucket before insert or update on budgets for each row execute function fill_bucket()`

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

async function connectAccount(service: TestService, user: string): Promise<{ userId: string; accountId: string }> {
  const { access_token: token, user_id: userId } = await redeem(service.url, await authorize(service.url, user, []))
  const send = async (url: string, body: object): Promise<{ status: number; body: unknown }> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const account = { provider_id: 'kraken', scenario: 'large', account: 'one account' }
  const made = await send(`${service.sandbox.controlUrl}/control/accounts`, account)
  const { account_id: accountId, credentials } = made.body as { account_id: string; credentials: object }
  const connection = { type: 'api_key', ...credentials }
  const added = await send(`${service.url}/accounts/v2/providers`, { provider_id: 'kraken', connection })
  assert.equal((added.body as { data: { added: boolean } }).data.added, true, JSON.stringify(added.body))
  return { userId, accountId }
}

it('a worker killed while it reads and while it derives 100,000 entries loses nothing and repeats nothing', async (t) => {
  const service = await startTestService(t, { role: 'api' })
  const { db } = service
  await db.execute(liftBudgets)
  let worker = startWorker(service)
  t.after(() => worker.kill('SIGKILL'))

  const untilProgress = (userId: string, what: string, holds: (progress: Progress) => boolean): Promise<true> =>
    until(what, async () => (holds(await progressOf(service, userId)) ? true : undefined), phaseMaxMs, pollMs)

  const { userId: killed, accountId } = await connectAccount(service, 'killed')
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

  const response = await fetch(`${service.sandbox.controlUrl}/control/accounts/${accountId}/state`)
  const state = (await response.json()) as KrakenState
  assert.equal(state.ledger.length, entriesTotal)
  const kept = await db.rows<{ source_key: string }>(
    "select source_key from raw_records where user_id = $1 and stream = 'ledger' order by source_key",
    [killed],
  )
  assert.deepEqual(
    kept.map((row) => row.source_key),
    state.ledger.map(({ id }) => id).toSorted(),
  )
  const served = await db.rows<{ document: string }>('select document from transactions where user_id = $1', [killed])
  const transactions = served.map(({ document }) => JSON.parse(`{${document}`) as ServedTransaction)
  assert.deepEqual(explainedBySymbol(transactions), movedBySymbol(state))
  const left = 'select from raw_records where user_id = $1 and not derived'
  assert.deepEqual(await db.rows(left, [killed]), [])
  assert.deepEqual(await db.rows('select from poison_groups'), [])
  assert.deepEqual(await db.rows('select from removed_transactions'), [])
  assert.deepEqual(await db.rows('select from stream_bookmarks'), [])
  worker.kill('SIGTERM')
  await once(worker, 'exit')
})
