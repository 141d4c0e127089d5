/**
 * The providers that users can connect, as plain data derived from their definitions. The api role imports this file,
 * so it must not import the code of a connector (a test walks the imports).
 */
import type { Stream } from './kit/connector.ts'
import type { ProviderClient, ProviderDefinition, ProviderMetadata, SignIn } from './kit/definition.ts'
import { definitions } from './registry.ts'

export type { ProviderClient, ProviderDefinition, SignIn } from './kit/definition.ts'
export type { CredentialField, KeyGuide, ProviderMetadata } from './kit/definition.ts'
export { toAuthorizationUrl } from './kit/oauth.ts'

const byId: ReadonlyMap<string, ProviderDefinition> = new Map(
  definitions.map((definition) => [definition.metadata.provider_id, definition]),
)
const catalog = definitions.map(({ metadata }) => metadata)

export function listCatalog(): readonly ProviderMetadata[] {
  return catalog
}

/** Also finds a provider that cannot be connected here, because stored data still needs its name. */
export function findProvider(providerId: string): ProviderMetadata | undefined {
  return byId.get(providerId)?.metadata
}

/** Throws for an id that is not in the catalogue, which is a bug of the caller. */
export function getDefinition(providerId: string): ProviderDefinition {
  const definition = byId.get(providerId)
  if (definition === undefined) throw new RangeError(`no provider ${JSON.stringify(providerId)}`)
  return definition
}

/** The exchange of which a provider reads a brand, a region or some wallets, by its id; or the provider itself. */
export function toExchange(providerId: string): string {
  const { walletsOf, accountsOf = providerId } = byId.get(providerId) ?? {}
  return walletsOf ?? accountsOf
}

/** The providers whose lists have every movement of an account. */
export function listWholeLedgers(): string[] {
  return definitions.filter(({ listsEveryMovement }) => listsEveryMovement).map(({ metadata }) => metadata.provider_id)
}

/** The providers whose balances claims count. */
export function listClaimable(): string[] {
  return definitions.filter(({ countsInClaims }) => countsInClaims).map(({ metadata }) => metadata.provider_id)
}

/** Where users sign in; undefined for a provider without sign-in. */
export function findSignIn(providerId: string): SignIn | undefined {
  return byId.get(providerId)?.signIn
}

/** The lists that are read at a provider. */
export function getStreams(providerId: string): readonly Stream[] {
  return getDefinition(providerId).streams
}

/** The client that every sandbox has at the simulated providers with sign-in. */
export function listSandboxClients(): Readonly<Record<string, ProviderClient>> {
  return Object.fromEntries(
    definitions.flatMap(({ metadata, sandboxClient }) =>
      sandboxClient === undefined ? [] : [[metadata.provider_id, sandboxClient]],
    ),
  )
}
