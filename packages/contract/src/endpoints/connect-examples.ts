/** One person on the way through the connect flow, and afterwards on their own page. */
import { connectedV2 } from './examples.ts'

const time = '2026-03-02T10:11:12.345Z'
const { connection_id, provider_id, name, display_label, status_cause, status_message } = connectedV2
const connection = { connection_id, provider_id, name, display_label, status: 'syncing', status_cause, status_message }

const state = '0d6c3b5e-2f6a-4d0e-9a3c-6d1f8f0e7b11'

/** The challenge of RFC 7636, appendix B. */
export const connectQuery = `client_id=cli_demo&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&state=${state}`
export const redirectTo = `http://127.0.0.1:4100/callback?state=${state}&iss=http%3A%2F%2F127.0.0.1%3A4000`

export const secretExample = 'q7YlR2c0m1nU3vX5w8zB4aD6eF9gH0jKlMoPqStUvWx'

export const askers = {
  client: { client_id: 'cli_demo', name: 'Demo application', logo_uri: null, homepage_uri: 'http://127.0.0.1:4100/' },
  tenant: { name: 'Sandbox' },
}

export const sent = { sent_to: 'ann@example.com', resend_after_seconds: 30 }

export const session = {
  session_id: '4c7a2f0e-6d0b-4c55-9a0e-1f5b7f3f8f11',
  expires_at: '2026-03-02T10:41:12.345Z',
  step: 'connect',
  ended: null,
  ...askers,
  scopes: ['assets:read', 'transactions:read'],
  grant_expires_at: '2027-03-02T10:11:12.345Z',
  display: 'page',
  web_message_origin: null,
  lang: 'en',
  theme: null,
  provider_id: null,
  connection_id: null,
  shares_email: true,
  repair_refused: false,
  email_sign_in: true,
  user: { email: 'ann@example.com' },
  consented: true,
  existing: [],
  unfinished: null,
  connections: [
    {
      ...connection,
      progress: {
        verified: true,
        assets: 3,
        records: 1_500,
        transactions: 0,
        history_from: null,
        done: false,
        top: [{ asset_symbol: 'BTC', share: 0.8 }],
        value_in_usd: '32640.255',
        proof: null,
      },
    },
  ],
  sandbox: false,
}

export const managed = {
  ...connection,
  status: 'active',
  added_at: connectedV2.added_at,
  last_synced_at: time,
  transaction_count: 1_240,
  record_count: 2_310,
}

export const event = {
  actor: 'user',
  action: 'connection.added',
  client_name: null,
  provider_name: 'Kraken',
  count: 1,
  last_at: time,
}

export const tenantRead = {
  client: { client_id: 'cli_enterprise', name: 'Back office' },
  accesses: [
    { endpoint: 'listUserAssets', hour: '2026-03-02T10:00:00.000Z', count: 1, last_at: '2026-03-02T10:41:07.310Z' },
  ],
}

export const grant = {
  grant_id: 'grt_01jq8n7x2zf4tb9v6h3m5kcdwe',
  client: { client_id: 'cli_demo', name: 'Demo application' },
  scopes: ['assets:read', 'transactions:read'],
  granted_at: time,
  expires_at: '2027-03-02T10:11:12.345Z',
  accesses: [
    { endpoint: 'listTransactions', hour: '2026-03-02T10:00:00.000Z', count: 12, last_at: '2026-03-02T10:52:33.004Z' },
  ],
  claims: [
    {
      claim: 'value_at_least',
      asset_id: null,
      amount: '10000',
      as_of: time,
      holds: true,
      audience: 'https://lender.example',
      made_at: time,
    },
  ],
}

export const endedGrant = {
  ...grant,
  grant_id: 'grt_01jq8n7x2zf4tb9v6h3m5kcdwf',
  client: { client_id: 'cli_tax', name: 'Tax report' },
  ended_at: '2026-04-01T08:00:00.000Z',
  ended_by: 'user',
}
