/**
 * `npm run campaign -- verdicts`: accounts of the sandbox that take too long for every test run are read to their end,
 * and again after a further record. The proof must come to the verdict that the simulator's own books lead to. With
 * `--all`, the accounts that every test run reads are read here as well.
 */
import { parseArgs } from 'node:util'
import type { TestEngine } from '../../../apps/server/src/test-engine.ts'
import { books } from '../../contract-suite/books/books.ts'
import { createSandboxSimulator } from '../../contract-suite/sandbox-simulator.ts'
import { scenariosOf, scenarioTable, type ProviderName } from '../../contract-suite/scenario-table.ts'
import { assertVerdict } from '../../contract-suite/verdict.ts'
import { stopOwnPostgres } from '../../postgres.ts'
import { withEngine } from '../campaign-engine.ts'
import { connect, readAgain } from './proof-accounts.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      all: { type: 'boolean', default: false },
      only: { type: 'string', default: Object.keys(scenarioTable).join(',') },
      scenarios: { type: 'string' },
    },
  })
  const wanted = values.scenarios?.split(',')
  const accounts = (values.only.split(',') as ProviderName[]).flatMap((provider) =>
    listReadable(provider, values.all)
      .filter((scenario) => wanted?.includes(scenario) ?? true)
      .map((scenario) => ({ provider, scenario })),
  )
  let failures = 0
  try {
    for (const { provider, scenario } of accounts) {
      const startedMs = performance.now()
      const wrong = await withEngine((engine) => checkScenario(engine, provider, scenario)).then(
        () => undefined,
        (error: unknown) => String(error),
      )
      const took = `${provider} ${scenario}, ${Math.round((performance.now() - startedMs) / 1_000)} s`
      say(wrong === undefined ? `✓ ${took}` : `✗ ${took}: ${wrong}`)
      if (wrong !== undefined) failures += 1
    }
  } finally {
    await stopOwnPostgres()
  }
  say(failures === 0 ? `✓ ${accounts.length} verdicts are what the books lead to` : `✗ ${failures} failures`)
  return failures === 0 && accounts.length > 0
}

/**
 * Of two accounts the books know more than can be read: of pairs that Binance delisted, and of addresses behind a gap.
 */
function listReadable(provider: ProviderName, isAll: boolean): string[] {
  const everyRun = (['suite', 'own file'] as const).flatMap((place) => scenariosOf(provider, place))
  const readable = everyRun.filter((name) => name !== 'delisted' && name !== 'gap')
  return [...scenariosOf(provider, 'campaign'), ...(isAll ? readable : [])]
}

async function checkScenario(engine: TestEngine, providerId: ProviderName, scenario: string): Promise<void> {
  const { toHeld, next, ...reading } = books[providerId]
  const account = await createSandboxSimulator(engine.sandbox, { providerId, toHeld }).newAccount(scenario)
  const ref = await connect(engine, providerId, account)
  const first = await account.hold()
  await account.book({ entries: [next] })
  // A balance is judged by the read after the one that saw it.
  for (let reads = 0; reads < 2; reads += 1) await readAgain(engine, ref)
  await assertVerdict(engine, { ref, account }, reading, first)
}
