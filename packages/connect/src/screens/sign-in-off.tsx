/** E-mail is off and the application did not vouch for a user, so this page cannot identify the person. */
import type { JSX } from 'preact'
import { Card } from '../parts/card.tsx'
import { useSpeech } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'

export function SignInOff({ flow, onLeave }: ScreenProps): JSX.Element {
  const { t } = useSpeech()
  const app = flow.session.client.name
  return (
    <Card screen="sign_in_off" title={t('sign_in.off_title', { app })} lead={t('sign_in.off', { app })}>
      <div class="actions">
        <button type="button" class="button" disabled={flow.busy} onClick={onLeave}>
          {t('common.return', { app })}
        </button>
      </div>
    </Card>
  )
}
