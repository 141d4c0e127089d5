/** A list that fills up: key, rights, balances, history. The person may leave it at any time after the first two. */
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Progress } from '../api/session-api.ts'
import { findChecked, type View } from '../flow/view.ts'
import { Card } from '../parts/card.tsx'
import { Icon, ProviderMark } from '../parts/icons.tsx'
import { useSpeech, type Speech } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'

type CheckingView = Extract<View, { name: 'checking' }>
type StepState = 'done' | 'now' | 'later'

/** Long enough to see the last tick, short enough not to wait for it. */
const restMs = 900

export function Checking({ flow, catalog, onLeave, view }: ScreenProps & { view: CheckingView }): JSX.Element {
  const speech = useSpeech()
  const { t } = speech
  const { session, busy } = flow
  const connection = findChecked(session, view)
  const provider = catalog.find(view.providerId)
  const name = connection?.name ?? provider?.name ?? view.providerId
  const way = toWay(provider?.connection_types ?? [])
  const progress = connection?.progress
  const done = progress?.done === true

  useEffect(() => {
    if (!done) return
    const timer = setTimeout(() => flow.go({ name: 'summary' }), restMs)
    return () => clearTimeout(timer)
  }, [done])
  useEffect(() => {
    // After a reload no request waits for the response anymore; the session shows the outcome.
    if (busy || view.connectionId !== null) return
    const made = session.connections.findLast(({ provider_id }) => provider_id === view.providerId)
    if (made === undefined) flow.go({ name: 'credentials', providerId: view.providerId, connectionId: null })
    else if (made.status !== 'pending')
      flow.go({ name: 'checking', providerId: view.providerId, connectionId: made.connection_id })
  }, [busy, view.connectionId, session])

  return (
    <Card
      screen={`checking ${view.providerId}`}
      title={t('checking.title', { provider: name })}
      mark={<ProviderMark id={view.providerId} name={name} />}
      sandbox={session.sandbox}
      onLeave={onLeave}
    >
      <div role="status">
        <ul class="checks">
          {toSteps(speech, name, way, progress).map(({ key, state, text }) => (
            <li key={key} class={`check check-${state}`}>
              <span class="check-sign">{state === 'done' && <Icon name="check" size={16} />}</span>
              {text}
            </li>
          ))}
        </ul>
      </div>
      {connection?.status === 'degraded' && <p class="secondary">{t('checking.slow', { provider: name })}</p>}
      {progress?.verified === true && !done && (
        <div class="actions">
          <p class="secondary">{t('checking.background')}</p>
          <button type="button" class="button" onClick={() => flow.go({ name: 'summary' })}>
            {t('common.continue')}
          </button>
        </div>
      )}
    </Card>
  )
}

interface Step {
  key: string
  state: StepState
  text: string
}

/** What the person gave: where a sign-in is offered, the person need not know what a key is. */
type Way = 'key' | 'address' | 'access'

function toWay(types: readonly string[]): Way {
  if (types.includes('oauth2')) return 'access'
  return types.includes('wallet') && !types.includes('api_key') ? 'address' : 'key'
}

function toSteps({ t, month }: Speech, provider: string, way: Way, progress: Progress | undefined): Step[] {
  const verified = progress?.verified === true
  const balances = verified && progress.assets !== null
  const steps: Step[] = [
    {
      key: 'key',
      state: verified ? 'done' : 'now',
      text: verified
        ? t(`checking.${way}`, { provider })
        : t(way === 'key' ? 'checking.key_now' : 'checking.access_now', { provider }),
    },
    {
      key: 'balances',
      state: balances ? 'done' : verified ? 'now' : 'later',
      text: balances ? t('checking.balances', { count: progress.assets ?? 0 }) : t('checking.balances_now'),
    },
    {
      key: 'history',
      state: !verified ? 'later' : progress.done ? 'done' : 'now',
      text: historyText(t, month, progress),
    },
  ]
  // An address has no rights to confirm.
  if (way === 'address') return steps
  const readonly: Step = {
    key: 'readonly',
    state: verified ? 'done' : 'later',
    text: t(verified ? 'checking.readonly' : 'checking.readonly_now'),
  }
  return steps.toSpliced(1, 0, readonly)
}

function historyText(t: Speech['t'], month: Speech['month'], progress: Progress | undefined): string {
  if (progress === undefined) return t('checking.history_now')
  const { done, history_from, records, transactions } = progress
  if (done && (transactions === 0 || history_from === null)) return t('checking.history_none')
  if (history_from === null) return t('checking.history_now')
  const date = month(history_from)
  return done
    ? t('checking.history', { date, count: transactions })
    : t('checking.history_some', { date, count: records })
}
