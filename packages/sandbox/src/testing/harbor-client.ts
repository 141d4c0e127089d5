/** For tests: oauth4webapi, unmodified, signs in at Harbor and refreshes; the person at the page is a form that is posted. */
import { randomUUID } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import type { Sandbox } from '../index.ts'

export const redirectUri = 'http://127.0.0.1:4000/connect/callback'
const client = { client_id: 'assay-sandbox' }
const authentication = oauth.ClientSecretPost('harbor-client-secret')
const loose = { [oauth.allowInsecureRequests]: true }

export interface Asked {
  fields: Record<string, string>
  state: string
  verifier: string
}

export interface HarborClient {
  url: string
  ask(scope?: string): Promise<Asked>
  /** Answers the page: 303 with where to go, or a page. */
  decide(asked: Asked, answer: Record<string, string>): Promise<Response>
  redeem(asked: Asked, answered: Response): Promise<oauth.TokenEndpointResponse>
  /** All three. */
  signIn(account?: string, scope?: string): Promise<oauth.TokenEndpointResponse>
  refresh(tokens: { refresh_token?: string }): Promise<oauth.TokenEndpointResponse>
  get(token: string, path: string): Promise<Response>
  /** `get`, and the body of a 200. */
  read<T>(token: string, path: string): Promise<T>
}

export function openHarbor({ urls: { harbor: url } }: Pick<Sandbox, 'urls'>): HarborClient {
  const server = { issuer: url, authorization_endpoint: `${url}/oauth/authorize`, token_endpoint: `${url}/oauth/token` }

  const self: HarborClient = {
    url,
    async ask(scope = 'read') {
      const verifier = oauth.generateRandomCodeVerifier()
      const state = randomUUID()
      const fields = {
        response_type: 'code',
        ...client,
        redirect_uri: redirectUri,
        scope,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }
      return { fields, state, verifier }
    },
    decide: ({ fields }, answer) =>
      fetch(server.authorization_endpoint, {
        method: 'POST',
        body: new URLSearchParams({ ...fields, ...answer }),
        redirect: 'manual',
      }),
    async redeem({ state, verifier }, answered) {
      const callback = new URL(answered.headers.get('location') ?? '')
      const parameters = oauth.validateAuthResponse(server, client, callback, state)
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
        parameters,
        redirectUri,
        verifier,
        loose,
      )
      return oauth.processAuthorizationCodeResponse(server, client, response)
    },
    async signIn(account = 'default', scope) {
      const asked = await self.ask(scope)
      return self.redeem(asked, await self.decide(asked, { account, decision: 'allow' }))
    },
    async refresh({ refresh_token = '' }) {
      const response = await oauth.refreshTokenGrantRequest(server, client, authentication, refresh_token, loose)
      return oauth.processRefreshTokenResponse(server, client, response)
    },
    get: (token, path) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } }),
    async read<T>(token: string, path: string) {
      const response = await self.get(token, path)
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as T
    },
  }
  return self
}
