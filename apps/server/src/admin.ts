/** What the command line does to an installation: its schema, tenants, keys, and a look at how it does. */
import { createClock } from './clock.ts'
import type { Config } from './config.ts'
import { resealCredentials } from './connections/index.ts'
import { checkMigrations, openDatabase, type MigrationState } from './db/index.ts'
import type { Log } from './http/index.ts'
import { openKeyring, openWebhooks, prepareDatabase } from './main.ts'
import { examine, readStatus, type Finding, type Status } from './operations/index.ts'
import { createTenants, type Tenants } from './tenants/index.ts'
import type { Webhooks } from './webhooks/index.ts'

export type { Client } from './tenants/index.ts'
export { enterpriseScopes, findScopes, platformScopes } from './tenants/index.ts'

export interface Admin {
  tenants: Tenants
  webhooks: Webhooks
  migrate(): Promise<void>
  checkMigrations(): Promise<MigrationState>
  status(): Promise<Status>
  doctor(): Promise<Finding[]>
  /** Seals with the newest key what an older one sealed. */
  rotateKeys(): Promise<{ resealed: number; lost: string[]; newestKey: string }>
  close(): Promise<void>
}

/** Beside a service that runs on the embedded database it joins that; otherwise it opens the database itself. */
export async function openAdmin(config: Config, log: Log): Promise<Admin> {
  const opened = await openDatabase({ ...config.database, join: true }, log)
  const { db } = opened
  const keyring = openKeyring(config)
  const webhooks = openWebhooks({ config, db, clock: createClock(db, config.mode === 'sandbox'), keyring })
  return {
    tenants: createTenants({ db }),
    webhooks,
    migrate: () => prepareDatabase(config, opened, log),
    checkMigrations: () => checkMigrations(db),
    status: () => readStatus(db),
    doctor: () => examine({ db, keyring, now: Date.now }),
    async rotateKeys() {
      const { resealed, lost } = await resealCredentials(db, keyring)
      await webhooks.reseal()
      return { resealed, lost, newestKey: keyring.sealing[0].name }
    },
    close: () => opened.close(),
  }
}
