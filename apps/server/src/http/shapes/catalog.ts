/** Pages of the provider catalogue, which is a list in memory. Every caller sees the same list. */
import type { ProviderMetadata } from '@assay/connectors/catalog'
import type { Point } from '../paging/cursor.ts'
import { cutRows } from '../paging/pages.ts'
import { toProviderIconUrl } from '../system/icons.ts'

interface CatalogPage {
  limit: number
  point: Point | undefined
  next(end: Point | undefined): string
}

export function readCatalog(
  catalog: readonly ProviderMetadata[],
  page: CatalogPage,
  wanted: { search?: string | undefined; kind?: string | undefined },
) {
  const search = wanted.search?.toLowerCase() ?? ''
  const after = page.point?.[0]
  const rows = catalog
    .filter(({ kind }) => wanted.kind === undefined || kind === wanted.kind)
    .filter(({ name, provider_id: id, aliases }) =>
      [name, id, ...aliases].some((word) => word.toLowerCase().includes(search)),
    )
    .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
    .filter((provider) => after === undefined || placeOf(provider) > after)
  const { shown, last } = cutRows(rows, page.limit)
  const data = shown.map((provider) => ({
    ...provider,
    wallet_apps: provider.wallet_apps ?? [],
    networks: provider.networks ?? [],
    icon_url: toProviderIconUrl(provider.provider_id),
  }))
  return { page: { next: page.next(last && [placeOf(last)]) }, data, errors: [] }
}

/** The most popular providers come first; the others follow by id. */
function placeOf({ popularity_rank: rank, provider_id: id }: ProviderMetadata): string {
  return `${rank === null ? '9999' : String(rank).padStart(4, '0')} ${id}`
}
