/**
 * What an access token may allow. Users grant platform scopes (authorization code), and tenants have enterprise scopes
 * of their own (client credentials); no token carries both. The order here is the order on the wire.
 */
import { consentScopes } from '@assay/core/consent'

export const platformScopes = consentScopes
export const enterpriseScopes = ['enterprise:read', 'enterprise:manage'] as const

export type PlatformScope = (typeof platformScopes)[number]
type EnterpriseScope = (typeof enterpriseScopes)[number]
export type Scope = PlatformScope | EnterpriseScope

const order: readonly Scope[] = [...platformScopes, ...enterpriseScopes]

export function isPlatformScope(scope: Scope): scope is PlatformScope {
  return (platformScopes as readonly Scope[]).includes(scope)
}

export function isEnterpriseScope(scope: Scope): scope is EnterpriseScope {
  return (enterpriseScopes as readonly Scope[]).includes(scope)
}

/** RFC 6749 §3.3: names separated by spaces, in any order. Undefined when one of them is not among `allowed`. */
export function findScopes<S extends Scope>(text: string, allowed: readonly S[]): S[] | undefined {
  const asked = new Set(text.split(' ').filter((name) => name !== ''))
  const found = allowed.filter((scope) => asked.has(scope))
  return found.length === asked.size && asked.size > 0 ? inOrder(found) : undefined
}

/** Those of a consent that the client may still have: an operator can take scopes away from it. */
export function keepAllowed<S extends Scope>(scopes: readonly S[], client: { scopes: readonly Scope[] }): S[] {
  return scopes.filter((scope) => client.scopes.includes(scope))
}

export function inOrder<S extends Scope>(scopes: readonly S[]): S[] {
  return scopes.toSorted((a, b) => order.indexOf(a) - order.indexOf(b))
}
