/**
 * The sandbox's tenant: published ids and secrets, the same on every machine. Only ever called on a database that is
 * marked as a sandbox, which is refused outside sandbox mode.
 */
import type { Database } from '../db/index.ts'
import type { Tenant } from '../owner.ts'
import { checkRegistration, type ClientRegistration } from './registration.ts'
import { enterpriseScopes, platformScopes } from './scopes.ts'
import { sha256 } from './secrets.ts'
import * as store from './store.ts'

const sandboxTenantId = 'ten_sandbox'

type SandboxClient = ClientRegistration & { clientId: string; secret: string }

/** One redirect URI alone, so that requests may leave it out. */
function clientsFor(demoUrl: string): readonly SandboxClient[] {
  return [
    {
      clientId: 'cli_demo',
      secret: 'sandbox-demo-secret',
      name: 'Northwind',
      redirectUris: [`${demoUrl}/callback`],
      embedOrigins: [demoUrl],
      scopes: platformScopes,
      homepageUri: `${demoUrl}/`,
    },
    {
      clientId: 'cli_enterprise',
      secret: 'sandbox-enterprise-secret',
      name: 'Enterprise back office',
      scopes: enterpriseScopes,
    },
  ]
}

/** Where the demo application listens unless the operator moves it. */
const demoUrlDefault = 'http://127.0.0.1:4100'

export async function ensureSandboxTenant(db: Database, demoUrl = demoUrlDefault): Promise<Tenant> {
  return db.transaction(async (tx) => {
    const { tenantKey, tenantId } = await store.putTenant(tx, sandboxTenantId, 'Sandbox')
    const tenant = { tenantKey, tenantId }
    for (const { clientId, secret, ...registration } of clientsFor(demoUrl)) {
      await store.putClient(tx, clientId, tenant, checkRegistration(registration))
      await store.putSecret(tx, clientId, sha256(secret))
    }
    return tenant
  })
}
