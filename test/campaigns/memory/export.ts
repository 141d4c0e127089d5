/**
 * Does an export cost memory? Two histories, each exported as CSV and as NDJSON by a separate API process over HTTP to
 * a reader that is slower than the writer, and the most memory that the kernel saw the process use.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { authorize, redeem } from '../../application.ts'
import { startTestPostgres } from '../../postgres.ts'
import { startTestService, type TestService } from '../../service.ts'
import { until } from '../../until.ts'

const assay = path.resolve(import.meta.dirname, '../../../apps/cli/bin/assay.mjs')
/**
 * By default V8 keeps garbage as long as memory is free. With a small limit, the memory in use is the memory needed.
 */
const tightHeap = '--max-old-space-size=96 --max-semi-space-size=4'
const rowsPerInsert = 2_000
/** After each this much the reader rests, so that the writer has to wait for it and not the other way round. */
const restEveryBytes = 1_000_000
const restMs = 20

export interface ExportPeak {
  /** Rows that arrived, by format. */
  csv: number
  ndjson: number
  megabytes: number
  /** Resident, as the kernel counts it; whole ones. */
  peakMiB: number
}

/** One after another, in the order given. */
export async function measureExports(service: TestService, sizes: readonly number[]): Promise<ExportPeak[]> {
  const peaks: ExportPeak[] = []
  for (const size of sizes) peaks.push(await measureExport(service, size))
  return peaks
}

async function measureExport(service: TestService, size: number): Promise<ExportPeak> {
  const { access_token: token } = await redeem(service.url, await authorize(service.url, `exporter of ${size}`, []))
  await addHistory(service, token, size)
  const api = spawn(process.execPath, [assay, 'serve', '--role', 'api'], {
    env: { PATH: process.env['PATH'], ...service.environment, ASSAY_LOG_LEVEL: 'info', NODE_OPTIONS: tightHeap },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const url = await findAddress(api)
    const csv = await exportSlowly(`${url}/accounts/v2/transactions/export?format=csv`, token)
    const ndjson = await exportSlowly(`${url}/accounts/v2/transactions/export?format=ndjson`, token)
    const megabytes = Math.round((csv.bytes + ndjson.bytes) / 1e6)
    return { csv: csv.lines - 1, ndjson: ndjson.lines, megabytes, peakMiB: await readPeakMiB(api) }
  } finally {
    api.kill('SIGTERM')
    await once(api, 'exit')
  }
}

/** As many copies of a transaction as are wanted, half a kilobyte each. */
async function addHistory({ db }: TestService, token: string, size: number): Promise<void> {
  const document = {
    type: 'send',
    status: 'confirmed',
    timestamp: '2026-01-01T00:00:00.000Z',
    categorization: { category: 'withdrawal', method: 'venue', confidence: 1 },
    inputs: [],
    outputs: [
      {
        asset_symbol: 'BTC',
        asset_id: 'crypto:bitcoin',
        amount: '0.1',
        price_in_usd: '64000.5',
        value_in_usd: '6400.05',
      },
    ],
    fees: { total_in_usd: null, items: [] },
    network: null,
    hash: null,
    from_address: null,
    to_address: null,
    counterpart: null,
    spam: false,
    provider_reference: 'a reference',
    description: 'a note of some length, as people write them, and a bit longer than that',
    incomplete: ['price_in_usd'],
  }
  const now = db.now()
  await db.execute(
    `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
       status, key_lane, created_at, added_at, shown_at, shown_seq)
     select user_key, 1, 'con_export', tenant_key, tenant_id, user_id, 'kraken', 'api_key', 'active', '',
       $2::timestamptz, $2::timestamptz, $2::timestamptz, 0
     from access_tokens where token_hash = sha256(convert_to($1, 'UTF8'))`,
    [token, now],
  )
  for (let done = 0; done < size; done += rowsPerInsert) {
    await db.execute(
      `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type,
         category, pending, staked_legs, provider_id, group_key, document)
       select t.user_key, md5($1 || n::text)::uuid, timestamptz '2026-01-01Z' - n * interval '1 minute', n,
         $5::timestamptz, 1, t.tenant_key, 'send', 'withdrawal', false, 0, 'kraken', n::text, $4
       from access_tokens t, generate_series($2::int + 1, $3::int) n where t.token_hash = sha256(convert_to($1, 'UTF8'))`,
      [token, done, Math.min(done + rowsPerInsert, size), JSON.stringify(document).slice(1), now],
    )
  }
}

async function findAddress(api: ChildProcess): Promise<string> {
  let said = ''
  api.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  return until('the address of the API', async () => /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0])
}

async function exportSlowly(url: string, token: string): Promise<{ lines: number; bytes: number }> {
  // Not fetch, which asks for gzip and reads ahead.
  const request = get(url, { headers: { authorization: `Bearer ${token}` } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode ?? 'no status'}`)
  let [lines, bytes, rested] = [0, 0, 0]
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    for (const byte of chunk) if (byte === 0x0a) lines += 1
    if (bytes - rested < restEveryBytes) continue
    rested = bytes
    await delay(restMs)
  }
  return { lines, bytes }
}

async function readPeakMiB({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${String(pid)}/status`, 'utf8')
  const kiB = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]
  if (kiB === undefined) throw new Error('the kernel does not tell how much memory was used')
  return Math.round(Number(kiB) / 1024)
}

const grownMax = 1.15

/** True when the larger export took at most some percent more memory than the smaller. */
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
    const [small, large] = await measureExports(service, [Number(values.small), Number(values.large)])
    if (small === undefined || large === undefined) throw new Error('two sizes were measured')
    for (const { csv, megabytes, peakMiB } of [small, large])
      process.stdout.write(`${csv} rows twice, ${megabytes} MB: ${peakMiB} MiB at most\n`)
    const grown = Math.round((100 * large.peakMiB) / small.peakMiB) / 100
    process.stdout.write(`${grown} times as much; ${grownMax} is the most that passes\n`)
    const whole = [small, large].every(({ csv, ndjson }) => csv === ndjson) && large.csv === Number(values.large)
    return whole && grown <= grownMax
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}
