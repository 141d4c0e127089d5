/** What the search field turns into when a wallet, or a wallet's secret, was pasted into it. */
import { chainNames, fitsShape, remarkOf, type PrivateMaterial, type Recognized } from '@assay/core/credentials'
import type { JSX } from 'preact'
import type { Provider } from '../../api/catalog.ts'
import { Icon, ProviderMark } from '../../parts/icons.tsx'
import { useSpeech } from '../../texts/index.ts'

export type Offer = { secret: PrivateMaterial } | Recognized

interface WalletOfferProps {
  offer: Offer
  /** Those that read what was pasted. */
  providers: readonly Provider[]
  /** The one that Enter would choose. */
  current: Provider | undefined
  onPoint: (provider: Provider) => void
  onChoose: (provider: Provider) => void
}

export function WalletOffer({ offer, providers, current, onPoint, onChoose }: WalletOfferProps): JSX.Element {
  const { t } = useSpeech()
  if ('secret' in offer) {
    return <Warning text={t(`doctor.${offer.secret}`)} />
  }
  if ('mistake' in offer) {
    return <Warning text={t(`doctor.${remarkOf(offer.mistake)}`)} />
  }
  const { wallet } = offer
  if (providers.length === 0) {
    return (
      <div class="nothing" id="providers" role="status">
        <p>{t('choose.wallet_unavailable', { chain: chainNames[wallet.chain] })}</p>
      </div>
    )
  }
  return (
    <div class="providers" id="providers" role="listbox" aria-label={t('choose.title')}>
      {providers.map((provider) => {
        const { provider_id, name } = provider
        return (
          <div
            key={provider_id}
            id={`provider-${provider_id}`}
            class={provider === current ? 'provider provider-current' : 'provider'}
            role="option"
            aria-selected={provider === current}
            onPointerMove={() => provider !== current && onPoint(provider)}
            onClick={() => onChoose(provider)}
          >
            <ProviderMark id={provider_id} name={name} />
            <span class="provider-name">
              {t('choose.wallet', { chain: name })}
              <span class="secondary wallet-text">{wallet.value}</span>
            </span>
          </div>
        )
      })}
    </div>
  )
}

function Warning({ text }: { text: string }): JSX.Element {
  return (
    <div class="warning" id="providers" role="alert">
      <Icon name="warn" />
      <p>{text}</p>
    </div>
  )
}

/** Those that read what was pasted; the person chooses where a text is an address of several chains. */
export function listWalletProviders(providers: readonly Provider[], offer: Offer): Provider[] {
  if (!('wallet' in offer)) return []
  const { kind, value } = offer.wallet
  return providers.filter(
    ({ connection_types: types, credential_fields: fields }) =>
      types.includes('wallet') &&
      fields.some(({ name, shape }) => name === kind && shape !== null && fitsShape(shape, value)),
  )
}
