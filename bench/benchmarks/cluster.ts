/**
 * cluster: what further nodes and further API processes add, on servers that this benchmark starts and removes: one
 * PostgreSQL where nothing is distributed, then Citus clusters of a coordinator, which holds no user's rows, and one,
 * two and three workers. Everything runs on this one machine, so more nodes add more than they cost only where there
 * are processors for them.
 *
 * - pages: random pages of transactions, as in `pages`, from one API process and from two.
 * - commits: pages that a worker process reads from the simulated Kraken for several users at once; each is a
 *   transaction.
 * - derivations: the raw records of these users derived again by one worker process, as in `derive`.
 *
 * Populations are written before the tables are distributed, which moves them, as when an installation grows.
 */
import { startCitus, type Citus } from '../../test/cluster/citus.ts'
import { createClusterDatabase, distributeAll, installSchema, openUrl } from '../../test/cluster/cluster-database.ts'
import { reservePort } from '../../test/reserve-port.ts'
import type { Bench, Benchmark } from '../benchmark.ts'
import { measureAll, median } from '../measure.ts'
import { show } from '../report.ts'
import { startApi, underLoad } from '../world/api.ts'
import { startInstallation, type Installation } from '../world/installation.ts'
import { loadedSide } from '../world/measuring/load.ts'
import { fillPopulation, type Population } from '../world/population.ts'
import type { BenchDatabase } from '../world/postgres.ts'
import { pageRequest, pageSize, randomPages } from '../world/transaction-pages.ts'
import { makeAllDue } from './syncing/derive.ts'

/** No workers: one server. */
const workerCounts = [0, 1, 2, 3]
const requestsTotal = 10_000
/** The number of users. Reading takes too long for more. */
const readingRounds = 3

function populationOf({ size }: Bench): Population {
  return size === 'try'
    ? { users: 20, transactionsEach: 200, positionsEach: 0 }
    : { users: 200, transactionsEach: 1_000, positionsEach: 0 }
}

function accountsOf({ size }: Bench): { users: number; scenario: string } {
  return size === 'try' ? { users: 2, scenario: 'default' } : { users: 6, scenario: 'large_tenth' }
}

export const cluster: Benchmark = {
  name: 'cluster',
  summary: 'pages, commits and derivations on Citus clusters of one, two and three workers',
  onlyByName: true,
  async run(bench) {
    const rows: string[][] = []
    for (const workers of workerCounts) {
      const setup = workers === 0 ? 'one server' : `coordinator and ${workers}`
      const step: Bench = { ...bench, say: (text) => bench.say(`${setup}: ${text}`) }
      step.say('starting the cluster')
      const citus = await startCitus({ workers })
      const undo = once(() => citus.stop())
      bench.onEnd(undo)
      const [one, two] = await measurePages(step, citus)
      const { commits, derivations } = await measureWork(step, citus)
      rows.push([setup, ...[one, two, commits, derivations].map(toCell)])
      await undo()
    }
    const { users, transactionsEach } = populationOf(bench)
    const accounts = accountsOf(bench)
    const header = ['servers', 'pages/s, 1 API process', 'pages/s, 2 API processes', 'commits/s', 'records derived/s']
    const notes = [
      `Pages of ${pageSize} at random depth, ${users} users × ${transactionsEach} transactions.`,
      `Commits are pages of ${accounts.users} accounts (${accounts.scenario}) read at once by one worker process.`,
      'Medians; in brackets the lowest and the highest run. All nodes share this machine.',
    ]
    return [{ title: 'One server, and a coordinator with workers', header, rows, notes }]
  },
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}

function toCell(values: readonly number[]): string {
  return `${show(median(values))} (${show(Math.min(...values))} to ${show(Math.max(...values))})`
}

/** Creates an empty database on every node and removes it afterwards. */
async function withDatabase<T>(citus: Citus, work: (database: BenchDatabase) => Promise<T>): Promise<T> {
  const { url, drop } = await createClusterDatabase(citus.url, { isEmpty: true })
  await installSchema(url)
  const db = openUrl(url)
  try {
    return await work({ db, url })
  } finally {
    await db.close()
    await drop()
  }
}

