/** A connection has its new key, and reading continues where it stopped. */
import type { JSX } from 'preact'
import type { View } from '../flow/view.ts'
import { Card } from '../parts/card.tsx'
import { Icon } from '../parts/icons.tsx'
import { useSpeech } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'

type RepairedView = Extract<View, { name: 'repaired' }>

export function Repaired({ flow, catalog, onLeave, view }: ScreenProps & { view: RepairedView }): JSX.Element {
  const { t } = useSpeech()
  const provider = catalog.find(view.providerId)?.name ?? view.providerId
  return (
    <Card
      screen="repaired"
      title={t('repaired.title', { provider })}
      lead={t('repaired.lead')}
      sandbox={flow.session.sandbox}
      onLeave={onLeave}
      mark={
        <span class="mark mark-good" aria-hidden="true">
          <Icon name="check" />
        </span>
      }
    >
      <div class="actions">
        <button type="button" class="button" disabled={flow.busy} onClick={() => flow.finish()}>
          {t('connected.finish')}
        </button>
        <button
          type="button"
          class="button button-quiet"
          disabled={flow.busy}
          onClick={() => flow.go({ name: 'choose' })}
        >
          {t('connected.add')}
        </button>
      </div>
    </Card>
  )
}
