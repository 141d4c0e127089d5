/**
 * Does a worker's memory grow with the history that it reads? Two histories, each read by a separate process, and the
 * most memory that the kernel saw it use.
 *
 * Both are the newest part of one simulated account: what lies before is declared to be covered.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { ofConnection } from '../../of-connection.ts'
import { authorize, redeem } from '../../application.ts'
import { startTestPostgres } from '../../postgres.ts'
import { startTestService, type TestService } from '../../service.ts'
import { until } from '../../until.ts'

const assay = path.resolve(import.meta.dirname, '../../../apps/cli/bin/assay.mjs')
/** The first run of a day reads a week again (sync/plan.ts); a little less, so that the first entry is within. */
const overlapSeconds = 7 * 24 * 3_600 - 1
/**
 * By default V8 keeps garbage as long as memory is free. With a small limit, the memory in use is the memory needed:
 * some 67 MiB outlive a collection, most of it ccxt.
 */
const tightHeap = ['--max-old-space-size=96', '--max-semi-space-size=2']
/** Threads that collect beside the program come late on a busy machine, and the garbage that waits for them counts. */
const collectInTurn = '--single-threaded-gc'

/** The simulated account has no call limit, so our own restraint, made for real ones, is lifted too. */
const liftBudgets = `
  create or replace function fill_bucket() returns trigger language plpgsql as
    $$ begin new.tokens := 1000; return new; end $$;
  create or replace trigger fill_bucket before insert or update on budgets for each row execute function fill_bucket()`

export interface Peak {
  entries: number
  /** Resident, as the kernel counts it; whole ones. */
  peakMiB: number
  seconds: number
}

/** One after another, in the order given. */
export async function measurePeaks(service: TestService, sizes: readonly number[]): Promise<Peak[]> {
  await service.db.execute(liftBudgets)
  const peaks: Peak[] = []
  for (const size of sizes) peaks.push(await measurePeak(service, size))
  return peaks
}

async function measurePeak(service: TestService, size: number): Promise<Peak> {
  const worker = spawn(process.execPath, [...tightHeap, collectInTurn, assay, 'worker'], {
    env: { PATH: process.env['PATH'], ...service.environment, ASSAY_WORKER_CONCURRENCY: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  try {
    const connectionId = await connect(service, size)
    const beganAt = performance.now()
    await until(
      `the end of a read of ${size} entries`,
      async () => {
        const { status } = await service.db.row<{ status: string }>('select status from connections where id = $1', [
          connectionId,
        ])
        return status === 'active' ? true : undefined
      },
      100,
    )
    const seconds = Math.round((performance.now() - beganAt) / 1000)
    const { entries } = await service.db.row<{ entries: number }>(
      `select count(*)::int as entries from raw_records where ${ofConnection} and stream = 'ledger'`,
      [connectionId],
    )
    return { entries, peakMiB: await readPeakMiB(worker), seconds }
  } finally {
    worker.kill('SIGTERM')
    await once(worker, 'exit')
  }
}

/** Connects an account with only the newest `size` entries left to read. */
async function connect(service: TestService, size: number): Promise<string> {
  const { access_token: token } = await redeem(service.url, await authorize(service.url, `reader of ${size}`, []))
  const send = async <T>(url: string, body: object): Promise<T> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as T
  }
  const { controlUrl } = service.sandbox
  const account = { provider_id: 'kraken', scenario: 'large', account: `account of ${size}` }
  const made = await send<{ account_id: string; credentials: object }>(`${controlUrl}/control/accounts`, account)
  const state = await fetch(`${controlUrl}/control/accounts/${made.account_id}/state`)
  const { ledger } = (await state.json()) as { ledger: { time: number }[] }
  await service.db.execute(coverUntil((ledger.at(-size)?.time ?? 0) + overlapSeconds))
  const added = await send<{ data: { connection_id: string | null } }>(`${service.url}/accounts/v2/providers`, {
    provider_id: 'kraken',
    connection: { type: 'api_key', ...made.credentials },
  })
  const id = added.data.connection_id
  if (id === null) throw new Error(`not connected: ${JSON.stringify(added)}`)
  return id
}

/**
 * This happens in the transaction that accepts the connection, because afterwards a worker may be faster than the test.
 */
const coverUntil = (seconds: number): string => `
  create or replace function cover_old() returns trigger language plpgsql as $$ begin
    insert into covered_windows (user_key, connection_key, stream, partition, window_start, window_end)
    select new.user_key, new.connection_key, unnest(array['ledger', 'deposits', 'withdrawals']), '',
      ${Date.UTC(2009, 0, 1)}, ${Math.floor(seconds * 1_000)};
    return new;
  end $$;
  create or replace trigger cover_old after update on connections for each row
    when (old.status = 'pending' and new.status = 'syncing') execute function cover_old()`

async function readPeakMiB({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kiB = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]
  if (kiB === undefined) throw new Error('the kernel does not tell how much memory was used')
  return Math.round(Number(kiB) / 1024)
}

export const grownMax = 1.1

/** True when the larger history took at most a tenth more memory than the smaller. */
export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: { small: { type: 'string', default: '10000' }, large: { type: 'string', default: '100000' } },
  })
  const ends: (() => unknown)[] = []
  try {
    const postgres = await startTestPostgres()
    ends.push(() => postgres.stop())
    // The service of a test looks for its server here.
    process.env['ASSAY_TEST_POSTGRES'] = postgres.address
    const service = await startTestService({ after: (end) => void ends.push(end as () => unknown) }, { role: 'api' })
    const [small, large] = await measurePeaks(service, [Number(values.small), Number(values.large)])
    if (small === undefined || large === undefined) throw new Error('two sizes were measured')
    for (const { entries, peakMiB, seconds } of [small, large])
      process.stdout.write(`${entries} entries: ${peakMiB} MiB at most, ${seconds} s\n`)
    const grown = Math.round((100 * large.peakMiB) / small.peakMiB) / 100
    process.stdout.write(`${grown} times as much; ${grownMax} is the most that passes\n`)
    return grown <= grownMax
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}
