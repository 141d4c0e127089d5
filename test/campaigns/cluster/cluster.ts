/**
 * `npm run campaign -- cluster`: the whole service on a Citus cluster. It starts a cluster of its own
 * (test/cluster/citus.ts says what that needs), or uses the one of `--database-url`, the address of any database on the
 * coordinator. The campaign makes databases of its own on every node, and drops them.
 *
 * - `command`: `assay cluster distribute` on an empty database, in every state that it has an answer for.
 * - `tests`: tests of the suite that meet the whole service, the feed's property test among them, each on a distributed
 *   database.
 * - `nodes`: the nodes of the cluster are killed under a service that works (cluster-nodes.ts).
 * - `walk`: and under a walk of the SDK over a long history (cluster-walk.ts).
 *
 * The last two are left out on a cluster that was given: its nodes are not ours to kill.
 *
 * `--only <part>` runs one of them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { run as runCli } from '../../../apps/cli/src/test-cli.ts'
import { testKeyTexts } from '../../../apps/server/src/test-keys.ts'
import { startCitus, type Citus } from '../../cluster/citus.ts'
import { createClusterDatabase, openUrl } from '../../cluster/cluster-database.ts'
import { killNodes } from './cluster-nodes.ts'
import { walkWhileKilling } from './cluster-walk.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const suite = [
  'test/data/first-light.test.ts',
  'test/data/sdk-walk.test.ts',
  'apps/server/src/http/enterprise/enterprise.pg.test.ts',
  'apps/server/src/enterprise/transactions/transactions.pg.test.ts',
  'apps/server/src/enterprise/feed/feed.pg.test.ts',
  'apps/server/src/connections/removal.pg.test.ts',
  'apps/server/src/ledger/balances-store.pg.test.ts',
]

/** Workers of the cluster that the campaign starts. */
const workerCount = 2

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      'database-url': { type: 'string' },
      only: { type: 'string' },
      kills: { type: 'string', default: '12' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  })
  const given = values['database-url']
  // Only processes are killed, so nothing here has to wait for the disk.
  const citus = given === undefined ? await startCitus({ workers: workerCount, settings: { fsync: 'off' } }) : undefined
  const url = citus?.url ?? given ?? ''
  const nodes = { kills: Number(values.kills), seed: Number(values.seed), say }
  const parts: Record<string, () => Promise<string[]>> = {
    command: () => checkCommand(url, citus),
    tests: () => runSuite(url),
    nodes: () => (citus === undefined ? leaveOut() : killNodes(citus, nodes)),
    walk: () => (citus === undefined ? leaveOut() : walkWhileKilling(citus, nodes)),
  }
  const failures: string[] = []
  try {
    for (const [name, part] of Object.entries(parts)) {
      if (values.only !== undefined && values.only !== name) continue
      say(`\n${name}`)
      const found = await part()
      for (const failure of found) say(`  ✗ ${failure}`)
      failures.push(...found)
    }
  } finally {
    await citus?.stop()
  }
  say(failures.length === 0 ? '\n✓ the cluster does what one node does' : `\n✗ ${failures.length} failures`)
  return failures.length === 0
}

function leaveOut(): Promise<string[]> {
  say('  – left out: the nodes of --database-url are not killed')
  return Promise.resolve([])
}

// -------------------------------------------------------------------------------------------------------- the command

interface Told {
  code: number | null
  text: string
}

async function checkCommand(clusterUrl: string, citus: Citus | undefined): Promise<string[]> {
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
    const first = citus?.workers[0]
    if (first !== undefined) {
      await first.kill()
      expect('while a node is away', await distribute('--apply'), 1, /Nodes that do not answer: .*Start them/)
      await first.start()
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
  const root = path.resolve(import.meta.dirname, '../../..')
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
