/** What a document is divided into, for people: calls that are about one thing, in the order they are needed. */
import type { Endpoint } from '../endpoint.ts'

export interface Tag {
  name: string
  description: string
}

/** The first that fits is taken. */
const tags: readonly (Tag & { fits: RegExp })[] = [
  {
    name: 'Session',
    description: 'One run of the connect flow, as a widget sees it.',
    fits: /^\/connect\/v1\/(session|provider-answers)/,
  },
  { name: 'Manage', description: 'A user’s own page.', fits: /^\/connect\/v1\/me/ },
  { name: 'Statistics', description: 'Sums over all users of a tenant.', fits: /^\/enterprise\/v2\/stats/ },
  { name: 'Enterprise', description: 'What a tenant sees of its users.', fits: /^\/enterprise\// },
  {
    name: 'Providers',
    description: 'Exchanges, wallets and chains: what can be connected, what is connected, and what was read.',
    fits: /\/(providers?|oauth)(\/|$)/,
  },
  { name: 'Refreshes', description: 'Reading again, on request.', fits: /\/refresh(es\/|$)/ },
  { name: 'Assets', description: 'What the user holds.', fits: /\/assets(\/|$)/ },
  { name: 'Claims', description: 'A signed yes or no about what the user holds.', fits: /\/claims$/ },
  { name: 'Transactions', description: 'What happened, newest first.', fits: /\/transactions(\/|$)/ },
]

export function findTag({ path }: Pick<Endpoint, 'path'>): string {
  const tag = tags.find(({ fits }) => fits.test(path))
  if (tag === undefined) throw new Error(`no part of the documents is about ${path}`)
  return tag.name
}

/** The tags of these endpoints, in the order in which they first occur. */
export function toTags(endpoints: readonly Endpoint[]): Tag[] {
  const names = new Set(endpoints.map(findTag))
  return [...names].flatMap((name) =>
    tags.filter((tag) => tag.name === name).map(({ description }) => ({ name, description })),
  )
}
