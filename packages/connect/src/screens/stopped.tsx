/** The flow cannot continue. The screen says why and always has a way out. */
import type { JSX } from 'preact'
import type { Client, ConnectSession } from '../api/session-api.ts'
import type { StopReason } from '../flow/stop-reason.ts'
import { Card } from '../parts/card.tsx'
import { useSpeech } from '../texts/index.ts'

interface StoppedProps {
  reason: StopReason
  client: Client | null
  display: ConnectSession['display']
}

const passing = new Set<StopReason['name']>(['unreachable', 'busy', 'failed'])

export function Stopped({ reason, client, display }: StoppedProps): JSX.Element {
  const { t } = useSpeech()
  const { name, detail, requestId } = reason
  const app = client?.name ?? ''
  const home = client?.homepage_uri ?? null
  const why = name === 'expired' && client === null ? t('stopped.nothing.why') : t(`stopped.${name}.why`, { app })
  return (
    <Card screen={`stopped ${name}`} title={t(`stopped.${name}.title`)} lead={why}>
      {name === 'bad_request' && detail !== undefined && <p class="detail">{detail}</p>}
      {requestId !== undefined && <p class="secondary">{t('common.request', { id: requestId })}</p>}
      <div class="actions">
        {passing.has(name) && (
          <button type="button" class="button" onClick={() => location.reload()}>
            {t('common.try_again')}
          </button>
        )}
        {display === 'popup' ? (
          <button type="button" class="button button-quiet" onClick={() => window.close()}>
            {t('common.close')}
          </button>
        ) : (
          display === 'page' &&
          home !== null && (
            <a class={passing.has(name) ? 'button button-quiet' : 'button'} href={home}>
              {t('common.return', { app })}
            </a>
          )
        )}
      </div>
    </Card>
  )
}
