/**
 * The tenants that sandbox mode and live mode create, with the demo application and a back office. The sandbox's
 * clients have published ids and secrets, the same on every machine: they are only created in a database that is marked
 * as a sandbox, which the service refuses outside sandbox mode. In live mode the ids are the same, and every start
 * makes new secrets.
 */
import { recordAudit } from '../audit.ts'
import type { Database } from '../db/index.ts'
import type { Tenant } from '../owner.ts'
import { checkRegistration, type ClientRegistration } from './registration.ts'
import { enterpriseScopes, platformScopes } from './scopes.ts'
import { sha256 } from './secrets.ts'
import * as store from './store.ts'

export interface OwnSecrets {
  demo: string
  enterprise: string
}

const sandboxSecrets: OwnSecrets = { demo: 'sandbox-demo-secret', enterprise: 'sandbox-enterprise-secret' }

type OwnClient = ClientRegistration & { clientId: string; secret: string }

/** One redirect URI alone, so that requests may leave it out. */
function clientsFor(demoUrl: string, secrets: OwnSecrets): readonly OwnClient[] {
  return [
    {
      clientId: 'cli_demo',
      secret: secrets.demo,
      name: 'Northwind',
      redirectUris: [`${demoUrl}/callback`],
      embedOrigins: [demoUrl],
      scopes: platformScopes,
      homepageUri: `${demoUrl}/`,
    },
    {
      clientId: 'cli_enterprise',
      secret: secrets.enterprise,
      name: 'Enterprise back office',
      scopes: enterpriseScopes,
    },
  ]
}

/** Where the demo application listens unless the operator moves it. */
const demoUrlDefault = 'http://127.0.0.1:4100'

export function ensureSandboxTenant(db: Database, demoUrl = demoUrlDefault): Promise<Tenant> {
  return putOwnTenant(db, { tenantId: 'ten_sandbox', name: 'Sandbox' }, clientsFor(demoUrl, sandboxSecrets))
}

/** Secrets of earlier starts end here: they were printed in a terminal. */
export function ensureLiveTenant(db: Database, demoUrl: string, secrets: OwnSecrets): Promise<Tenant> {
  const tenantId = 'ten_live'
  return putOwnTenant(db, { tenantId, name: 'Live mode' }, clientsFor(demoUrl, secrets), async (tx, clientId) => {
    await store.endSecrets(tx, clientId, 0)
    await recordAudit(tx, { tenantId, actor: 'service', action: 'secret.rotated', subject: clientId, clientId })
  })
}

function putOwnTenant(
  db: Database,
  { tenantId: id, name }: { tenantId: string; name: string },
  clients: readonly OwnClient[],
  beforeSecret?: (tx: Parameters<typeof store.putSecret>[0], clientId: string) => Promise<void>,
): Promise<Tenant> {
  return db.transaction(async (tx) => {
    const { tenantKey, tenantId } = await store.putTenant(tx, id, name)
    const tenant = { tenantKey, tenantId }
    for (const { clientId, secret, ...registration } of clients) {
      await store.putClient(tx, clientId, tenant, checkRegistration(registration))
      await beforeSecret?.(tx, clientId)
      await store.putSecret(tx, clientId, sha256(secret))
    }
    return tenant
  })
}
