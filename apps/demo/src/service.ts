/**
 * Northwind's side of the service: the long-term flow (code + secret + verifier on our server), tokens that renew
 * themselves, and the few calls the portfolio needs. Only the fields in use are named.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'

export interface ServiceOptions {
  authUrl: string
  baseUrl: string
  widgetUrl: string
  clientId: string
  clientSecret: string
  redirectUri: string
}

export interface Authorization {
  state: string
  verifier: string
}

export interface Tokens {
  access_token: string
  refresh_token?: string
  expires_in: number
}

/** What one user's session keeps; replaced as a whole when the tokens are renewed. */
export interface Access {
  tokens: Tokens
  expiresAtMs: number
}

export interface Connection {
  connection_id: string
  provider_id: string
  name: string
  display_label: string | null
  status: string
  status_message: string | null
  last_synced_at: string | null
  transaction_count: number
}

export interface Asset {
  provider_id: string
  asset_id: string
  asset_symbol: string
  asset_name: string | null
  value_in_usd: string | null
  exact: { total_holdings: string; staked_holdings: string; price_in_usd: string | null }
}

export interface Leg {
  asset_symbol: string
  amount: string
  value_in_usd: string | null
}

export interface Transaction {
  id: string
  type: string
  status: string
  timestamp: string
  provider_id: string
  categorization: { category: string }
  inputs: Leg[]
  outputs: Leg[]
  fees: { total_in_usd: string | null; items: { asset_symbol: string; amount: string }[] }
}

export interface Page<Item> {
  page: { next: string }
  data: Item[]
}

/** The service no longer honours our tokens: the user has to connect again. */
export class AccessEnded extends Error {}

export class ServiceFailed extends Error {}

const positionsMax = 1_000

export function createService(options: ServiceOptions, now: () => number) {
  const { authUrl, baseUrl, clientId, clientSecret, redirectUri } = options

  async function askTokens(form: Readonly<Record<string, string>>): Promise<Access> {
    const body = new URLSearchParams({ ...form, client_id: clientId, client_secret: clientSecret })
    const response = await fetch(`${authUrl}/oauth/token`, { method: 'POST', body })
    if (response.status === 400 || response.status === 401) throw new AccessEnded('the code or token is not accepted')
    if (!response.ok) throw new ServiceFailed(`the token endpoint answered ${response.status}`)
    const tokens = (await response.json()) as Tokens
    return { tokens, expiresAtMs: now() + tokens.expires_in * 1_000 }
  }

  async function ask<Answer>(access: Access, path: string, method: 'GET' | 'DELETE' | 'POST' = 'GET'): Promise<Answer> {
    const headers = { authorization: `Bearer ${access.tokens.access_token}` }
    const response = await fetch(`${baseUrl}${path}`, { method, headers })
    if (response.status === 401) throw new AccessEnded('the access token is not accepted')
    if (!response.ok) throw new ServiceFailed(`${method} ${path.split('?', 1)[0]} answered ${response.status}`)
    return (await response.json()) as Answer
  }

  return {
    /** Where the browser goes, and what to remember until it comes back. */
    begin(more: Readonly<Record<string, string>> = {}): { url: string; authorization: Authorization } {
      const verifier = randomBytes(32).toString('base64url')
      const state = randomUUID()
      const url = new URL(options.widgetUrl)
      const parameters = {
        client_id: clientId,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        state,
        redirect_uri: redirectUri,
        ...more,
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return { url: url.href, authorization: { state, verifier } }
    },

    redeem: (code: string, { verifier }: Authorization) =>
      askTokens({ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri }),

    renew({ tokens: { refresh_token } }: Access): Promise<Access> {
      if (refresh_token === undefined) throw new AccessEnded('there is no refresh token')
      return askTokens({ grant_type: 'refresh_token', refresh_token })
    },

    async revoke({ tokens: { refresh_token, access_token } }: Access): Promise<void> {
      const body = new URLSearchParams({
        token: refresh_token ?? access_token,
        client_id: clientId,
        client_secret: clientSecret,
      })
      await fetch(`${authUrl}/oauth/revoke`, { method: 'POST', body })
    },

    listConnections: async (access: Access) =>
      (await ask<Page<Connection>>(access, '/accounts/v2/providers?limit=100')).data,

    async listAssets(access: Access): Promise<Asset[]> {
      const assets: Asset[] = []
      let next = '/accounts/v2/assets?limit=100'
      while (next !== '' && assets.length < positionsMax) {
        const page = await ask<Page<Asset>>(access, next)
        assets.push(...page.data)
        next = page.page.next
      }
      return assets
    },

    /** `next` is what the page before said, from our own page's query: only the cursor in it is used. */
    listTransactions: (access: Access, cursor: string | undefined) =>
      ask<Page<Transaction>>(
        access,
        `/accounts/v2/transactions?limit=30${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      ),

    removeConnection: (access: Access, connectionId: string) =>
      ask<object>(access, `/accounts/v2/providers?connection_id=${encodeURIComponent(connectionId)}`, 'DELETE'),
  }
}

export type Service = ReturnType<typeof createService>
