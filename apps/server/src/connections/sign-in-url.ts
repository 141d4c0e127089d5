/** The address of a provider's own sign-in page, asking for what this installation is registered for there. */
import { findSignIn, toAuthorizationUrl } from '@assay/connectors/catalog'
import { getOffered, type AddDeps } from './add.ts'
import type { OpenDeps } from './open.ts'

export function toSignInUrl(
  deps: Pick<AddDeps, 'catalog'> & Pick<OpenDeps, 'providerClients' | 'providerUrls'>,
  providerId: string,
  request: { redirectUri: string; state: string; codeChallenge: string },
): string {
  getOffered(deps.catalog, providerId, 'oauth2')
  const signIn = findSignIn(providerId)
  const client = deps.providerClients[providerId]
  if (signIn === undefined || client === undefined) {
    throw new Error(`this installation is not registered at ${providerId}`)
  }
  return toAuthorizationUrl(signIn, deps.providerUrls[providerId], { ...request, clientId: client.clientId })
}
