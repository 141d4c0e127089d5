/** What the command line does to an installation: its schema, its tenants and their clients. */
import type { Config } from './config.ts'
import { checkMigrations, openDatabase, type MigrationState } from './db/index.ts'
import type { Log } from './http/index.ts'
import { prepareDatabase } from './main.ts'
import { createTenants, type Tenants } from './tenants/index.ts'

export type { Client, ClientRegistration, Tenant } from './tenants/index.ts'
export { enterpriseScopes, findScopes, platformScopes } from './tenants/index.ts'

export interface Admin {
  tenants: Tenants
  migrate(): Promise<void>
  checkMigrations(): Promise<MigrationState>
  close(): Promise<void>
}

/** Beside a service that runs on the embedded database it joins that; otherwise it opens the database itself. */
export async function openAdmin(config: Config, log: Log): Promise<Admin> {
  const opened = await openDatabase({ ...config.database, join: true }, log)
  return {
    tenants: createTenants({ db: opened.db }),
    migrate: () => prepareDatabase(config, opened, log),
    checkMigrations: () => checkMigrations(opened.db),
    close: () => opened.close(),
  }
}
