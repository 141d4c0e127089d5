/** What the catalogue says of a provider, in the words of the wire (contract: ProviderMetadataV2.1). Served as it is. */

export interface CredentialField {
  /** The member of `connection` it fills. */
  name: 'api_key' | 'secret_key' | 'passphrase' | 'address' | 'extended_public_key' | 'descriptor'
  /** What the provider calls it. */
  label: string
  secret: boolean
  required: boolean
  hint: string
}

export interface ProviderMetadata {
  provider_id: string
  name: string
  kind: 'exchange' | 'wallet'
  connection_types: readonly ('api_key' | 'wallet' | 'oauth2')[]
  credential_fields: readonly CredentialField[]
  /** The boxes to tick, in the provider's own words. */
  required_permissions: readonly string[]
  features: { holdings: boolean; staking: boolean; transactions: boolean }
  known_limits: readonly string[]
  status: 'available' | 'degraded' | 'unavailable'
  website: string
}
