/** Turns node:test's events into one line a file while they run, the failures in full, and the three counts. */
import type { TestsStream } from 'node:test'
import { finished } from 'node:stream/promises'
import { inspect } from 'node:util'
import path from 'node:path'

export interface TestCounts {
  passed: number
  failed: number
  skipped: number
}

interface FileResult extends TestCounts {
  durationMs: number
}

export async function reportTests(stream: TestsStream, filesTotal: number): Promise<TestCounts> {
  const byFile = new Map<string, FileResult>()
  const failures: string[] = []
  let filesDone = 0

  const resultOf = (file: string | undefined): FileResult => {
    const name = file === undefined ? '(unknown file)' : path.relative('.', file)
    const known = byFile.get(name) ?? { passed: 0, failed: 0, skipped: 0, durationMs: 0 }
    byFile.set(name, known)
    return known
  }

  stream.on('test:pass', (event) => {
    // A suite passes with its tests; counting it too would count everything twice.
    if (event.details.type === 'suite') return
    const result = resultOf(event.file)
    if (event.skip !== undefined || event.todo !== undefined) result.skipped += 1
    else result.passed += 1
  })
  stream.on('test:fail', (event) => {
    const error: Error & { failureType?: string } = event.details.error
    // A parent fails because a child did; the child has been reported.
    if (error.failureType === 'subtestsFailed') return
    resultOf(event.file).failed += 1
    const place = event.file === undefined ? '' : ` (${path.relative('.', event.file)}:${event.line ?? 0})`
    failures.push(`✗ ${event.name}${place}\n${inspect(error.cause ?? error)}`)
    console.log(failures.at(-1))
  })
  stream.on('test:stderr', (event) => process.stderr.write(event.message))
  stream.on('test:summary', (event) => {
    if (event.file === undefined) return
    filesDone += 1
    const result = resultOf(event.file)
    const verdict = result.failed > 0 ? `${result.failed} FAILED` : `${result.passed} passed`
    const seconds = Math.round(event.duration_ms / 100) / 10
    console.log(`[${filesDone}/${filesTotal}] ${path.relative('.', event.file)}: ${verdict}, ${seconds} s`)
  })

  // The listeners above do the work; reading the stream is what makes it flow.
  stream.resume()
  await finished(stream)
  if (failures.length > 0) console.log(`\nAll failures again:\n\n${failures.join('\n\n')}\n`)
  const counts: TestCounts = { passed: 0, failed: 0, skipped: 0 }
  for (const result of byFile.values()) {
    counts.passed += result.passed
    counts.failed += result.failed
    counts.skipped += result.skipped
  }
  return counts
}
