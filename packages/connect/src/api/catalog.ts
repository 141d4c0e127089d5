/** The providers that can be connected: `GET {base_url}/accounts/v2/providers/catalog`, all pages, once. */
import type { listCatalog, ResponseOf } from '@assay/contract'
import { call } from './http.ts'

type Page = ResponseOf<typeof listCatalog>

export type Provider = Page['data'][number]
export type CredentialField = Provider['credential_fields'][number]

/** 100 a page: far more providers than there are exchanges. */
const pagesMax = 20

export async function loadCatalog(baseUrl: string): Promise<Provider[]> {
  const providers: Provider[] = []
  let next = '/accounts/v2/providers/catalog?limit=100'
  for (let count = 0; next !== '' && count < pagesMax; count += 1) {
    const { page, data } = await call<Page>(`${baseUrl}${next}`)
    providers.push(...data)
    next = page.next
  }
  return providers
}
