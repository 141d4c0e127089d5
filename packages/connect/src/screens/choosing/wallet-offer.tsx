/** What the search field turns into when a wallet, or a wallet's secret, was pasted into it. */
import {
  chainNames,
  fitsShape,
  remarkOf,
  type PrivateMaterial,
  type Recognized,
  type RecognizedWallet,
} from '@assay/core/credentials'
import type { JSX } from 'preact'
import type { Provider } from '../../api/catalog.ts'
import type { Flow } from '../../flow/use-flow.ts'
import { Icon, ProviderMark } from '../../parts/icons.tsx'
import { useSpeech } from '../../texts/index.ts'
import type { Catalog } from '../use-catalog.ts'

export type Offer = { secret: PrivateMaterial } | Recognized

export function WalletOffer({ offer, catalog, flow }: { offer: Offer; catalog: Catalog; flow: Flow }): JSX.Element {
  const { t } = useSpeech()
  if ('secret' in offer) {
    return <Warning text={t(`doctor.${offer.secret}`)} />
  }
  if ('mistake' in offer) {
    return <Warning text={t(`doctor.${remarkOf(offer.mistake)}`)} />
  }
  const { wallet } = offer
  const providers = listWalletProviders(catalog.providers ?? [], wallet)
  if (providers.length === 0) {
    return (
      <div class="nothing" id="providers" role="status">
        <p>{t('choose.wallet_unavailable', { chain: chainNames[wallet.chain] })}</p>
      </div>
    )
  }
  return (
    <div class="providers" id="providers">
      {providers.map(({ provider_id: providerId, name }, index) => (
        <button
          key={providerId}
          type="button"
          class={`provider${index === 0 ? ' provider-current' : ''}`}
          onClick={() => flow.go({ name: 'credentials', providerId, connectionId: null, address: wallet.value })}
        >
          <ProviderMark id={providerId} name={name} />
          <span class="provider-name">
            {t('choose.wallet', { chain: name })}
            <span class="secondary wallet-text">{wallet.value}</span>
          </span>
        </button>
      ))}
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
function listWalletProviders(providers: readonly Provider[], { kind, value }: RecognizedWallet): Provider[] {
  return providers.filter(
    ({ connection_types: types, credential_fields: fields }) =>
      types.includes('wallet') &&
      fields.some(({ name, shape }) => name === kind && shape !== null && fitsShape(shape, value)),
  )
}
