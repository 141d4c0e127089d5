/**
 * The engine of the tests, for a campaign that reads accounts one after another. The campaign stops PostgreSQL itself.
 */
import { openEngine, type TestEngine } from '../../apps/server/src/test-engine.ts'

export async function withEngine<T>(
  work: (engine: TestEngine) => Promise<T>,
  settings: Record<string, string> = {},
): Promise<T> {
  const ends: (() => unknown)[] = []
  const after = (end: unknown): void => void ends.push(end as () => unknown)
  try {
    return await work(await openEngine({ ASSAY_SANDBOX_PACE: 'fastest', ...settings }, {}, { after }))
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}
