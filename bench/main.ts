/**
 * `npm run bench`: all benchmarks at a size that ends within half an hour. `npm run bench -- pages depth` runs those
 * two; `--full` takes the size of the goals, `--try` a size that only shows that everything runs; `--rounds 9` runs
 * more than five rounds. A benchmark is not a test: a missed goal does not fail the run.
 */
import { parseArgs } from 'node:util'
import { readEnvironment } from '@assay/server/config'
import type { Bench, Benchmark, Size } from './benchmark.ts'
import { assets } from './benchmarks/serving/assets.ts'
import { changes } from './benchmarks/serving/changes.ts'
import { cluster } from './benchmarks/cluster.ts'
import { derive } from './benchmarks/syncing/derive.ts'
import { enterprise } from './benchmarks/serving/enterprise.ts'
import { exchanges } from './benchmarks/syncing/exchanges.ts'
import { growth } from './benchmarks/serving/growth.ts'
import { history } from './benchmarks/serving/history.ts'
import { pages, depth } from './benchmarks/serving/pages.ts'
import { peer } from './benchmarks/serving/peer.ts'
import { proof } from './benchmarks/syncing/proof.ts'
import { start } from './benchmarks/start.ts'
import { storage } from './benchmarks/syncing/storage.ts'
import { sync } from './benchmarks/syncing/sync.ts'
import { token } from './benchmarks/serving/token.ts'
import { widget } from './benchmarks/widget.ts'
import { describeLoad, describeMachine, watchSteal } from './machine.ts'
import { roundsMin } from './measure.ts'
import { CannotRun, ensurePeers } from './prepare.ts'
import { startProgress, toClock, type Progress } from './progress.ts'
import { describeFinding, describeTable } from './report.ts'
import { openPostgres, type Postgres } from './world/postgres.ts'

const benchmarks: readonly Benchmark[] = [
  pages,
  depth,
  assets,
  peer,
  growth,
  enterprise,
  changes,
  token,
  sync,
  exchanges,
  derive,
  history,
  proof,
  storage,
  start,
  widget,
  cluster,
]

const usage = `Usage: npm run bench -- [name …] [--full | --try] [--rounds n]

${benchmarks.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`).join('\n')}`

/** How long one run under load takes. */
const runSeconds: Readonly<Record<Size, number>> = { try: 1, default: 4, full: 8 }

interface Wish {
  chosen: readonly Benchmark[]
  size: Size
  rounds: number
}

function readWish(words: readonly string[]): Wish | undefined {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      full: { type: 'boolean' },
      try: { type: 'boolean' },
      rounds: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) return undefined
  const unknown = positionals.find((name) => !benchmarks.some((one) => one.name === name))
  if (unknown !== undefined) throw new CannotRun(`Unknown benchmark ${JSON.stringify(unknown)}.\n\n${usage}`)
  const rounds = Number(values.rounds ?? roundsMin)
  if (!Number.isInteger(rounds) || rounds < roundsMin) {
    throw new CannotRun(
      `--rounds must be a whole number of at least ${roundsMin}: fewer rounds prove nothing on a shared machine.`,
    )
  }
  const chosen = benchmarks.filter(({ name, onlyByName = false }) =>
    positionals.length === 0 ? !onlyByName : positionals.includes(name),
  )
  const size = values.full === true ? 'full' : values.try === true ? 'try' : 'default'
  return { chosen, size, rounds }
}

async function runAll(wish: Wish): Promise<void> {
  const { chosen, size, rounds } = wish
  const progress = startProgress(process.stderr)
  let postgres: Promise<Postgres> | undefined
  const undos: (() => Promise<void>)[] = []
  const endAll = async (): Promise<void> => {
    while (undos.length > 0) await undos.pop()?.()
  }
  const stop = async (): Promise<void> => {
    progress.stop()
    await endAll()
    await (await postgres)?.stop()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop().finally(() => process.exit(130)))
  console.log(`${describeMachine()}; ${describeLoad()}; ${new Date().toISOString().slice(0, 16)}Z`)
  const began = performance.now()
  try {
    for (const benchmark of chosen) {
      const say = (text: string): void => progress.say(`${benchmark.name}: ${text}`)
      const bench: Bench = {
        size,
        rounds,
        seconds: runSeconds[size],
        say,
        postgres: () => (postgres ??= openPostgres(readEnvironment()['DATABASE_URL'])),
        onEnd: (undo) => void undos.push(undo),
      }
      await runOne(benchmark, bench, progress, endAll)
    }
    console.log(`\nAll of it took ${toClock(performance.now() - began)} minutes.`)
  } finally {
    await stop()
  }
}

async function runOne(
  benchmark: Benchmark,
  bench: Bench,
  progress: Progress,
  endAll: () => Promise<void>,
): Promise<void> {
  console.log(`\n${benchmark.name}: ${benchmark.summary}`)
  const began = performance.now()
  const describeSteal = watchSteal()
  bench.say('starting')
  const findings = await benchmark.run(bench)
  bench.say('stopping what it started')
  await endAll()
  progress.clear()
  for (const finding of findings) {
    console.log('rows' in finding ? describeTable(finding) : describeFinding(finding))
  }
  console.log(`  took ${Math.round((performance.now() - began) / 1_000)} s${describeSteal()}`)
}

try {
  const wish = readWish(process.argv.slice(2))
  if (wish === undefined) console.log(usage)
  else {
    ensurePeers()
    await runAll(wish)
  }
} catch (error) {
  // The message of parseArgs about a wrong option is a sentence already.
  const isTold = error instanceof CannotRun || (error instanceof TypeError && 'code' in error)
  if (!isTold) throw error
  console.error(error.message)
  process.exitCode = 1
}
