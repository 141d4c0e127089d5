/** The list of providers, loaded while the person reads the first screens. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import { loadCatalog, type Provider } from '../api/catalog.ts'
import { Problem, Unreachable } from '../api/http.ts'

export interface Catalog {
  providers: readonly Provider[] | undefined
  failed: boolean
  retry(): void
  find(providerId: string): Provider | undefined
}

export function useCatalog(baseUrl: string): Catalog {
  const [providers, setProviders] = useState<readonly Provider[]>()
  const [failed, setFailed] = useState(false)
  const load = useCallback(() => {
    setFailed(false)
    loadCatalog(baseUrl).then(setProviders, (error: unknown) => {
      if (!(error instanceof Unreachable || error instanceof Problem)) throw error
      setFailed(true)
    })
  }, [baseUrl])
  useEffect(load, [load])
  return {
    providers,
    failed,
    retry: load,
    find: (providerId) => providers?.find(({ provider_id }) => provider_id === providerId),
  }
}
