/** What the catalogue says about a provider, as the wire names it (contract: ProviderMetadataV2.1). Served as it is. */
import type { KeyShape } from '@assay/core/credentials'

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
 * How a person makes a read-only key. The facts are the provider's own words and need no translation; the widget has the
 * sentences around them in every language.
 */
export interface KeyGuide {
  /** The page where keys are made, if a deep link to it is stable. */
  page: string
  /** The menu items and buttons that lead there, in order. */
  menu: readonly string[]
  /** Boxes and fields that people tend to tick and must not. */
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
  /** The boxes to tick, in the provider's own words. */
  required_permissions: readonly string[]
  guide: KeyGuide | null
  /** Wallets only. Their names are also aliases. */
  wallet_apps?: readonly WalletApp[]
  features: { holdings: boolean; staking: boolean; transactions: boolean }
  known_limits: readonly string[]
  /** `beta`: it has not been tried with a real account yet. */
  status: 'available' | 'beta' | 'degraded' | 'unavailable' | 'not_in_sandbox'
  website: string
  brand: {
    /** Of the provider's own logo, `#rrggbb`. */
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
