/**
 * What a database is for. The first start marks it, and a mark never changes: a sandbox holds invented accounts, secrets
 * that are printed in the documentation and a clock that moves, none of which may reach real users.
 */
import type { Database } from './sql.ts'

/** What an integrator has registered, and what does not change with time. Everything else belongs to users. */
const keptTables = [
  ...['installation', 'sandbox_clock', 'schema_migrations', 'tenants', 'clients', 'client_secrets'],
  ...['client_login_keys', 'webhooks', 'tenant_fingerprint_keys', 'assets', 'worker_heartbeats'],
]

/**
 * Empties a sandbox and sets its clock to real time. The two belong together: a clock that went back would leave
 * histories, bookmarks and waits of a time that has not come. Only for a service that has not started yet.
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

export async function markInstallation(db: Database, sandbox: boolean): Promise<void> {
  await db.execute(
    'insert into installation (sandbox, created_at) values ($1, clock_timestamp()) on conflict do nothing',
    [sandbox],
  )
  const marked = await db.row<{ sandbox: boolean }>('select sandbox from installation')
  if (marked.sandbox === sandbox) return
  throw new Error(
    sandbox
      ? 'This database holds the data of real users and cannot be used in sandbox mode. Use another data directory or DATABASE_URL for the sandbox.'
      : 'This database was used in sandbox mode and cannot be used outside it. Use another data directory or DATABASE_URL for real users.',
  )
}
