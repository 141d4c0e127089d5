/**
 * Three steps to a read-only key. Exact where we know the provider's page (the permission names then come from the
 * catalogue, in the provider's own words); elsewhere one honest template.
 */
import type { ComponentChildren, JSX } from 'preact'
import type { Provider } from '../api/catalog.ts'
import { Icon } from '../parts/icons.tsx'
import { useSpeech } from '../texts/index.ts'

/** Where keys are made, as far as a deep link is stable. */
const keyPages: Readonly<Record<string, string>> = { kraken: 'https://www.kraken.com/u/security/api' }

export function KeySteps({ provider }: { provider: Provider }): JSX.Element {
  const { t } = useSpeech()
  const { provider_id, name, website, required_permissions: tick } = provider
  const exact = provider_id === 'kraken'
  const values = { provider: name }
  const page = keyPages[provider_id] ?? website
  return (
    <section class="steps" aria-label={t('credentials.steps')}>
      <h2>{t('credentials.steps')}</h2>
      <ol>
        <li>
          <p>{exact ? t('credentials.kraken_open') : t('credentials.step_open', values)}</p>
          <a class="text-button" href={page} target="_blank" rel="noopener noreferrer">
            {t('credentials.website', values)}
            <Icon name="out" size={16} />
          </a>
        </li>
        <li>
          <p>
            {exact
              ? t('credentials.kraken_tick')
              : t(tick.length > 0 ? 'credentials.step_tick' : 'credentials.step_tick_plain')}
          </p>
          <Ticks names={tick} />
          <p>{t(exact ? 'credentials.kraken_leave' : 'credentials.step_leave')}</p>
        </li>
        <li>
          <p>{exact ? t('credentials.kraken_copy') : t('credentials.step_copy', values)}</p>
        </li>
      </ol>
    </section>
  )
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
