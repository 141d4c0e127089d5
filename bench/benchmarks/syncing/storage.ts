/**
 * storage: what a trade takes on disk with its two raw records; how the rows of a page are laid out after a first read;
 * what a run that finds nothing new writes; and what upkeep costs when nothing is due. Everything but upkeep's
 * connections was read by the product itself.
 */
import { recordStatements } from '../../../apps/server/src/db/test-statements.ts'
import type { Database } from '../../../apps/server/src/db/index.ts'
import { parseStored, type PayloadOf } from '../../../apps/server/src/jobs/index.ts'
import type { Bench, Benchmark, Finding } from '../../benchmark.ts'
import { measure, median, toComparison } from '../../measure.ts'
import { show } from '../../report.ts'
import { underLoad } from '../../world/api.ts'
import { openEngine } from '../../world/engine.ts'
import { openIdleConnections } from '../../world/idle-connections.ts'
import { startInstallation, type Installation } from '../../world/installation.ts'
import { openLedger } from '../../world/ledger.ts'
import { openPopulation, pagePopulation } from '../../world/population.ts'
import type { BenchDatabase } from '../../world/postgres.ts'
import type { Account } from '../../world/sandbox.ts'
import { findPageLayout, listSizes, subtractSizes } from '../../world/measuring/sizes.ts'
import { pageSize } from '../../world/transaction-pages.ts'

export const storage: Benchmark = {
  name: 'storage',
  summary: 'bytes of a trade, blocks of a page, statements of a run that finds nothing, upkeep with nothing due',
  async run(bench) {
    const postgres = await bench.postgres()
    const database = await postgres.newDatabase('bench_storage')
    const installation = await startInstallation(database, bench.say)
    bench.onEnd(() => installation.stop())
    const { finding, connection } = await measureBytes(bench, database.db, installation)
    return [
      finding,
      await compareLayouts(bench),
      ...(await measureIdleRuns(bench, database, installation, connection)),
      await measureUpkeep(bench),
    ]
  },
}

interface Connection {
  connectionId: string
  account: Account
}

/** A first read of an account that has trades, and a few dozen deposits that pay for them. */
async function measureBytes(
  bench: Bench,
  db: Database,
  { sandbox, ...assay }: Installation,
): Promise<{ finding: Finding; connection: Connection }> {
  const worker = await assay.startWorker()
  try {
    const scenario = bench.size === 'try' ? 'trades_few' : 'trades'
    // After a first account of the same length, tables that are emptied when a run has ended have the room they need.
    await assay.connect(await assay.newToken('first trader'), await sandbox.newAccount(scenario))
    await emptyQueue(db)
    const before = await listSizes(db)
    const { trades: tradesBefore } = await countTrades(db)
    const account = await sandbox.newAccount(scenario)
    const { connectionId } = await assay.connect(await assay.newToken('trader'), account)
    const { trades: tradesAfter } = await countTrades(db)
    const trades = tradesAfter - tradesBefore
    await emptyQueue(db)
    const grown = subtractSizes(await listSizes(db), before)
    const total = grown.reduce((sum, { heapBytes, indexBytes }) => sum + heapBytes + indexBytes, 0)
    const notes = grown
      .toSorted((a, b) => b.heapBytes + b.indexBytes - a.heapBytes - a.indexBytes)
      .filter(({ heapBytes, indexBytes }) => heapBytes + indexBytes >= trades)
      .map(
        ({ name, heapBytes, indexBytes }) =>
          `${name}: ${show(heapBytes / trades)} and ${show(indexBytes / trades)} in indexes`,
      )
    const measured = { name: 'all tables', values: [total / trades] }
    const title = `A trade with its two raw records, on average over ${trades}, vacuumed`
    return {
      finding: { title, unit: 'bytes', measured, goal: { atMost: 3_000 }, notes },
      connection: { connectionId, account },
    }
  } finally {
    await worker.stop()
  }
}

/**
 * The queue of deriving has been worked off. How many free pages its indexes keep for the next account depends on when
 * autovacuum ran, so they say nothing about a trade.
 */
