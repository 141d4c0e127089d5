/** The list under the search field: popular ones, then A to Z; while it loads, rows of the true size. */
import type { JSX } from 'preact'
import type { Provider } from '../../api/catalog.ts'
import { ProviderMark } from '../../parts/icons.tsx'
import { useSpeech } from '../../texts/index.ts'
import { findWalletApp, isOffered, type Found } from './search.ts'
import type { Catalog } from '../use-catalog.ts'

interface ProviderListProps {
  catalog: Catalog
  found: Found
  query: string
  /** The one that Enter would choose. */
  current: Provider | undefined
  onPoint: (provider: Provider) => void
  onChoose: (provider: Provider) => void
}

export function ProviderList({ catalog, found, query, current, onPoint, onChoose }: ProviderListProps): JSX.Element {
  const { t } = useSpeech()
  const count = found.popular.length + found.rest.length
  if (catalog.failed) return <Failed onRetry={() => catalog.retry()} />
  if (catalog.providers === undefined) return <Skeleton />
  return (
    <>
      <p class="visually-hidden" role="status">
        {query === '' ? '' : t('choose.found', { count })}
      </p>
      {/* Empty it stays, so that the field's aria-controls always leads somewhere. */}
      <div id="providers" class="providers" role="listbox" aria-label={t('choose.title')}>
        <Group
          title={t('choose.popular')}
          providers={found.popular}
          query={query}
          current={current}
          onPoint={onPoint}
          onChoose={onChoose}
        />
        <Group
          title={found.popular.length > 0 ? t('choose.rest') : undefined}
          providers={found.rest}
          query={query}
          current={current}
          onPoint={onPoint}
          onChoose={onChoose}
        />
      </div>
      {count === 0 && (
        <div class="nothing">
          <p>{t('choose.none', { query: query.trim() })}</p>
          <p class="secondary">{t('choose.none_help')}</p>
        </div>
      )}
    </>
  )
}

interface GroupProps {
  title: string | undefined
  providers: readonly Provider[]
  query: string
  current: Provider | undefined
  onPoint: (provider: Provider) => void
  onChoose: (provider: Provider) => void
}

function Group({ title, providers, query, current, onPoint, onChoose }: GroupProps): JSX.Element | null {
  const { t } = useSpeech()
  if (providers.length === 0) return null
  return (
    <div role="group" aria-label={title}>
      {title !== undefined && (
        <p class="group-title" aria-hidden="true">
          {title}
        </p>
      )}
      {providers.map((provider) => {
        const { provider_id, name, status } = provider
        const off = !isOffered(provider)
        const walletApp = findWalletApp(provider, query)
        const reason = status === 'not_in_sandbox' ? 'choose.not_in_sandbox' : 'choose.unavailable'
        return (
          <div
            key={provider_id}
            id={`provider-${provider_id}`}
            class={provider === current ? 'provider provider-current' : 'provider'}
            role="option"
            aria-selected={provider === current}
            aria-disabled={off}
            onPointerMove={() => !off && provider !== current && onPoint(provider)}
            onClick={() => !off && onChoose(provider)}
          >
            <ProviderMark id={provider_id} name={name} />
            <span class="provider-name">
              {name}
              {off && <span class="secondary">{t(reason)}</span>}
              {!off && walletApp !== undefined && <span class="secondary">{walletApp.name}</span>}
            </span>
          </div>
        )
      })}
    </div>
  )
}

function Failed({ onRetry }: { onRetry: () => void }): JSX.Element {
  const { t } = useSpeech()
  return (
    <div class="nothing" role="alert" id="providers">
      <p>{t('choose.failed')}</p>
      <button type="button" class="button button-quiet" onClick={onRetry}>
        {t('common.try_again')}
      </button>
    </div>
  )
}

function Skeleton(): JSX.Element {
  const { t } = useSpeech()
  return (
    <div class="providers" id="providers" role="status" aria-label={t('common.loading')}>
      {Array.from({ length: 6 }, (_, index) => (
        <div key={index} class="provider" aria-hidden="true">
          <span class="mark skeleton" />
          <span class="skeleton skeleton-text" />
        </div>
      ))}
    </div>
  )
}
