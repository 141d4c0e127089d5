/** Who is the person? One field, then six boxes. */
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Card } from '../parts/card.tsx'
import { EmailSignIn, type SignInCalls } from '../parts/email-sign-in.tsx'
import { useSpeech } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'

export function SignIn({ flow, onLeave }: ScreenProps): JSX.Element {
  const { t } = useSpeech()
  const { api, session, codeSentTo } = flow
  const calls = useMemo(
    (): SignInCalls => ({
      sendCode: (email) => api.sendCode(email),
      checkCode: async (code) => flow.signedIn((await api.checkCode(code)).session),
      readMail: session.sandbox ? () => api.sandbox() : undefined,
      onError: flow.handleError,
    }),
    [api, session.sandbox],
  )
  return (
    <Card
      screen={codeSentTo === null ? 'sign_in' : 'sign_in code'}
      title={t(codeSentTo === null ? 'sign_in.title' : 'sign_in.code_title')}
      lead={codeSentTo === null ? t('sign_in.lead') : t('sign_in.code_lead', { email: codeSentTo })}
      sandbox={session.sandbox}
      onBack={() => (codeSentTo === null ? flow.back() : flow.setCodeSentTo(null))}
      onLeave={onLeave}
      ownFocus
    >
      <EmailSignIn calls={calls} sentTo={codeSentTo} onSentTo={(email) => flow.setCodeSentTo(email)} />
    </Card>
  )
}
