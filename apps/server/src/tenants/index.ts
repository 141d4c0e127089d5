/**
 * Front door of tenants: organisations that integrate the service, their applications (clients) and the people whose
 * data it is (users). Nothing crosses tenants.
 */
import { randomBytes as systemRandomBytes } from 'node:crypto'
import { hasIdShape, invalidParameter, newId, Refusal } from '@assay/core'
import { recordAudit } from '../audit.ts'
import type { Database } from '../db/index.ts'
import { noteAllUsers } from '../notices.ts'
import { checkName, checkRegistration, type ClientRegistration } from './registration.ts'
import { ensureSandboxTenant } from './sandbox.ts'
import { matchesSecret, sha256 } from './secrets.ts'
import { checkLoginKey, type LoginKey } from './login-keys.ts'
import * as store from './store.ts'
import type { Client, TenantDetails } from './store.ts'
import { createUsers } from './users.ts'

export { parseEmail } from './users.ts'

export type { LoginKey } from './login-keys.ts'
export type { ClientRegistration } from './registration.ts'
export { toTokenClientQuery, type Client, type TenantDetails, type TokenClient, type UserName } from './store.ts'
export { enterpriseScopes, findScopes, isEnterpriseScope, isPlatformScope, platformScopes } from './scopes.ts'
export type { PlatformScope, Scope } from './scopes.ts'

const secretBytes = 32
const overlapSecondsMax = 90 * 86_400

/** What can be changed of a client. Its id, tenant and kind cannot. */
export type ClientChanges = Partial<
  Pick<
    ClientRegistration,
    'name' | 'redirectUris' | 'embedOrigins' | 'scopes' | 's256Only' | 'requireCodeVerifier' | 'confirmFirstConsent'
  >
>

export interface TenantsDeps {
  db: Database
  randomBytes?: (size: number) => Buffer
}

export type Tenants = ReturnType<typeof createTenants>

