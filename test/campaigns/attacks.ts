/** `npm run campaign -- attacks`: every named attack on OAuth and on this service, against a running one. */
import { startTestPostgres } from '../postgres.ts'
import { startTestService } from '../service.ts'
import { attacksOnCodes } from './attacks-on-codes.ts'
import { attacksOnData } from './attacks-on-data.ts'
import { Breach, openAttackWorld } from './attacks-world.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

export async function run(words: string[]): Promise<boolean> {
  const attacks = Object.entries({ ...attacksOnCodes, ...attacksOnData }).filter(
    ([name]) => words.length === 0 || words.some((word) => name.includes(word)),
  )
  say(`attacks campaign: ${attacks.length} attacks`)
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
    for (const [name, attack] of attacks) {
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
