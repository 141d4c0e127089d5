/** Asks who the person is: one field for the email address, then six boxes for the code. */
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Card } from '../parts/card.tsx'
import { Problem } from '../api/http.ts'
import type { SessionAnswer, SessionApi } from '../api/session-api.ts'
import { ApplicationMark } from '../parts/icons.tsx'
import { EmailSignIn, type SignInCalls } from '../parts/email-sign-in.tsx'
import { useSpeech } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'

export function SignIn({ flow, onLeave }: ScreenProps): JSX.Element {
  const { t } = useSpeech()
  const { api, session, codeSentTo } = flow
  // With another address the person would be a new user, to whom the connection does not belong.
  const isRepair = session.connection_id !== null
  const lead = isRepair ? t('sign_in.repair_lead') : t('sign_in.lead')
  // A repair begins here: its consent was given earlier.
  const backFromFirst = isRepair ? undefined : () => flow.back()
  const calls = useMemo(
    (): SignInCalls => ({
      async requestSignInCode(email) {
        const answer = await unlessSignedIn(api, () => api.requestSessionCode(email))
        if (!('session' in answer)) return answer
        flow.signedIn(answer.session)
        return undefined
      },
      async enterSignInCode(code) {
        const { session: signedIn } = await unlessSignedIn(api, () => api.enterSessionCode(code))
        flow.signedIn(signedIn)
      },
      readMail: session.sandbox ? () => api.sandbox() : undefined,
      onError: flow.handleError,
    }),
    [api, session.sandbox],
  )
  return (
    <Card
      screen={codeSentTo === null ? 'sign_in' : 'sign_in code'}
      title={t(codeSentTo === null ? 'sign_in.title' : 'sign_in.code_title')}
      lead={codeSentTo === null ? lead : t('sign_in.code_lead', { email: codeSentTo })}
      sandbox={session.sandbox}
      // The code completes a consent, so the screen says whose request it is.
      mark={
        <p class="joined secondary">
          <ApplicationMark name={session.client.name} logo={session.client.logo_uri} />
          {t('sign_in.requested_by', { app: session.client.name })}
        </p>
      }
      onBack={codeSentTo === null ? backFromFirst : () => flow.setCodeSentTo(null)}
      onLeave={onLeave}
      ownFocus
    >
      <EmailSignIn calls={calls} sentTo={codeSentTo} onSentTo={(email) => flow.setCodeSentTo(email)} />
    </Card>
  )
}

/**
 * When the answer to the right digits was lost on the way, the session has its user already. It then refuses both steps
 * of a sign-in, as done before, and names no parameter. The session itself is the answer that was lost.
 */
async function unlessSignedIn<T>(api: SessionApi, step: () => Promise<T>): Promise<T | SessionAnswer> {
  try {
    return await step()
  } catch (error) {
    const [item] = error instanceof Problem ? error.items : []
    if (item?.cause !== 'invalid_state' || item.parameter !== undefined) throw error
    return api.read()
  }
}

/** Email is off and the application did not vouch for a user, so this page cannot identify the person. */
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
