/** Finds a provider while the person types. Pure, so that tests can use what people really type. */
import type { Provider } from '../../api/catalog.ts'

/** With fewer providers than this, a separate heading for the popular ones is pointless. */
const headingMin = 12

export interface Found {
  popular: Provider[]
  rest: Provider[]
}

export function searchProviders(
  providers: readonly Provider[],
  query: string,
  kind: Provider['kind'] | undefined,
): Found {
  const words = fold(query)
  const listed = providers
    .filter((provider) => kind === undefined || provider.kind === kind)
    .toSorted((a, b) => a.name.localeCompare(b.name))
  if (words === '') {
    // Providers that the sandbox cannot connect are found by a search, but do not get in the way otherwise.
    const offered = listed.filter(({ status }) => status !== 'not_in_sandbox')
    if (offered.length < headingMin) return { popular: [], rest: offered }
    const popular = offered
      .filter(({ popularity_rank: rank }) => rank !== null)
      .toSorted((a, b) => (a.popularity_rank ?? 0) - (b.popularity_rank ?? 0))
    return { popular, rest: offered.filter((provider) => !popular.includes(provider)) }
  }
  const ranked = listed
    .map((provider) => ({ provider, rank: rankOf(provider, words) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank || orderOf(a.provider) - orderOf(b.provider))
  return { popular: [], rest: ranked.map(({ provider }) => provider) }
}

/** The wallet app that was searched for: people look for MetaMask, and the provider is the chain. */
export function findWalletApp(
  { wallet_apps: apps }: Provider,
  query: string,
): Provider['wallet_apps'][number] | undefined {
  const words = fold(query)
  return words === '' ? undefined : apps.find(({ name }) => fold(name).startsWith(words))
}

/** Whether it can be chosen; the others are shown with the reason. */
export function isOffered({ status }: Pick<Provider, 'status'>): boolean {
  return status !== 'unavailable' && status !== 'not_in_sandbox'
}

function orderOf({ popularity_rank: rank }: Provider): number {
  return rank ?? Number.MAX_SAFE_INTEGER
}

/**
 * Exactly another name (`cdc`), the beginning of the name, then of one of its words or of another name, then anywhere,
 * then its website.
 */
function rankOf({ name, provider_id, website, aliases }: Provider, words: string): number {
  const folded = fold(name)
  if (aliases.some((alias) => fold(alias) === words)) return 5
  if (folded.startsWith(words) || fold(provider_id).startsWith(words)) return 4
  if (folded.split(' ').some((word) => word.startsWith(words))) return 3
  if (aliases.some((alias) => fold(alias).startsWith(words))) return 3
  const squeezed = words.replaceAll(' ', '')
  if (folded.replaceAll(' ', '').includes(squeezed)) return 2
  if (aliases.some((alias) => fold(alias).replaceAll(' ', '').includes(squeezed))) return 2
  return hostOf(website).includes(words) ? 1 : 0
}

function hostOf(website: string): string {
  return URL.canParse(website) ? fold(new URL(website).hostname.replace(/^www\./, '')) : ''
}

/** "Crypto.com" is found by "crypto com", "Bitpanda" by "bítpanda". */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
