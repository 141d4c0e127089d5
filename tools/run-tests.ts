/**
 * `npm test`: every test of the project, in a fresh process for each file, against one PostgreSQL that is started here.
 * The last line is `N passed, N failed`. `npm test -- path …` runs only the files whose path contains one of the words.
 *
 * What the machine must have is looked for first: as root on Debian it is installed, otherwise the command to run is
 * named, so that nobody waits ten minutes for a failure that could be told at once.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { run } from 'node:test'
import { startTestPostgres } from '../test/postgres.ts'
import { reportTests } from './report-tests.ts'

/** For a file that hangs. One that passes takes a minute, and ten where four others want the same processor. */
const fileTimeoutMs = 1_800_000

const debianPackages = [
  { package: 'chromium', file: '/usr/bin/chromium', why: 'the browser tests' },
  { package: 'pgbouncer', file: '/usr/sbin/pgbouncer', why: 'the test of a transaction pooler' },
  { package: 'curl', file: '/usr/bin/curl', why: "the README's walk-through" },
]

function ensureMachine(): void {
  const major = Number(process.versions.node.split('.')[0])
  if (major < 24) stop(`Tests run on Node 24, this is ${process.version}. Start them with \`npm test\`.`)

  const missing = debianPackages.filter(({ file }) => !existsSync(file))
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
  // Those with a database or a browser take longest: begun first, they do not end last.
  return wanted.toSorted((a, b) => weight(b) - weight(a) || (a < b ? -1 : 1))
}

function weight(file: string): number {
  if (file.startsWith('test/')) return 2
  return file.endsWith('.pg.test.ts') ? 1 : 0
}

ensureMachine()
const files = findTestFiles(process.argv.slice(2))
const postgres = await startTestPostgres()
process.env['ASSAY_TEST_POSTGRES'] = postgres.address
try {
  const result = await reportTests(run({ files, concurrency: 2, timeout: fileTimeoutMs }), files.length)
  console.log(
    `${result.passed} passed, ${result.failed} failed${result.skipped > 0 ? `, ${result.skipped} skipped` : ''}`,
  )
  process.exitCode = result.failed === 0 && result.passed > 0 ? 0 : 1
} finally {
  await postgres.stop()
}
