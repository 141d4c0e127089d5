/**
 * `npm run check`: types, lint, format, unused code, import boundaries, licences and the lockfile. All of them run, two
 * at a time and the longest first; the verdict follows. The output of a check is printed in one piece when it has
 * ended.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const checks = [
  { name: 'types and lint', command: ['npm', 'run', '--silent', 'lint'] },
  { name: 'unused code', command: ['knip'] },
  { name: 'import boundaries', command: ['node', '--test', '--test-reporter=dot', 'test/boundaries.test.ts'] },
  { name: 'format', command: ['oxfmt', '--check'] },
  { name: 'licences', command: ['node', 'tools/check-licences.ts'] },
  { name: 'lockfile', command: ['node', 'tools/strip-engines.ts', '--check'] },
]
const atOnce = 2

const failed: string[] = []
const queue = checks.values()

async function runChecks(): Promise<void> {
  for (const { name, command } of queue) {
    const [program = '', ...words] = command
    const started = performance.now()
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += part.toString()))
    const [status] = (await once(child, 'close')) as [number | null]
    const seconds = Math.round((performance.now() - started) / 1000)
    if (status !== 0) failed.push(name)
    console.log(`${status === 0 ? '' : said}${status === 0 ? '✓' : '✗'} ${name} (${seconds} s)`)
  }
}

await Promise.all(Array.from({ length: atOnce }, runChecks))
if (failed.length > 0) {
  console.error(`Failed: ${failed.join(', ')}`)
  process.exitCode = 1
}
