/**
 * The providers one can connect, as plain data. The api role imports this file, so nothing here may reach a connector's
 * code: ccxt alone costs 0.8 s and 80 MB (a test walks the imports).
 */
import type { ProviderMetadata } from './kit/metadata.ts'
import { krakenMetadata } from './kraken/metadata.ts'

export type { CredentialField, ProviderMetadata } from './kit/metadata.ts'

export const catalog: readonly ProviderMetadata[] = [krakenMetadata]

export function findProvider(providerId: string): ProviderMetadata | undefined {
  return catalog.find((provider) => provider.provider_id === providerId)
}