// ------------------------------------------------------------------------------------------------------------- pages

async function measurePages(bench: Bench, citus: Citus): Promise<[readonly number[], readonly number[]]> {
  const population = populationOf(bench)
  return withDatabase(citus, async ({ db, url }) => {
    await fillPopulation(db, population, bench.say)
    if (citus.workers.length > 0) {
      bench.say('distributing the tables')
      await distributeAll(url)
    }
    bench.say('vacuum and analyze')
    await db.execute('vacuum analyze')
    const requests = randomPages(population.users, requestsTotal).map(pageRequest)
    const ends: (() => unknown)[] = []
    try {
      const port = await reservePort({ after: (end) => void ends.push(end as () => unknown) })
      const one = await startApi(underLoad(url))
      ends.push(() => one.stop())
      const two = await startApi(underLoad(url), { processes: 2, port })
      ends.push(() => two.stop())
      const { seconds } = bench
      const sides = [
        await loadedSide({ name: 'one-process', server: one, requests, seconds }),
        await loadedSide({ name: 'two-processes', server: two, requests, seconds }),
      ] as const
      const [first, second] = await measureAll(sides, bench)
      return [first.values, second.values]
    } finally {
      for (const end of ends.toReversed()) await end()
    }
  })
}

// -------------------------------------------------------------------------------------------- commits and derivations

interface Work {
  commits: number[]
  derivations: number[]
}

async function measureWork(bench: Bench, citus: Citus): Promise<Work> {
  bench.say('making a database for reading')
  return withDatabase(citus, async (database) => {
    if (citus.workers.length > 0) await distributeAll(database.url)
    const installation = await startInstallation(database, bench.say)
    try {
      const worker = await installation.startWorker()
      try {
        return await readAndDerive(bench, database, installation)
      } finally {
        await worker.stop()
      }
    } finally {
      await installation.stop()
    }
  })
}

async function readAndDerive(bench: Bench, { db }: BenchDatabase, installation: Installation): Promise<Work> {
  const { users, scenario } = accountsOf(bench)
  const { sandbox } = installation
  const names = Array.from({ length: users }, (_, number) => `reader ${number}`)
  // The first connection makes the worker load ccxt.
  const first = await installation.newToken('warm up')
  const { connectionId } = await installation.connect(first, await sandbox.newAccount('default'))
  await installation.remove(first, connectionId)
  const work: Work = { commits: [], derivations: [] }
  for (let round = 1; round <= readingRounds; round += 1) {
    bench.say(`reading, round ${round} of ${readingRounds}`)
    const accounts = await Promise.all(names.map(() => sandbox.newAccount(scenario)))
    // Refreshes move the clock, and with it the end of every token, so each step begins with new ones.
    const newTokens = (): Promise<string[]> => Promise.all(names.map((name) => installation.newToken(name)))
    const tokens = await newTokens()
    const read = await Promise.all(
      tokens.map(async (token, place) => installation.connect(token, accounts[place] ?? fail('no account'))),
    )
    const pages = await Promise.all(accounts.map(({ accountId }) => sandbox.countPages(accountId)))
    const readingMs = Math.max(...read.map((one) => one.readingMs))
    work.commits.push(sum(pages) / (readingMs / 1_000))
    bench.say(`deriving, round ${round} of ${readingRounds}`)
    work.derivations.push(await deriveAgain(db, installation, await newTokens()))
    for (const [place, token] of (await newTokens()).entries()) {
      await installation.remove(token, (read[place] ?? fail('not read')).connectionId)
    }
  }
  return work
}

async function deriveAgain(
  db: BenchDatabase['db'],
  installation: Installation,
  tokens: readonly string[],
): Promise<number> {
  const { records } = await db.row<{ records: number }>('select count(*)::int as records from raw_records')
  await db.execute(makeAllDue)
  await db.execute('analyze due_groups')
  const began = performance.now()
  await installation.refresh(...tokens)
  const seconds = (performance.now() - began) / 1_000
  const { left } = await db.row<{ left: number }>('select count(*)::int as left from due_groups')
  if (left > 0) throw new Error(`${left} groups were not derived`)
  return records / seconds
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function fail(message: string): never {
  throw new Error(message)
}
