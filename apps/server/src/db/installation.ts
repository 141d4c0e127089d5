/**
 * The purpose of a database. The first start marks it, and the mark never changes: a sandbox holds invented accounts,
 * secrets that are printed in the documentation and a clock that moves, none of which may reach real users. Live mode
 * has real accounts and keeps its keys beside them without an operator, so it is for trying the service, not for
 * production.
 */
import type { Database } from './sql.ts'

/** What an integrator has registered, and what does not change with time. Everything else belongs to users. */
const keptTables = [
  ...['installation', 'sandbox_clock', 'schema_migrations', 'tenants', 'clients', 'client_secrets'],
  ...['client_login_keys', 'webhooks', 'tenant_fingerprint_keys', 'assets', 'worker_heartbeats'],
]

/**
 * Empties a sandbox and sets its clock to real time. The two belong together: moving the clock back would leave
 * histories, bookmarks and waits that lie in the future. Only for a service that has not started yet.
 */
export async function emptySandbox(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    const { sandbox } = await tx.row<{ sandbox: boolean }>('select sandbox from installation for update')
    if (!sandbox) throw new Error('Only a sandbox can be emptied; this database holds the data of real users.')
    const tables = await tx.rows<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = current_schema() and tablename <> all($1)`,
      [keptTables],
    )
    await tx.execute(`truncate ${tables.map(({ name }) => name).join(', ')}`)
    await tx.execute('update webhooks set failures = 0, paused_until = null')
    await tx.execute('update sandbox_clock set offset_ms = 0')
  })
  await db.clock.refresh()
}

type Use = 'production' | 'sandbox' | 'live'

const described: Readonly<Record<Use, string>> = {
  production: 'holds the data of real users',
  sandbox: 'was used in sandbox mode',
  live: 'was used in live mode',
}

export async function markInstallation(db: Database, mode: Use): Promise<void> {
  await db.execute(
    'insert into installation (sandbox, live, created_at) values ($1, $2, clock_timestamp()) on conflict do nothing',
    [mode === 'sandbox', mode === 'live'],
  )
  const { sandbox, live } = await db.row<{ sandbox: boolean; live: boolean }>('select sandbox, live from installation')
  const marked = sandbox ? 'sandbox' : live ? 'live' : 'production'
  if (marked === mode) return
  const here = mode === 'production' ? 'for real users' : `in ${mode} mode`
  throw new Error(
    `This database ${described[marked]} and cannot be used ${here}. Use another data directory or DATABASE_URL.`,
  )
}
