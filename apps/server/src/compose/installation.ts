/**
 * The first steps that a service and a command share. They are not in main.ts, because a command needs no HTTP: loading
 * Fastify and the contract took a third of its processor time.
 */
import { placeNewTables } from '../cluster/index.ts'
import type { Config } from '../config/config.ts'
import { emptySandbox, markInstallation, migrate, type OpenedDatabase } from '../db/index.ts'
import type { Log } from '../http/index.ts'
import { installQueue } from '../jobs/index.ts'
import { ensureOwnKeys, openKeyring, readOwnKeys, type Keyring } from '../keys.ts'

export async function prepareDatabase(
  config: Config,
  opened: OpenedDatabase,
  log: Log,
  signal?: AbortSignal,
): Promise<void> {
  const applied = await migrate(opened.db, { log, signal })
  if (applied.length > 0) await placeNewTables(opened.db)
  await markInstallation(opened.db, config.mode)
  await opened.db.clock.refresh()
  await installQueue(
    config.database.listenUrl === undefined ? opened.connection : { url: config.database.listenUrl },
    log,
  )
  if (config.sandbox.startsEmpty === true) await emptySandbox(opened.db)
}

/**
 * A sandbox that was given no keys makes them at its first start, and so does live mode. In production such a
 * configuration was refused.
 */
export function findKeyring({ keys, database }: Config, { make = true }: { make?: boolean } = {}): Keyring {
  if (keys.server !== undefined) return openKeyring(keys)
  return openKeyring(make ? ensureOwnKeys(database.dataDirectory) : readOwnKeys(database.dataDirectory))
}
