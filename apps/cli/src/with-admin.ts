/**
 * Opens the installation that the environment variables name for one command, and closes it again. Its schema is
 * brought up to date first, unless the command only reads. `make`: one may be made, because the command can be its first.
 */
import { openAdmin, type Admin } from '@assay/server/admin'
import { parseConfig, readEnvironment } from '@assay/server/config'
import { createLog } from '@assay/server/log'

export async function withAdmin<T>(
  work: (admin: Admin) => Promise<T>,
  { look = false, make = false }: { look?: boolean; make?: boolean } = {},
): Promise<T> {
  const admin = await openAdmin(parseConfig(readEnvironment(), 'command'), createLog({ level: 'warn' }), { make })
  try {
    if (!look) await admin.migrate()
    return await work(admin)
  } finally {
    await admin.close()
  }
}
