/**
 * The providers, one line each. The definition is plain data and is imported at once; the connector is code that only
 * workers load, on first use (an exchange of ccxt costs 0.2 s and 30 MB, so a test walks the static imports of this
 * file).
 */
import { binanceDefinition } from './binance/definition.ts'
import { bitcoinDefinition } from './bitcoin/definition.ts'
import { ccxtDefinitions } from './ccxt/catalogue/definitions.ts'
import { coinbaseDefinition } from './coinbase/definition.ts'
import { evmDefinition } from './evm/definition.ts'
import type { Connector } from './kit/connector.ts'
import type { ProviderDefinition } from './kit/definition.ts'
import { krakenDefinition } from './kraken/definition.ts'
import { solanaDefinition } from './solana/definition.ts'

interface Provider {
  definition: ProviderDefinition
  load(): Promise<{ connector: Connector }>
}

/** Exchanges without their own connector share one. */
const shared: Record<string, Provider> = Object.fromEntries(
  ccxtDefinitions.map((definition) => {
    const id = definition.metadata.provider_id
    const load = async (): Promise<{ connector: Connector }> => {
      const { createCcxtConnector } = await import('./ccxt/connector.ts')
      return { connector: createCcxtConnector(id) }
    }
    return [id, { definition, load }]
  }),
)

const providers: Readonly<Record<string, Provider>> = {
  kraken: { definition: krakenDefinition, load: () => import('./kraken/connector.ts') },
  coinbase: { definition: coinbaseDefinition, load: () => import('./coinbase/connector.ts') },
  binance: { definition: binanceDefinition, load: () => import('./binance/connector.ts') },
  bitcoin: { definition: bitcoinDefinition, load: () => import('./bitcoin/connector.ts') },
  evm: { definition: evmDefinition, load: () => import('./evm/connector.ts') },
  solana: { definition: solanaDefinition, load: () => import('./solana/connector.ts') },
  ...shared,
}

export const definitions: readonly ProviderDefinition[] = Object.values(providers).map(({ definition }) => definition)

/** Throws for an id that is not in the catalogue, which is a bug of the caller. */
export async function loadConnector(providerId: string): Promise<Connector> {
  const provider = Object.hasOwn(providers, providerId) ? providers[providerId] : undefined
  if (provider === undefined) throw new RangeError(`no connector for ${JSON.stringify(providerId)}`)
  return (await provider.load()).connector
}
