/**
 * One process of `npm test`: runs the test files it is called with, one after another.
 *
 * Each file is imported inside its own suite. Its root hooks (`before`, `afterEach`, …) therefore belong to that suite
 * and do not affect other files, which `node --test --test-isolation=none` does not ensure.
 */
import path from 'node:path'
import { describe } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fileTimeoutMs } from './plan-tests.ts'

const lingerMaxMs = 30_000

for (const file of process.argv.slice(2)) {
  await describe(file, { timeout: fileTimeoutMs }, async () => {
    await import(path.resolve(file))
  })
  // Events leave this process between two files at the latest: a crash in one file does not lose the report of another.
  await setImmediate()
}

// The process ends by itself when every test has closed what it opened. Otherwise it names the leak instead of waiting.
setTimeout(() => {
  process.stderr.write(`A test left these open: ${process.getActiveResourcesInfo().join(', ')}\n`)
  process.exit(1)
}, lingerMaxMs).unref()
