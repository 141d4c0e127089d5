/**
 * The providers one can connect, as plain data derived from their definitions. The api role imports this file, so nothing
 * here may reach a connector's code (a test walks the imports).
 */
import type { Stream } from './kit/connector.ts'
import type { ProviderClient, ProviderDefinition, SignIn } from './kit/definition.ts'
import type { ProviderMetadata } from './kit/metadata.ts'
import { definitions } from './registry.ts'

export type { ProviderClient, ProviderDefinition, SignIn } from './kit/definition.ts'
export type { CredentialField, KeyGuide, ProviderMetadata } from './kit/metadata.ts'
export { toAuthorizationUrl } from './kit/oauth.ts'

const byId: ReadonlyMap<string, ProviderDefinition> = new Map(
  definitions.map((definition) => [definition.metadata.provider_id, definition]),
)
const catalog = definitions.map(({ metadata }) => metadata)

export function listCatalog(): readonly ProviderMetadata[] {
  return catalog
}

/** Also finds a provider that cannot be connected here: stored data has a name wherever it is shown. */
export function findProvider(providerId: string): ProviderMetadata | undefined {
  return byId.get(providerId)?.metadata
}

/** Callers hold an id that the catalogue knows; another one is a bug. */
export function getDefinition(providerId: string): ProviderDefinition {
  const definition = byId.get(providerId)
  if (definition === undefined) throw new RangeError(`no provider ${JSON.stringify(providerId)}`)
  return definition
}

/** Where people sign in; undefined for a provider that is connected in another way. */
export function findSignIn(providerId: string): SignIn | undefined {
  return byId.get(providerId)?.signIn
}

/** The lists that are read at a provider. */
export function getStreams(providerId: string): readonly Stream[] {
  return getDefinition(providerId).streams
}

/** How every sandbox is registered at the simulated providers that people sign in at. */
export function listSandboxClients(): Readonly<Record<string, ProviderClient>> {
  return Object.fromEntries(
    definitions.flatMap(({ metadata, sandboxClient }) =>
      sandboxClient === undefined ? [] : [[metadata.provider_id, sandboxClient]],
    ),
  )
}
