/**
 * `npm run campaign -- feed`: copies that are kept through the feeds, of each user through the SDK and of all users of
 * the tenant, while histories are read, connections come and go, keys break and are repaired, sessions are settled,
 * grants end and readers stop in the middle. Whenever nothing is in flight, each copy has to equal its list.
 *
 * With `--cluster` the service runs on a Citus cluster of its own, and in every round a node of it is killed and
 * started again, the coordinator among them. What was answered 503 then may have been done or not; the copies have to
 * be right in both cases.
 *
 * The service runs in this process, so that `--sabotage` can rewrite it before it is loaded: nothing here may import
 * it.
 */
import { parseArgs } from 'node:util'
import { createChance, type Chance } from '../../security/bad-input-values.ts'
import { isSabotage, sabotage, sabotages } from './feed-sabotage.ts'
import type { Action, FeedWorld } from './feed-world.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** How often each action is chosen. */
const weights: Record<Action, number> = {
  book: 6,
  refresh: 3,
  tick: 3,
  'begin session': 3,
  'settle session': 3,
  add: 3,
  remove: 2,
  'break key': 2,
  repair: 3,
  'end grant': 1,
  consent: 3,
  poll: 8,
  'poll tenant': 5,
}
const actions = Object.entries(weights).flatMap(([action, weight]) => Array<Action>(weight).fill(action as Action))
const [atOnceMin, atOnceMax] = [3, 12]
/** This happens in the middle of the campaign and not at its end, so that its consequences are seen too. */
const leapAfter = 0.6

interface FeedReport {
  failures: string[]
  done: Map<Action, number>
  comparisons: number
}

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      rounds: { type: 'string', default: '25' },
      users: { type: 'string', default: '4' },
      sabotage: { type: 'string' },
      cluster: { type: 'boolean', default: false },
    },
  })
  const [seed, rounds, users] = [Number(values.seed), Number(values.rounds), Number(values.users)]
  const began = performance.now()
  say(`feed campaign: ${rounds} rounds, ${users} users, seed ${seed} (--seed ${seed} repeats its choices)`)
  const isSabotaged = values.sabotage === undefined ? () => true : sabotage(toSabotage(values.sabotage))
  // The service is loaded here, after the sabotage.
  const { stopOwnPostgres } = await import('../../postgres.ts')
  const { startTestService } = await import('../../service.ts')
  const { openFeedWorld } = await import('./feed-world.ts')
  const ends: (() => unknown)[] = []
  try {
    const disturb = values.cluster ? await useCluster(ends) : undefined
    // Started by the first database, unless `npm test` has given one.
    ends.push(stopOwnPostgres)
    const settings = { ASSAY_WORKER_CONCURRENCY: '6', ASSAY_LIMIT_CLIENT: '1000000' }
    // Jobs log errors while a node is away, which is expected.
    const quiet = disturb === undefined ? {} : { logTo: () => undefined }
    const scope = { after: (end: unknown) => void ends.push(end as () => unknown) }
    const service = await startTestService(scope, { settings, ...quiet })
    if (!isSabotaged()) throw new Error('the service was loaded before it could be sabotaged')
    const world = await openFeedWorld(service, users, { mayBeAway: disturb !== undefined })
    const { failures, done, comparisons } = await play(world, createChance(seed), rounds, disturb)
    for (const [action, count] of done) say(`  ${action.padEnd(16)}${String(count).padStart(6)}`)
    for (const failure of failures) say(`✗ ${failure}`)
    const { transactions, resets } = world.describe()
    const facts = `seed ${seed}: ${comparisons} comparisons, ${transactions} transactions at the end, ${resets} expired cursors`
    const seconds = Math.round((performance.now() - began) / 1_000)
    say(`${failures.length === 0 ? '✓ every copy equals its list' : '✗ failed'} (${facts}, ${seconds} s)`)
    return failures.length === 0
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

function toSabotage(name: string): keyof typeof sabotages {
  if (isSabotage(name)) return name
  throw new Error(`--sabotage is one of ${Object.keys(sabotages).join(', ')}, not ${name}`)
}

type Disturb = () => Promise<void>

/** For the service that is started next. Each call kills the next node of the cluster and starts it again. */
async function useCluster(ends: (() => unknown)[]): Promise<Disturb> {
  const { startCitus } = await import('../../cluster/citus.ts')
  const citus = await startCitus({ workers: 2, settings: { fsync: 'off' } })
  ends.push(() => citus.stop())
  process.env['ASSAY_TEST_CLUSTER'] = citus.url
  const nodes = [...citus.workers, citus.coordinator]
  let turn = 0
  return async () => {
    const node = nodes[turn++ % nodes.length] ?? citus.coordinator
    await node.kill()
    await node.start()
  }
}

/** Ends at the first difference, because every later one would only repeat it. */
async function play(world: FeedWorld, chance: Chance, rounds: number, disturb?: Disturb): Promise<FeedReport> {
  const report: FeedReport = { failures: [], done: new Map(), comparisons: 0 }
  const act = async (action: Action): Promise<void> => {
    // Its own numbers, so that the choices of one action do not depend on how far another has come.
    const isDone = await world.act(action, createChance(chance(2 ** 30)))
    if (isDone) report.done.set(action, (report.done.get(action) ?? 0) + 1)
  }
  for (let round = 0; round < rounds && report.failures.length === 0; round += 1) {
    if (round === Math.floor(rounds * leapAfter)) await world.leap()
    const chosen = Array.from(
      { length: atOnceMin + chance(atOnceMax - atOnceMin + 1) },
      () => actions[chance(actions.length)] ?? 'poll',
    )
    await Promise.all([...chosen.map(act), disturb?.()])
    report.failures = await world.compare()
    report.comparisons += 1
  }
  return report
}
