/**
 * Three steps to a read-only key. The catalogue has the provider's own words for its menus, boxes and permissions where we
 * know its page; elsewhere one honest template is used. The sentences around those words are in every language.
 */
import type { ComponentChildren, JSX } from 'preact'
import type { Provider } from '../api/catalog.ts'
import { Icon } from '../parts/icons.tsx'
import { useSpeech, type TextKey } from '../texts/index.ts'

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