export function createTenants({ db, randomBytes = systemRandomBytes }: TenantsDeps) {
  const newSecret = (): string => randomBytes(secretBytes).toString('base64url')

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

  /** The secret is shown here and never again; null for a public client. */
  async function createClient(
    tenantId: string,
    registration: ClientRegistration,
  ): Promise<{ client: Client; secret: string | null }> {
    const checked = checkRegistration(registration)
    const tenant = await store.findTenant(db, tenantId)
    if (tenant === undefined) throw new Refusal('not_found', 'There is no such tenant.')
    const secret = checked.publicClient ? null : newSecret()
    const clientId = newId('cli')
    await db.transaction(async (tx) => {
      await store.putClient(tx, clientId, tenant, checked)
      if (secret !== null) await store.putSecret(tx, clientId, sha256(secret))
      const fields = Object.keys(registration)
      await recordAudit(tx, { ...byOperator(tenant, clientId), action: 'client.created', fields })
    })
    return { client: await getClient(clientId), secret }
  }

  /** What is not named stays as it is. Grants and tokens that exist keep the scopes they were given. */
  async function updateClient(clientId: string, changes: ClientChanges): Promise<Client> {
    const client = await getClient(clientId)
    const { logoUri, homepageUri, ...kept } = client
    const checked = checkRegistration({
      ...kept,
      ...changes,
      publicClient: client.secretHashes.length === 0,
      ...toOptional({ logoUri, homepageUri }),
    })
    await db.transaction(async (tx) => {
      await store.putClient(tx, clientId, client, checked)
      await recordAudit(tx, { ...byOperator(client, clientId), action: 'client.updated', fields: Object.keys(changes) })
    })
    return getClient(clientId)
  }

  async function findClient(clientId: string): Promise<Client | undefined> {
    // Malformed text would be an error in PostgreSQL (NUL) and cannot be an id.
    return hasIdShape('cli', clientId) ? store.findClient(db, clientId) : undefined
  }

  async function getClient(clientId: string): Promise<Client> {
    const client = await findClient(clientId)
    if (client === undefined) throw new Refusal('not_found', 'There is no such client.')
    return client
  }

  /** The old secrets stay valid for the overlap, so that the client can be changed without a pause. */
  async function rotateSecret(clientId: string, overlapSeconds: number): Promise<string> {
    checkOverlap(overlapSeconds)
    const client = await getClient(clientId)
    const secret = newSecret()
    await db.transaction(async (tx) => {
      await store.endSecrets(tx, client.clientId, overlapSeconds)
      await store.putSecret(tx, client.clientId, sha256(secret))
      await recordAudit(tx, { ...byOperator(client, clientId), action: 'secret.rotated' })
    })
    return secret
  }

  /** Holds at the very next request: its secrets and every token of this client are refused, and its grants are not live. */
  async function disableClient(clientId: string): Promise<void> {
    const client = await getClient(clientId)
    await db.transaction(async (tx) => {
      await store.disableClient(tx, client.clientId)
      await noteAllUsers(tx, client)
      await recordAudit(tx, { ...byOperator(client, clientId), action: 'client.disabled' })
    })
  }

  /** Public keys only; the private half stays with the client's backend. Returns the key's id. */
  async function addLoginKey(clientId: string, jwk: unknown): Promise<string> {
    const key = await checkLoginKey(jwk)
    const client = await getClient(clientId)
    await db.transaction(async (tx) => {
      await store.putLoginKey(tx, client.clientId, key)
      await recordAudit(tx, { ...byOperator(client, clientId), action: 'login_key.added', fields: [key.keyId] })
    })
    return key.keyId
  }

  /** Login tokens that it has signed are refused from now on. */
  async function removeLoginKey(clientId: string, keyId: string): Promise<void> {
    const client = await getClient(clientId)
    await db.transaction(async (tx) => {
      if (!(await store.deleteLoginKey(tx, client.clientId, keyId))) {
        throw new Refusal('not_found', `${clientId} has no login key ${JSON.stringify(keyId)}.`)
      }
      await recordAudit(tx, { ...byOperator(client, clientId), action: 'login_key.removed', fields: [keyId] })
    })
  }

  return {
    createTenant,
    listTenants: () => store.listTenants(db),
    findTenant: (tenantId: string) => store.findTenant(db, tenantId),
    createClient,
    updateClient,
    findClient,
    getClient,
    listClients: (tenantId: string) => store.listClients(db, tenantId),
    rotateSecret,
    disableClient,
    addLoginKey,
    removeLoginKey,
    listLoginKeys: (clientId: string): Promise<(LoginKey & { createdAt: string })[]> =>
      store.listLoginKeys(db, clientId),
    /** `client` undefined, for an id that is not registered, takes as long and is false. */
    verifySecret: (client: Pick<Client, 'secretHashes'> | undefined, presented: string): boolean =>
      matchesSecret(presented, client?.secretHashes ?? []),
    ...createUsers({ db, randomBytes }),
    ensureSandboxTenant: (demoUrl?: string) => ensureSandboxTenant(db, demoUrl),
  }
}

/** Clients are changed from the command line only. */
function byOperator({ tenantId }: { tenantId: string }, clientId: string) {
  return { tenantId, actor: 'operator', subject: clientId, clientId } as const
}

function toOptional(uris: { logoUri: string | null; homepageUri: string | null }): {
  logoUri?: string
  homepageUri?: string
} {
  const { logoUri, homepageUri } = uris
  return { ...(logoUri === null ? {} : { logoUri }), ...(homepageUri === null ? {} : { homepageUri }) }
}

function checkOverlap(overlapSeconds: number): void {
  if (Number.isInteger(overlapSeconds) && overlapSeconds >= 0 && overlapSeconds <= overlapSecondsMax) return
  throw invalidParameter('overlap_seconds', `must be a whole number from 0 to ${overlapSecondsMax}`)
}
