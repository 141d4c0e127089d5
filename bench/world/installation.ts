/** A whole installation in sandbox mode, in separate processes, used over its API like an integrator's. */
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../apps/server/src/db/index.ts'
import { workerNodeOptions } from '../../apps/cli/src/starting/init.ts'
import { authorize, redeem } from '../../test/application.ts'
import type { Say } from '../measure.ts'
import { assay, startApi } from './api.ts'
import type { BenchDatabase } from './postgres.ts'
import { dataDirectory, startProcess, type Process } from './process.ts'
import { sendJson, startSandbox, type Account, type Sandbox } from './sandbox.ts'

export interface Installation {
  sandbox: Sandbox
  url: string
  /** The settings of its processes. */
  environment: Readonly<Record<string, string>>
  /** A new access token of the user of this name. */
  newToken(user: string): Promise<string>
  startWorker(): Promise<Process>
  /** Resolves when the account has been read and derived. */
  connect(token: string, account: Account): Promise<Connected>
  /** Resolves when all that was read through it is destroyed. */
  remove(token: string, connectionId: string): Promise<void>
  /**
   * Resolves when the transactions of all connections of these users were read and derived again, all at the same time.
   */
  refresh(...tokens: readonly string[]): Promise<void>
  /** Moves the clocks of the database and of the simulated providers. */
  advanceClock(byMs: number): Promise<void>
  stop(): Promise<void>
}

export interface Connected {
  connectionId: string
  /** The time until the last page of the history was requested. */
  readingMs: number
}

const pollMs = 50
/** Counting pages adds calls to the simulated exchange, which is busy. */
const countEveryMs = 500
const waitMaxMs = 900_000
/** Longer than the required pause between two refreshes. */
const pauseMs = 120_000

/** These accounts have no call limit, so our own budgets for real providers are lifted too. */
const liftBudgets = `
  create or replace function fill_bucket() returns trigger language plpgsql as
    $$ begin new.tokens := 1000000; return new; end $$;
  create or replace trigger fill_bucket before insert or update on budgets for each row execute function fill_bucket()`

export async function startInstallation({ db, url: databaseUrl }: BenchDatabase, say: Say): Promise<Installation> {
  const sandbox = await startSandbox()
  const environment = {
    ASSAY_MODE: 'sandbox',
    ASSAY_DATA_DIRECTORY: path.join(dataDirectory, 'sandbox'),
    ASSAY_SANDBOX_URL: sandbox.controlUrl,
    // The simulators use the same pace, because Binance counts calls by IP address, which no account can lift.
    ASSAY_SANDBOX_PACE: 'fastest',
    ASSAY_LIMIT_TOKEN: '1000000',
    DATABASE_URL: databaseUrl,
  }
  const api = await startApi(environment)
  const { url } = api
  await db.execute(liftBudgets)

  async function add(token: string, account: Account): Promise<string> {
    const connection = { type: 'api_key', api_key: account.apiKey, secret_key: account.secretKey }
    const body = { provider_id: account.providerId, connection }
    const added = await sendJson(`${url}/accounts/v2/providers`, 'POST', { body, token })
    const { connection_id: connectionId } = (added as { data: { connection_id: string | null } }).data
    if (connectionId === null) throw new Error(`the connection was refused: ${JSON.stringify(added)}`)
    return connectionId
  }

  async function advanceClock(byMs: number): Promise<void> {
    await sendJson(`${url}/sandbox/clock`, 'POST', { body: { advance_ms: byMs } })
  }

  return {
    sandbox,
    url,
    environment,
    advanceClock,
    newToken: async (user) => (await redeem(url, await authorize(url, user, []))).access_token,
    startWorker: () =>
      startProcess({
        name: 'worker',
        words: [assay, 'worker'],
        environment: { ...environment, NODE_OPTIONS: workerNodeOptions },
        ready: /"role":"(worker)".*"ready"/,
      }),
    async connect(token, account) {
      const began = performance.now()
      const connectionId = await add(token, account)
      return { connectionId, readingMs: await untilRead({ db, sandbox, say, connectionId, account, began }) }
    },
    async remove(token, connectionId) {
      await sendJson(`${url}/accounts/v2/providers?connection_id=${connectionId}`, 'DELETE', { token })
      say('waiting until the removed connection is destroyed')
      await until('the connection is destroyed', async () => {
        const rows = await db.rows('select from connections where id = $1', [connectionId])
        return rows.length === 0
      })
    },
    async refresh(...tokens) {
      await advanceClock(pauseMs)
      await Promise.all(tokens.map((token) => refreshOne(url, token)))
    },
    async stop() {
      await api.stop()
      await sandbox.stop()
    },
  }
}

async function refreshOne(url: string, token: string): Promise<void> {
  const begun = await sendJson(`${url}/accounts/v2/transactions/refresh`, 'POST', { body: {}, token })
  const { refresh_id: id } = (begun as { data: { refresh_id: string } }).data
  await until('the refresh has ended', async () => {
    const state = await sendJson(`${url}/accounts/v2/refreshes/${id}`, 'GET', { token })
    const { status } = (state as { data: { status: string } }).data
    if (status === 'failed' || status === 'partial') throw new Error(`the refresh ended as ${JSON.stringify(state)}`)
    return status === 'succeeded'
  })
}

interface ReadBegun {
  db: Database
  sandbox: Sandbox
  say: Say
  connectionId: string
  account: Account
  began: number
}

/** When the last page of the history was requested, after `began`. */
async function untilRead({ db, sandbox, say, connectionId, account, began }: ReadBegun): Promise<number> {
  const pages = { count: 0, atMs: 0, lookedAtMs: 0 }
  await until(`${account.accountId} is read`, async () => {
    const atMs = performance.now() - began
    if (atMs - pages.lookedAtMs >= countEveryMs) {
      pages.lookedAtMs = atMs
      const count = await sandbox.countPages(account.accountId)
      if (count !== pages.count) Object.assign(pages, { count, atMs })
      say(`reading an account: ${count} pages`)
    }
    const row = await db.row<{ status: string }>('select status from connections where id = $1', [connectionId])
    return row.status === 'active'
  })
  return pages.atMs
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + waitMaxMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`after ${waitMaxMs / 1_000} s it is still not true that ${what}`)
    await delay(pollMs)
  }
}
