/**
 * The providers one can connect, as plain data. The api role imports this file, so nothing here may reach a connector's
 * code: ccxt alone costs 0.8 s and 80 MB (a test walks the imports).
 */
import { harborMetadata, harborSignIn } from './harbor/metadata.ts'
import { harborStreams } from './harbor/streams.ts'
import type { SignIn, Stream } from './kit/connector.ts'
import type { ProviderMetadata } from './kit/metadata.ts'
import { krakenMetadata } from './kraken/metadata.ts'
import { krakenStreams } from './kraken/streams.ts'

export type { CredentialField, ProviderMetadata } from './kit/metadata.ts'
export { toAuthorizationUrl } from './kit/oauth.ts'
export type { ProviderClient } from './kit/oauth.ts'

const real: readonly ProviderMetadata[] = [krakenMetadata]
const everywhere: readonly ProviderMetadata[] = [...real, harborMetadata]

/** What can be connected here; some providers exist in the sandbox alone. */
export function listCatalog({ sandbox }: { sandbox: boolean }): readonly ProviderMetadata[] {
  return sandbox ? everywhere : real
}

/** Also one that cannot be connected here: what was stored has a name wherever it is shown. */
export function findProvider(providerId: string): ProviderMetadata | undefined {
  return everywhere.find((provider) => provider.provider_id === providerId)
}

const signIns: Readonly<Record<string, SignIn>> = { harbor: harborSignIn }

/** Where people sign in; undefined for a provider that is connected in another way. */
export function findSignIn(providerId: string): SignIn | undefined {
  return Object.hasOwn(signIns, providerId) ? signIns[providerId] : undefined
}

const streams: Readonly<Record<string, readonly Stream[]>> = { kraken: krakenStreams, harbor: harborStreams }

/** The lists that are read at a provider; callers hold an id that the catalogue knows. */
export function getStreams(providerId: string): readonly Stream[] {
  const own = Object.hasOwn(streams, providerId) ? streams[providerId] : undefined
  if (own === undefined) throw new RangeError(`no streams for ${JSON.stringify(providerId)}`)
  return own
}
