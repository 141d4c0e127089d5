/**
 * `npm run bench`: all benchmarks at a size that ends within half an hour. `npm run bench -- pages depth` runs those;
 * `--full` takes the size of the goals, `--try` one that proves nothing but that it runs; `--rounds 9` more rounds than
 * five. Not a test: a missed goal fails nothing.
 */
import { parseArgs } from 'node:util'
import { readEnvironment } from '@assay/server/config'
import type { Bench, Benchmark, Size } from './benchmark.ts'
import { assets } from './benchmarks/assets.ts'
import { depth } from './benchmarks/depth.ts'
import { derive } from './benchmarks/derive.ts'
import { enterprise } from './benchmarks/enterprise.ts'
import { growth } from './benchmarks/growth.ts'
import { pages } from './benchmarks/pages.ts'
import { peer } from './benchmarks/peer.ts'
import { start } from './benchmarks/start.ts'
import { sync } from './benchmarks/sync.ts'
import { token } from './benchmarks/token.ts'
import { widget } from './benchmarks/widget.ts'
import { describeLoad, describeMachine, watchSteal } from './machine.ts'
import { roundsMin } from './measure.ts'
import { CannotRun, ensurePeers } from './prepare.ts'
import { describeFinding } from './report.ts'
import { openPostgres, type Postgres } from './world/postgres.ts'

const benchmarks: readonly Benchmark[] = [
  pages,
  depth,
  assets,
  peer,
  growth,
  enterprise,
  token,
  sync,
  derive,
  start,
  widget,
]

const usage = `usage: npm run bench -- [name …] [--full | --try] [--rounds n]

${benchmarks.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`).join('\n')}`

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
  if (unknown !== undefined) throw new CannotRun(`There is no benchmark ${JSON.stringify(unknown)}.\n\n${usage}`)
  const rounds = Number(values.rounds ?? roundsMin)
  if (!Number.isInteger(rounds) || rounds < roundsMin) {
    throw new CannotRun(`--rounds must be a whole number from ${roundsMin}: fewer say nothing on a shared machine.`)
  }
  const chosen = positionals.length === 0 ? benchmarks : benchmarks.filter(({ name }) => positionals.includes(name))
  const size = values.full === true ? 'full' : values.try === true ? 'try' : 'default'
  return { chosen, size, rounds }
}

/** On a terminal one line that changes; into a file nothing but findings. */
function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K… ${text}`)
}

async function runAll({ chosen, size, rounds }: Wish): Promise<void> {
  let postgres: Promise<Postgres> | undefined
  const undos: (() => Promise<void>)[] = []
  const endAll = async (): Promise<void> => {
    while (undos.length > 0) await undos.pop()?.()
  }
  const stop = async (): Promise<void> => {
    await endAll()
    await (await postgres)?.stop()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop().finally(() => process.exit(130)))
  console.log(`${describeMachine()}; ${describeLoad()}; ${new Date().toISOString().slice(0, 16)}Z`)
  try {
    for (const benchmark of chosen) {
      console.log(`\n${benchmark.name}: ${benchmark.summary}`)
      const bench: Bench = {
        size,
        rounds,
        seconds: size === 'try' ? 1 : 8,
        say: (text) => say(`${benchmark.name}: ${text}`),
        postgres: () => (postgres ??= openPostgres(readEnvironment()['DATABASE_URL'], say)),
        onEnd: (undo) => void undos.push(undo),
      }
      const began = performance.now()
      const describeSteal = watchSteal()
      const findings = await benchmark.run(bench)
      await endAll()
      say('')
      for (const finding of findings) console.log(describeFinding(finding))
      console.log(`  took ${Math.round((performance.now() - began) / 1_000)} s${describeSteal()}`)
    }
  } finally {
    await stop()
  }
}

try {
  const wish = readWish(process.argv.slice(2))
  if (wish === undefined) console.log(usage)
  else {
    ensurePeers()
    await runAll(wish)
  }
} catch (error) {
  // What parseArgs says of a wrong option is a sentence already.
  const isTold = error instanceof CannotRun || (error instanceof TypeError && 'code' in error)
  if (!isTold) throw error
  console.error(error.message)
  process.exitCode = 1
}
