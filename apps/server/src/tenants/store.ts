/** All SQL over tenants, clients, client_secrets, client_login_keys and users. */
import type { Sql } from '../db/index.ts'
import type { Owner, Tenant } from '../owner.ts'
import type { LoginKey } from './secrets.ts'
import type { CheckedRegistration } from './registration.ts'
import type { Scope } from './scopes.ts'

export interface TenantDetails extends Tenant {
  name: string
  createdAt: string
}

export interface Client extends Tenant {
  clientId: string
  name: string
  redirectUris: readonly string[]
  embedOrigins: readonly string[]
  scopes: readonly Scope[]
  s256Only: boolean
  requireCodeVerifier: boolean
  confirmFirstConsent: boolean
  confirmEveryConsent: boolean
  logoUri: string | null
  homepageUri: string | null
  createdAt: string
  disabledAt: string | null
  /** Hashes (hex) of the secrets that are valid now; none for a public client. */
  secretHashes: readonly string[]
}

type Parameter = `$${number}`

/** The columns of a client. The present time is a parameter. */
function clientColumns(now: Parameter): string {
  return `
  clients.id as "clientId", clients.tenant_key as "tenantKey", clients.tenant_id as "tenantId", clients.name,
  clients.redirect_uris as "redirectUris", clients.embed_origins as "embedOrigins", clients.scopes,
  clients.s256_only as "s256Only", clients.require_code_verifier as "requireCodeVerifier",
  clients.confirm_first_consent as "confirmFirstConsent",
  clients.confirm_every_consent as "confirmEveryConsent", clients.logo_uri as "logoUri", clients.homepage_uri as "homepageUri", clients.created_at as "createdAt",
  clients.disabled_at as "disabledAt", ${liveSecrets(now)}`
}

function liveSecrets(now: Parameter): string {
  return `array(
    select encode(client_secrets.secret_hash, 'hex')
    from client_secrets
    where client_secrets.client_id = clients.id
      and (client_secrets.expires_at is null or client_secrets.expires_at > ${now}::timestamptz)
  ) as "secretHashes"`
}

/** What the token endpoint needs to know about a client. */
export type TokenClient = Pick<
  Client,
  'clientId' | 'tenantKey' | 'tenantId' | 'scopes' | 'requireCodeVerifier' | 'disabledAt' | 'secretHashes'
>

/** A subquery that gives a TokenClient, for statements that find a code or a token in the same round trip. */
export function toTokenClientQuery(clientId: Parameter, now: Parameter): string {
  return `
    select clients.id as "clientId", clients.tenant_key as "tenantKey", clients.tenant_id as "tenantId",
           clients.scopes, clients.require_code_verifier as "requireCodeVerifier", clients.disabled_at as "disabledAt",
           ${liveSecrets(now)}
    from clients where clients.id = ${clientId}::text`
}

const tenantColumns = `tenant_key as "tenantKey", id as "tenantId", name, created_at as "createdAt"`

export async function putTenant(sql: Sql, tenantId: string, name: string): Promise<TenantDetails> {
  return sql.row<TenantDetails>(
    `insert into tenants (id, name, created_at) values ($1, $2, $3::timestamptz)
     on conflict (id) do update set name = excluded.name
     returning ${tenantColumns}`,
    [tenantId, name, sql.now()],
  )
}

export async function listTenants(sql: Sql): Promise<TenantDetails[]> {
  return sql.rows<TenantDetails>(`select ${tenantColumns} from tenants order by id`)
}

export async function findTenant(sql: Sql, tenantId: string): Promise<TenantDetails | undefined> {
  return sql.maybeRow<TenantDetails>(`select ${tenantColumns} from tenants where id = $1`, [tenantId])
}

/** Idempotent on the id, for the sandbox's fixed clients; a client never moves to another tenant. */
export async function putClient(
  sql: Sql,
  clientId: string,
  tenant: Tenant,
  client: CheckedRegistration,
): Promise<void> {
  await sql.row(
    `insert into clients (id, tenant_key, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only,
                          require_code_verifier, logo_uri, homepage_uri, created_at, confirm_first_consent,
                          confirm_every_consent)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::timestamptz, $13, $14)
     on conflict (id) do update
       set name = excluded.name, redirect_uris = excluded.redirect_uris, embed_origins = excluded.embed_origins,
           scopes = excluded.scopes, s256_only = excluded.s256_only,
           require_code_verifier = excluded.require_code_verifier, logo_uri = excluded.logo_uri,
           homepage_uri = excluded.homepage_uri, confirm_first_consent = excluded.confirm_first_consent,
           confirm_every_consent = excluded.confirm_every_consent
       where clients.tenant_key = excluded.tenant_key
     returning id`,
    [
      clientId,
      tenant.tenantKey,
      tenant.tenantId,
      client.name,
      client.redirectUris,
      client.embedOrigins,
      client.scopes,
      client.s256Only,
      client.requireCodeVerifier,
      client.logoUri,
      client.homepageUri,
      sql.now(),
      client.confirmFirstConsent,
      client.confirmEveryConsent,
    ],
  )
}

export async function findClient(sql: Sql, clientId: string): Promise<Client | undefined> {
  return sql.maybeRow<Client>(`select ${clientColumns('$2')} from clients where id = $1`, [clientId, sql.now()])
}

export async function listClients(sql: Sql, tenantId: string): Promise<Client[]> {
  return sql.rows<Client>(
    `select ${clientColumns('$2')} from clients
     where tenant_key = (select tenant_key from tenants where id = $1)
     order by id`,
    [tenantId, sql.now()],
  )
}

