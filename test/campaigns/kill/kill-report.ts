/** `npm run campaign -- kill`: runs it and prints what was killed, when, and with what result. */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { openClusterInstallation } from './cluster-installation.ts'
import { openKillCampaign, type KillCampaign, type KillOptions, type KillReport, type Phase } from './kill.ts'
import { openInstallation, type Victim } from '../installation.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

export async function kill(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      kills: { type: 'string', default: '100' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      entries: { type: 'string', default: '100000' },
      provider: { type: 'string', default: 'kraken' },
      sabotage: { type: 'boolean', default: false },
      cluster: { type: 'boolean', default: false },
    },
  })
  const [kills, seed, entries] = [Number(values.kills), Number(values.seed), Number(values.entries)]
  const account = values.provider === 'kraken' ? `${entries} entries` : `an account at ${values.provider}`
  say(`kill campaign: ${kills} kills over syncs of ${account}, seed ${seed} (--seed ${seed} repeats its choices)`)
  const began = performance.now()
  const open = values.cluster ? openClusterInstallation : openInstallation
  const campaign = await openKillCampaign(entries, { providerId: values.provider, open })
  const sabotaged = {
    hook: path.join(import.meta.dirname, 'sabotage.ts'),
    compare: false,
    victims: ['worker'],
  } as const
  const options = { kills, seed, say, ...(values.sabotage ? sabotaged : {}) }
  const report = await runAndClose(campaign, options)
  const seconds = Math.round((performance.now() - began) / 1_000)
  for (const line of toTable(report)) say(line)
  for (const failure of report.failures) say(`✗ ${failure}`)
  const verdict = report.failures.length === 0 ? '✓ nothing lost, nothing twice, every byte as undisturbed' : '✗ failed'
  say(`${verdict} (${report.kills.length} kills in ${report.rounds} rounds, ${seconds} s)`)
  return report.failures.length === 0
}

async function runAndClose(campaign: KillCampaign, options: KillOptions): Promise<KillReport> {
  try {
    return await campaign.run(options)
  } finally {
    await campaign.close()
  }
}

const victims: readonly Victim[] = ['worker', 'api', 'postgres']
const phases: readonly Phase[] = ['reading', 'deriving', 'idle']

/** The number of kills by victim and by what was running. */
export function toTable({ kills }: KillReport): string[] {
  const count = (victim: Victim, phase: Phase): string =>
    String(kills.filter((one) => one.victim === victim && one.phase === phase).length)
  return [
    ['killed', ...phases],
    ...victims.map((victim) => [victim, ...phases.map((phase) => count(victim, phase))]),
  ].map(([first = '', ...cells]) => first.padEnd(10) + cells.map((cell) => cell.padStart(10)).join(''))
}
