/** Which messages wait for which when a tenant's receiver fails, is slow or does not answer at all. */
import { minuteMs } from '@assay/core'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { createStillClock } from '../../../../test/still-clock.ts'
import { patienceMs, until } from '../../../../test/until.ts'
import { parseStored } from '../jobs/index.ts'
import { endYielding } from '../jobs/queue-store.ts'
import { openQueue, queueTask, type TestTask } from '../jobs/test-queue.ts'
import { testKeyring } from '../test-keys.ts'
import { createWebhooks, type ConnectionChange, type Webhooks, type WebhooksDeps } from './index.ts'
import { openConsents } from './test-consent.ts'

interface Sent {
  url: string
  /** `<change> <connection>`. */
  what: string
  id: string
}

type Answer = (sent: Sent, signal: AbortSignal) => Promise<number> | number

const keyring = testKeyring('test')

describe('the messages of a tenant', async () => {
  const queue = await openQueue()
  // The clock stands still, so a second attempt comes only when a test moves it, not while a slow attempt runs.
  const db = createStillClock().of(queue.db)
  const user = { userKey: '1', userId: 'usr_1' }
  await (await openConsents(queue.db)).give(queue.db, user)

  /** Webhooks whose messages go to `answer` instead of over a network. */
  function open(
    answer: Answer,
    more: Partial<WebhooksDeps> = {},
  ): { webhooks: Webhooks; sent: string[]; ids: string[]; lines: string[] } {
    const sent: string[] = []
    const ids: string[] = []
    const lines: string[] = []
    const receive: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      const { data } = (await request.json()) as { data: { change: string; connection_id: string } }
      const id = request.headers.get('webhook-id') ?? ''
      const message = { url: request.url, what: `${data.change} ${data.connection_id}`, id }
      sent.push(message.what)
      ids.push(id)
      return new Response(null, { status: await answer(message, request.signal) })
    }
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const rest = {
      db,
      keyring,
      now: Date.now,
      realNow: Date.now,
      randomBytes,
      loopbackOnly: false,
      scaleWait: (ms: number) => ms,
      log,
    }
    // A slow machine neither ends a run early nor makes a receiver time out.
    const patience = { runMaxMs: patienceMs, timeoutMs: patienceMs }
    return { webhooks: createWebhooks({ ...rest, ...patience, ...more, fetch: receive }), sent, ids, lines }
  }

  const announce = (webhooks: Webhooks, tenantId: string, ...changes: [ConnectionChange['change'], string][]) =>
    db.transaction(async (tx) => {
      for (const [change, connectionId] of changes) {
        await webhooks.announce(tx, { change, tenantId, ...user, connectionId })
      }
    })
  const run = (webhooks: Webhooks, tenantId: string): Promise<void> =>
    webhooks.deliverTask({ tenantId }, new AbortController().signal)
  const toTask =
    (webhooks: Webhooks): TestTask =>
    (payload, signal) =>
      webhooks.deliverTask(parseStored('webhook', payload), signal)
  /** Makes waiting messages due, as if that time had passed. */
  const pass = (ms: number): Promise<number> =>
    db.execute(
      `with later as (select make_interval(secs => $1::double precision / 1000) as span),
         messages as (update webhook_messages set due_at = due_at - span, created_at = created_at - span, resent_at = resent_at - span from later)
       update webhooks set paused_until = paused_until - span from later`,
      [ms],
    )
  /** Messages that wait for the first about their connection, which failed and is tried again in hours. */
  const putAsideMany = (tenantId: string, { connections, each }: { connections: number; each: number }) =>
    db.execute(
      `insert into webhook_messages (tenant_id, id, connection_id, body, created_at, aside, due_at)
       select $1, 'msg_aside_' || n, 'con_' || (n - 1) % $2::int, '{"data":{}}', $4::timestamptz, n <= $2::int,
         $4::timestamptz + case when n <= $2::int then interval '10 hours' else interval '0' end
       from generate_series(1, $2::int * $3::int) n order by n`,
      [tenantId, connections, each, db.now()],
    )
  const listOutcomes = async (tenantId: string): Promise<(string | null)[]> => {
    const rows = await db.rows<{ outcome: string | null }>(
      'select outcome from webhook_messages where tenant_id = $1 order by seq',
      [tenantId],
    )
    return rows.map(({ outcome }) => outcome)
  }
  const findDueMs = async (tenantId: string): Promise<number | undefined> => {
    const job = await db.maybeRow<{ at: string }>('select run_at as at from graphile_worker.jobs where key = $1', [
      `webhook:${tenantId}`,
    ])
    return job && Date.parse(job.at)
  }
  /** Asserts that `work` makes a job due this many seconds later, measured from its beginning and its end. */
  async function assertDue(tenantId: string, seconds: number, work: () => Promise<unknown>): Promise<void> {
    const look = async (): Promise<number> =>
      Date.parse((await db.row<{ now: string }>('select clock_timestamp() as now')).now)
    const from = await look()
    await work()
    const to = await look()
    const dueMs = (await findDueMs(tenantId)) ?? NaN
    const waited = `due ${dueMs - from} ms after the beginning, ${dueMs - to} ms after the end`
    assert.ok(from + seconds * 1_000 <= dueMs && dueMs <= to + seconds * 1_000 + 1, waited)
  }

  it('take one slot of a worker while the receiver does not answer, and other jobs continue', async () => {
    const { webhooks, sent } = open(async (_, signal) => {
      if (!signal.aborted) await once(signal, 'abort')
      throw signal.reason
    })
    await webhooks.set('ten_hangs', 'https://hangs.example/')
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) await announce(webhooks, 'ten_hangs', ['read', `con_${n}`])
    let others = 0
    const other = async (): Promise<void> => void (others += 1)
    await queue.start({ webhook: toTask(webhooks), other }, { concurrency: 2, makeRoom: ['webhook'] })
    await until('the first message', () => (sent.length > 0 ? true : undefined))
    for (const key of ['a', 'b', 'c']) await queueTask(db, { task: 'other', payload: {}, key })
    await until('the others', () => (others === 3 ? true : undefined))
    assert.equal(sent.length, 1)
  })

  it('to a slow receiver let newer jobs go between them, even when they have waited for a minute', async () => {
    const runMaxMs = 200
    const { webhooks, sent } = open(
      async () => {
        await delay(runMaxMs)
        return 200
      },
      { runMaxMs, slowAfterMs: 0 },
    )
    await webhooks.set('ten_slow', 'https://slow.example/')
    await db.execute('delete from graphile_worker._private_jobs')
    for (const n of [1, 2, 3, 4, 5, 6]) await announce(webhooks, 'ten_slow', ['read', `con_${n}`])
    await db.execute("update graphile_worker._private_jobs set run_at = run_at - interval '61 s'")
    await endYielding(db)
    let sentBefore: number | undefined
    const other = async (): Promise<void> => void (sentBefore = sent.length)
    // In the same lane, so that the order of the queue alone decides.
    await queueTask(db, { task: 'other', payload: {}, key: 'other', lane: 'webhook:ten_slow' })
    await queue.start({ webhook: toTask(webhooks), other }, { concurrency: 1, makeRoom: ['webhook'] })
    await until('all messages', () => (sent.length === 6 ? true : undefined))
    assert.ok(sentBefore !== undefined && sentBefore <= 1, `${sentBefore} messages went before it`)
  })

  it('an address is https without a user name or password, and one that is refused is not stored', async () => {
    const { webhooks } = open(() => 200)
    const refused = [
      'http://app.example/',
      'https://user:word@app.example/',
      'https://user@app.example/',
      'ftp://a/',
      'x',
    ]
    for (const url of refused) await assert.rejects(webhooks.set('ten_address', url), { code: 'invalid_request' }, url)
    assert.equal(await webhooks.findUrl('ten_address'), undefined)
  })

  it('are listed with their outcome, and one that was given up can be sent again with its id', async () => {
    let status = 500
    const { webhooks, ids } = open(() => status)
    await assert.rejects(webhooks.sendTest('ten_log'), /has no webhook/)
    await webhooks.set('ten_log', 'https://log.example/')
    const id = await webhooks.sendTest('ten_log')
    await run(webhooks, 'ten_log')
    const [waiting] = await webhooks.listMessages('ten_log')
    assert.deepEqual(
      [waiting?.message_id, waiting?.type, waiting?.attempts, waiting?.outcome, waiting?.last_failure],
      [id, 'webhook.test', 1, null, 'answered 500'],
    )
    await assert.rejects(webhooks.resend('ten_log', 'msg_unknown'), {
      code: 'not_found',
      message: 'There is no message msg_unknown of ten_log; assay webhook log ten_log lists the last 50.',
    })
    await assert.rejects(webhooks.resend('ten_log', id), {
      code: 'invalid_request',
      message: `${id} is still waiting and is tried next at ${waiting?.due_at}; it was not queued twice.`,
    })
    await pass(25 * 60 * minuteMs)
    await run(webhooks, 'ten_log')
    assert.equal((await webhooks.listMessages('ten_log'))[0]?.outcome, 'answered 500')
    status = 200
    await webhooks.resend('ten_log', id)
    await run(webhooks, 'ten_log')
    assert.equal((await webhooks.listMessages('ten_log'))[0]?.outcome, 'delivered')
    assert.deepEqual(ids, [id, id, id])
  })

  it('that were sent again keep the time they were written and show when, and have another day to arrive', async () => {
    let status = 200
    const { webhooks } = open(() => status)
    await webhooks.set('ten_again', 'https://again.example/')
    const id = await webhooks.sendTest('ten_again')
    await run(webhooks, 'ten_again')
    await pass(2 * 24 * 60 * minuteMs)
    const [before] = await webhooks.listMessages('ten_again')
    assert.deepEqual([before?.outcome, before?.resent_at], ['delivered', null])
    status = 500
    await webhooks.resend('ten_again', id)
    await run(webhooks, 'ten_again')
    const [after] = await webhooks.listMessages('ten_again')
    assert.deepEqual([after?.created_at, after?.attempts, after?.outcome], [before?.created_at, 1, null])
    assert.equal(after?.resent_at, db.now())
  })

  it('that could not be delivered say why: no connection, or no answer', async () => {
    const reasons = [
      new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) }),
      new DOMException('timed out', 'TimeoutError'),
    ]
    const { webhooks } = open(() => {
      throw reasons.shift() ?? new TypeError('fetch failed')
    })
    await webhooks.set('ten_why', 'https://why.example/')
    for (const reason of ['could not be reached (ECONNREFUSED)', 'no answer in time', 'could not be reached']) {
      const id = await webhooks.sendTest('ten_why')
      await run(webhooks, 'ten_why')
      const [newest] = await webhooks.listMessages('ten_why')
      assert.deepEqual([newest?.message_id, newest?.last_failure], [id, reason])
    }
  })

  it('make room for an interactive job at once, and do not count as failed for it', async () => {
    const { webhooks, sent } = open(async (_, signal) => {
      if (sent.length > 1) return 200
      if (!signal.aborted) await once(signal, 'abort')
      throw signal.reason
    })
    await webhooks.set('ten_yields', 'https://hangs.example/')
    await announce(webhooks, 'ten_yields', ['read', 'con_1'])
    const person = async (): Promise<void> => void sent.push('person')
    await queue.start({ webhook: toTask(webhooks), person }, { concurrency: 1, makeRoom: ['webhook'] })
    await until('the message', () => (sent.length > 0 ? true : undefined))
    await queueTask(db, { task: 'person', payload: {}, key: 'person', priority: 'interactive' })
    await until('it to go again', () => (sent.length === 3 ? true : undefined))
    assert.deepEqual(sent, ['read con_1', 'person', 'read con_1'])
    await until('its end', async () => ((await listOutcomes('ten_yields'))[0] === 'delivered' ? true : undefined))
    const { attempts } = await db.row<{ attempts: number }>(
      "select attempts from webhook_messages where tenant_id = 'ten_yields'",
    )
    assert.equal(attempts, 1)
  })

  it('are sent in the order in which they were written', async () => {
    const { webhooks, sent } = open(() => 204)
    await webhooks.set('ten_order', 'https://app.example/')
    for (const n of [1, 2, 3, 4, 5]) await announce(webhooks, 'ten_order', ['read', `con_${n}`])
    await run(webhooks, 'ten_order')
    assert.deepEqual(sent, ['read con_1', 'read con_2', 'read con_3', 'read con_4', 'read con_5'])
  })

  it('about one connection never overtake each other; one that is refused does not delay other connections', async () => {
    let ill = true
    const { webhooks, sent, ids } = open(({ what }) => (ill && what === 'read con_1' ? 500 : 200))
    await webhooks.set('ten_ill', 'https://app.example/')
    await announce(webhooks, 'ten_ill', ['read', 'con_1'], ['removed', 'con_1'], ['read', 'con_2'])
    await assertDue('ten_ill', 5, () => run(webhooks, 'ten_ill'))
    assert.deepEqual(sent, ['read con_1', 'read con_2'])
    await pass(5_000)
    ill = false
    await run(webhooks, 'ten_ill')
    assert.deepEqual(sent.slice(2), ['read con_1', 'removed con_1'])
    assert.equal(ids[0], ids[2])
    assert.deepEqual(await listOutcomes('ten_ill'), ['delivered', 'delivered', 'delivered'])
  })

  it('wait together after their receiver has failed three times in a row, and are sent at once when it is back', async () => {
    let down = true
    const { webhooks, sent } = open(() => (down ? 503 : 200))
    await webhooks.set('ten_down', 'https://app.example/')
    for (const n of [1, 2, 3, 4, 5]) await announce(webhooks, 'ten_down', ['read', `con_${n}`])
    await assertDue('ten_down', 30, async () => {
      await run(webhooks, 'ten_down')
      await announce(webhooks, 'ten_down', ['read', 'con_6'])
      await run(webhooks, 'ten_down')
    })
    assert.deepEqual(sent, ['read con_1', 'read con_2', 'read con_3'])
    for (const [passed, next] of [
      [30, 60],
      [60, 120],
      [120, 240],
      [240, 480],
      [480, 900],
      [900, 900],
    ] as const) {
      await pass(passed * 1_000)
      await assertDue('ten_down', next, () => run(webhooks, 'ten_down'))
    }
    assert.equal(sent.length, 9)
    down = false
    await pass(15 * minuteMs)
    await run(webhooks, 'ten_down')
    assert.deepEqual(
      (await listOutcomes('ten_down')).filter((outcome) => outcome !== 'delivered'),
      [],
    )
    // First the message that found the receiver back, then the waiting ones in order.
    assert.deepEqual(sent.slice(10), sent.slice(10).toSorted())
  })

  it('that were put aside during an outage are taken back in batches, and a delivery is recorded by itself', async () => {
    const changedWhenSent: number[] = []
    const stop = new AbortController()
    const { webhooks, ids } = open(async () => {
      const { changed } = await db.row<{ changed: number }>(
        `select count(*)::int as changed from webhook_messages
         where tenant_id = 'ten_back' and due_at < $1::timestamptz + interval '1 hour' and connection_id <> 'con_now'`,
        [db.now()],
      )
      if (changedWhenSent.push(changed) === 4) stop.abort()
      return 200
    })
    await webhooks.set('ten_back', 'https://app.example/')
    await announce(webhooks, 'ten_back', ['read', 'con_now'])
    await putAsideMany('ten_back', { connections: 2_500, each: 1 })
    await db.execute("update webhooks set failures = 7 where tenant_id = 'ten_back'")
    await webhooks.deliverTask({ tenantId: 'ten_back' }, stop.signal)
    assert.deepEqual(changedWhenSent, [0, 1_000, 2_000, 2_500])
    assert.equal(ids.length, 4)
  })

  it('make a sender read few rows, however many of them wait behind others', async () => {
    const { webhooks: outside } = open(() => 200)
    await outside.set('ten_many', 'https://app.example/')
    await putAsideMany('ten_many', { connections: 20, each: 500 })
    await run(outside, 'ten_many')
    await announce(outside, 'ten_many', ['read', 'con_new'])
    // Rows that are gone would count as read until they are cleared.
    await db.execute('vacuum analyze webhook_messages')
    await db.transaction(async (tx) => {
      const countRead = async (): Promise<number> => {
        const { read } = await tx.row<{ read: number }>(
          `select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables
           where relname = 'webhook_messages'`,
        )
        return read
      }
      const before = await countRead()
      const { webhooks, sent } = open(() => 200, { db: { ...db, ...tx, transaction: (work) => work(tx) } })
      await run(webhooks, 'ten_many')
      assert.deepEqual(sent, ['read con_new'])
      const read = (await countRead()) - before
      assert.ok(read < 100, `${read} rows were read to send one of 10,000 messages`)
    })
  })

  it('are given up when they fail a day after they were written, and are swept if their turn never comes', async () => {
    const { webhooks } = open(() => 503)
    await webhooks.set('ten_gone', 'https://app.example/')
    for (const n of [1, 2, 3, 4, 5]) await announce(webhooks, 'ten_gone', ['read', `con_${n}`])
    await run(webhooks, 'ten_gone')
    await pass(25 * 60 * minuteMs)
    await run(webhooks, 'ten_gone')
    assert.deepEqual(await listOutcomes('ten_gone'), ['answered 503', null, null, null, null])
    await pass(24 * 60 * minuteMs)
    await webhooks.sweep()
    assert.deepEqual(new Set((await listOutcomes('ten_gone')).slice(1)), new Set(['given up']))
  })

  it('that wait without a job are found by the sweep, however the job was lost', async () => {
    const { webhooks } = open(() => 200)
    await webhooks.set('ten_lost', 'https://app.example/')
    await announce(webhooks, 'ten_lost', ['read', 'con_1'])
    await db.execute('delete from graphile_worker._private_jobs')
    await webhooks.sweep()
    assert.equal(await findDueMs('ten_lost'), undefined)
    await pass(5 * minuteMs + 1)
    await assertDue('ten_lost', 0, () => webhooks.sweep())
  })

  it('go to the new address as soon as there is one', async () => {
    let urls: string[] = []
    const { webhooks } = open(({ url }) => {
      urls.push(url)
      return url.includes('old') ? 503 : 200
    })
    await webhooks.set('ten_moves', 'https://old.example/')
    for (const n of [1, 2, 3]) await announce(webhooks, 'ten_moves', ['read', `con_${n}`])
    await run(webhooks, 'ten_moves')
    urls = []
    await assertDue('ten_moves', 0, () => webhooks.set('ten_moves', 'https://new.example/'))
    await run(webhooks, 'ten_moves')
    assert.deepEqual(urls, ['https://new.example/', 'https://new.example/', 'https://new.example/'])
  })

  it('are deleted with the webhook, including one that was written during the removal', async () => {
    const { webhooks, sent } = open(() => 200)
    await webhooks.set('ten_removes', 'https://app.example/')
    await announce(webhooks, 'ten_removes', ['read', 'con_1'])
    await webhooks.remove('ten_removes')
    assert.deepEqual(await listOutcomes('ten_removes'), [])
    await db.execute(
      `insert into webhook_messages (tenant_id, id, connection_id, body, created_at, due_at)
       values ('ten_removes', 'msg_late', 'con_1', '{}', $1, $1)`,
      [db.now()],
    )
    await run(webhooks, 'ten_removes')
    await webhooks.sweep()
    assert.deepEqual([await listOutcomes('ten_removes'), sent], [[], []])
  })

  it('are sent again half a minute later when the process that was sending one was killed', async () => {
    const { webhooks, sent } = open(() => {
      if (sent.length > 1) return 200
      // A killed process executes nothing after this line, so the attempt is neither failed nor done.
      return new Promise<number>(() => undefined)
    })
    await webhooks.set('ten_killed', 'https://app.example/')
    await announce(webhooks, 'ten_killed', ['read', 'con_1'], ['removed', 'con_1'])
    await assertDue('ten_killed', 30, async () => {
      void run(webhooks, 'ten_killed')
      await until('the attempt', () => (sent.length === 1 ? true : undefined))
      await run(webhooks, 'ten_killed')
    })
    assert.equal(sent.length, 1)
    await pass(30_000)
    await run(webhooks, 'ten_killed')
    assert.deepEqual(sent, ['read con_1', 'read con_1', 'removed con_1'])
  })

  it('wait while no key of the ring opens the signing secret, and the log names the tenant', async () => {
    const { webhooks, sent, lines } = open(() => 200)
    await webhooks.set('ten_sealed', 'https://app.example/')
    const { sealed_secret: sealed } = await db.row<{ sealed_secret: string }>(
      `select sealed_secret from webhooks where tenant_id = 'ten_sealed'`,
    )
    const seal = (text: string): Promise<number> =>
      db.execute(`update webhooks set sealed_secret = $1 where tenant_id = 'ten_sealed'`, [text])
    await seal(`${Buffer.from('{"alg":"A256GCMKW","enc":"A256GCM","kid":"lost"}').toString('base64url')}.a.b.c.d`)
    await announce(webhooks, 'ten_sealed', ['read', 'con_1'])
    await run(webhooks, 'ten_sealed')
    assert.deepEqual(sent, [])
    assert.match(lines.join(''), /ten_sealed.*no key opens/)
    await seal(sealed)
    await pass(5_000)
    await run(webhooks, 'ten_sealed')
    assert.deepEqual(sent, ['read con_1'])
  })
})
