/** Which providers there are here: the real ones, or the simulated ones of sandbox mode. */
import { listCatalog, listSandboxClients, type ProviderClient, type ProviderMetadata } from '@assay/connectors/catalog'
import type { Config } from '../config.ts'
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
  /** How the operator is registered at those that people sign in at. */
  providerClients: Readonly<Record<string, ProviderClient>>
  /** Other hosts than the providers' own. */
  providerUrls: Readonly<Record<string, string>>
}

export function describeProviders({ mode }: Config, sandbox: OpenSandbox | undefined): Providers {
  return {
    catalog: listCatalog({ sandbox: mode === 'sandbox' }),
    providerClients: mode === 'sandbox' ? listSandboxClients() : {},
    providerUrls: sandbox?.providerUrls ?? {},
  }
}
