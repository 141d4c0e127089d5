/** `npm run campaign -- bad-input`: twenty thousand spoiled requests, counts by status, and the memory of the API. */
import { parseArgs } from 'node:util'
import { badInputSettings, sendBadInput, signInForBadInput } from '../security/bad-input.ts'
import { fetchDocuments } from '../documents/openapi-documents.ts'
import { firstDatabase, openInstallation } from './installation.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const toMiB = (bytes: number): number => Math.round((10 * bytes) / 2 ** 20) / 10

/** By then everything is loaded and every cache is filled, so memory must not grow from here on. */
const warmUp = 2_000
/** From the second quarter to the last, in the median. A kilobyte kept of each request would be 10 MiB. */
const growthMax = 1.05

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      requests: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  })
  const [requests, seed] = [Number(values.requests), Number(values.seed)]
  say(`bad input campaign: ${requests} requests, seed ${seed} (--seed ${seed} sends the same again)`)
  const installation = await openInstallation()
  const { url, readApiMemory, listDeserters, stop } = await installation.run(firstDatabase, {
    settings: badInputSettings,
  })
  try {
    const { operations } = await fetchDocuments(url)
    const common = { url, operations, signIn: () => signInForBadInput(url) }
    await sendBadInput({ ...common, requests: Math.min(warmUp, requests), seed: seed + 1 })
    const began = performance.now()
    const readings = [await readApiMemory()]
    const onProgress = async (done: number): Promise<void> => {
      readings.push(await readApiMemory())
      if (done % 2_000 !== 0) return
      const seconds = Math.round((performance.now() - began) / 1_000)
      say(`  ${done} sent, ${seconds} s, ${toMiB(readings.at(-1) ?? 0)} MiB`)
    }
    const { byStatus, faults } = await sendBadInput({ ...common, requests, seed, onProgress })
    for (const [status, count] of [...byStatus].toSorted(([a], [b]) => a - b)) {
      say(`${(status === 0 ? 'closed' : String(status)).padEnd(8)}${String(count).padStart(8)}`)
    }
    const quarter = Math.ceil(readings.length / 4)
    const second = median(readings.slice(quarter, 2 * quarter))
    const last = median(readings.slice(-quarter))
    say(`memory held by the API: ${toMiB(second)} MiB in the second quarter, ${toMiB(last)} MiB in the last`)
    const failures = [
      ...faults,
      ...listDeserters().map((words) => `a process ended: ${words}`),
      ...(last > second * growthMax ? ['memory grew'] : []),
    ]
    for (const failure of failures) say(`✗ ${failure}`)
    say(failures.length === 0 ? '✓ every answer was deliberate' : `✗ ${failures.length} failures`)
    return failures.length === 0
  } finally {
    await stop()
    await installation.close()
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
