/**
 * The half of a provider that is plain data. Every process reads it: the catalogue, the widget (over the catalogue), the
 * engine's planning, the sandbox. It must never import a connector's code.
 */
import type { Stream } from './connector.ts'
import type { ProviderMetadata } from './metadata.ts'

/** How the operator is registered at a provider that people sign in at. */
export interface ProviderClient {
  clientId: string
  clientSecret: string
}

/** Where people sign in (OAuth2). Processes that never load a connector open these pages. */
export interface SignIn {
  /** The provider's own pages. `Io.baseUrl` (sandbox, region) replaces it. */
  origin: string
  authorizationPath: string
  tokenPath: string
  /** The rights we ask for: reading, and no others. */
  scope: string
}

export interface ProviderDefinition {
  /** The catalogue entry, as it is served. It includes the key shapes, the guide to a read-only key and the brand. */
  metadata: ProviderMetadata
  streams: readonly [Stream, ...Stream[]]
  /** Records that lie further apart than this are never one story, even when they share a link key. */
  storySpanMs: number
  /** How late the newest rows appear in the provider's lists. */
  settlesMs: number
  /** `version` of the connector, where it is not 1: for processes that never load one. */
  connectorVersion?: number
  /** The smallest amount that balances are given in, where records have more digits: a proof takes less for rounding. */
  balanceUnit?: string
  /** What is staked grows in the balance before the provider books it as a record. */
  accrues?: true
  /** Ids of assets whose balances grow without any record of it: rebasing tokens, which pay by changing every balance. */
  rebasing?: readonly string[]
  /** The provider's own host. */
  baseUrl: string
  /** Further hosts that the connector calls, over https. It can reach no other host (hosts.ts). */
  hosts?: readonly string[]
  signIn?: SignIn
  /** How every sandbox is registered at this provider's simulator; published, because it opens nothing else. */
  sandboxClient?: ProviderClient
}
