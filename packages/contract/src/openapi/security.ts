/**
 * Which credentials each call needs, as OpenAPI security schemes. The platform and enterprise calls take access tokens
 * of the OAuth 2.0 flows of the authorization server (RFC 6749), each with its scope; the connect calls take the secret
 * of their session.
 */
import { consentScopes } from '@assay/core/consent'
import type { Endpoint, Scope } from '../endpoint.ts'
import type { JsonObject } from '../values.ts'

/** The three addresses of an installation; nothing may assume that they are one host. */
export interface Hosts {
  baseUrl: string
  authUrl: string
  widgetUrl: string
}

const meanings: Readonly<Record<Scope, string>> = {
  'providers:read': 'See which providers the user has connected, and what was read of them.',
  'providers:write': 'Connect providers and remove them.',
  'assets:read': 'Read holdings, and have them read again.',
  'transactions:read': 'Read and export transactions, and have new ones read.',
  offline_access: 'Get a refresh token.',
  'claims:read': 'Ask whether the user holds at least an amount, and get a signed statement; nothing else.',
  'enterprise:read': 'Read what the consents of the tenant’s users cover.',
  'enterprise:manage': 'End consents of the tenant’s users.',
}

const enterpriseScopes = ['enterprise:read', 'enterprise:manage'] as const satisfies Scope[]

type SchemeName = 'user' | 'tenant' | 'session' | 'manage'

const schemes: Readonly<Record<SchemeName, (hosts: Hosts) => JsonObject>> = {
  user: ({ authUrl, widgetUrl }) => ({
    type: 'oauth2',
    description: 'The user consents in the connect widget; the application redeems the code.',
    flows: {
      authorizationCode: {
        authorizationUrl: widgetUrl,
        tokenUrl: `${authUrl}/oauth/token`,
        refreshUrl: `${authUrl}/oauth/token`,
        scopes: describe(consentScopes),
      },
    },
  }),
  tenant: ({ authUrl }) => ({
    type: 'oauth2',
    description: 'The tenant’s own access, without a user.',
    flows: { clientCredentials: { tokenUrl: `${authUrl}/oauth/token`, scopes: describe(enterpriseScopes) } },
  }),
  session: () => ({ type: 'http', scheme: 'bearer', description: 'The session_secret of createSession.' }),
  manage: () => ({ type: 'http', scheme: 'bearer', description: 'The session_secret of createManageSession.' }),
}

/** The schemes that these endpoints ask for. */
export function toSecuritySchemes(endpoints: readonly Endpoint[], hosts: Hosts): JsonObject {
  const names = new Set(endpoints.flatMap((endpoint) => findScheme(endpoint) ?? []))
  return Object.fromEntries([...names].map((name) => [name, schemes[name](hosts)]))
}

/** Empty when the call needs no credentials. */
export function toSecurity(endpoint: Endpoint): JsonObject[] {
  const name = findScheme(endpoint)
  if (name === undefined) return []
  return [{ [name]: endpoint.scope === null ? [] : [endpoint.scope, ...(endpoint.moreScopes ?? [])] }]
}

function findScheme({ scope, bearer }: Endpoint): SchemeName | undefined {
  if (scope === null) return bearer
  return scope.startsWith('enterprise:') ? 'tenant' : 'user'
}

function describe(scopes: readonly Scope[]): JsonObject {
  return Object.fromEntries(scopes.map((scope) => [scope, meanings[scope]]))
}
