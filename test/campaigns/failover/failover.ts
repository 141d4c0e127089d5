/**
 * `npm run campaign -- failover`: the primary under Patroni is killed again and again, while a sync is written, pages
 * are read and codes are exchanged. Every request is answered 200, or 503 with Retry-After; what was acknowledged is
 * still there; and the API and the worker go on by themselves.
 *
 * Acknowledged changes survive because Patroni runs with synchronous_mode: a commit waits for the standby. With
 * `--asynchronous` it does not, and the campaign may find what was lost.
 */
import { startSandbox } from '@assay/sandbox'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isDatabaseAway } from '../../../apps/server/src/db/index.ts'
import { until } from '../../until.ts'
import { holdAgainstBooks } from '../evidence.ts'
import { runProcesses, toEnvironment, type Running } from '../installation.ts'
import { startReceiver } from '../onlookers.ts'
import { openDatabaseAt, startPatroni, type Loss, type Patroni } from './patroni.ts'
import { prepareAccount, type Account } from '../prepared-account.ts'
import { createRandom } from '../random.ts'
import { sendSteadily, type Answer, type Traffic } from '../traffic.ts'
import { startExchanges, type Exchanges } from './exchanges.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const paths = ['/accounts/v2/transactions?limit=30', '/platform/v1/assets', '/accounts/v2/providers']
const burstMs = 1_000
const pauseMaxMs = 3_000

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: {
      kills: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      entries: { type: 'string', default: '100000' },
      rate: { type: 'string', default: '20' },
      asynchronous: { type: 'boolean', default: false },
    },
  })
  const [kills, seed] = [Number(values.kills), Number(values.seed)]
  say(`failover campaign: ${kills} kills of the primary, seed ${seed} (--seed ${seed} repeats its choices)`)
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-failover-'))
  // As root, PostgreSQL runs as another user, who has to reach the directories below.
  await chmod(directory, 0o755)
  const ends: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })]
  try {
    const patroni = await startPatroni(directory, { synchronous: !values.asynchronous })
    ends.unshift(() => patroni.stop())
    const sandbox = await startSandbox({ seed: 'campaign', pace: 'fast', log: () => undefined })
    ends.unshift(() => sandbox.close())
    const receiver = await startReceiver()
    ends.unshift(() => receiver.close())
    const environment = {
      ...toEnvironment(directory, sandbox, patroni.url),
      ...{ ASSAY_LIMIT_ADDRESS: '1000000', ASSAY_LIMIT_CLIENT: '1000000' },
    }
    const start = (): Promise<Running> =>
      runProcesses({ environment, db: openDatabaseAt(patroni.url), killPostgres: () => Promise.resolve() })
    const account = await prepareAccount({ run: start, sandbox }, receiver.url, Number(values.entries))
    const running = await start()
    ends.unshift(() => running.stop())
    return await bear({ patroni, running, account, kills, rate: Number(values.rate), random: createRandom(seed) })
  } finally {
    for (const end of ends) await end()
  }
}

interface Trial {
  patroni: Patroni
  running: Running
  account: Account
  kills: number
  rate: number
  random(): number
}

async function bear({ patroni, running, account, kills, rate, random }: Trial): Promise<boolean> {
  const exchanges = await startExchanges(running.url, account.user)
  const traffic: Traffic = { url: running.url, paths, token: () => exchanges.token() }
  const answers: Answer[] = []
  const over = new AbortController()
  const reading = (async () => {
    while (!over.signal.aborted) await sendSteadily(traffic, rate, burstMs, (answer) => answers.push(answer))
  })()
  const failures: string[] = []
  for (let count = 1; count <= kills; count += 1) {
    const primary = await patroni.untilSafe()
    await delay(random() * pauseMaxMs)
    const what: Loss = random() < 0.5 ? 'postgres' : 'machine'
    const phase = await describeSync(running, account)
    const began = performance.now()
    await patroni.kill(primary, what)
    const next = await patroni.untilFailedOver(primary)
    const promotedMs = performance.now() - began
    await until('the API to be ready', () => isReady(running.url))
    const readyMs = performance.now() - began
    if (what === 'machine') patroni.revive(primary)
    failures.push(...(await exchanges.checkAcknowledged()))
    say(
      `${count} of ${kills}: ${what} of ${primary} lost while ${phase}; ${next} was primary after ${toSeconds(promotedMs)} s, the API ready after ${toSeconds(readyMs)} s`,
    )
  }
  await untilSynced(running, account)
  over.abort()
  await reading
  failures.push(...(await exchanges.stop()))
  failures.push(...(await holdAgainstBooks(running.db, account.connectionId, account.books, account.fromMs)))
  failures.push(...judge(answers), ...running.listDeserters())
  report(answers, exchanges)
  for (const failure of new Set(failures)) say(`✗ ${failure}`)
  if (failures.length === 0) say('✓ every request answered, nothing acknowledged was lost, every process recovered')
  return failures.length === 0
}

const toSeconds = (ms: number): number => Math.round(ms / 100) / 10

async function isReady(url: string): Promise<true | undefined> {
  const response = await fetch(`${url}/readyz`)
  await response.arrayBuffer()
  return response.status === 200 ? true : undefined
}

async function describeSync({ db }: Running, { connectionId }: Account): Promise<string> {
  const find = `select c.status, c.transaction_count, c.record_count from connections c where c.id = $1`
  const row = await patient(() =>
    db.row<{ status: string; record_count: number; transaction_count: number }>(find, [connectionId]),
  )
  return row.status === 'active' ? 'idle' : `reading (${row.record_count} records)`
}

async function untilSynced(running: Running, account: Account): Promise<void> {
  await until('the sync to end', async () => {
    const [deserter] = running.listDeserters()
    if (deserter !== undefined) throw new Error(deserter)
    return (await describeSync(running, account)) === 'idle' ? true : undefined
  })
}

function patient<T>(ask: () => Promise<T>): Promise<T> {
  return until('the database', () =>
    ask().catch((error: unknown) => {
      if (isDatabaseAway(error)) return undefined
      throw error
    }),
  )
}

function judge(answers: readonly Answer[]): string[] {
  const wrong = answers.filter(({ status, retryAfter }) => status !== 200 && !(status === 503 && retryAfter))
  return wrong.map(({ status }) => (status === 0 ? 'a read had no answer' : `a read was answered ${status}`))
}

function report(answers: readonly Answer[], exchanges: Exchanges): void {
  const away = answers.filter(({ status }) => status === 503).length
  const slowest = Math.max(...answers.map(({ ms }) => ms))
  const { acknowledged, refused } = exchanges.counts()
  say(`reads: ${answers.length}, of them ${away} answered 503; the slowest took ${toSeconds(slowest)} s`)
  say(`exchanges: ${acknowledged} tokens acknowledged and checked, ${refused} requests answered 503`)
}
