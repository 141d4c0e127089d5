/**
 * Can this process serve? The database answers and has every table this code knows of. A database that is ahead is no
 * obstacle: while a new version is rolled out, the processes of the old one must go on serving.
 */
import { checkMigrations, isDatabaseAway, type Database } from '../db/index.ts'

export async function findUnready(database: Database): Promise<string | undefined> {
  try {
    const { pending } = await checkMigrations(database)
    if (pending.length > 0) return `the database waits for ${pending.length} migrations; run: assay migrate`
    return undefined
  } catch (error) {
    if (isDatabaseAway(error)) return 'the database is away'
    throw error
  }
}
