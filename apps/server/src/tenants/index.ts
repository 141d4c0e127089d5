/**
 * Front door of tenants: organisations that integrate the service, their applications (clients) and the people whose
 * data it is (users). Nothing crosses tenants.
 */
import { randomBytes as systemRandomBytes } from 'node:crypto'
import { newId } from '@assay/core'
import { recordAudit } from '../audit.ts'
import type { Database } from '../db/index.ts'
import { createClients, getTenant } from './clients.ts'
import { checkName } from './registration.ts'
import { ensureLiveTenant, ensureSandboxTenant, type OwnSecrets } from './own-tenants.ts'
import { matchesSecret } from './secrets.ts'
import * as store from './store.ts'
import type { Client, TenantDetails } from './store.ts'
import { createUsers } from './users.ts'

export { checkRegistration } from './registration.ts'
export { parseEmail, toStoredEmail } from './users.ts'

export type { ClientChanges } from './clients.ts'
export type { LoginKey } from './secrets.ts'
export type { ClientRegistration } from './registration.ts'
export { toTokenClientQuery, type Client, type TenantDetails, type TokenClient, type UserName } from './store.ts'
export {
  enterpriseScopes,
  findScopes,
  isEnterpriseScope,
  isPlatformScope,
  keepAllowed,
  platformScopes,
} from './scopes.ts'
export type { PlatformScope, Scope } from './scopes.ts'

export interface TenantsDeps {
  db: Database
  randomBytes?: (size: number) => Buffer
}

export type Tenants = ReturnType<typeof createTenants>

export function createTenants({ db, randomBytes = systemRandomBytes }: TenantsDeps) {
  async function createTenant(name: string): Promise<TenantDetails> {
    checkName(name)
    return db.transaction(async (tx) => {
      const tenant = await store.putTenant(tx, newId('ten'), name)
      const { tenantId } = tenant
      await recordAudit(tx, {
        tenantId,
        actor: 'operator',
        action: 'tenant.created',
        subject: tenantId,
        fields: ['name'],
      })
      return tenant
    })
  }

  return {
    createTenant,
    listTenants: () => store.listTenants(db),
    findTenant: (tenantId: string) => store.findTenant(db, tenantId),
    getTenant: (tenantId: string) => getTenant(db, tenantId),
    ...createClients({ db, randomBytes }),
    /** An undefined `client`, for an unregistered id, takes as long and returns false. */
    verifySecret: (client: Pick<Client, 'secretHashes'> | undefined, presented: string): boolean =>
      matchesSecret(presented, client?.secretHashes ?? []),
    ...createUsers({ db, randomBytes }),
    ensureSandboxTenant: (demoUrl?: string) => ensureSandboxTenant(db, demoUrl),
    ensureLiveTenant: (demoUrl: string, secrets: OwnSecrets) => ensureLiveTenant(db, demoUrl, secrets),
  }
}
