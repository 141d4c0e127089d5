/**
 * Manage: a person's own page. Which accounts are connected, who may read them, what was read; remove, revoke, delete.
 */
import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Problem } from '../api/http.ts'
import type { Me, AuditEvent, ManageApi } from '../api/manage-api.ts'
import { Card } from '../parts/card.tsx'
import { Confirm, type Question } from '../parts/confirm.tsx'
import { EmailSignIn, type SignInCalls } from '../parts/email-sign-in.tsx'
import { toStopReason } from '../flow/stop-reason.ts'
import { useSpeech, type TextKey } from '../texts/index.ts'
import { Accounts } from './accounts.tsx'
import { Readers } from './readers.tsx'
import { forgetManage, type OpenedManage } from './start.ts'

type End = 'deleted' | 'expired'

const lookAgainMs = 3_000

export function ManageApp({ api, session, me: start }: OpenedManage): JSX.Element {
  const { t } = useSpeech()
  const [me, setMe] = useState(start)
  const [question, setQuestion] = useState<Question | null>(null)
  const [end, setEnd] = useState<End | null>(null)
  const [notice, setNotice] = useState<TextKey | null>(null)
  const reading = me?.connections.some(({ status }) => status === 'syncing') === true

  // While a history is being read, the page reloads by itself, so that the person sees it grow and end.
  useEffect(() => {
    if (!reading) return
    const look = (): Promise<void> => api.read().then((now) => (setNotice(null), setMe(now)), onError)
    const timer = setInterval(() => void look(), lookAgainMs)
    return () => clearInterval(timer)
  }, [api, reading])

  function onError(error: unknown): void {
    if (error instanceof Problem && error.status === 401) return (forgetManage(), setEnd('expired'))
    setNotice(toNotice(error))
  }
  function answerYes(asked: Question): void {
    setQuestion(null)
    setNotice(null)
    asked
      .act()
      .catch(passGone)
      .then(async (last) => (last === 'deleted' ? (forgetManage(), setEnd('deleted')) : setMe(await api.read())))
      .catch(onError)
  }
  if (end !== null) return <Ended end={end} />
  if (me === undefined) return <SignIn opened={{ api, session, me }} onMe={setMe} onError={onError} />
  return (
    <>
      {notice !== null && (
        <p class="notice" role="alert">
          {t(notice)}
        </p>
      )}
      <Card
        screen="manage"
        title={t('manage.title')}
        lead={me.user.email === null ? session.tenant.name : t('manage.signed_in', { email: me.user.email })}
      >
        <Accounts me={me} api={api} ask={setQuestion} />
        <Readers me={me} tenant={session.tenant.name} api={api} ask={setQuestion} />
        <Events me={me} />
        <div class="actions">
          <button type="button" class="button button-quiet" onClick={() => signOut(api, onError)}>
            {t('manage.sign_out')}
          </button>
          <button
            type="button"
            class="button button-bad"
            onClick={() =>
              setQuestion({
                title: t('manage.delete_title'),
                body: t('manage.delete_body'),
                yes: t('manage.delete'),
                act: () => api.deleteEverything().then(() => 'deleted'),
              })
            }
          >
            {t('manage.delete')}
          </button>
        </div>
      </Card>
      {question !== null && (
        <Confirm {...question} no={t('manage.keep')} onYes={() => answerYes(question)} onNo={() => setQuestion(null)} />
      )}
    </>
  )
}

function toNotice(error: unknown): TextKey {
  const { name } = toStopReason(error)
  return name === 'busy' || name === 'failed' ? `stopped.${name}.why` : 'stopped.unreachable.why'
}

/** What was to be removed is gone already: in another tab, or by a call whose answer was lost. */
function passGone(error: unknown): undefined {
  if (!(error instanceof Problem) || error.status !== 404) throw error
}

/** Forgets the session first: a tab that does not reach the service must not sign in again by itself. */
function signOut(api: ManageApi, onError: (error: unknown) => void): void {
  forgetManage()
  api.signOut().then(() => location.reload(), onError)
}

interface SignInProps {
  opened: OpenedManage
  onMe: (me: Me) => void
  onError: (error: unknown) => void
}

function SignIn({ opened: { api, session }, onMe, onError }: SignInProps): JSX.Element {
  const { t } = useSpeech()
  const [sentTo, setSentTo] = useState<string | null>(null)
  const calls = useMemo(
    (): SignInCalls => ({
      requestSignInCode: (email) => api.requestManageCode(email),
      enterSignInCode: async (code) => {
        await api.enterManageCode(code)
        onMe(await api.read())
      },
      readMail: session.sandbox ? () => api.sandbox() : undefined,
      onError,
    }),
    [api, session.sandbox],
  )
  if (!session.email_sign_in) {
    const app = session.client.name
    return (
      <Card
        screen="manage off"
        title={t('sign_in.off_title', { app })}
        lead={t('sign_in.off', { app })}
        children={null}
      />
    )
  }
  return (
    <Card
      screen={sentTo === null ? 'manage sign in' : 'manage code'}
      title={t(sentTo === null ? 'manage.title' : 'sign_in.code_title')}
      lead={sentTo === null ? t('manage.lead') : t('sign_in.code_lead', { email: sentTo })}
      {...(sentTo === null ? {} : { onBack: () => setSentTo(null) })}
      ownFocus
    >
      <EmailSignIn calls={calls} sentTo={sentTo} onSentTo={setSentTo} />
    </Card>
  )
}

function Ended({ end }: { end: End }): JSX.Element {
  const { t } = useSpeech()
  if (end === 'deleted') {
    return <Card screen="deleted" title={t('manage.deleted_title')} lead={t('manage.deleted_why')} children={null} />
  }
  return (
    <Card screen="expired" title={t('stopped.expired.title')} lead={t('manage.expired_why')}>
      <div class="actions">
        <button type="button" class="button" onClick={() => location.reload()}>
          {t('manage.sign_in_again')}
        </button>
      </div>
    </Card>
  )
}

// What happened to the person's consents and accounts: the audit log, as far as it concerns them.

/** An action without words here is not shown: it is for the operators, or newer than this page. */
const words: Readonly<Record<string, TextKey>> = {
  'consent.given': 'manage.event_consent',
  'grant.given': 'manage.event_grant',
  'grant.revoked': 'manage.event_revoked',
  'grant.ended': 'manage.event_ended',
  'connection.added': 'manage.event_added',
  'connection.repaired': 'manage.event_repaired',
  'connection.removed': 'manage.event_removed',
}

function Events({ me }: { me: Me }): JSX.Element | null {
  const { t, moment } = useSpeech()
  const known = me.events.flatMap((event) => {
    const text = words[event.action]
    return text === undefined ? [] : [{ event, text }]
  })
  if (known.length === 0) return null
  return (
    <section class="manage-section">
      <h2>{t('manage.events')}</h2>
      <ul class="events">
        {known.map(({ event, text }, index) => (
          <li key={`${event.last_at} ${index}`}>
            <p>{t(text, { name: nameOf(event), by: t(actorOf(event)) })}</p>
            <p class="secondary numbers">
              {moment(event.last_at)}
              {event.count > 1 && ` · ${t('manage.times', { count: event.count })}`}
            </p>
          </li>
        ))}
      </ul>
    </section>
  )
}

function nameOf({ client_name, provider_name }: AuditEvent): string {
  return provider_name ?? client_name ?? ''
}

function actorOf({ actor }: AuditEvent): TextKey {
  if (actor === 'user') return 'manage.by_you'
  return actor === 'application' ? 'manage.by_application' : 'manage.by_service'
}
