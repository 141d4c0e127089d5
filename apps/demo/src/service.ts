/**
 * How Northwind uses the service, through the SDK: the long-term flow, with the secret and the verifier on Northwind's
 * server, and a client for each visitor that renews its tokens by itself.
 */
import {
  ConnectionError,
  createClient,
  createPkce,
  createState,
  exchangeCode,
  toAuthorizationUrl,
  toTokenClient,
  type Client,
  type Tokens,
} from '@assay/sdk'

export interface ServiceOptions {
  authUrl: string
  baseUrl: string
  widgetUrl: string
  clientId: string
  clientSecret: string
  redirectUri: string
}

/** What to remember until the browser returns. */
export interface Authorization {
  state: string
  codeVerifier: string
}

export interface BegunAuthorization extends Authorization {
  codeChallenge: string
  /** Where the browser goes. */
  url: string
}

/** Northwind shows and removes accounts, reads holdings and transactions, and keeps its access (`offline_access`). */
const scope = 'providers:read providers:write assets:read transactions:read offline_access'

/** A page waits for these calls: an early "try again" is better than half a minute without a response. */
const patience = { retriesMax: 1, waitMaxMs: 2_000 }

export function createService(options: ServiceOptions) {
  const { widgetUrl, clientId, redirectUri } = options

  return {
    redirectUri,
    scope,

    async beginAuthorization(more: { connectionId?: string } = {}): Promise<BegunAuthorization> {
      const { codeVerifier, codeChallenge } = await createPkce()
      const state = createState()
      const url = toAuthorizationUrl({ widgetUrl, clientId, codeChallenge, state, redirectUri, scope, ...more })
      return { url, state, codeVerifier, codeChallenge }
    },

    /** Sandbox only: goes through the whole flow for a test user, and says where the browser goes next. */
    async answerAs(user: string, { codeChallenge, state }: BegunAuthorization): Promise<string> {
      const response = await fetch(`${options.authUrl}/sandbox/authorizations`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ client_id: clientId, redirect_uri: redirectUri, scope, state, user, providers: [] },
          ...{ code_challenge: codeChallenge, code_challenge_method: 'S256' },
        }),
      }).catch(() => undefined)
      if (response?.ok !== true) {
        throw new ConnectionError('the sandbox did not authorize the sample user', response?.status)
      }
      return ((await response.json()) as { redirect_to: string }).redirect_to
    },

    async redeem(code: string, { codeVerifier }: Authorization): Promise<Client> {
      const tokens = await exchangeCode(toTokenClient({ ...options, ...patience }), { code, codeVerifier, redirectUri })
      return openClient(options, tokens)
    },
  }
}

/**
 * A real product also gives `onTokens` and stores each new pair of tokens with its user. Here they live as long as the
 * process.
 */
function openClient(options: ServiceOptions, tokens: Tokens): Client {
  return createClient({ ...options, ...patience, tokens })
}

export type Service = ReturnType<typeof createService>
