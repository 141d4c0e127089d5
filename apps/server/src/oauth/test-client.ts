/** A registered client, for tests that need no database. */
import type { Client } from '../tenants/index.ts'

export const testClient: Client = {
  clientId: 'cli_app',
  tenantKey: 1,
  tenantId: 'ten_1',
  name: 'App',
  redirectUris: ['https://app.example/cb'],
  embedOrigins: [],
  scopes: ['providers:read', 'assets:read', 'offline_access', 'enterprise:read'],
  s256Only: false,
  requireCodeVerifier: false,
  confirmFirstConsent: false,
  confirmEveryConsent: false,
  logoUri: null,
  homepageUri: null,
  createdAt: '2026-03-02T10:11:12.345Z',
  disabledAt: null,
  secretHashes: [],
}
