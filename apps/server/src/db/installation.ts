/**
 * What a database is for. The first start marks it, and a mark never changes: a sandbox holds invented accounts, secrets
 * that are printed in the documentation and a clock that moves, none of which may reach real users.
 */
import type { Database } from './sql.ts'

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
