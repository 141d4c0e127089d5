/** A whole installation in sandbox mode, in processes of its own. Spoken to over its API, as an integrator does. */
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { authorize, redeem } from '../../test/application.ts'
import type { Bench } from '../benchmark.ts'
import { assay, startApi } from './api.ts'
import type { BenchDatabase } from './postgres.ts'
import { dataDirectory, startProcess, type Process } from './process.ts'
import { sendJson, startSandbox, type Account, type Sandbox } from './sandbox.ts'

export interface Installation {
  sandbox: Sandbox
  /** A new access token of the user of this name. */
  newToken(user: string): Promise<string>
  startWorker(): Promise<Process>
  /** Resolves when the account has been read and derived. */
  connect(token: string, account: Account): Promise<Connected>
  remove(token: string, connectionId: string): Promise<void>
  /** Resolves when the transactions of all the user's connections were read and derived again. */
  refresh(token: string): Promise<void>
}

export interface Connected {
  connectionId: string
  /** Until the last page of the ledger was asked for. */
  readingMs: number
}

const pollMs = 50
const waitMaxMs = 900_000
/** Longer than the pause that is asked for between two refreshes. */
const pauseMs = 120_000

/** These accounts have no call limit, so our own restraint, made for real providers, is lifted too. */
const liftBudgets = `
  create function fill_bucket() returns trigger language plpgsql as $$ begin new.tokens := 1000; return new; end $$;
  create trigger fill_bucket before insert or update on budgets for each row execute function fill_bucket()`

export async function startInstallation(bench: Bench, { db, url: databaseUrl }: BenchDatabase): Promise<Installation> {
  const sandbox = await startSandbox()
  bench.onEnd(() => sandbox.stop())
  const environment = {
    ASSAY_MODE: 'sandbox',
    ASSAY_DATA_DIRECTORY: path.join(dataDirectory, 'sandbox'),
    ASSAY_SANDBOX_URL: sandbox.controlUrl,
    DATABASE_URL: databaseUrl,
  }
  const { url, stop } = await startApi(environment)
  bench.onEnd(stop)
  await db.execute(liftBudgets)

  return {
    sandbox,
    newToken: async (user) => (await redeem(url, await authorize(url, user, []))).access_token,
    startWorker: () =>
      startProcess({ name: 'worker', words: [assay, 'worker'], environment, ready: /"role":"(worker)".*"ready"/ }),
    async connect(token, account) {
      const began = performance.now()
      const connection = { type: 'api_key', api_key: account.apiKey, secret_key: account.secretKey }
      const body = { provider_id: 'kraken', connection }
      const added = await sendJson(`${url}/accounts/v2/providers`, 'POST', { body, token })
      const { connection_id: connectionId } = (added as { data: { connection_id: string | null } }).data
      if (connectionId === null) throw new Error(`the connection was refused: ${JSON.stringify(added)}`)
      const pages = { count: 0, atMs: 0 }
      await until(`${account.accountId} is read`, async () => {
        const count = await sandbox.countPages(account.accountId)
        if (count !== pages.count) Object.assign(pages, { count, atMs: performance.now() - began })
        const row = await db.row<{ status: string }>('select status from connections where id = $1', [connectionId])
        return row.status === 'active'
      })
      return { connectionId, readingMs: pages.atMs }
    },
    async remove(token, connectionId) {
      await sendJson(`${url}/accounts/v2/providers?connection_id=${connectionId}`, 'DELETE', { token })
    },
    async refresh(token) {
      await sendJson(`${url}/sandbox/clock`, 'POST', { body: { advance_ms: pauseMs } })
      const begun = await sendJson(`${url}/accounts/v2/transactions/refresh`, 'POST', { body: {}, token })
      const { refresh_id: id } = (begun as { data: { refresh_id: string } }).data
      await until('the refresh has ended', async () => {
        const state = await sendJson(`${url}/accounts/v2/refreshes/${id}`, 'GET', { token })
        const { status } = (state as { data: { status: string } }).data
        if (status === 'failed' || status === 'partial')
          throw new Error(`the refresh ended as ${JSON.stringify(state)}`)
        return status === 'succeeded'
      })
    },
  }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + waitMaxMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`after ${waitMaxMs / 1_000} s it is still not true that ${what}`)
    await delay(pollMs)
  }
}
