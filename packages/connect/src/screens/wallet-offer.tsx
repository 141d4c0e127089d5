/** What the search field turns into when a wallet, or a wallet's secret, was pasted into it. */
import type { PrivateMaterial, RecognizedWallet, WalletMistake } from '@assay/core/credentials'
import type { JSX } from 'preact'
import type { Provider } from '../api/catalog.ts'
import type { Flow } from '../flow/use-flow.ts'
import { Icon } from '../parts/icons.tsx'
import { ProviderMark } from '../parts/mark.tsx'
import { useSpeech } from '../texts/index.ts'
import type { Catalog } from './use-catalog.ts'

export type Offer =
  { secret: PrivateMaterial } | { wallet: RecognizedWallet } | { mistake: WalletMistake; chain: 'bitcoin' | 'evm' }

const chainNames = { bitcoin: 'Bitcoin', evm: 'Ethereum' } as const

export function WalletOffer({ offer, catalog, flow }: { offer: Offer; catalog: Catalog; flow: Flow }): JSX.Element {
  const { t } = useSpeech()
  if ('secret' in offer) {
    return <Warning text={t(`doctor.${offer.secret}`)} />
  }
  if ('mistake' in offer) {
    return <Warning text={t(offer.mistake === 'checksum' ? 'doctor.wrong_checksum' : 'doctor.test_network')} />
  }
  const { wallet } = offer
  const provider = findWalletProvider(catalog.providers ?? [], wallet)
  const chain = chainNames[wallet.chain]
  if (provider === undefined) {
    return (
      <div class="nothing" id="providers" role="status">
        <p>{t('choose.wallet_unavailable', { chain })}</p>
      </div>
    )
  }
  const connect = (): void =>
    flow.go({ name: 'credentials', providerId: provider.provider_id, connectionId: null, address: wallet.value })
  return (
    <div class="providers" id="providers">
      <button type="button" class="provider provider-current" onClick={connect}>
        <ProviderMark id={provider.provider_id} name={provider.name} />
        <span class="provider-name">
          {t('choose.wallet', { chain })}
          <span class="secondary wallet-text">{wallet.value}</span>
        </span>
      </button>
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

/** Chains are providers of kind wallet, named after the chain. */
function findWalletProvider(providers: readonly Provider[], { chain, kind }: RecognizedWallet): Provider | undefined {
  const ids = chain === 'bitcoin' ? ['bitcoin'] : ['ethereum', 'evm']
  return providers.find(
    (provider) =>
      ids.includes(provider.provider_id) &&
      provider.connection_types.includes('wallet') &&
      provider.credential_fields.some(({ name }) => name === kind),
  )
}
