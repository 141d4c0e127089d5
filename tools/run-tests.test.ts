/** `npm test` itself, over files made for this test: a failure in one file is counted and named, and hides no other. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { alone, planTests } from './plan-tests.ts'

const program = path.resolve(import.meta.dirname, 'run-tests.ts')

/** All of one workspace, so that they share a process. */
const files = {
  'a-hooks.test.ts': `
    let [before, each] = [0, 0]
    test.before(() => { before += 1 })
    test.beforeEach(() => { each += 1 })
    test('one', () => assert.deepEqual([before, each], [1, 1]))
    test('two', () => assert.deepEqual([before, each], [1, 2]))`,
  'b-fails.test.ts': `
    test('is well', () => undefined)
    test('is wrong', () => assert.equal(1, 2))
    test('is not run', { skip: true }, () => assert.fail())`,
  'c-does-not-load.test.ts': `throw new Error('broken on purpose')`,
  'd-crashes.test.ts': `
    test('crashes', () => process.kill(process.pid, 'SIGKILL'))`,
  'e-exits.test.ts': `test('leaves as if all were well', () => process.exit(0))`,
  'f-after-both.test.ts': `
    test('has hooks of no other file', () => undefined)
    test('is run all the same', () => undefined)`,
  'g-fails-later.test.ts': `
    const forever = () => new Promise(() => undefined)
    test.describe('an asynchronous suite', async () => {
      await Promise.resolve()
      test('throws in a timer', async () => {
        await Promise.resolve()
        setTimeout(() => { throw new Error('thrown on purpose') })
        await forever()
      })
      test('forgets a promise', async () => {
        await Promise.resolve()
        void Promise.reject(new Error('rejected on purpose'))
        await forever()
      })
    })`,
  'h-promises.test.ts': `
    const { executionAsyncResource } = await import('node:async_hooks')
    test('are not followed, which takes long', async () => {
      await Promise.resolve()
      assert.ok(!(executionAsyncResource() instanceof Promise))
    })`,
}

async function runTests(folder: string, ...words: string[]): Promise<{ code: number | null; output: string }> {
  // With this variable, node:test would take the run for a part of this test's own.
  const env = { ...process.env }
  delete env['NODE_TEST_CONTEXT']
  const child = spawn(process.execPath, [program, ...words], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close') as Promise<[number | null]>
  const [output, [code]] = await Promise.all([text(child.stdout), closed])
  return { code, output }
}

describe('the plan of a run', () => {
  const all = globSync('{packages,apps,test,tools}/**/*.test.ts', { exclude: (name) => name === 'node_modules' })

  it('has every file once', () => {
    assert.ok(all.length > 300)
    assert.deepEqual(planTests(all).flat().toSorted(), all.toSorted())
  })

  it('gives a process of its own to each file that changes its process, measures it, or takes long', () => {
    const processes = planTests(all).filter((files) => files.some((file) => Object.hasOwn(alone, file)))
    assert.deepEqual(processes.flat().toSorted(), Object.keys(alone).toSorted())
    assert.equal(processes.length, Object.keys(alone).length)
  })

  it('starts with the files that take longest', () => {
    const [first = []] = planTests(all)
    assert.ok(first.every((file) => Object.hasOwn(alone, file)))
  })

  it('ends with the files that take least: those without a database, a browser or a chain', () => {
    const isQuick = (file: string): boolean =>
      !file.endsWith('.pg.test.ts') && !/^(test|packages\/sandbox)\//.test(file)
    const quick = planTests(all).findIndex((files) => files.every(isQuick))
    const rest = planTests(all).slice(quick).flat()
    assert.ok(rest.length > 50 && rest.every(isQuick), rest.join(' '))
  })
})

describe('npm test', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'assay-run-tests-'))
    await mkdir(path.join(folder, 'packages/one'), { recursive: true })
    const head = "import assert from 'node:assert/strict'\nimport test from 'node:test'\n"
    for (const [name, body] of Object.entries(files)) {
      await writeFile(path.join(folder, 'packages/one', name), head + body)
    }
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('counts and names every failure, a crash and an early exit among them, and runs every other file', async () => {
    const { code, output } = await runTests(folder)
    assert.equal(code, 1)
    const lines = output.trimEnd().split('\n')
    const ends = lines.flatMap((line) => /^\[\d+\/8\] packages\/one\/(\S+: .+), [\d.]+ s$/.exec(line)?.[1] ?? [])
    assert.deepEqual(ends.toSorted(), [
      'a-hooks.test.ts: 2 passed',
      'b-fails.test.ts: 1 FAILED',
      'c-does-not-load.test.ts: 1 FAILED',
      'd-crashes.test.ts: 1 FAILED',
      'e-exits.test.ts: 1 FAILED',
      'f-after-both.test.ts: 2 passed',
      'g-fails-later.test.ts: 2 FAILED',
      'h-promises.test.ts: 1 passed',
    ])
    const again = output.slice(output.indexOf('All failures again'))
    for (const words of [
      /✗ is wrong \(packages\/one\/b-fails\.test\.ts:\d+\)/,
      /✗ .*c-does-not-load\.test\.ts.*\n.*broken on purpose/,
      /✗ the test process ended before this file \(packages\/one\/d-crashes\.test\.ts\)/,
      /✗ the test process ended before this file \(packages\/one\/e-exits\.test\.ts\)/,
      /✗ throws in a timer \(packages\/one\/g-fails-later\.test\.ts:\d+\)\n.*thrown on purpose/,
      /✗ forgets a promise \(packages\/one\/g-fails-later\.test\.ts:\d+\)\n.*rejected on purpose/,
    ]) {
      assert.match(again, words)
    }
    assert.equal(lines.at(-1), '6 passed, 6 failed, 1 skipped')
  })

  it('runs the files whose path has one of the words', async () => {
    const { code, output } = await runTests(folder, 'hooks', 'after-both')
    assert.match(output, /^4 passed, 0 failed$/m)
    assert.doesNotMatch(output, /fails|crashes/)
    assert.equal(code, 0)
  })
})
