/** All SQL over tenants, clients, client_secrets, client_login_keys and users. */
import type { Sql } from '../db/index.ts'
import type { LoginKey } from './login-keys.ts'
import type { CheckedRegistration } from './registration.ts'
import type { Scope } from './scopes.ts'

export interface Tenant {
  tenantId: string
  name: string
  createdAt: string
}

export interface Client {
  clientId: string
  tenantId: string
  name: string
  redirectUris: readonly string[]
  embedOrigins: readonly string[]
  scopes: readonly Scope[]
  s256Only: boolean
  requireCodeVerifier: boolean
  logoUri: string | null
  homepageUri: string | null
  createdAt: string
  disabledAt: string | null
  /** Hashes (hex) of the secrets that are valid now; none for a public client. */
  secretHashes: readonly string[]
}

const clientColumns = `
  clients.id as "clientId", clients.tenant_id as "tenantId", clients.name, clients.redirect_uris as "redirectUris",
  clients.embed_origins as "embedOrigins", clients.scopes, clients.s256_only as "s256Only",
  clients.require_code_verifier as "requireCodeVerifier", clients.logo_uri as "logoUri",
  clients.homepage_uri as "homepageUri", clients.created_at as "createdAt", clients.disabled_at as "disabledAt",
  array(
    select encode(client_secrets.secret_hash, 'hex')
    from client_secrets
    where client_secrets.client_id = clients.id
      and (client_secrets.expires_at is null or client_secrets.expires_at > assay_now())
  ) as "secretHashes"`

export async function putTenant(sql: Sql, tenantId: string, name: string): Promise<Tenant> {
  return sql.row<Tenant>(
    `insert into tenants (id, name) values ($1, $2)
     on conflict (id) do update set name = excluded.name
     returning id as "tenantId", name, created_at as "createdAt"`,
    [tenantId, name],
  )
}

export async function listTenants(sql: Sql): Promise<Tenant[]> {
  return sql.rows<Tenant>(`select id as "tenantId", name, created_at as "createdAt" from tenants order by id`)
}

export async function findTenant(sql: Sql, tenantId: string): Promise<Tenant | undefined> {
  return sql.maybeRow<Tenant>(`select id as "tenantId", name, created_at as "createdAt" from tenants where id = $1`, [
    tenantId,
  ])
}

export async function hasTenant(sql: Sql, tenantId: string): Promise<boolean> {
  return (await sql.maybeRow('select 1 from tenants where id = $1', [tenantId])) !== undefined
}

/** Idempotent on the id, for the sandbox's fixed clients; a client never moves to another tenant. */
export async function putClient(
  sql: Sql,
  clientId: string,
  tenantId: string,
  client: CheckedRegistration,
): Promise<void> {
  await sql.row(
    `insert into clients (id, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only, require_code_verifier,
                          logo_uri, homepage_uri)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (id) do update
       set name = excluded.name, redirect_uris = excluded.redirect_uris, embed_origins = excluded.embed_origins,
           scopes = excluded.scopes, s256_only = excluded.s256_only,
           require_code_verifier = excluded.require_code_verifier, logo_uri = excluded.logo_uri,
           homepage_uri = excluded.homepage_uri
       where clients.tenant_id = excluded.tenant_id
     returning id`,
    [
      clientId,
      tenantId,
      client.name,
      client.redirectUris,
      client.embedOrigins,
      client.scopes,
      client.s256Only,
      client.requireCodeVerifier,
      client.logoUri,
      client.homepageUri,
    ],
  )
}

export async function findClient(sql: Sql, clientId: string): Promise<Client | undefined> {
  return sql.maybeRow<Client>(`select ${clientColumns} from clients where id = $1`, [clientId])
}

export async function listClients(sql: Sql, tenantId: string): Promise<Client[]> {
  return sql.rows<Client>(`select ${clientColumns} from clients where tenant_id = $1 order by id`, [tenantId])
}

export async function disableClient(sql: Sql, clientId: string): Promise<boolean> {
  const touched = await sql.execute(
    'update clients set disabled_at = coalesce(disabled_at, assay_now()) where id = $1',
    [clientId],
  )
  return touched === 1
}

export async function putSecret(sql: Sql, clientId: string, secretHash: Buffer): Promise<void> {
  await sql.execute('insert into client_secrets (client_id, secret_hash) values ($1, $2) on conflict do nothing', [
    clientId,
    secretHash,
  ])
}

/** What is valid now stays so for the overlap and no longer; what was to end sooner still does. */
export async function endSecrets(sql: Sql, clientId: string, overlapSeconds: number): Promise<void> {
  await sql.execute(
    `update client_secrets
     set expires_at = least(expires_at, assay_now() + make_interval(secs => $2))
     where client_id = $1`,
    [clientId, overlapSeconds],
  )
  await sql.execute('delete from client_secrets where client_id = $1 and expires_at <= assay_now()', [clientId])
}

/** The same key again replaces itself. */
export async function putLoginKey(sql: Sql, clientId: string, { keyId, jwk }: LoginKey): Promise<void> {
  await sql.execute(
    `insert into client_login_keys (client_id, key_id, jwk) values ($1, $2, $3)
     on conflict (client_id, key_id) do update set jwk = excluded.jwk`,
    [clientId, keyId, JSON.stringify(jwk)],
  )
}

export async function listLoginKeys(sql: Sql, clientId: string): Promise<LoginKey[]> {
  return sql.rows<LoginKey>(
    'select key_id as "keyId", jwk from client_login_keys where client_id = $1 order by created_at, key_id',
    [clientId],
  )
}

export type UserName = { externalUserId: string } | { email: string }

export async function findUser(sql: Sql, tenantId: string, name: UserName): Promise<string | undefined> {
  const [column, value] = nameColumn(name)
  const found = await sql.maybeRow<{ id: string }>(`select id from users where tenant_id = $1 and ${column} = $2`, [
    tenantId,
    value,
  ])
  return found?.id
}

/** Undefined when another process was first. */
export async function insertUser(
  sql: Sql,
  tenantId: string,
  userId: string,
  name: UserName,
): Promise<string | undefined> {
  const [column, value] = nameColumn(name)
  const inserted = await sql.maybeRow<{ id: string }>(
    `insert into users (tenant_id, id, ${column}) values ($1, $2, $3)
     on conflict (tenant_id, ${column}) do nothing
     returning id`,
    [tenantId, userId, value],
  )
  return inserted?.id
}

/** Null for a user known by the tenant's own id. */
export async function findEmail(sql: Sql, tenantId: string, userId: string): Promise<string | null> {
  const row = await sql.maybeRow<{ email: string | null }>('select email from users where tenant_id = $1 and id = $2', [
    tenantId,
    userId,
  ])
  return row?.email ?? null
}

export async function deleteUser(sql: Sql, tenantId: string, userId: string): Promise<void> {
  await sql.execute('delete from users where tenant_id = $1 and id = $2', [tenantId, userId])
}

function nameColumn(name: UserName): ['external_user_id' | 'email', string] {
  return 'email' in name ? ['email', name.email] : ['external_user_id', name.externalUserId]
}
