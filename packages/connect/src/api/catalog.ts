/** The providers one can connect: `GET {base_url}/accounts/v2/providers/catalog`, all pages, once. */
import type { KeyShape } from '@assay/core/credentials'
import { call } from './http.ts'

export interface CredentialField {
  name: 'api_key' | 'secret_key' | 'passphrase' | 'address' | 'extended_public_key' | 'descriptor'
  label: string
  secret: boolean
  required: boolean
  hint: string
  shape: KeyShape | null
}

/** How a key is made, in the provider's own words. */
interface KeyGuide {
  page: string
  menu: string[]
  leave_empty: string[]
  shown_once: string | null
}

export interface Provider {
  provider_id: string
  name: string
  aliases: string[]
  kind: 'exchange' | 'wallet'
  connection_types: ('api_key' | 'wallet' | 'oauth2')[]
  permission_check: 'full' | 'partial' | 'none'
  credential_fields: CredentialField[]
  required_permissions: string[]
  guide: KeyGuide | null
  features: { holdings: boolean; staking: boolean; transactions: boolean }
  known_limits: string[]
  status: 'available' | 'beta' | 'degraded' | 'unavailable' | 'not_in_sandbox'
  website: string
  brand: { color: string; short_name: string }
  popularity_rank: number | null
}

interface Page {
  page: { next: string }
  data: Provider[]
}

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
