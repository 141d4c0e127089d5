/** Turns node:test's events into one line for each file, the full failures, and the three counts. */
import path from 'node:path'
import { finished } from 'node:stream/promises'
import type { EventData, TestsStream } from 'node:test'
import { inspect } from 'node:util'

export interface TestCounts {
  passed: number
  failed: number
  skipped: number
}

export interface TestReport {
  /**
   * Follows one process of `test-process.ts` that runs `files`. Returns the files that it did not run because of a
   * crash.
   */
  follow(stream: TestsStream, files: readonly string[]): Promise<string[]>
  /** Repeats the failures and returns the sums. */
  conclude(): TestCounts
}

type Failure = Error & { failureType?: string }
type Ended = EventData.TestPass | EventData.TestFail

/** The suite that `test-process.ts` puts around each file. */
const isFile = ({ nesting, details }: Ended): boolean => nesting === 0 && details.type === 'suite'
/**
 * The process itself, which node:test reports as a test when it crashes or exits with a code, unless one of its tests
 * has failed already.
 */
const isProcess = ({ nesting, details }: Ended): boolean => nesting === 0 && details.type !== 'suite'

export function createTestReport(filesTotal: number): TestReport {
  const counts: TestCounts = { passed: 0, failed: 0, skipped: 0 }
  const failures: string[] = []
  let filesDone = 0

  function fail(title: string, place: string, error?: unknown): void {
    counts.failed += 1
    const text = `✗ ${title} (${place})${error === undefined ? '' : `\n${inspect(error)}`}`
    failures.push(text)
    console.log(text)
  }

  function endFile(file: string | undefined, { passed, failed, skipped }: TestCounts, seconds: number): void {
    filesDone += 1
    counts.passed += passed
    counts.skipped += skipped
    const verdict = failed > 0 ? `${failed} FAILED` : `${passed} passed`
    console.log(`[${filesDone}/${filesTotal}] ${file}: ${verdict}, ${Math.round(seconds * 10) / 10} s`)
  }

  async function follow(stream: TestsStream, files: readonly string[]): Promise<string[]> {
    // The files run one after another, so an event belongs to the first of them that has not ended. The event's own
    // `file` does not say it: for a test that a helper defines, that is the helper.
    const unfinished = [...files]
    let current: TestCounts = { passed: 0, failed: 0, skipped: 0 }
    let startedMs = performance.now()
    let processError: Failure | undefined
    const next = (): void => {
      endFile(unfinished.shift(), current, (performance.now() - startedMs) / 1_000)
      current = { passed: 0, failed: 0, skipped: 0 }
      startedMs = performance.now()
    }

    stream.on('test:pass', (event) => {
      if (isFile(event)) return next()
      // A suite passes with its tests; counting it too would count everything twice.
      if (event.details.type === 'suite' || isProcess(event)) return
      if (event.skip !== undefined || event.todo !== undefined) current.skipped += 1
      else current.passed += 1
    })
    stream.on('test:fail', (event) => {
      const error: Failure = event.details.error
      if (isProcess(event)) return void (processError = error)
      // A parent fails because a child did; the child has been reported.
      if (error.failureType !== 'subtestsFailed') {
        current.failed += 1
        fail(event.name, toPlace(event, unfinished[0]), error.cause ?? error)
      }
      if (isFile(event)) next()
    })
    stream.on('test:stderr', (event) => process.stderr.write(event.message))

    // The listeners above do the work; reading the stream is what makes it flow.
    stream.resume()
    await finished(stream)
    const endedIn = unfinished[0]
    if (endedIn !== undefined) {
      current.failed += 1
      fail('the test process ended before this file', endedIn, processError)
      next()
    } else if (processError !== undefined) {
      fail('the test process failed after its last test', files.join(', '), processError)
    }
    return unfinished
  }

  return {
    follow,
    conclude() {
      if (failures.length > 0) console.log(`\nAll failures again:\n\n${failures.join('\n\n')}\n`)
      return counts
    },
  }
}

function toPlace({ file, line }: Ended, testFile: string | undefined): string {
  const place = file === undefined ? '' : `${path.relative('.', file)}:${line ?? 0}`
  return testFile === undefined || place.startsWith(`${testFile}:`) ? place : `${testFile}, at ${place}`
}
