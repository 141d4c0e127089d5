/** Where a wallet app shows what has to be pasted: for the app that was searched for, otherwise for all that we know. */
import type { JSX } from 'preact'
import type { Provider } from '../api/catalog.ts'
import { useSpeech } from '../texts/index.ts'

type WalletApp = Provider['wallet_apps'][number]

interface WhereToFindProps {
  apps: readonly WalletApp[]
  /** The name of the app that was searched for. */
  chosen: string | undefined
}

export function WhereToFind({ apps, chosen }: WhereToFindProps): JSX.Element | null {
  const { t } = useSpeech()
  const app = apps.find(({ name }) => name === chosen)
  if (app !== undefined) {
    return (
      <p class="secondary">
        <Path app={app} />
      </p>
    )
  }
  if (apps.length === 0) return null
  return (
    <details class="find">
      <summary>{t('credentials.find')}</summary>
      <ul>
        {apps.map((one) => (
          <li key={one.name} class="secondary">
            <Path app={one} />
          </li>
        ))}
      </ul>
    </details>
  )
}

function Path({ app: { name, menu, shows } }: { app: WalletApp }): JSX.Element {
  const { t } = useSpeech()
  const key = shows === 'address' ? 'credentials.find_address' : 'credentials.find_extended_key'
  return <>{t(key, { app: name, menu: menu.join(' › ') })}</>
}
