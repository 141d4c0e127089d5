/**
 * `npm run campaign -- cluster --database-url postgres://…`: the whole service on a Citus cluster. The address is that of
 * any database on the coordinator; the campaign makes databases of its own on every node, and drops them.
 *
 * - `command`: `assay cluster distribute` on an empty database, in every state that it has an answer for.
 * - `tests`: tests of the suite that meet the whole service, the feed's property test among them, each on a distributed
 *   database.
 * - `nodes`: users connect, are read and removed while one worker after the other is killed (kill -9 of its postmaster) and
 *   started again. What is served in the end equals what one node serves. It needs the data directories of the workers on
 *   this machine (`--worker-data`, once for each) and how to start one (`--start-command`, with {} for the directory).
 *
 * `--only <part>` runs one of them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { run as runCli } from '../../apps/cli/src/test-cli.ts'
import { testKeyTexts } from '../../apps/server/src/test-keys.ts'
import { connect, fetchJson, walk, type Page } from '../application.ts'
import { createClusterDatabase, openUrl } from '../cluster/cluster-database.ts'
import { startTestPostgres } from '../postgres.ts'
import { startTestService, type TestService } from '../service.ts'
import { until } from '../until.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const suite = [
  'test/first-light.test.ts',
  'test/sdk-walk.test.ts',
  'apps/server/src/http/enterprise/enterprise.pg.test.ts',
  'apps/server/src/enterprise/transactions/transactions.pg.test.ts',
  'apps/server/src/enterprise/feed/feed.pg.test.ts',
  'apps/server/src/connections/removal.pg.test.ts',
]

interface Workers {
  directories: readonly string[]
  startCommand: string
}

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      'database-url': { type: 'string' },
      'worker-data': { type: 'string', multiple: true, default: [] },
      'start-command': { type: 'string', default: 'pg_ctl -D {} -w start' },
      only: { type: 'string' },
    },
  })
  const url = values['database-url']
  if (url === undefined) throw new Error('--database-url is needed: a database on the coordinator of a Citus cluster')
  const workers = { directories: values['worker-data'], startCommand: values['start-command'] }
  const parts: Record<string, () => Promise<string[]>> = {
    command: () => checkCommand(url, workers),
    tests: () => runSuite(url),
    nodes: () => killNodes(url, workers),
  }
  const failures: string[] = []
  for (const [name, part] of Object.entries(parts)) {
    if (values.only !== undefined && values.only !== name) continue
    say(`\n${name}`)
    const found = await part()
    for (const failure of found) say(`  ✗ ${failure}`)
    failures.push(...found)
  }
  say(failures.length === 0 ? '\n✓ the cluster does what one node does' : `\n✗ ${failures.length} failures`)
  return failures.length === 0
}

// -------------------------------------------------------------------------------------------------------- the command

interface Told {
  code: number | null
  text: string
}

async function checkCommand(clusterUrl: string, workers: Workers): Promise<string[]> {
  const { url, drop } = await createClusterDatabase(clusterUrl, { isEmpty: true })
  const environment = { DATABASE_URL: url, ...testKeyTexts('test') }
  const assay = async (...of: string[]): Promise<Told> => {
    const { code, out, err } = await runCli(of, environment)
    return { code, text: `${out}${err}` }
  }
  const failures: string[] = []
  const expect = (what: string, { code, text }: Told, wanted: number, said: RegExp): void => {
    const isFine = code === wanted && said.test(text)
    say(`  ${isFine ? '✓' : '✗'} ${what}`)
    if (!isFine) failures.push(`${what}: exit code ${code}, ${text.slice(0, 300)}`)
  }
  const distribute = (...of: string[]): Promise<Told> => assay('cluster', 'distribute', ...of)
  try {
    expect('without a schema', await distribute('--apply'), 1, /has no schema yet\. Run: assay migrate/)
    expect('migrate', await assay('migrate'), 0, /applied 0001_baseline\.sql/)
    const other = openUrl(url)
    await other.rows('select 1')
    expect('while the service runs', await distribute('--apply'), 1, /service is still running: 1 connections/)
    await other.close()
    const [first] = workers.directories
    if (first !== undefined) {
      await killNode(first)
      expect('while a node is away', await distribute('--apply'), 1, /Nodes that do not answer: .*Start them/)
      await startNode(first, workers)
    }
    expect('dry run', await distribute(), 0, /48 tables would be moved\. Nothing was changed/)
    const early = openUrl(url)
    await early.execute("select create_reference_table('tenants')")
    await early.execute("select create_distributed_table('postings', 'transaction_id')")
    await early.close()
    expect(
      'another layout',
      await distribute('--apply'),
      1,
      /postings is distributed by transaction_id; run: select und/,
    )
    const mended = openUrl(url)
    await mended.execute("select undistribute_table('postings')")
    await mended.close()
    expect('half done before', await distribute('--apply'), 0, /47 tables were moved\. Start the service again/)
    expect('once more', await distribute('--apply'), 0, /Every table is where it belongs/)
    expect('migrate afterwards', await assay('migrate'), 0, /schema is up to date/)
    for (const words of [['status'], ['stats', 'verify'], ['ledger', 'replay']]) {
      expect(`assay ${words.join(' ')}`, await assay(...words), 0, /./)
    }
  } finally {
    await drop()
  }
  return failures
}

// ---------------------------------------------------------------------------------------------------------- the suite

async function runSuite(clusterUrl: string): Promise<string[]> {
  const root = path.resolve(import.meta.dirname, '../..')
  const failures: string[] = []
  const calls = [
    ...suite.map((file) => ['--test', file]),
    ['test/campaigns/run.ts', 'feed', '--rounds', '10', '--users', '3'],
  ]
  for (const words of calls) {
    const child = spawn(process.execPath, words, {
      cwd: root,
      env: { ...process.env, ASSAY_TEST_CLUSTER: clusterUrl },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    say(`  ${code === 0 ? '✓' : '✗'} ${words.join(' ')}`)
    if (code !== 0) failures.push(`${words.join(' ')}:\n${said.slice(-3_000)}`)
  }
  return failures
}

// ---------------------------------------------------------------------------------------------------------- the nodes

const userNames = ['ann', 'ben', 'cid']
/** A node that dies more often than a first read takes would leave nothing to compare. */
const [downMaxMs, upMaxMs] = [2_000, 20_000]

