/** `npm run check`: types, lint, format, unused code, import boundaries, lockfile. All of them run, then the verdict. */
import { spawnSync } from 'node:child_process'

const checks = [
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'types of the widget', command: ['tsc', '-p', 'packages/connect'] },
  { name: 'lint', command: ['eslint', '.', '--max-warnings', '0'] },
  { name: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'] },
  { name: 'unused code', command: ['knip'] },
  { name: 'import boundaries', command: ['node', '--test', '--test-reporter=dot', 'test/boundaries.test.ts'] },
  { name: 'lockfile', command: ['node', 'tools/strip-engines.ts', '--check'] },
]

const failed: string[] = []
for (const { name, command } of checks) {
  const [program = '', ...words] = command
  const started = performance.now()
  const { status } = spawnSync(program, words, { stdio: 'inherit' })
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(`${status === 0 ? '✓' : '✗'} ${name} (${seconds} s)`)
  if (status !== 0) failed.push(name)
}
if (failed.length > 0) {
  console.error(`Failed: ${failed.join(', ')}`)
  process.exitCode = 1
}
