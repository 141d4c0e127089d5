/**
 * The sandbox's tenant: published ids and secrets, the same on every machine. Only ever called on a database that is
 * marked as a sandbox, which is refused outside sandbox mode.
 */
import type { Database } from '../db/index.ts'
import { checkRegistration, type ClientRegistration } from './registration.ts'
import { enterpriseScopes, platformScopes } from './scopes.ts'
import { sha256 } from './secrets.ts'
import * as store from './store.ts'

const sandboxTenantId = 'ten_sandbox'

const clients: readonly (ClientRegistration & { clientId: string; secret: string })[] = [
  {
    clientId: 'cli_demo',
    secret: 'sandbox-demo-secret',
    name: 'Demo application',
    redirectUris: ['http://127.0.0.1:4100/callback'],
    embedOrigins: ['http://127.0.0.1:4100'],
    scopes: platformScopes,
    homepageUri: 'http://127.0.0.1:4100/',
  },
  {
    clientId: 'cli_enterprise',
    secret: 'sandbox-enterprise-secret',
    name: 'Enterprise back office',
    scopes: enterpriseScopes,
  },
]

export async function ensureSandboxTenant(db: Database): Promise<string> {
  await db.transaction(async (tx) => {
    await store.putTenant(tx, sandboxTenantId, 'Sandbox')
    for (const { clientId, secret, ...registration } of clients) {
      await store.putClient(tx, clientId, sandboxTenantId, checkRegistration(registration))
      await store.putSecret(tx, clientId, sha256(secret))
    }
  })
  return sandboxTenantId
}