async function killNodes(clusterUrl: string, workers: Workers): Promise<string[]> {
  if (workers.directories.length === 0) {
    say('  – left out: --worker-data names no data directory')
    return []
  }
  process.env['ASSAY_TEST_CLUSTER'] = clusterUrl
  const killer = { isOver: false, kills: 0 }
  const served = await withService(async (service) => {
    const killing = keepKilling(workers, killer)
    try {
      return await play(service)
    } finally {
      killer.isOver = true
      await killing
    }
  })
  delete process.env['ASSAY_TEST_CLUSTER']
  const postgres = await startTestPostgres()
  process.env['ASSAY_TEST_POSTGRES'] = postgres.address
  const expected = await playOnOneNode(postgres)
  say(`  ${killer.kills} kills of a worker, ${JSON.stringify(served).length} bytes served to ${userNames.length} users`)
  return userNames.flatMap((user) =>
    isDeepStrictEqual(served.get(user), expected.get(user)) ? [] : [`${user} reads something else than on one node`],
  )
}

async function playOnOneNode(postgres: Awaited<ReturnType<typeof startTestPostgres>>): ReturnType<typeof play> {
  try {
    return await withService(play)
  } finally {
    await postgres.stop()
  }
}

async function withService<T>(work: (service: TestService) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = []
  try {
    // What is logged while a node is away is an error, and expected.
    const logTo = (line: string): void => {
      if (line.includes('request failed')) say(`  ${line.trim().slice(0, 600)}`)
    }
    return await work(await startTestService({ after: (end) => void ends.push(end as () => unknown) }, { logTo }))
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

type Served = Record<string, unknown>

/** Everybody connects and is read; the last removes the account again. Ids are random, so they are left out. */
async function play({ url }: TestService): Promise<Map<string, unknown>> {
  const served = new Map<string, unknown>()
  for (const user of userNames) {
    const token = await retry(`${user} connects`, async () => {
      const { token, authorization } = await connect(url, user, [{ provider_id: 'kraken' }])
      const [added] = authorization.connections
      if (typeof added?.connection_id !== 'string') throw new Error(`no connection: ${JSON.stringify(added?.errors)}`)
      return token
    })
    const list = <T>(what: string, of: string): Promise<T[]> => retry(`${user}: ${what}`, () => walk<T>(url, of, token))
    await until(`${user} is read`, async () => {
      const connections = await list<{ status: string }>('providers', '/accounts/v2/providers')
      return connections.every(({ status }) => status === 'active') ? true : undefined
    })
    const transactions = await list<Served>('transactions', '/accounts/v2/transactions?limit=100')
    const assets = await list<Served>('assets', '/accounts/v2/assets')
    served.set(user, { transactions: transactions.map(withoutIds), assets: assets.map(withoutIds) })
    if (user === userNames.at(-1)) await remove(url, token)
  }
  return served
}

async function remove(url: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  await retry('removal', async () => {
    const response = await fetch(`${url}/accounts/v2/providers?provider_id=kraken`, { method: 'DELETE', headers })
    if (response.status !== 200 && response.status !== 404)
      throw new Error(`${response.status} ${await response.text()}`)
  })
  const left = await retry('what is left', () => fetchJson<Page<unknown>>(url, '/accounts/v2/transactions', token))
  if (left.data.length > 0) throw new Error('a removed account still shows transactions')
}

const drawn = new Set(['id', 'user_id', 'connection_id', 'updated_at', 'fetched_at'])

function withoutIds(served: Served): Served {
  return Object.fromEntries(Object.entries(served).filter(([name]) => !drawn.has(name)))
}

/** While a node is away the API answers 503, and an application comes back. Any other refusal is wrong. */
async function retry<T>(what: string, work: () => Promise<T>): Promise<T> {
  return until(what, async () => {
    try {
      return await work()
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (/\b503 |no connection/.test(message)) return undefined
      throw new Error(`${what}: ${message}`, { cause: error })
    }
  })
}

async function keepKilling(workers: Workers, killer: { isOver: boolean; kills: number }): Promise<void> {
  for (let turn = 0; !killer.isOver; turn += 1) {
    await delay(Math.random() * upMaxMs)
    const directory = workers.directories[turn % workers.directories.length] ?? ''
    await killNode(directory)
    killer.kills += 1
    await delay(Math.random() * downMaxMs)
    await startNode(directory, workers)
  }
}

async function killNode(directory: string): Promise<void> {
  const [pid = ''] = (await readFile(path.join(directory, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGKILL')
  await until(`the end of ${pid}`, () => (isAlive(Number(pid)) ? undefined : true))
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function startNode(directory: string, { startCommand }: Workers): Promise<void> {
  // A postmaster that was killed leaves children, which have to end before another one may start.
  await until(`${directory} starts`, async () => {
    const child = spawn(startCommand.replaceAll('{}', directory), { shell: true, stdio: 'ignore' })
    const [code] = (await once(child, 'close')) as [number | null]
    return code === 0 ? true : undefined
  })
}
