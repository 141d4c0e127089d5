/**
 * Who is calling the token, revocation or introspection endpoint: RFC 6749 §2.3. A secret may come in the body or by
 * HTTP Basic, never both; without one the caller has only named a client and is trusted with short-term access at most.
 */
import { hasIdShape } from '@assay/core'
import type { Client, Tenants, TokenClient } from '../tenants/index.ts'
import { OAuthError, required, type Parameters } from './protocol.ts'

/** A form-encoded request to one of the endpoints. */
export interface OauthRequest {
  parameters: Parameters
  /** The Authorization header. */
  authorization: string | undefined
}

export interface IdentifiedClient<C extends TokenClient> {
  client: C
  /** It proved to be the client by its secret. */
  authenticated: boolean
}

export interface Credentials {
  clientId: string
  secret: string | undefined
}

type ClientLookup = Pick<Tenants, 'findClient' | 'verifySecret'>

export async function identifyClient(tenants: ClientLookup, request: OauthRequest): Promise<IdentifiedClient<Client>> {
  const credentials = readCredentials(request)
  return checkClient(tenants, await tenants.findClient(credentials.clientId), credentials)
}

/** `client` is what was found under the id of the credentials. */
export function checkClient<C extends TokenClient>(
  tenants: Pick<Tenants, 'verifySecret'>,
  client: C | null | undefined,
  { secret }: Credentials,
): IdentifiedClient<C> {
  // The secret is checked before anything is said of the client, so that neither the answer nor its timing reveals
  // whether it exists.
  const proven = secret === undefined || tenants.verifySecret(client ?? undefined, secret)
  if (client === undefined || client === null || client.disabledAt !== null || !proven) {
    throw new OAuthError('invalid_client', 'client authentication failed: check client_id and client_secret')
  }
  return { client, authenticated: secret !== undefined }
}

export async function authenticateClient(tenants: ClientLookup, request: OauthRequest): Promise<Client> {
  // Elsewhere a missing client_id is a missing parameter. Here it is the authentication that is missing.
  if (request.authorization === undefined && !request.parameters.has('client_id')) throw secretNeeded()
  return requireSecret(await identifyClient(tenants, request))
}

/** RFC 6749 §5.2: invalid_client also when no client authentication is included where it is needed. */
export function requireSecret<C extends TokenClient>({ client, authenticated }: IdentifiedClient<C>): C {
  if (!authenticated) throw secretNeeded()
  return client
}

function secretNeeded(): OAuthError {
  return new OAuthError('invalid_client', 'this request needs client_id and the client secret')
}

/**
 * Which client the request speaks of and whether it brings a secret; This is for limits only, because none of it is
 * proved.
 */
export function findClaim(request: OauthRequest): { clientId: string; secretSent: boolean } | undefined {
  try {
    const { clientId, secret } = readCredentials(request)
    return { clientId, secretSent: secret !== undefined }
  } catch (error) {
    if (error instanceof OAuthError) return undefined
    throw error
  }
}

/** A client's id as it may be put into a statement: malformed text (NUL) would be an error in PostgreSQL. */
export function toSafeId({ clientId }: Credentials): string {
  return hasIdShape('cli', clientId) ? clientId : ''
}

export function readCredentials({ parameters, authorization }: OauthRequest): Credentials {
  if (authorization === undefined) {
    return { clientId: required(parameters, 'client_id'), secret: parameters.get('client_secret') }
  }
  const basic = parseBasic(authorization)
  // RFC 6749 §2.3: no more than one authentication method in a request.
  if (parameters.has('client_secret')) {
    throw new OAuthError('invalid_request', 'the client secret is sent both by Basic and in the body')
  }
  if ((parameters.get('client_id') ?? basic.clientId) !== basic.clientId) {
    throw new OAuthError('invalid_request', 'client_id in the body is not the one in the Authorization header')
  }
  return basic
}

/** RFC 6749 §2.3.1: both halves are form-encoded before Basic's own base64, so a colon in one of them is %3A. */
function parseBasic(header: string): Credentials {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1]
  if (encoded === undefined) throw new OAuthError('invalid_client', 'the Authorization header must be Basic')
  const decoded = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = decoded.indexOf(':')
  if (colon < 1) throw new OAuthError('invalid_client', 'the Authorization header must be Basic with id and secret')
  return { clientId: decodeForm(decoded.slice(0, colon)), secret: decodeForm(decoded.slice(colon + 1)) }
}

function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new OAuthError('invalid_client', 'the halves of Basic must be form-encoded')
  }
}
