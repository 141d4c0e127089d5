/** Consents for tests of webhooks, which have no users of their own. */
import type { Database, Sql } from '../db/index.ts'
import { createTenants } from '../tenants/index.ts'

export interface Consents {
  /** Replaces what the user allowed before. */
  give(sql: Sql, of: { userKey: string; userId: string }, scopes?: readonly string[]): Promise<void>
  end(sql: Sql, userKey: string): Promise<void>
}

export async function openConsents(db: Database): Promise<Consents> {
  const tenants = createTenants({ db })
  const { tenantId, tenantKey } = await tenants.createTenant('Example')
  const { client } = await tenants.createClient(tenantId, {
    ...{ name: 'Northwind', redirectUris: ['https://app.example/callback'], embedOrigins: [] },
    scopes: ['providers:read'],
  })
  return {
    async give(sql, { userKey, userId }, scopes = ['providers:read', 'assets:read', 'transactions:read']) {
      await sql.execute(
        `insert into grants (user_key, client_id, id, tenant_key, tenant_id, user_id, scopes, consent, granted_at, expires_at)
         values ($1::bigint, $2, 'grt_' || $1, $3, $4, $5, $6, '{}', $7, $7::timestamptz + interval '90 days')
         on conflict (user_key, client_id) do update set scopes = excluded.scopes, revoked_at = null`,
        [userKey, client.clientId, tenantKey, tenantId, userId, [...scopes], sql.now()],
      )
    },
    async end(sql, userKey) {
      await sql.execute('update grants set revoked_at = $2 where user_key = $1::bigint', [userKey, sql.now()])
    },
  }
}
