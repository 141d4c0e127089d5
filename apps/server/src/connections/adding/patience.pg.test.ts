/** A check that has to wait gives up its place in the worker, and continues later. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../../test/until.ts'
import { parseStored } from '../../jobs/index.ts'
import { openEngine, type Account } from '../../test-engine.ts'

interface CheckJob {
  payload: unknown
  isDelayed: boolean
}

/** Checks run, and time passes, when the test says so. */
async function openChecks(settings: Record<string, string>) {
  const engine = await openEngine(settings, { isStill: true })
  const findJob = (connectionId: string): Promise<CheckJob | undefined> =>
    engine.db.maybeRow(
      `select p.payload, j.run_at > j.created_at + interval '1 second' as "isDelayed"
       from graphile_worker.jobs j join graphile_worker._private_jobs p on p.id = j.id where j.key = $1`,
      [`verify:${connectionId}`],
    )
  const offer = async (account: Account) => {
    const owner = await engine.newOwner()
    const { apiKey, secretKey } = account
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null }
    const adding = engine.connections.add(owner, request)
    const { connectionId, keyLane } = await until('the key', () =>
      engine.db.maybeRow<{ connectionId: string; keyLane: string }>(
        'select id as "connectionId", key_lane as "keyLane" from connections where user_key = $1::bigint',
        [owner.userKey],
      ),
    )
    /** What a worker does when the job is due. */
    const runJob = async (): Promise<void> => {
      const job = await findJob(connectionId)
      assert.ok(job)
      await engine.connections.verifyTask(parseStored('verify', job.payload), new AbortController().signal)
    }
    const hasVerdict = async (): Promise<boolean> =>
      (await engine.db.maybeRow('select from connections where id = $1 and verdict is null', [connectionId])) ===
      undefined
    /** Our own budget for the key is used up. */
    const block = (seconds: number): Promise<unknown> =>
      engine.db.execute(
        `insert into budgets (bucket, tokens, tier, refilled_at, blocked_until)
         values ($1, 0, 0, $2::timestamptz, $2::timestamptz + make_interval(secs => $3))
         on conflict (bucket) do update set blocked_until = excluded.blocked_until`,
        [`kraken:counter:key:${keyLane}`, engine.db.now(), seconds],
      )
    return { owner, adding, connectionId, runJob, hasVerdict, block }
  }
  return { engine, findJob, offer }
}

describe('a check that has to wait', async () => {
  // A check has 23 seconds then: the thirty of a request, without the time of a call and a margin.
  const { engine, findJob, offer } = await openChecks({ ASSAY_PROVIDER_TIMEOUT: '5000' })

  it('for our own budget is queued again, and its job ends', async () => {
    const { adding, connectionId, runJob, hasVerdict, block } = await offer(await engine.newAccount('empty'))
    await block(15)
    await runJob()
    assert.equal(await hasVerdict(), false)
    assert.equal((await findJob(connectionId))?.isDelayed, true)
    await engine.moveClock(15_000)
    await runJob()
    assert.equal((await adding).added, true)
  })

  it('for the provider is queued again as well, and counts as a check that called it', async () => {
    const account = await engine.newAccount('empty')
    const { owner, adding, connectionId, runJob, hasVerdict, block } = await offer(account)
    const fault = { kind: 'http_429_retry_after', retry_after_s: 15, account_id: account.accountId }
    await engine.control('providers/kraken/faults', fault)
    await runJob()
    assert.equal(await hasVerdict(), false)
    assert.equal((await findJob(connectionId))?.isDelayed, true)
    // The second attempt makes no call, and waits for longer than a person does.
    await block(600)
    await runJob()
    assert.equal((await adding).errors[0]?.cause, 'rate_limited')
    const counted = await engine.db.rows('select from key_checks where user_key = $1::bigint and refused', [
      owner.userKey,
    ])
    assert.equal(counted.length, 1)
  })

  it('is refused when it has waited for as long as a person does, however often it was queued', async () => {
    const { adding, runJob, hasVerdict, block } = await offer(await engine.newAccount('empty'))
    await block(15)
    await runJob()
    await engine.moveClock(15_000)
    await block(15)
    await runJob()
    assert.equal(await hasVerdict(), true)
    assert.equal((await adding).errors[0]?.cause, 'rate_limited')
  })

  it('is made by another worker when the first one is killed before or after it was queued again', async () => {
    const { adding, connectionId, runJob, block } = await offer(await engine.newAccount('empty'))
    await block(15)
    await runJob()
    const before = await findJob(connectionId)
    // The job of the killed worker runs once more.
    await runJob()
    assert.deepEqual(await findJob(connectionId), before)
    await engine.moveClock(15_000)
    await runJob()
    assert.equal((await adding).added, true)
  })

  it('makes nothing when its request has ended meanwhile', async () => {
    const { adding, connectionId, runJob, block } = await offer(await engine.newAccount('empty'))
    await block(15)
    await runJob()
    await engine.db.execute('delete from connections where id = $1', [connectionId])
    assert.equal((await adding).added, false)
    await runJob()
    assert.deepEqual(await engine.db.rows('select from connections where id = $1', [connectionId]), [])
  })
})

describe('a check whose request waits for no longer than one call may take', async () => {
  // These leave a check no time at all: the request would have to wait for 22 seconds at least.
  const { engine, findJob, offer } = await openChecks({
    ...{ ASSAY_KEY_CHECK_TIMEOUT: '21999', ASSAY_PROVIDER_TIMEOUT: '20000' },
  })

  it('still waits for our own budget for a second, because nothing was called', async () => {
    const { adding, connectionId, runJob, hasVerdict, block } = await offer(await engine.newAccount('empty'))
    await block(0.9)
    await runJob()
    assert.equal(await hasVerdict(), false)
    assert.ok(await findJob(connectionId))
    await engine.moveClock(900)
    await runJob()
    assert.equal((await adding).added, true)
  })

  it('is refused when our own budget or the provider asks it to wait for longer', async () => {
    const patient = await offer(await engine.newAccount('empty'))
    await patient.block(2)
    await patient.runJob()
    assert.equal((await patient.adding).errors[0]?.cause, 'rate_limited')
    const account = await engine.newAccount('empty')
    const { adding, runJob } = await offer(account)
    await engine.control('providers/kraken/faults', { kind: 'down', account_id: account.accountId })
    await runJob()
    assert.equal((await adding).errors[0]?.cause, 'venue_down')
  })
})
