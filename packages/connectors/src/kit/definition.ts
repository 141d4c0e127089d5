/**
 * The half of a provider that is plain data: its catalogue entry, and what the engine has to know before it loads the
 * connector. Every process reads it, the widget through the catalogue. It must never import a connector's code.
 */
import type { KeyShape } from '@assay/core/credentials'
import type { Stream } from './connector.ts'

// -------------------------------------------------------------------------------------------------------------
// metadata

// Its members have their names on the wire (contract: ProviderMetadataV2.1) and are served unchanged.

export interface CredentialField {
  /** The member of `connection` that it fills. */
  name: 'api_key' | 'secret_key' | 'passphrase' | 'address' | 'extended_public_key' | 'descriptor'
  /** What the provider calls it. */
  label: string
  secret: boolean
  required: boolean
  hint: string
  /** What the value looks like, where that is certain; null otherwise. */
  shape: KeyShape | null
}

/**
 * How a person makes a read-only key. The facts are the provider's own words and need no translation; the widget has
 * the sentences around them in every language.
 */
export interface KeyGuide {
  /** The page where keys are made, if a deep link to it is stable. */
  page: string
  /** The menu items and buttons that lead there, in order. */
  menu: readonly string[]
  /** Boxes and fields that people tend to check and must not. */
  leave_empty: readonly string[]
  /** The field that the provider shows only once; null when it shows all of them again. */
  shown_once: string | null
}

/** An app or a device that holds wallets of a chain, and where it shows what to paste, in its own words. */
export interface WalletApp {
  name: string
  menu: readonly string[]
  shows: 'address' | 'extended_public_key'
}

export interface ProviderMetadata {
  provider_id: string
  name: string
  /** Other names that people type into a search: former names, products, tickers. */
  aliases: readonly string[]
  kind: 'exchange' | 'wallet'
  connection_types: readonly ('api_key' | 'wallet' | 'oauth2')[]
  /** Whether the rights of a key can be read: all of them, some of them, or none. */
  permission_check: 'full' | 'partial' | 'none'
  credential_fields: readonly CredentialField[]
  /** The boxes to check, in the provider's own words. */
  required_permissions: readonly string[]
  guide: KeyGuide | null
  /** Wallets only. Their names are also aliases. */
  wallet_apps?: readonly WalletApp[]
  /** What `networks` of a connection may name, where there is a choice. */
  networks?: readonly { name: string; aliases: readonly string[] }[]
  features: { holdings: boolean; staking: boolean; transactions: boolean }
  known_limits: readonly string[]
  /** `beta`: it has not been tried with a real account yet. */
  status: 'available' | 'beta' | 'degraded' | 'unavailable' | 'not_in_sandbox'
  website: string
  brand: {
    /** The color of the provider's own logo, `#rrggbb`. */
    color: string
    /** At most two characters, for where the logo does not fit. */
    short_name: string
  }
  /** The widget lists providers with a rank first, the smallest in front; null for the others. */
  popularity_rank: number | null
}

/** The members that wallets with one public address share. Such an address allows nothing, so no guide is needed. */
export function toAddressWallet(hint: string, shape: KeyShape) {
  return {
    kind: 'wallet',
    connection_types: ['wallet'],
    permission_check: 'full',
    credential_fields: [{ name: 'address', label: 'Address', secret: false, required: true, hint, shape }],
    required_permissions: [],
    guide: null,
  } as const satisfies Partial<ProviderMetadata>
}

// -----------------------------------------------------------------------------------------------------------
// definition

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
  /** A gap longer than this between two neighbouring records begins another story, even when they share a link key. */
  storySpanMs: number
  /**
   * Set when no record is misunderstood without those of another list, unless it only repeats one of them. A list that was
   * read to its end is then shown while others are still being read, or cannot be.
   */
  storiesStayInLists?: true
  /**
   * Set when each partition is a network with hosts of its own: its name, by partition. All streams have the same
   * partitions, and no story crosses two of them. A network that is away is away alone.
   */
  networks?: Readonly<Record<string, string>>
  /**
   * Set for a brand or a region of another provider, with the id that all of them share: the same account may be readable
   * under each.
   */
  accountsOf?: string
  /**
   * Set for wallets of another provider's exchange that are a provider of their own, such as its futures wallet, with the
   * id of that provider: coins move between them at once.
   */
  walletsOf?: string
  /**
   * Set where the lists have every movement of the account, whatever its kind: what was held between two readings of the
   * balances is then certain, and a margin position shows by its fees, at least one in eight hours. Elsewhere coins can
   * leave and come back without a record, and the sums are right again.
   */
  listsEveryMovement?: true
  /**
   * Set where the provider's documents say what in its balances is not the owner's, such as borrowed coins and losses that
   * are not booked yet, and the connector takes it away or notices it. Elsewhere no claim counts the balances.
   */
  countsInClaims?: true
  /** How late the newest rows appear in the provider's lists. */
  settlesMs: number
  /** The connector's `version` if it is not 1, for processes that never load the connector. */
  connectorVersion?: number
  /** The smallest unit of balances, where records have more digits: a proof treats smaller differences as rounding. */
  balanceUnit?: string
  /**
   * What grows in the balance before the provider books it as a record: what is staked, or anything held that was paid
   * for lately. Left out where the documents say that only a record changes a balance, and where they are silent: a
   * proof then shows the growth.
   */
  accrues?: 'staked' | 'held'
  /**
   * Ids of assets whose balances grow without any record of it: rebasing tokens, which pay by changing every balance.
   */
  rebasing?: readonly string[]
  /**
   * Networks that credit their coin without a transaction that is in any list: the id of the coin, by partition. An
   * increase that nothing else explains is such a credit.
   */
  unlistedCredits?: Readonly<Record<string, string>>
  /** The provider's own host. */
  baseUrl: string
  /** Further hosts that the connector calls, over https. It can reach no other host (hosts.ts). */
  hosts?: readonly string[]
  signIn?: SignIn
  /** How every sandbox is registered at this provider's simulator; published, because it opens nothing else. */
  sandboxClient?: ProviderClient
}