async function emptyQueue(db: Database): Promise<void> {
  const { waiting } = await db.row<{ waiting: number }>('select count(*)::int as waiting from due_groups')
  if (waiting > 0) throw new Error(`${waiting} groups wait to be derived`)
  await db.execute('truncate due_groups')
}

function countTrades(db: Database): Promise<{ trades: number }> {
  return db.row<{ trades: number }>("select count(*)::int as trades from transactions where type = 'input_and_output'")
}

/** The populations of the other benchmarks must be laid out on disk like a real first read, no better and no worse. */
async function compareLayouts(bench: Bench): Promise<Finding> {
  bench.say('looking at how rows lie')
  const rows = pageSize + 1
  const real = await findPageLayout((await openLedger(bench)).db, rows)
  const made = await findPageLayout((await openPopulation(bench, pagePopulation(bench.size))).db, rows)
  const worse = ({ blocks, rowsPerBlock }: typeof real): number => blocks / (rows / rowsPerBlock + 1)
  return {
    title: `Blocks that the ${rows} rows of a page lie in, by the blocks that neighbours need`,
    unit: 'times',
    measured: toComparison(
      { name: 'first read', values: [worse(real)] },
      { name: 'population', values: [worse(made)] },
    ),
    goal: { atMost: 1.1 },
    notes: [
      `${show(real.blocks)} blocks after a real first read (${show(real.rowsPerBlock)} rows fit into one), ${show(made.blocks)} in the population (${show(made.rowsPerBlock)}).`,
    ],
  }
}

const quarterMs = 15 * 60_000

/** A quarter of an hour later, in this process and without a worker: only the run is measured. */
async function measureIdleRuns(
  bench: Bench,
  database: BenchDatabase,
  { sandbox, environment, advanceClock }: Installation,
  { connectionId, account }: Connection,
): Promise<Finding[]> {
  const { db } = database
  const engine = await openEngine(database, environment)
  const walBytes: number[] = []
  const calls: number[] = []
  const run = async (): Promise<number> => {
    await advanceClock(quarterMs)
    await db.clock.refresh()
    // Prices are the same for all connections; another one has requested them minutes ago.
    const assets = await db.rows<{ id: string }>('select id from assets')
    await engine.prices.ensureCurrent(assets.map(({ id }) => id))
    const payload = await takeRun(db, `sync:${connectionId}`)
    const [callsBefore, walBefore] = [await sandbox.countCalls(account.accountId), await findWalPlace(db)]
    const sent = await recordStatements(async () => {
      await db.clock.refresh()
      await engine.sync.runTask(payload, new AbortController().signal)
    })
    walBytes.push(Number(await findWalPlace(db)) - Number(walBefore))
    calls.push((await sandbox.countCalls(account.accountId)) - callsBefore)
    return sent.length
  }
  const measured = await measure({ name: 'one run', run }, bench)
  return [
    {
      title: 'Statements of a run that finds nothing new, with BEGIN and COMMIT',
      unit: 'statements',
      measured,
      goal: { atMost: 15 },
      notes: [`WAL: ${show(median(walBytes.slice(1)))} bytes; calls to the provider: ${show(median(calls.slice(1)))}.`],
    },
  ]
}

async function takeRun(db: Database, key: string): Promise<PayloadOf<'sync'>> {
  const { payload } = await db.row<{ payload: unknown }>(
    'delete from graphile_worker._private_jobs where key = $1 returning payload',
    [key],
  )
  return parseStored('sync', payload)
}

async function findWalPlace(db: Database): Promise<string> {
  const { place } = await db.row<{ place: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as place",
  )
  return place
}

async function measureUpkeep(bench: Bench): Promise<Finding> {
  const count = bench.size === 'try' ? 4_000 : 400_000
  const database = await openIdleConnections(bench, count)
  const engine = await openEngine(database, underLoad(database.url))
  let statements = 0
  const run = async (): Promise<number> => {
    const began = performance.now()
    const sent = await recordStatements(() => engine.upkeep({}, new AbortController().signal))
    statements = sent.length
    return performance.now() - began
  }
  const measured = await measure({ name: 'one round', run }, bench)
  return {
    title: `Upkeep with nothing due, ${count} connections`,
    unit: 'ms',
    measured,
    goal: { atMost: 50 },
    notes: [`${statements} statements.`],
  }
}
