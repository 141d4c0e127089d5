/** A service in this process on a distributed database, for the parts of the campaign `cluster` that kill nodes. */
import { mock } from 'node:test'
import type { Citus } from '../../cluster/citus.ts'
import { startTestService, type TestService } from '../../service.ts'

/** The problems found: those that `work` adds, and every request that failed through our own fault. */
export async function onCluster(
  citus: Citus,
  work: (service: TestService, failures: string[]) => Promise<void>,
): Promise<string[]> {
  process.env['ASSAY_TEST_CLUSTER'] = citus.url
  try {
    return await withService(work)
  } finally {
    delete process.env['ASSAY_TEST_CLUSTER']
  }
}

/** On the database that the environment names. What a job logs while a node is away is expected. */
export async function withService(
  work: (service: TestService, failures: string[]) => Promise<void>,
): Promise<string[]> {
  const ends: (() => unknown)[] = []
  const failures: string[] = []
  const logTo = (line: string): void => {
    if (line.includes('a request failed')) failures.push(line.trim().slice(0, 1_000))
  }
  // The timeouts are an operator's, because those of the tests would hide waiting for a node.
  const settings = { DATABASE_STATEMENT_TIMEOUT: '30000', ASSAY_KEY_CHECK_TIMEOUT: '30000' }
  const scope = { after: (end: unknown) => void ends.push(end as () => unknown) }
  // graphile-worker reports a database that dies while it works twice: in its log, which is ours, and on the terminal.
  const muted = mock.method(console, 'trace', () => undefined)
  try {
    await work(await startTestService(scope, { logTo, settings }), failures)
  } catch (error) {
    // The earlier log of the API says why.
    failures.push(error instanceof Error ? error.message : String(error))
  } finally {
    for (const end of ends.toReversed()) await end()
    muted.mock.restore()
  }
  return failures
}