export async function disableClient(sql: Sql, clientId: string): Promise<boolean> {
  const touched = await sql.execute(
    'update clients set disabled_at = coalesce(disabled_at, $2::timestamptz) where id = $1',
    [clientId, sql.now()],
  )
  return touched === 1
}

export async function putSecret(sql: Sql, clientId: string, secretHash: Buffer): Promise<void> {
  await sql.execute(
    `insert into client_secrets (client_id, secret_hash, created_at) values ($1, $2, $3::timestamptz)
     on conflict do nothing`,
    [clientId, secretHash, sql.now()],
  )
}

/** Secrets that are valid now stay so for the overlap and no longer; those that would end sooner still do. */
export async function endSecrets(sql: Sql, clientId: string, overlapSeconds: number): Promise<void> {
  await sql.execute(
    `update client_secrets
     set expires_at = least(expires_at, $3::timestamptz + make_interval(secs => $2))
     where client_id = $1`,
    [clientId, overlapSeconds, sql.now()],
  )
  await sql.execute('delete from client_secrets where client_id = $1 and expires_at <= $2::timestamptz', [
    clientId,
    sql.now(),
  ])
}

/** Another key of the same name is removed, and with it the sessions of its tokens; adding a key twice changes nothing. */
export async function putLoginKey(tx: Sql, clientId: string, { keyId, jwk }: LoginKey): Promise<void> {
  const key = [clientId, keyId, JSON.stringify(jwk)]
  await tx.execute('delete from client_login_keys where client_id = $1 and key_id = $2 and jwk <> $3::jsonb', key)
  await tx.execute(
    `insert into client_login_keys (client_id, key_id, jwk, created_at) values ($1, $2, $3, $4::timestamptz)
     on conflict (client_id, key_id) do nothing`,
    [...key, tx.now()],
  )
}

export async function listLoginKeys(sql: Sql, clientId: string): Promise<(LoginKey & { createdAt: string })[]> {
  return sql.rows<LoginKey & { createdAt: string }>(
    `select key_id as "keyId", jwk, created_at as "createdAt" from client_login_keys
     where client_id = $1 order by created_at, key_id`,
    [clientId],
  )
}

/** False when the key is gone; otherwise it stays until the transaction ends. */
export async function holdLoginKey(tx: Sql, clientId: string, keyId: string): Promise<boolean> {
  const query = 'select from client_login_keys where client_id = $1 and key_id = $2 for key share'
  return (await tx.maybeRow(query, [clientId, keyId])) !== undefined
}

/** Like `deleteLoginKey`, all keys of the client. */
export async function deleteLoginKeys(sql: Sql, clientId: string): Promise<void> {
  await sql.execute('delete from client_login_keys where client_id = $1', [clientId])
}

/** Open connect sessions of its tokens go with it, by reference. */
export async function deleteLoginKey(sql: Sql, clientId: string, keyId: string): Promise<boolean> {
  const gone = await sql.execute('delete from client_login_keys where client_id = $1 and key_id = $2', [
    clientId,
    keyId,
  ])
  return gone === 1
}

export type UserName = { externalUserId: string } | { email: string }

const ownerColumns = `user_key as "userKey", id as "userId", tenant_key as "tenantKey", tenant_id as "tenantId"`

export async function findUser(sql: Sql, { tenantKey }: Tenant, name: UserName): Promise<Owner | undefined> {
  const [column, value] = nameColumn(name)
  return sql.maybeRow<Owner>(`select ${ownerColumns} from users where tenant_key = $1 and ${column} = $2`, [
    tenantKey,
    value,
  ])
}

/** False when the name or the key is taken. */
export async function insertUser(sql: Sql, user: Owner, name: UserName): Promise<boolean> {
  const [column, value] = nameColumn(name)
  const inserted = await sql.execute(
    `insert into users (user_key, id, tenant_key, tenant_id, ${column}, created_at)
     values ($1, $2, $3, $4, $5, $6::timestamptz)
     on conflict do nothing`,
    [user.userKey, user.userId, user.tenantKey, user.tenantId, value, sql.now()],
  )
  return inserted === 1
}

/** Finds the user by the id that the tenant knows. */
export async function findOwner(sql: Sql, { tenantKey }: Tenant, userId: string): Promise<Owner | undefined> {
  return sql.maybeRow<Owner>(`select ${ownerColumns} from users where tenant_key = $1 and id = $2`, [tenantKey, userId])
}

/** Null for a user known by the tenant's own id. */
export async function findEmail(sql: Sql, userKey: string): Promise<string | null> {
  const row = await sql.maybeRow<{ email: string | null }>('select email from users where user_key = $1', [userKey])
  return row?.email ?? null
}

/** The first address stays, if `mayBeFirst`. False when this is another one. */
export async function confirmEmail(sql: Sql, userKey: string, email: string, mayBeFirst: boolean): Promise<boolean> {
  const confirmed = await sql.execute(
    `update users set confirmed_email = $2
     where user_key = $1 and (confirmed_email = $2 or confirmed_email is null and $3::boolean)`,
    [userKey, email, mayBeFirst],
  )
  return confirmed === 1
}

/** False when the user was deleted before. */
export async function deleteUser(sql: Sql, userKey: string): Promise<boolean> {
  return (await sql.execute('delete from users where user_key = $1', [userKey])) === 1
}

function nameColumn(name: UserName): ['external_user_id' | 'email', string] {
  return 'email' in name ? ['email', name.email] : ['external_user_id', name.externalUserId]
}
