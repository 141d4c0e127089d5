/**
 * changes: a first copy of a long history through the feed of changes, against walking the list, by the same client,
 * which keeps what it reads. Then what a poll that finds nothing costs, and whether a copy that is kept while a worker
 * reads a new account equals the list in the end.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, Benchmark, Finding } from '../../benchmark.ts'
import { compare, measure } from '../../measure.ts'
import { startApi, underLoad } from '../../world/api.ts'
import { startInstallation } from '../../world/installation.ts'
import { accessTokenOf } from '../../world/people.ts'
import { openPopulation } from '../../world/population.ts'
import { checkSameCopy, startReader } from '../../world/measuring/reader.ts'
import { startWire } from '../../world/measuring/wire.ts'

const user = 1
/** Enough that the process's own background statements hardly count. */
const pollsPerRun = 500
const pollEveryMs = 250

export const changes: Benchmark = {
  name: 'changes',
  summary: 'a first copy through the feed against walking the list, polls that find nothing, a copy during a sync',
  async run(bench) {
    const transactionsEach = bench.size === 'try' ? 2_000 : 100_000
    const { url } = await openPopulation(bench, { users: 1, transactionsEach, positionsEach: 0 })
    return [await compareCopies(bench, url, transactionsEach), await measurePolls(bench, url), await keepCopy(bench)]
  },
}

async function compareCopies(bench: Bench, databaseUrl: string, transactions: number): Promise<Finding> {
  const api = await startApi(underLoad(databaseUrl))
  bench.onEnd(() => api.stop())
  const copyBy = async (way: 'follow' | 'walkList'): Promise<number> => {
    const reader = startReader(api.url, accessTokenOf(user))
    const began = performance.now()
    await reader[way]()
    const seconds = (performance.now() - began) / 1_000
    reader.stop()
    if (reader.copy.size !== transactions) throw new Error(`the copy has ${reader.copy.size} of ${transactions}`)
    return seconds
  }
  const measured = await compare(
    { name: 'feed', run: () => copyBy('follow') },
    { name: 'list', run: () => copyBy('walkList') },
    bench,
  )
  const title = `First copy of ${transactions} transactions, by one client`
  return { title, unit: 's', measured, goal: { atMost: 1.2 }, notes: [] }
}

async function measurePolls(bench: Bench, databaseUrl: string): Promise<Finding> {
  const wire = await startWire(databaseUrl)
  bench.onEnd(() => wire.stop())
  const api = await startApi(underLoad(wire.url))
  bench.onEnd(() => api.stop())
  const reader = startReader(api.url, accessTokenOf(user))
  bench.onEnd(async () => reader.stop())
  await reader.follow()
  const run = async (): Promise<number> => {
    const before = wire.count()
    for (let poll = 0; poll < pollsPerRun; poll += 1) await reader.follow()
    return (wire.count() - before) / pollsPerRun
  }
  const measured = await measure({ name: 'one poll', run }, bench)
  return {
    title: 'Statements of a poll that finds nothing, including the process’s own background statements',
    unit: 'statements',
    measured,
    goal: { atMost: 1.05 },
    notes: [],
  }
}

async function keepCopy(bench: Bench): Promise<Finding> {
  const postgres = await bench.postgres()
  const installation = await startInstallation(await postgres.newDatabase('bench_changes'), bench.say)
  bench.onEnd(() => installation.stop())
  const worker = await installation.startWorker()
  bench.onEnd(() => worker.stop())
  const { sandbox } = installation
  const token = await installation.newToken('copied')
  const follower = startReader(installation.url, token)
  bench.onEnd(async () => follower.stop())

  const account = await sandbox.newAccount(bench.size === 'try' ? 'default' : 'large_tenth')
  let isReading = true
  const reading = installation.connect(token, account).finally(() => (isReading = false))
  const pollsMs: number[] = []
  while (isReading) {
    const began = performance.now()
    await follower.follow()
    pollsMs.push(performance.now() - began)
    await delay(pollEveryMs)
  }
  await reading
  await follower.follow()
  const lister = startReader(installation.url, token)
  await lister.walkList()
  lister.stop()
  checkSameCopy(follower.copy, lister.copy)
  return {
    title: `A copy of ${follower.copy.size} transactions, kept while a worker read them; it equals the list in the end`,
    unit: 'ms a poll, with all its pages',
    measured: { name: 'polls', values: pollsMs },
    goal: undefined,
    notes: [],
  }
}
