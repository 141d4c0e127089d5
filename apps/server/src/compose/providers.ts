/** The providers of this installation: the real ones, or the simulated ones of sandbox mode. */
import {
  findSignIn,
  listCatalog,
  listSandboxClients,
  type ProviderClient,
  type ProviderMetadata,
} from '@assay/connectors/catalog'
import { ConfigError, type Config } from '../config/config.ts'
import type { Clock } from '../db/index.ts'
import { createSandboxControl, type SandboxControl } from '../sandbox/index.ts'
import type { Tenants } from '../tenants/index.ts'

export interface OpenSandbox {
  control: SandboxControl
  providerUrls: Readonly<Record<string, string>>
}

export async function openSandbox(config: Config, clock: Clock, tenants: Tenants): Promise<OpenSandbox | undefined> {
  if (config.mode !== 'sandbox' || config.sandbox.url === undefined) return undefined
  await tenants.ensureSandboxTenant(`http://127.0.0.1:${config.sandbox.demoPort}`)
  const control = createSandboxControl(config.sandbox.url, fetch)
  await control.setClock(await clock.advance(0))
  const { providers, prices_url } = await control.listProviders()
  const urls = providers.map(({ provider_id, url }): [string, string] => [provider_id, url])
  return { control, providerUrls: Object.fromEntries([...urls, ['coingecko', prices_url]]) }
}

export interface Providers {
  /** What can be connected here. */
  catalog: readonly ProviderMetadata[]
  /** The operator's registrations at providers with OAuth2 sign-in. */
  providerClients: Readonly<Record<string, ProviderClient>>
  /** Hosts that replace the providers' own. */
  providerUrls: Readonly<Record<string, string>>
}

export function describeProviders(
  { mode, providerClients: registered }: Pick<Config, 'mode' | 'providerClients'>,
  sandbox: OpenSandbox | undefined,
): Providers {
  const providerClients = mode === 'sandbox' ? listSandboxClients() : registered
  if (mode !== 'sandbox') assertSignIns(Object.keys(registered))
  const providerUrls = sandbox?.providerUrls ?? {}
  const offered = listCatalog().flatMap((provider) =>
    toOffered(provider, Object.hasOwn(providerClients, provider.provider_id)),
  )
  return {
    catalog: mode === 'sandbox' ? offered.map((provider) => toSandboxed(provider, providerUrls)) : offered,
    providerClients,
    providerUrls,
  }
}

/** Sandbox mode never calls a real host: a provider without a simulator is shown and cannot be added. */
function toSandboxed(provider: ProviderMetadata, simulated: Readonly<Record<string, string>>): ProviderMetadata {
  return Object.hasOwn(simulated, provider.provider_id) ? provider : { ...provider, status: 'not_in_sandbox' }
}

/** Without a registration at the provider its page would refuse every person, so the sign-in is not offered. */
function toOffered(provider: ProviderMetadata, isRegistered: boolean): ProviderMetadata[] {
  if (isRegistered) return [provider]
  const types = provider.connection_types.filter((type) => type !== 'oauth2')
  if (types.length === provider.connection_types.length) return [provider]
  return types.length === 0 ? [] : [{ ...provider, connection_types: types }]
}

function assertSignIns(providerIds: readonly string[]): void {
  const problems = providerIds
    .filter((id) => findSignIn(id) === undefined)
    .map((id) => `ASSAY_PROVIDER_CLIENTS names ${JSON.stringify(id)}, which is not a provider that people sign in at`)
  if (problems.length > 0) throw new ConfigError(problems)
}
