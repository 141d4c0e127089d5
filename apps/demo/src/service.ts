/**
 * Northwind's side of the service, with its own client library: the long-term flow (code, secret and verifier on our
 * server), and a client for each visitor that renews its tokens by itself.
 */
import {
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

/** What to remember until the browser comes back. */
export interface Authorization {
  state: string
  codeVerifier: string
}

export interface BegunAuthorization extends Authorization {
  codeChallenge: string
  /** Where the browser goes. */
  url: string
}

/** A page waits for these calls: better an honest "try again" than half a minute of nothing. */
const patience = { retriesMax: 1, waitMaxMs: 2_000 }

export function createService(options: ServiceOptions) {
  const { widgetUrl, clientId, redirectUri } = options

  return {
    redirectUri,

    async begin(more: { connectionId?: string } = {}): Promise<BegunAuthorization> {
      const { codeVerifier, codeChallenge } = await createPkce()
      const state = createState()
      const url = toAuthorizationUrl({ widgetUrl, clientId, codeChallenge, state, redirectUri, ...more })
      return { url, state, codeVerifier, codeChallenge }
    },

    async redeem(code: string, { codeVerifier }: Authorization): Promise<Client> {
      const tokens = await exchangeCode(toTokenClient({ ...options, ...patience }), { code, codeVerifier, redirectUri })
      return openClient(options, tokens)
    },
  }
}

/** A real product gives `onTokens` too, and keeps the new pair beside its user; here they live as long as the process. */
function openClient(options: ServiceOptions, tokens: Tokens): Client {
  return createClient({ ...options, ...patience, tokens })
}

export type Service = ReturnType<typeof createService>
