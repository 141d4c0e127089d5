import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import net, { type AddressInfo, type Socket } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import type { TestAddress } from '../../../../test/postgres.ts'
import { until } from '../../../../test/until.ts'
import { capRetries, freeOrphanedLanes } from './queue-store.ts'
import { freeSilentWorkers } from './rounds.ts'
import { openQueue, queueTask } from './test-queue.ts'

/** A worker in its own process, whose only job begins and never ends. */
const script = `
  import { pino } from '${import.meta.resolve('pino')}'
  import { createDatabase } from '${import.meta.resolve('../db/index.ts')}'
  import { runTasks } from '${import.meta.resolve('./worker.ts')}'
  const log = pino({ level: 'silent' })
  const connection = JSON.parse(process.argv[1])
  const db = createDatabase({ connection, pooler: 'none', poolSizeMax: 2, statementTimeoutMs: 600_000, log })
  const hold = () => { process.stdout.write('held\\n'); return new Promise(() => undefined) }
  const settings = { db, connection, pooler: 'none', concurrency: 2, silentAfterMs: 600, alone: false, log }
  await runTasks(settings, { hold: { run: hold, makesRoom: false } })`

async function startDoomedWorker(
  t: TestContext,
  connection: TestAddress,
  workingDirectory = os.tmpdir(),
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, JSON.stringify(connection)], {
    cwd: workingDirectory,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

/** The next `delete` of a job fails, as it does while PostgreSQL restarts; the one after it does not. */
const failNextEnd = `
  create sequence ends;
  create function fail_once() returns trigger language plpgsql as $$
    begin
      if nextval('ends') = 1 then raise 'the end of a job was lost'; end if;
      return old;
    end $$;
  create trigger fail_once before delete on graphile_worker._private_jobs for each row execute function fail_once()`

/** The first two ends of jobs are held up for as long as a lock is held, and then lost together. */
const failTwoEnds = `
  create sequence held_ends;
  create function fail_two() returns trigger language plpgsql as $$
    begin
      if nextval('held_ends') <= 2 then
        perform pg_advisory_xact_lock_shared(1);
        raise 'two ends of jobs were lost';
      end if;
      return old;
    end $$;
  create trigger fail_two before delete on graphile_worker._private_jobs for each row execute function fail_two()`

/** The first claim of a job takes a while, as it does while the disk of the database does not answer. */
const delayNextClaim = `
  create sequence slow_claims;
  create function delay_once() returns trigger language plpgsql as $$
    begin
      if nextval('slow_claims') = 1 then perform pg_sleep(1.5); end if;
      return new;
    end $$;
  create trigger delay_once before update of locked_by on graphile_worker._private_jobs for each row
    when (new.locked_by is not null) execute function delay_once()`

/** Backdates heartbeats by an hour, like those of a worker that gets no processor time. */
const late = `
  create function late() returns trigger language plpgsql as $$
    begin new.beat_at := new.beat_at - interval '50 min'; return new; end $$;
  create trigger late before insert or update on worker_heartbeats for each row execute function late()`

describe('a worker that was killed', async () => {
  const queue = await openQueue()

  it('loses its job and its lane to another worker after the configured silence', async (t) => {
    await queueTask(queue.db, { task: 'hold', payload: { name: 'held' }, key: 'held', lane: 'a' })
    const child = await startDoomedWorker(t, queue.connection)
    await queueTask(queue.db, { task: 'hold', payload: { name: 'behind' }, key: 'behind', lane: 'a' })
    child.kill('SIGKILL')
    await once(child, 'exit')
    // It may have been killed before its first heartbeat.
    const { sign } = await queue.db.row<{ sign: string }>(
      `select greatest(max(locked_at), (select max(beat_at) from worker_heartbeats))::text as sign
       from graphile_worker._private_jobs`,
    )

    const ended: string[] = []
    const silences: number[] = []
    const hold = async (payload: unknown): Promise<void> => {
      const silence = 'select extract(epoch from clock_timestamp() - $1::timestamptz)::float8 as seconds'
      silences.push((await queue.db.row<{ seconds: number }>(silence, [sign])).seconds)
      ended.push((payload as { name: string }).name)
    }
    await queue.start({ hold })
    await until('both jobs', () => (ended.length === 2 ? true : undefined))
    assert.deepEqual(ended, ['held', 'behind'])
    assert.ok((silences[0] ?? 0) >= 0.6, `taken over after ${silences[0]} s, before it could be presumed dead`)
    // A job ends before its row is deleted.
    await until('an empty queue', async () => {
      const left = await queue.db.rows('select from graphile_worker._private_jobs')
      return left.length === 0 ? true : undefined
    })
    assert.match(queue.lines.join(''), /freed the jobs of workers that fell silent/)
  })

  it('loses them at once to the only worker that is left', async (t) => {
    await queueTask(queue.db, { task: 'hold', payload: {}, key: 'held', lane: 'a' })
    const child = await startDoomedWorker(t, queue.connection)
    child.kill('SIGKILL')
    await once(child, 'exit')

    let ended = false
    const hold = async (): Promise<void> => void (ended = true)
    await queue.start({ hold }, { silentAfterMs: 600_000, alone: true })
    await until('the job', () => (ended ? true : undefined))
  })
})

describe('a worker that was killed before the clock was set back', async () => {
  const queue = await openQueue()

  for (const alone of [false, true]) {
    it(`loses its job to ${alone ? 'the only worker' : 'another worker'}`, async () => {
      await queueTask(queue.db, { task: 'task', payload: {}, key: 'held', lane: 'a' })
      await queue.db.execute(`
        update graphile_worker._private_jobs set locked_by = 'dead', locked_at = now() + interval '1 day';
        update graphile_worker._private_job_queues set locked_by = 'dead', locked_at = now() + interval '1 day';
        insert into worker_heartbeats (worker_id, beat_at) values ('dead', now() + interval '1 day')`)
      let ran = false
      await queue.start({ task: async () => void (ran = true) }, { alone, silentAfterMs: alone ? 600_000 : 600 })
      await until('the job', () => ran || undefined)
    })
  }
})

describe('a job whose workers die', async () => {
  const queue = await openQueue()
  const { db } = queue

  /** All jobs were running when a worker died; a living one frees them and looks after its jobs. */
  async function die(...keys: string[]): Promise<void> {
    await db.execute(
      `update graphile_worker._private_jobs set locked_by = 'dead', locked_at = clock_timestamp() - interval '1 min',
         attempts = attempts + 1 where key = any($1::text[])`,
      [keys],
    )
    await freeSilentWorkers(db, 1_000, [], pino({ level: 'silent' }))
    await capRetries(db)
  }
  const minutesLeft = async (key: string): Promise<number> => {
    const { minutes } = await db.row<{ minutes: number }>(
      `select ceil(extract(epoch from run_at - clock_timestamp()) / 60)::integer as minutes
       from graphile_worker._private_jobs where key = $1 and locked_at is null`,
      [key],
    )
    return minutes
  }

  it('waits longer each time from the seventh death on, and the jobs of others do not', async () => {
    for (const key of ['deadly', 'innocent']) await queueTask(db, { task: 'task', payload: {}, key })
    for (let death = 1; death <= 6; death += 1) await die('deadly', 'innocent')
    assert.ok((await minutesLeft('deadly')) <= 0)
    const waits: number[] = []
    for (let death = 7; death <= 9; death += 1) {
      await die('deadly')
      waits.push(await minutesLeft('deadly'))
    }
    assert.deepEqual(waits, [1, 2, 4])
    assert.ok((await minutesLeft('innocent')) <= 0)
  })

  it('is not suspected for deaths of another day', async () => {
    await queueTask(db, { task: 'task', payload: {}, key: 'old' })
    await db.execute("insert into deadly_jobs values ('old', 30, clock_timestamp() - interval '25 h')")
    await die('old')
    assert.ok((await minutesLeft('old')) <= 0)
  })
})

describe('a worker that was presumed dead and came back', async () => {
  const queue = await openQueue()
  const { db } = queue

  const lockLane = (workerId: string, ago: string): Promise<number> =>
    db.execute(
      `update graphile_worker._private_job_queues set locked_by = $1, locked_at = clock_timestamp() - $2::interval`,
      [workerId, ago],
    )

  it('and ended a job that another had taken over leaves a closed lane, which is freed a minute later', async () => {
    // The state after the first worker deleted the job's row: the second finds no row to delete and keeps its lane
    // locked.
    await queueTask(db, { task: 'task', payload: { name: 'next' }, key: 'next', lane: 'a' })
    await lockLane('alive', '61 s')
    await db.execute(
      "insert into worker_heartbeats (worker_id, beat_at) values ('alive', clock_timestamp() + interval '1 h')",
    )
    const ended: string[] = []
    await queue.start({ task: async (payload) => void ended.push((payload as { name: string }).name) })
    await until('the job behind', () => (ended.length > 0 ? true : undefined))
    assert.deepEqual(ended, ['next'])
    await db.execute("delete from worker_heartbeats where worker_id = 'alive'")
  })

  it('does not free the lane of a running job, however long that job takes', async () => {
    await queueTask(db, { task: 'task', payload: {}, key: 'long', lane: 'a' })
    await db.execute("update graphile_worker._private_jobs set locked_by = 'alive', locked_at = clock_timestamp()")
    await lockLane('alive', '1 h')
    await freeOrphanedLanes(db)
    const [lane] = await db.rows<{ locked_by: string }>('select locked_by from graphile_worker._private_job_queues')
    assert.equal(lane?.locked_by, 'alive')
  })
})

describe('a worker that lives', async () => {
  const queue = await openQueue()

  /** Jobs that were running when a worker died. None died here. */
  const listSuspects = (): Promise<unknown[]> => queue.db.rows('select job_key, deaths from deadly_jobs')

  it('forgets killed workers without a job after an hour', async () => {
    await queue.db.execute(
      `insert into worker_heartbeats (worker_id, beat_at) values
         ('killed long ago', clock_timestamp() - interval '61 min'), ('killed', clock_timestamp() - interval '59 min')`,
    )
    await queue.start({ task: async () => undefined })
    const left = await until('the first to be forgotten', async () => {
      const rows = await queue.db.rows<{ id: string }>(
        "select worker_id as id from worker_heartbeats where worker_id like 'killed%'",
      )
      return rows.length < 2 ? rows : undefined
    })
    assert.deepEqual(left, [{ id: 'killed' }])
    await queue.db.execute("delete from worker_heartbeats where worker_id = 'killed'")
  })

  it('keeps a job that takes longer than the allowed silence', async () => {
    let begun = 0
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    const hold = async (): Promise<void> => {
      begun += 1
      await released
    }
    await queueTask(queue.db, { task: 'hold', payload: {}, key: 'held', lane: 'a' })
    await queue.start({ hold }, { silentAfterMs: 30_000 })
    await until('the job to begin', () => (begun > 0 ? true : undefined))
    const findBeat = (): Promise<{ at: string } | undefined> =>
      queue.db.maybeRow('select beat_at::text as at from worker_heartbeats')
    const first = await until('a heartbeat', findBeat)
    await until('another one', async () => ((await findBeat())?.at === first.at ? undefined : true))
    // Backdates the job by an hour. A worker sweeps before it starts anything.
    await queue.db.execute("update graphile_worker._private_jobs set locked_at = locked_at - interval '1 h'")
    await queue.db.execute("update graphile_worker._private_job_queues set locked_at = locked_at - interval '1 h'")
    await queue.start({ hold }, { silentAfterMs: 30_000 })
    assert.equal(
      (await queue.db.rows('select from graphile_worker._private_jobs where locked_at is not null')).length,
      1,
    )
    release()
    await until('the job to end', async () =>
      (await queue.db.rows('select from graphile_worker._private_jobs')).length === 0 ? true : undefined,
    )
    assert.equal(begun, 1)
  })

  it('keeps its own job even if its heartbeats do not arrive', async () => {
    await queue.db.execute(late)
    let begun = 0
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    const hold = async (): Promise<void> => {
      begun += 1
      await released
    }
    await queueTask(queue.db, { task: 'hold', payload: {}, key: 'held', lane: 'a' })
    await queue.start({ hold })
    await until('the job to be as old as the silence', async () =>
      queue.db.maybeRow(
        "select from graphile_worker._private_jobs where locked_at < clock_timestamp() - interval '0.6 s'",
      ),
    )
    // The sweep also forgets workers that fell silent long ago, so once this one is gone, a sweep has run.
    await queue.db.execute(
      "insert into worker_heartbeats (worker_id, beat_at) values ('marker', clock_timestamp() - interval '2 h')",
    )
    await until('a sweep', async () => {
      const left = await queue.db.rows("select from worker_heartbeats where worker_id = 'marker'")
      return left.length === 0 ? true : undefined
    })
    assert.equal(
      (await queue.db.rows('select from graphile_worker._private_jobs where locked_at is not null')).length,
      1,
    )
    release()
    await until('the job to end', async () =>
      (await queue.db.rows('select from graphile_worker._private_jobs')).length === 0 ? true : undefined,
    )
    assert.equal(begun, 1)
    await queue.db.execute('drop trigger late on worker_heartbeats')
  })

  it('deletes lanes from versions with one lane per key, once they are empty', async () => {
    await queue.db.execute(
      "insert into graphile_worker._private_job_queues (queue_name) values ('of a key'), ('of another')",
    )
    await queue.db.execute("select graphile_worker.add_job('task', '{}'::json, queue_name => 'of a key')", [])
    await queueTask(queue.db, { task: 'task', payload: {}, key: 'new', lane: 'a' })
    await queue.start({ other: async () => undefined })
    const left = await queue.db.rows<{ name: string }>(
      'select queue_name as name from graphile_worker._private_job_queues order by 1',
    )
    assert.deepEqual(
      left.map(({ name }) => name),
      ['lane 274', 'of a key'],
    )
  })

  it('does nothing that a crontab in its working directory says', async (t) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-crontab-'))
    t.after(() => rm(directory, { recursive: true }))
    await writeFile(path.join(directory, 'crontab'), '* * * * * hold ?id=uninvited {}\n')
    await queueTask(queue.db, { task: 'hold', payload: {}, key: 'only' })
    await startDoomedWorker(t, queue.connection, directory)
    assert.deepEqual(await queue.db.rows('select from graphile_worker._private_known_crontabs'), [])
  })

  it('takes jobs although its very first query failed', async () => {
    // Simulates a database that dies at that moment: the runner caches the failure and would repeat it forever.
    await queue.db.execute('alter table graphile_worker._private_tasks rename to _away')
    const runs: unknown[] = []
    await queue.start({ task: async () => void runs.push('ran') })
    await until('the failure', () => queue.lines.find((line) => line.includes('could not take a job')))
    await queue.db.execute('alter table graphile_worker._away rename to _private_tasks')
    await queueTask(queue.db, { task: 'task', payload: {}, key: 'only' })
    await until('the job', () => (runs.length > 0 ? true : undefined))
  })

  it('continues after its connections fell silent, as those of a machine that lost power', async () => {
    const { db, start } = queue
    const done: string[] = []
    const task = (payload: unknown): Promise<void> => Promise.resolve(void done.push(JSON.stringify(payload)))
    await start({ task }, { concurrency: 1, answerWithinMs: 1_000 })
    await queueTask(db, { task: 'task', payload: { n: 1 }, key: 'before' })
    await until('the first job', () => done.length === 1 || undefined)
    const silent = await db.rows<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = ''`,
    )
    assert.ok(silent.length > 0)
    try {
      for (const { pid } of silent) process.kill(pid, 'SIGSTOP')
      await queueTask(db, { task: 'task', payload: { n: 2 }, key: 'after' })
      await until('the second job', () => done.length === 2 || undefined)
    } finally {
      for (const { pid } of silent) process.kill(pid, 'SIGCONT')
    }
  })

  it('runs a job whose claim was kept after its connection had been dropped', async () => {
    const runs: string[] = []
    const task = async (payload: unknown): Promise<void> => void runs.push((payload as { name: string }).name)
    await queue.start({ task }, { answerWithinMs: 500 })
    await queueTask(queue.db, { task: 'task', payload: { name: 'first' }, key: 'first' })
    await until('the first job', () => (runs.length === 1 ? true : undefined))
    await queue.db.execute(delayNextClaim)
    await queueTask(queue.db, { task: 'task', payload: { name: 'second' }, key: 'second' })
    await until('the second job', () => (runs.length === 2 ? true : undefined))
    assert.deepEqual(runs, ['first', 'second'])
    assert.deepEqual(await listSuspects(), [])
    await queue.db.execute('drop trigger delay_once on graphile_worker._private_jobs')
  })

  it('continues when the end of a job could not be written, and does that job again', async () => {
    const runs: string[] = []
    const task = async (payload: unknown): Promise<void> => void runs.push((payload as { name: string }).name)
    await queue.db.execute(failNextEnd)
    await queue.start({ task })
    await queueTask(queue.db, { task: 'task', payload: { name: 'first' }, key: 'first', lane: 'a' })
    await until('the first run', () => (runs.length > 0 ? true : undefined))
    await queueTask(queue.db, { task: 'task', payload: { name: 'second' }, key: 'second', lane: 'a' })
    await until('both jobs to be done', async () =>
      (await queue.db.rows('select from graphile_worker._private_jobs')).length === 0 ? true : undefined,
    )
    assert.deepEqual(runs, ['first', 'first', 'second'])
    assert.deepEqual(await listSuspects(), [])
  })

  it('continues after the ends of two jobs were lost at the same moment, and can be stopped', async () => {
    const runs: string[] = []
    const task = async (payload: unknown): Promise<void> => void runs.push((payload as { name: string }).name)
    await queue.db.execute(failTwoEnds)
    const worker = await queue.start({ task })
    await queue.db.transaction(async (tx) => {
      await tx.execute('select pg_advisory_xact_lock(1)', [])
      for (const [index, name] of ['first', 'second'].entries()) {
        await queueTask(queue.db, { task: 'task', payload: { name }, key: name, lane: name })
        await until(`${name} to wait`, () =>
          tx.maybeRow("select from pg_locks where locktype = 'advisory' and not granted having count(*) > $1", [index]),
        )
      }
    })
    await until('both jobs to be done', async () =>
      (await queue.db.rows('select from graphile_worker._private_jobs')).length === 0 ? true : undefined,
    )
    assert.deepEqual(runs.toSorted(), ['first', 'first', 'second', 'second'])
    await worker.stop()
    await queue.db.execute('drop trigger fail_two on graphile_worker._private_jobs')
  })
})

/** What PostgreSQL says to a new connection while it starts, replays its log or stops: SQLSTATE 57P03. */
function toStarting(): Buffer {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0')
  const header = Buffer.alloc(5, 'E')
  header.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([header, fields])
}

/** The way to a server, which can be one that does not take connections yet. */
async function openGate(
  t: TestContext,
  { host, user, password, database }: TestAddress,
): Promise<{ connection: { url: string }; refused: () => number; close: () => void }> {
  const open = new Set<Socket>()
  let refused: number | undefined
  const gate = net.createServer((socket) => {
    socket.on('error', () => undefined)
    if (refused !== undefined) {
      refused += 1
      return void socket.once('data', () => socket.end(toStarting()))
    }
    const inner = net.connect(`${host}/.s.PGSQL.5432`).on('error', () => undefined)
    for (const one of [socket, inner]) open.add(one)
    socket.pipe(inner).pipe(socket)
  })
  gate.listen(0, '127.0.0.1')
  await once(gate, 'listening')
  const close = (): void => {
    refused ??= 0
    for (const one of open) one.destroy()
  }
  t.after(() => {
    gate.close()
    close()
  })
  const { port } = gate.address() as AddressInfo
  return {
    connection: { url: `postgres://${user}:${password}@127.0.0.1:${port}/${database}` },
    refused: () => refused ?? 0,
    close,
  }
}

describe('stopping', async () => {
  const queue = await openQueue()

  it('signals the running job, and waits until it has ended', async () => {
    const ended: string[] = []
    const task = async (_: unknown, signal: AbortSignal): Promise<void> => {
      ended.push('begun')
      await once(signal, 'abort')
      // This takes a while, as the rest of a page does.
      await queue.db.rows('select pg_sleep(0.05)')
      ended.push('ended')
    }
    const worker = await queue.start({ task })
    await queueTask(queue.db, { task: 'task', payload: {}, key: 'only' })
    await until('the job', () => (ended.length > 0 ? true : undefined))
    await worker.stop()
    assert.deepEqual(ended, ['begun', 'ended'])
    assert.deepEqual(await queue.db.rows('select from graphile_worker._private_jobs'), [])
  })

  it('leaves no connection, no heartbeat and no line in the log', async () => {
    const worker = await queue.start({ task: async () => undefined })
    await until('a heartbeat', async () =>
      (await queue.db.rows('select from worker_heartbeats')).length > 0 ? true : undefined,
    )
    await worker.stop()
    assert.deepEqual(await queue.db.rows('select from worker_heartbeats'), [])
    const others = `select query from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'assay'
        and backend_type = 'client backend'`
    assert.deepEqual(await queue.db.rows(others), [])
    assert.deepEqual(queue.lines, [])
  })

  it('does not wait until a database that is starting takes connections', async (t) => {
    const gate = await openGate(t, queue.connection)
    const worker = await queue.start({ task: async () => undefined }, { connection: gate.connection })
    gate.close()
    await until('a look for jobs', () => (gate.refused() >= 3 ? true : undefined))
    await worker.stop()
  })
})
