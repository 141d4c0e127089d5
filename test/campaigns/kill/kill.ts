/**
 * The kill campaign: `kill -9` of the worker, the API or PostgreSQL at random moments of a sync. Afterwards everything
 * is as an undisturbed run leaves it, byte for byte, and as the provider's books have it.
 *
 * The account is connected once and the database frozen before anything of it is read. The undisturbed run and every
 * disturbed one begin from a clone of that, so ids are the same in all of them. A round ends when its sync has ended
 * and one more kill has met it at rest; rounds continue until there were enough kills.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ofConnection } from '../../of-connection.ts'
import { authorize, redeem } from '../../application.ts'
import { isDatabaseAway } from '../../../apps/server/src/db/index.ts'
import { until } from '../../until.ts'
import { compareEvidence, gatherEvidence, holdAgainstBooks, type Evidence } from '../evidence.ts'
import { firstDatabase, openInstallation, type Installation, type Running, type Victim } from '../installation.ts'
import { startReader, startReceiver, type Receiver } from '../onlookers.ts'
import { prepareAccount, type Account } from '../prepared-account.ts'
import { createRandom, shuffle } from '../random.ts'

export type Phase = 'reading' | 'deriving' | 'idle'

export interface KillOptions {
  kills: number
  seed: number
  victims?: readonly Victim[]
  /**
   * A module that the worker loads first. It writes the file `ready` into the data directory when the first kill may
   * come.
   */
  hook?: string
  /** False leaves out the undisturbed run: the provider's books alone are the judge. */
  compare?: boolean
  say(text: string): void
}

export interface KillReport {
  kills: { victim: Victim; phase: Phase }[]
  rounds: number
  /** What is wrong, in words. */
  failures: string[]
}

export interface KillCampaign {
  run(options: KillOptions): Promise<KillReport>
  close(): Promise<void>
}

const pollMs = 100
const pauseMaxMs = 500

/**
 * `entries`: how many of the newest ledger entries are read; Kraken's account has 100,000. Another provider's account
 * is a small one with many lists, several of which are read at the same time.
 */
export async function openKillCampaign(
  entries: number,
  { providerId = 'kraken', open = openInstallation }: { providerId?: string; open?: () => Promise<Installation> } = {},
): Promise<KillCampaign> {
  const installation = await open()
  const receiver = await startReceiver()
  async function close(): Promise<void> {
    await receiver.close()
    await installation.close()
  }
  const account = await prepareAccount(installation, receiver.url, entries, providerId).catch(
    async (error: unknown) => {
      await close()
      throw error
    },
  )
  return {
    close,
    async run(options) {
      const report: KillReport = { kills: [], rounds: 0, failures: [] }
      const random = createRandom(options.seed)
      const campaign: Campaign = { options, installation, receiver, account, report, random, bag: [] }
      const undisturbed = options.compare === false ? undefined : await runUndisturbed(campaign)
      while (report.kills.length < options.kills) await runRound(campaign, undisturbed)
      return report
    },
  }
}

interface Campaign {
  options: KillOptions
  installation: Installation
  receiver: Receiver
  account: Account
  report: KillReport
  random(): number
  /** The next victims, from the end: each process has a turn before the first has a second one. */
  bag: Victim[]
}

async function runUndisturbed(campaign: Campaign): Promise<Evidence> {
  const { account, options, receiver, report } = campaign
  const began = performance.now()
  receiver.forget()
  return withDatabase(campaign, 'undisturbed', undefined, async (running) => {
    await untilRest(running, account)
    report.failures.push(...(await judge(campaign, running, undefined)).map((text) => `undisturbed: ${text}`))
    options.say(`undisturbed run: ${Math.round((performance.now() - began) / 1_000)} s`)
    return gatherEvidence(running.db, account.connectionId)
  })
}

async function runRound(campaign: Campaign, undisturbed: Evidence | undefined): Promise<void> {
  const { account, receiver, report, options } = campaign
  report.rounds += 1
  const database = `round_${report.rounds}`
  receiver.forget()
  await withDatabase(campaign, database, options.hook, async (running, start) => {
    const { access_token: token } = await redeem(running.url, await authorize(running.url, account.user, []))
    const reader = startReader(running.url, token)
    try {
      await disturb(campaign, running, start)
      await untilRest(running, account)
      const wrong = [
        ...(await judge(campaign, running, undisturbed)),
        ...(await reader.stop()),
        ...running.listDeserters(),
      ]
      report.failures.push(...wrong.map((text) => `round ${report.rounds}: ${text}`))
    } finally {
      await reader.stop()
    }
  })
}

/** An installation over a clone, which is removed afterwards even when its start or the work failed. */
async function withDatabase<T>(
  { installation, account }: Campaign,
  database: string,
  hook: string | undefined,
  work: (running: Running, start: Sight) => Promise<T>,
): Promise<T> {
  await installation.clone(firstDatabase, database)
  try {
    let start: Sight = { phase: 'reading', place: '' }
    const running = await installation.run(database, {
      ...(hook === undefined ? {} : { hook }),
      look: async (db) => void (start = await look({ db }, account)),
    })
    try {
      return await work(running, start)
    } finally {
      await running.stop()
    }
  } finally {
    await installation.drop(database)
  }
}

