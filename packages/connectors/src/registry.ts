/** From a provider's id to its connector, imported at first use. */
import type { Connector } from './kit/connector.ts'

const connectors: Readonly<Record<string, () => Promise<Connector>>> = {
  harbor: async () => (await import('./harbor/connector.ts')).harborConnector,
  kraken: async () => (await import('./kraken/connector.ts')).krakenConnector,
}

/** Callers hold an id that the catalogue knows; another one is a bug. */
export async function loadConnector(providerId: string): Promise<Connector> {
  const load = Object.hasOwn(connectors, providerId) ? connectors[providerId] : undefined
  if (load === undefined) throw new RangeError(`no connector for ${JSON.stringify(providerId)}`)
  return load()
}
