/**
 * The providers one can connect, as plain data. The api role imports this file, so nothing here may reach a connector's
 * code: ccxt alone costs 0.8 s and 80 MB (a test walks the imports).
 */
import type { Stream } from './kit/connector.ts'
import type { ProviderMetadata } from './kit/metadata.ts'
import { krakenMetadata } from './kraken/metadata.ts'
import { krakenStreams } from './kraken/streams.ts'

export type { CredentialField, ProviderMetadata } from './kit/metadata.ts'

export const catalog: readonly ProviderMetadata[] = [krakenMetadata]

export function findProvider(providerId: string): ProviderMetadata | undefined {
  return catalog.find((provider) => provider.provider_id === providerId)
}

const streams: Readonly<Record<string, readonly Stream[]>> = { kraken: krakenStreams }

/** The lists that are read at a provider; callers hold an id that the catalogue knows. */
export function getStreams(providerId: string): readonly Stream[] {
  const own = Object.hasOwn(streams, providerId) ? streams[providerId] : undefined
  if (own === undefined) throw new RangeError(`no streams for ${JSON.stringify(providerId)}`)
  return own
}
