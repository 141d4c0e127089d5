/**
 * `npm run campaign -- attacks [--seed n] [words of a name …]`: every named attack on OAuth and on this service,
 * against a running one. The seed decides their order: an attack must be refused whatever was tried before it.
 */
import { parseArgs } from 'node:util'
import { createChance, type Chance } from '../../security/bad-input-values.ts'
import { startTestPostgres } from '../../postgres.ts'
import { startTestService } from '../../service.ts'
import { attacksOnCodes } from './attacks-on-codes.ts'
import { attacksOnData } from './attacks-on-data.ts'
import { Breach, openAttackWorld } from './attacks-world.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

export async function run(words: string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { seed: { type: 'string', default: String(Date.now() % 1_000_000) } },
  })
  const seed = Number(values.seed)
  const wanted = Object.entries({ ...attacksOnCodes, ...attacksOnData }).filter(
    ([name]) => positionals.length === 0 || positionals.some((word) => name.includes(word)),
  )
  say(`attacks campaign: ${wanted.length} attacks, seed ${seed} (--seed ${seed} tries them in the same order)`)
  if (wanted.length === 0) {
    // Otherwise a misspelled name would pass.
    say(`✗ no attack has a name with ${positionals.join(' or ')}`)
    return false
  }
  const ends: (() => unknown)[] = []
  let failures = 0
  try {
    const postgres = await startTestPostgres()
    ends.push(() => postgres.stop())
    process.env['ASSAY_TEST_POSTGRES'] = postgres.address
    const lines: string[] = []
    const service = await startTestService(
      { after: (end) => void ends.push(end as () => unknown) },
      { logTo: (line) => void lines.push(line), settings: { ASSAY_LOG_LEVEL: 'debug' } },
    )
    const world = await openAttackWorld(service, lines)
    for (const [name, attack] of shuffle(wanted, createChance(seed))) {
      try {
        await attack(world)
        say(`✓ refused: ${name}`)
      } catch (error) {
        failures += 1
        // An attack that could not be tried is not one that was refused.
        say(`✗ ${name}: ${error instanceof Breach ? error.message : String(error)}`)
      }
    }
  } finally {
    for (const end of ends.toReversed()) await end()
  }
  say(failures === 0 ? '✓ every attack was refused' : `✗ ${failures} attacks were not refused`)
  return failures === 0
}

/** The Fisher–Yates shuffle. */
function shuffle<T>(given: readonly T[], chance: Chance): T[] {
  const rest = [...given]
  return given.flatMap(() => rest.splice(chance(rest.length), 1))
}
