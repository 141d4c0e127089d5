/** Opens the installation of the environment for one command, with its schema up to date, and closes it again. */
import { openAdmin, type Admin } from '@assay/server/admin'
import { parseConfig, readEnvironment } from '@assay/server/config'
import { createLog } from '@assay/server/log'

export async function withAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = await openAdmin(parseConfig(readEnvironment()), createLog({ level: 'warn' }))
  try {
    await admin.migrate()
    return await work(admin)
  } finally {
    await admin.close()
  }
}
