/**
 * Applications of a tenant: created, changed and disabled from the command line. Every change is in the audit log, in
 * the transaction that makes it.
 */
import { hasIdShape, invalidParameter, newId, Refusal } from '@assay/core'
import { recordAudit } from '../audit.ts'
import type { Database } from '../db/index.ts'
import { noteAllUsers } from '../notices.ts'
import { checkLoginKey, sha256, type LoginKey } from './secrets.ts'
import { checkRegistration, type ClientRegistration } from './registration.ts'
import * as store from './store.ts'
import type { Client } from './store.ts'

const secretBytes = 32
const overlapSecondsMax = 90 * 86_400

/** The members of a client that can change. Its id, tenant and kind cannot. */
export type ClientChanges = Partial<
  Pick<
    ClientRegistration,
    | 'name'
    | 'redirectUris'
    | 'embedOrigins'
    | 'scopes'
    | 's256Only'
    | 'requireCodeVerifier'
    | 'confirmFirstConsent'
    | 'confirmEveryConsent'
  >
>

interface ClientsDeps {
  db: Database
  randomBytes: (size: number) => Buffer
}

export function createClients(deps: ClientsDeps) {
  return {
    createClient: (tenantId: string, registration: ClientRegistration) => createClient(deps, tenantId, registration),
    updateClient: (clientId: string, changes: ClientChanges) => updateClient(deps, clientId, changes),
    findClient: (clientId: string) => findClient(deps, clientId),
    getClient: (clientId: string) => getClient(deps, clientId),
    listClients: (tenantId: string) => store.listClients(deps.db, tenantId),
    rotateSecret: (clientId: string, overlapSeconds: number) => rotateSecret(deps, clientId, overlapSeconds),
    disableClient: (clientId: string) => disableClient(deps, clientId),
    addLoginKey: (clientId: string, jwk: unknown) => addLoginKey(deps, clientId, jwk),
    removeLoginKey: (clientId: string, keyId: string) => removeLoginKey(deps, clientId, keyId),
    holdLoginKey: store.holdLoginKey,
    listLoginKeys: (clientId: string): Promise<(LoginKey & { createdAt: string })[]> =>
      store.listLoginKeys(deps.db, clientId),
  }
}

function newSecret({ randomBytes }: ClientsDeps): string {
  return randomBytes(secretBytes).toString('base64url')
}

export async function getTenant(db: Database, tenantId: string): Promise<store.TenantDetails> {
  const tenant = await store.findTenant(db, tenantId)
  if (tenant !== undefined) return tenant
  throw new Refusal('not_found', `There is no tenant ${tenantId}; \`assay tenant list\` shows them all.`)
}

/** The secret is shown here and never again; null for a public client. */
async function createClient(
  deps: ClientsDeps,
  tenantId: string,
  registration: ClientRegistration,
): Promise<{ client: Client; secret: string | null }> {
  const checked = checkRegistration(registration)
  const tenant = await getTenant(deps.db, tenantId)
  const secret = checked.publicClient ? null : newSecret(deps)
  const clientId = newId('cli')
  await deps.db.transaction(async (tx) => {
    await store.putClient(tx, clientId, tenant, checked)
    if (secret !== null) await store.putSecret(tx, clientId, sha256(secret))
    const fields = Object.keys(registration)
    await recordAudit(tx, { ...byOperator(tenant, clientId), action: 'client.created', fields })
  })
  return { client: await getClient(deps, clientId), secret }
}

/** Members that are not given stay as they are. Scopes that are taken away end with the access tokens that have them. */
async function updateClient(deps: ClientsDeps, clientId: string, changes: ClientChanges): Promise<Client> {
  const client = await getEnabledClient(deps, clientId)
  const { logoUri, homepageUri, ...kept } = client
  const checked = checkRegistration({
    ...kept,
    ...changes,
    publicClient: isPublic(client),
    ...toOptional({ logoUri, homepageUri }),
  })
  await deps.db.transaction(async (tx) => {
    await store.putClient(tx, clientId, client, checked)
    await recordAudit(tx, { ...byOperator(client, clientId), action: 'client.updated', fields: Object.keys(changes) })
  })
  return getClient(deps, clientId)
}

async function findClient(deps: ClientsDeps, clientId: string): Promise<Client | undefined> {
  // Malformed text would be an error in PostgreSQL (NUL) and cannot be an id.
  return hasIdShape('cli', clientId) ? store.findClient(deps.db, clientId) : undefined
}

async function getClient(deps: ClientsDeps, clientId: string): Promise<Client> {
  const client = await findClient(deps, clientId)
  if (client === undefined)
    throw new Refusal(
      'not_found',
      `There is no client ${clientId}; \`assay client list <tenant_id>\` shows those of a tenant.`,
    )
  return client
}

/** A change of a disabled client would look as if it brought it back. */
async function getEnabledClient(deps: ClientsDeps, clientId: string): Promise<Client> {
  const client = await getClient(deps, clientId)
  if (client.disabledAt === null) return client
  throw new Refusal('invalid_request', `${clientId} is disabled, and there is no way back: create another client.`)
}

function isPublic(client: Client): boolean {
  return client.secretHashes.length === 0
}

/** The old secrets stay valid for the overlap, so that the client can be changed without a pause. */
async function rotateSecret(deps: ClientsDeps, clientId: string, overlapSeconds: number): Promise<string> {
  checkOverlap(overlapSeconds)
  const client = await getEnabledClient(deps, clientId)
  // A first secret would make it another kind of client, which may have refresh tokens.
  if (isPublic(client)) throw new Refusal('invalid_request', `${clientId} is a public client: it has no secret.`)
  const secret = newSecret(deps)
  await deps.db.transaction(async (tx) => {
    await store.endSecrets(tx, client.clientId, overlapSeconds)
    await store.putSecret(tx, client.clientId, sha256(secret))
    await recordAudit(tx, { ...byOperator(client, clientId), action: 'secret.rotated' })
  })
  return secret
}

/**
 * Takes effect at the very next request: its secrets and every token of this client are refused, its grants are not
 * live, and its login keys are gone.
 */
async function disableClient(deps: ClientsDeps, clientId: string): Promise<void> {
  const client = await getClient(deps, clientId)
  await deps.db.transaction(async (tx) => {
    await store.disableClient(tx, client.clientId)
    await store.deleteLoginKeys(tx, client.clientId)
    await noteAllUsers(tx, client)
    await recordAudit(tx, { ...byOperator(client, clientId), action: 'client.disabled' })
  })
}

/** Public keys only; the private half stays with the client's backend. Returns the key's id. */
async function addLoginKey(deps: ClientsDeps, clientId: string, jwk: unknown): Promise<string> {
  const key = await checkLoginKey(jwk)
  const client = await getEnabledClient(deps, clientId)
  await deps.db.transaction(async (tx) => {
    await store.putLoginKey(tx, client.clientId, key)
    await recordAudit(tx, { ...byOperator(client, clientId), action: 'login_key.added', fields: [key.keyId] })
  })
  return key.keyId
}

/** Login tokens signed with it are refused from now on, and the open connect sessions of earlier ones end. */
async function removeLoginKey(deps: ClientsDeps, clientId: string, keyId: string): Promise<void> {
  const client = await getClient(deps, clientId)
  await deps.db.transaction(async (tx) => {
    if (!(await store.deleteLoginKey(tx, client.clientId, keyId))) {
      throw new Refusal('not_found', `${clientId} has no login key ${JSON.stringify(keyId)}.`)
    }
    await recordAudit(tx, { ...byOperator(client, clientId), action: 'login_key.removed', fields: [keyId] })
  })
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