/** Kills until the sync has ended, and once more after that. The last kill waits for the end. */
async function disturb(
  { options, account, report, random, bag }: Campaign,
  running: Running,
  start: Sight,
): Promise<void> {
  let { place } = start
  const victims = options.victims ?? ['worker', 'worker', 'postgres', 'postgres', 'api']
  if (options.hook !== undefined) await untilReady(running)
  for (let isOver = false; !isOver && report.kills.length < options.kills;) {
    if (report.kills.length < options.kills - 1) await untilProgress(running, account, place)
    else await untilRest(running, account)
    await delay(random() * pauseMaxMs)
    if (bag.length === 0) bag.push(...shuffle(victims, random))
    const victim = bag.pop() ?? 'worker'
    const { phase } = await look(running, account)
    await running.kill(victim)
    report.kills.push({ victim, phase })
    options.say(`${report.kills.length} of ${options.kills}: killed ${victim} while ${phase}`)
    isOver = phase === 'idle'
    place = (await look(running, account)).place
  }
}

interface Sight {
  phase: Phase
  /** Changes with every page and every batch. */
  place: string
}

async function look({ db }: Pick<Running, 'db'>, { connectionId }: Account): Promise<Sight> {
  const row = await away(() =>
    db.row<{ status: string; bookmarks: string | null; underived: number; transactions: number }>(
      `select c.status,
         (select string_agg(stream || partition || window_end || position, ' ' order by stream, partition, window_end) from stream_bookmarks
          where ${ofConnection}) as bookmarks,
         (select count(*)::int from due_groups where ${ofConnection}) as underived,
         (select count(*)::int from transactions where ${ofConnection}) as transactions
       from connections c where c.id = $1`,
      [connectionId],
    ),
  )
  const place = JSON.stringify(row)
  if (row.status === 'active') return { phase: 'idle', place }
  return { phase: row.bookmarks === null && row.underived > 0 ? 'deriving' : 'reading', place }
}

async function untilRest(running: Running, account: Account): Promise<void> {
  const isAtRest = async (): Promise<true | undefined> =>
    (await look(running, account)).phase === 'idle' ? true : undefined
  await untilAlive('the sync to end', running, isAtRest)
}

async function untilReady(running: Running): Promise<void> {
  const file = path.join(running.environment['ASSAY_DATA_DIRECTORY'] ?? '', 'ready')
  await untilAlive('the hook to be ready', running, () => Promise.resolve(existsSync(file) || undefined))
}

/** A kill must hit running work: otherwise a hundred kills would only delay a start. */
async function untilProgress(running: Running, account: Account, place: string): Promise<void> {
  const hasMoved = async (): Promise<true | undefined> => {
    const sight = await look(running, account)
    return sight.place !== place || sight.phase === 'idle' ? true : undefined
  }
  await untilAlive('any progress', running, hasMoved)
}

/** Stops waiting for a process that ended by itself. When nothing moves, the queue says why. */
async function untilAlive(what: string, running: Running, find: () => Promise<true | undefined>): Promise<void> {
  try {
    await until(
      what,
      () => {
        const [deserter] = running.listDeserters()
        if (deserter !== undefined) throw new Error(deserter)
        return find()
      },
      pollMs,
    )
  } catch (cause) {
    const jobs = await away(() =>
      running.db.rows(
        `select key, attempts, run_at - now() as due, now() - locked_at as locked_for, last_error
         from graphile_worker._private_jobs order by run_at limit 20`,
      ),
    )
    throw new Error(`${what}; the queue: ${JSON.stringify(jobs)}`, { cause })
  }
}

/** Asks again while PostgreSQL is being started. */
async function away<T>(ask: () => Promise<T>): Promise<T> {
  return until('the database', async () => {
    try {
      return await ask()
    } catch (error) {
      if (isDatabaseAway(error)) return undefined
      throw error
    }
  })
}

/** A price that comes after a transaction was derived changes its text. How soon it comes depends on the machine. */
async function untilPriced({ db }: Pick<Running, 'db'>, { connectionId }: Account): Promise<void> {
  const awaited = `select (select count(*) from awaited_prices where ${ofConnection} and not priced)::int
    + (select count(*) from due_groups where ${ofConnection})::int as count`
  const isPriced = async (): Promise<true | undefined> =>
    (await away(() => db.row<{ count: number }>(awaited, [connectionId]))).count === 0 ? true : undefined
  await until('every price', isPriced, pollMs)
}

async function judge(
  { account, receiver }: Campaign,
  running: Running,
  undisturbed: Evidence | undefined,
): Promise<string[]> {
  const { db } = running
  const { connectionId, books, fromMs } = account
  const open = 'select count(*)::int as count from webhook_messages where ended_at is null'
  const isDelivered = async (): Promise<true | undefined> =>
    (await away(() => db.row<{ count: number }>(open))).count === 0 ? true : undefined
  await until('every message to be delivered', isDelivered, pollMs)
  await untilPriced(running, account)
  // Messages go on being written: what has arrived is listed first, so that each of it has its row.
  const arrived = receiver.listArrived()
  const messages = await db.rows<{ id: string; ended: boolean }>(
    'select id, ended_at is not null as ended from webhook_messages',
  )
  return [
    ...(undisturbed === undefined ? [] : compareEvidence(undisturbed, await gatherEvidence(db, connectionId))),
    ...(await holdAgainstBooks(db, connectionId, books, fromMs)),
    ...receiver.judge(messages, arrived, running.countBreakdowns()),
  ]
}
