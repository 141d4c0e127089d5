/**
 * The hosts that we may call. Operators use this list for their firewall, and our own fetch enforces it: a key must
 * only reach the hosts of its provider, whatever a library does with a response.
 */
import { SourceError } from '@assay/core'
import { coinGeckoHosts } from './coingecko/client.ts'
import type { Io } from './kit/connector.ts'
import type { ProviderDefinition } from './kit/definition.ts'
import { definitions } from './registry.ts'

type ChosenUrls = Pick<Io, 'baseUrl' | 'chainUrls'>

/** The origins of one provider. A simulator replaces all its hosts; an operator's own node is added to them. */
export function listOrigins(definition: ProviderDefinition, { baseUrl, chainUrls = {} }: ChosenUrls): string[] {
  if (baseUrl !== undefined) return [new URL(baseUrl).origin]
  const { signIn, hosts = [], metadata } = definition
  const chosen = Object.entries(chainUrls)
    .filter(([chain]) => chain.split(':')[0] === metadata.provider_id)
    .flatMap(([, { rpc, index }]) => [rpc, index])
  const urls = [definition.baseUrl, signIn?.origin, ...hosts.map((host) => `https://${host}`), ...chosen]
  return [...new Set(urls.filter((url) => url !== undefined).map((url) => new URL(url).origin))]
}

/** The same for the source of prices. */
export function listPriceOrigins(baseUrl: string | undefined): string[] {
  return baseUrl === undefined ? coinGeckoHosts.map((host) => `https://${host}`) : [new URL(baseUrl).origin]
}

export interface CalledHost {
  host: string
  /** What it is called for: ids of providers, or `prices`. */
  for: string[]
}

/** Every host that a service outside sandbox mode may call, in alphabetical order. */
export function listHosts(chainUrls: Io['chainUrls'] = {}): CalledHost[] {
  const byHost = new Map<string, string[]>()
  const add = (reason: string, origins: readonly string[]): void => {
    for (const origin of origins) {
      const { host } = new URL(origin)
      byHost.set(host, [...(byHost.get(host) ?? []), reason])
    }
  }
  add('prices', listPriceOrigins(undefined))
  for (const definition of definitions) {
    add(definition.metadata.provider_id, listOrigins(definition, { baseUrl: undefined, chainUrls }))
  }
  return [...byHost].map(([host, reasons]) => ({ host, for: reasons })).toSorted((a, b) => (a.host < b.host ? -1 : 1))
}

/** Refuses before the name is resolved. Connectors do not follow redirects, so those need no check here. */
export function restrictFetch(send: typeof globalThis.fetch, origins: readonly string[]): typeof globalThis.fetch {
  return async (input, init) => {
    const { origin, host } = new URL(input instanceof Request ? input.url : input)
    if (!origins.includes(origin)) {
      throw new SourceError('unreadable_answer', `${host} is not on the list of hosts that may be called`)
    }
    return send(input, init)
  }
}
