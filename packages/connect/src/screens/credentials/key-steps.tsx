/**
 * How to get what has to be pasted: three steps to a read-only key, or where a wallet app shows its address. If we know
 * the provider's page, the catalogue has its own words for menus, boxes and permissions; otherwise a general template
 * is used. The sentences around those words exist in every language.
 */
import type { ComponentChildren, JSX } from 'preact'
import type { Provider } from '../../api/catalog.ts'
import { Icon } from '../../parts/icons.tsx'
import { useSpeech, type TextKey } from '../../texts/index.ts'

export function KeySteps({ provider }: { provider: Provider }): JSX.Element {
  const { t } = useSpeech()
  const { name, website, required_permissions: tick, guide } = provider
  const values = { provider: name }
  return (
    <section class="steps" aria-label={t('credentials.steps')}>
      <h2>{t('credentials.steps')}</h2>
      <ol>
        <li>
          <p>
            {guide === null
              ? t('credentials.step_open', values)
              : t('credentials.guide_open', { ...values, menu: guide.menu.join(' › ') })}
          </p>
          <a class="text-button" href={guide?.page ?? website} target="_blank" rel="noopener noreferrer">
            {t('credentials.website', values)}
            <Icon name="out" size={16} />
          </a>
        </li>
        <li>
          <p>{t(tickTextOf(provider))}</p>
          <Ticks names={tick} />
          <p>
            {guide === null || guide.leave_empty.length === 0
              ? t('credentials.step_leave')
              : t('credentials.guide_leave', { items: guide.leave_empty.join(', ') })}
          </p>
        </li>
        <li>
          <p>
            {guide === null || guide.shown_once === null
              ? t('credentials.step_copy', values)
              : t('credentials.guide_copy', { field: guide.shown_once })}
          </p>
        </li>
      </ol>
    </section>
  )
}

function tickTextOf({ guide, required_permissions: tick }: Provider): TextKey {
  if (tick.length === 0) return 'credentials.step_tick_plain'
  return guide === null ? 'credentials.step_tick' : 'credentials.guide_tick'
}

function Ticks({ names }: { names: readonly string[] }): ComponentChildren {
  if (names.length === 0) return null
  return (
    <ul class="ticks">
      {names.map((name) => (
        <li key={name} lang="en">
          <Icon name="check" size={16} />
          {name}
        </li>
      ))}
    </ul>
  )
}

type WalletApp = Provider['wallet_apps'][number]

interface WhereToFindProps {
  apps: readonly WalletApp[]
  /** The name of the app that was searched for. */
  chosen: string | undefined
}

/** Shows the app that was searched for, or else all that we know. */
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
