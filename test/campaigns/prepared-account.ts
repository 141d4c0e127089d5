/** One account, connected and not read yet, in an unused database that can be cloned. */
import { openAdmin } from '@assay/server/admin'
import { parseConfig } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import type { Database } from '../../apps/server/src/db/index.ts'
import { authorize, redeem } from '../application.ts'
import type { KrakenState } from '../reconciler.ts'
import { firstDatabase, type Installation } from './installation.ts'

export interface Account {
  user: string
  /**
   * What Kraken holds; nothing is added to it. Undefined for another provider: then the undisturbed run is the judge.
   */
  books: KrakenState | undefined
  connectionId: string
  /** Entries before this count as read already. */
  fromMs: number
}

interface MintedKey {
  api_key: string
  secret_key: string
}

const user = 'owner'

/** The simulated account has no call limit, so our own restraint, made for real ones, is lifted too. */
export const liftBudgets = `
  create function fill_bucket() returns trigger language plpgsql as $$ begin new.tokens := 1000; return new; end $$;
  create trigger fill_bucket before insert or update on budgets for each row execute function fill_bucket()`

/** Connecting an account queues its first read, which would begin before the account is frozen. */
const isReading = `task_id in (select id from graphile_worker._private_tasks where identifier = 'sync')`

const holdReading = `
  create function hold_reading() returns trigger language plpgsql as $$ begin
    if new.${isReading} then
      new.run_at := now() + interval '1 day';
    end if;
    return new;
  end $$;
  create trigger hold_reading before insert or update on graphile_worker._private_jobs
    for each row execute function hold_reading()`

const releaseReading = `
  drop trigger hold_reading on graphile_worker._private_jobs;
  drop function hold_reading();
  update graphile_worker._private_jobs set run_at = now() where ${isReading}`

export async function prepareAccount(
  installation: Pick<Installation, 'run' | 'sandbox'>,
  webhookUrl: string,
  entries: number,
  providerId = 'kraken',
): Promise<Account> {
  const running = await installation.run(firstDatabase)
  try {
    await running.db.execute(liftBudgets)
    await running.db.execute(holdReading)
    await setWebhook(running.environment, webhookUrl)
    const { access_token: token } = await redeem(running.url, await authorize(running.url, user, []))
    const made = await send(`${installation.sandbox.controlUrl}/control/accounts`, token, {
      provider_id: providerId,
      scenario: providerId === 'kraken' ? 'large' : 'default',
      account: 'one account',
    })
    const { account_id: accountId, credentials } = made as { account_id: string; credentials: MintedKey }
    // Some simulators say more about a key, such as its algorithm.
    const { api_key, secret_key } = credentials
    const connection = { type: 'api_key', api_key, secret_key }
    const added = await send(`${running.url}/accounts/v2/providers`, token, {
      provider_id: providerId,
      connection,
    })
    const { connection_id: connectionId } = (added as { data: { connection_id: string } }).data
    await running.endWorker()
    await running.db.execute(releaseReading)
    if (providerId !== 'kraken') return { user, books: undefined, connectionId, fromMs: 0 }
    const state = await fetch(`${installation.sandbox.controlUrl}/control/accounts/${accountId}/state`)
    const books = (await state.json()) as KrakenState
    const fromMs = findStart(books, entries)
    await coverUntil(running.db, connectionId, fromMs)
    return { user, books, connectionId, fromMs }
  } finally {
    await running.stop()
  }
}

async function setWebhook(environment: Record<string, string>, url: string): Promise<void> {
  const admin = await openAdmin(parseConfig(environment, 'command'), createLog({ level: 'error' }))
  try {
    const [tenant] = await admin.tenants.listTenants()
    await admin.webhooks.set(tenant?.tenantId ?? '', url)
  } finally {
    await admin.close()
  }
}

async function send(url: string, token: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return response.json()
}

function findStart(books: KrakenState, entries: number): number {
  const first = books.ledger.toSorted((a, b) => b.time - a.time)[entries - 1]
  return first === undefined ? 0 : Math.floor(first.time * 1_000)
}

/** What is older than `fromMs` counts as read already. */
async function coverUntil(db: Database, connectionId: string, fromMs: number): Promise<void> {
  await db.execute(
    `insert into covered_windows (user_key, connection_key, stream, partition, window_start, window_end)
     select user_key, connection_key, 'ledger', '', $3::bigint, $2::bigint from connections where id = $1`,
    [connectionId, fromMs, Date.UTC(2009, 0, 1)],
  )
}
