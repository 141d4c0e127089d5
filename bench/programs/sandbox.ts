/** The simulated providers in a process of their own, with one scenario more: `large_tenth`, a tenth of `large`. */
import { startSandbox } from '@assay/sandbox'
import { krakenScenarios } from '../../packages/sandbox/src/scenarios/kraken/index.ts'

type KrakenScenario = (typeof krakenScenarios)[number]

const large = krakenScenarios.find(({ name }) => name === 'large')
if (large === undefined) throw new Error('the sandbox has no scenario large any more')

/** Buys and sells alternate and the last is a buy, so that an odd number of them never sells what was not bought. */
const tenth: KrakenScenario = {
  ...large,
  name: 'large_tenth',
  story: () => {
    const { events, strategies } = large.story()
    // Deposits and the staked DOT come first in the story, and everything else needs them.
    const needed = 100
    const rest = events.slice(needed)
    return { strategies, events: [...events.slice(0, needed), ...rest.slice(-(2 * Math.floor(rest.length / 20) + 1))] }
  },
}

// The list is the sandbox's own; a benchmark is no reason to make it an option.
const scenarios = krakenScenarios as KrakenScenario[]
scenarios.push(tenth)
const sandbox = await startSandbox({
  seed: 'bench',
  pace: 'fast',
  log: (message, fields) => console.error(message, fields),
})
console.log(`ready at ${sandbox.controlUrl} ${sandbox.urls.kraken}`)
process.on('SIGTERM', () => void sandbox.close().then(() => process.exit(0)))
