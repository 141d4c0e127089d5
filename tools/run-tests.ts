/**
 * `npm test`: every test of the project against one PostgreSQL that is started here, in as few processes as
 * `plan-tests.ts` allows. The last line is `N passed, N failed`. `npm test -- path …` runs only the files whose path
 * contains one of the words.
 *
 * It first checks what the machine must have: as root on Debian it installs missing packages, otherwise it names the
 * command to run, so that a missing program does not cost ten minutes of waiting.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { run } from 'node:test'
import { browserPrograms } from '../test/widget/browser.ts'
import { startTestPostgres } from '../test/postgres.ts'
import { fileTimeoutMs, planTests } from './plan-tests.ts'
import { createTestReport, type TestReport } from './report-tests.ts'

const testProcess = path.resolve(import.meta.dirname, 'test-process.ts')
const testContext = path.resolve(import.meta.dirname, 'test-context.ts')
/**
 * Two more than there are processors: a test that waits for a database, a browser or a budget leaves its processor
 * idle.
 */
const processesMax = availableParallelism() + 2

const debianPackages = [
  { package: 'chromium-headless-shell', files: browserPrograms, why: 'the browser tests' },
  { package: 'pgbouncer', files: ['/usr/sbin/pgbouncer'], why: 'the test of a transaction pooler' },
  { package: 'curl', files: ['/usr/bin/curl'], why: "the README's walk-through" },
]

function ensureMachine(): void {
  const major = Number(process.versions.node.split('.')[0])
  if (major < 24) stop(`Tests run on Node 24, this is ${process.version}. Start them with \`npm test\`.`)

  const missing = debianPackages.filter(({ files }) => !files.some((file) => existsSync(file)))
  if (missing.length === 0) return
  const names = missing.map((item) => item.package)
  const command = `apt-get install -y --no-install-recommends ${names.join(' ')}`
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    const why = missing.map((item) => `${item.package} for ${item.why}`).join(', ')
    stop(`Missing on this machine: ${why}. Install with:\n  sudo ${command}`)
  }
  console.log(`Installing ${names.join(' and ')} from Debian …`)
  for (const step of ['apt-get update -qq', `${command} -qq`]) {
    const [program = '', ...words] = step.split(' ')
    const done = spawnSync(program, words, { stdio: ['ignore', 'ignore', 'inherit'] })
    if (done.status !== 0) stop(`\`${step}\` failed. Install ${names.join(' and ')} by hand and run the tests again.`)
  }
}

function stop(message: string): never {
  console.error(message)
  console.log('0 passed, 1 failed')
  process.exit(1)
}

function findTestFiles(words: readonly string[]): string[] {
  const files = ['packages', 'apps', 'test', 'tools']
    .flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { exclude: (name) => name === 'node_modules' }))
    .filter((file) => !file.includes('node_modules'))
  const wanted = words.length === 0 ? files : files.filter((file) => words.some((word) => file.includes(word)))
  if (wanted.length === 0) stop(`No test file matches ${words.join(' ')}.`)
  return wanted
}

/** The files behind a crash run in a further process. */
async function runProcess(report: TestReport, files: readonly string[]): Promise<void> {
  const timeout = fileTimeoutMs * files.length
  const stream = run({ files: [testProcess], argv: files, execArgv: ['--import', testContext], timeout })
  const left = await report.follow(stream, files)
  if (left.length > 0) await runProcess(report, left)
}

ensureMachine()
const files = findTestFiles(process.argv.slice(2))
const queue = planTests(files)
const report = createTestReport(files.length)
const postgres = await startTestPostgres()
process.env['ASSAY_TEST_POSTGRES'] = postgres.address
// Modules load in half the time, also in the processes that tests start: the command line has its compile cache there.
const compileCache = path.resolve('node_modules/.cache/assay')
mkdirSync(compileCache, { recursive: true, mode: 0o700 })
process.env['NODE_COMPILE_CACHE'] = compileCache
try {
  const workOff = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await runProcess(report, next)
  }
  await Promise.all(Array.from({ length: processesMax }, workOff))
  const { passed, failed, skipped } = report.conclude()
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
} finally {
  await postgres.stop()
}
