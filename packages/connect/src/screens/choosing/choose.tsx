/**
 * Search has the focus; a name filters, arrows and Enter choose; an address or extended public key becomes a wallet.
 */
import { cleanPasted, findPrivateMaterial, recognizeWallet } from '@assay/core/credentials'
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Provider } from '../../api/catalog.ts'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icons.tsx'
import { useFocus } from '../../parts/use-focus.ts'
import { useSpeech } from '../../texts/index.ts'
import type { ScreenProps } from '../screen-props.ts'
import { ProviderList } from './provider-list.tsx'
import { findWalletApp, isOffered, searchProviders } from './search.ts'
import { listWalletProviders, WalletOffer, type Offer } from './wallet-offer.tsx'

type Kind = Provider['kind'] | undefined

export function Choose({ flow, catalog, onLeave }: ScreenProps): JSX.Element {
  const { t } = useSpeech()
  const field = useFocus<HTMLInputElement>()
  const [query, setQuery] = useState('')
  const [kind, setKind] = useState<Kind>()
  const [active, setActive] = useState(0)
  const { session } = flow
  const providers = catalog.providers ?? []
  const found = useMemo(() => searchProviders(providers, query, kind), [providers, query, kind])
  const offer = useMemo(() => toOffer(query), [query])
  const matching = offer === undefined ? [...found.popular, ...found.rest] : listWalletProviders(providers, offer)
  const listed = matching.filter(isOffered)
  const current = listed[active]

  const choose = (provider: Provider): void => {
    const walletApp = findWalletApp(provider, query)?.name
    // Not in the view, which the browser keeps: an extended public key shows every address of its owner.
    if (offer !== undefined && 'wallet' in offer) flow.draft.keep(provider.provider_id, { address: offer.wallet.value })
    const chosen = walletApp === undefined ? {} : { walletApp }
    flow.go({ name: 'credentials', providerId: provider.provider_id, connectionId: null, ...chosen })
  }
  const onPoint = (provider: Provider): void => setActive(listed.indexOf(provider))
  const choice = { current, onPoint, onChoose: choose }

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && listed.length > 0) {
      event.preventDefault()
      const next = (active + step + listed.length) % listed.length
      setActive(next)
      document.getElementById(`provider-${listed[next]?.provider_id}`)?.scrollIntoView({ block: 'nearest' })
    }
    if (event.key === 'Enter' && current !== undefined) choose(current)
  }
  return (
    <Card screen="choose" title={t('choose.title')} sandbox={session.sandbox} onLeave={onLeave} ownFocus>
      <Unfinished flow={flow} />
      <label class="search">
        <span class="visually-hidden">{t('choose.search')}</span>
        <Icon name="search" />
        <input
          ref={field}
          class="input"
          type="text"
          inputMode="search"
          role="combobox"
          aria-expanded="true"
          aria-controls="providers"
          aria-autocomplete="list"
          aria-activedescendant={current === undefined ? undefined : `provider-${current.provider_id}`}
          placeholder={t('choose.search')}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={query}
          onInput={(event) => (setQuery(event.currentTarget.value), setActive(0))}
          onKeyDown={onKeyDown}
        />
      </label>
      <KindChips providers={providers} kind={kind} onKind={(next) => (setKind(next), setActive(0))} />
      {offer === undefined ? (
        <ProviderList catalog={catalog} found={found} query={query} {...choice} />
      ) : (
        <WalletOffer offer={offer} providers={listed} {...choice} />
      )}
      <Done flow={flow} />
    </Card>
  )
}

/** The typed text is a wallet instead of a provider's name, or a secret that must not be typed anywhere. */
function toOffer(query: string): Offer | undefined {
  const text = cleanPasted(query)
  const secret = findPrivateMaterial(text)
  if (secret !== undefined) return { secret }
  return recognizeWallet(text)
}

function KindChips({
  providers,
  kind,
  onKind,
}: {
  providers: readonly Provider[]
  kind: Kind
  onKind: (kind: Kind) => void
}): JSX.Element | null {
  const { t } = useSpeech()
  if (new Set(providers.map((provider) => provider.kind)).size < 2) return null
  const chips = [
    [undefined, 'choose.all'],
    ['exchange', 'choose.exchanges'],
    ['wallet', 'choose.wallets'],
  ] as const
  return (
    <div class="chips" role="group" aria-label={t('choose.kinds')}>
      {chips.map(([value, key]) => (
        <button key={key} type="button" class="chip" aria-pressed={kind === value} onClick={() => onKind(value)}>
          {t(key)}
        </button>
      ))}
    </div>
  )
}

function Unfinished({ flow }: { flow: ScreenProps['flow'] }): JSX.Element | null {
  const { t, moment } = useSpeech()
  const { unfinished } = flow.session
  if (unfinished === null || unfinished.connection_count === 0) return null
  return (
    <div class="offer">
      <p>{t('choose.unfinished', { date: moment(unfinished.started_at), count: unfinished.connection_count })}</p>
      <button type="button" class="text-button" disabled={flow.busy} onClick={() => flow.resume(unfinished.session_id)}>
        {t('choose.resume')}
      </button>
    </div>
  )
}

/** Adding an account is optional: the connected ones may be enough. */
function Done({ flow }: { flow: ScreenProps['flow'] }): JSX.Element | null {
  const { t } = useSpeech()
  const { connections, existing } = flow.session
  if (connections.length > 0) {
    return (
      <button type="button" class="button button-quiet" onClick={() => flow.go({ name: 'summary' })}>
        {t('choose.done')}
      </button>
    )
  }
  if (existing.length === 0) return null
  return (
    <button type="button" class="button button-quiet" disabled={flow.busy} onClick={() => flow.finish()}>
      {t('choose.finish_existing')}
    </button>
  )
}
