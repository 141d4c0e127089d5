/** The connect flow: one screen at a time, by what the session says. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { SessionApi } from '../api/session-api.ts'
import { fromRoot, type WidgetConfig } from '../config.ts'
import { useFlow, type Flow, type Start } from '../flow/use-flow.ts'
import { Confirm } from '../parts/confirm.tsx'
import { useSpeech } from '../texts/index.ts'
import { Checking } from './checking.tsx'
import { Choose } from './choosing/choose.tsx'
import { Consent } from './consent.tsx'
import { Credentials } from './credentials/credentials.tsx'
import type { ScreenProps } from './screen-props.ts'
import { SignIn, SignInOff } from './sign-in.tsx'
import { Stopped } from './stopped.tsx'
import { Summary } from './summary.tsx'
import { Trouble } from './trouble.tsx'
import { useCatalog } from './use-catalog.ts'
import type { View } from '../flow/view.ts'
import { Card } from '../parts/card.tsx'
import { Icon } from '../parts/icons.tsx'

interface AppProps {
  config: WidgetConfig
  api: SessionApi
  start: Start
}

export function ConnectApp({ config, api, start }: AppProps): JSX.Element {
  const { t } = useSpeech()
  const flow = useFlow(api, start)
  const catalog = useCatalog(config.base_url)
  const [leaving, setLeaving] = useState(false)
  const { session, screen, stopped, notice } = flow
  useEffect(() => setLeaving(false), [screen.name])

  if (stopped !== null) return <Stopped reason={stopped} client={session.client} display={session.display} />
  const count = session.connections.length
  const onLeave = (): void => (count > 0 ? setLeaving(true) : flow.decline())
  return (
    <>
      {notice !== null && (
        <p class="notice" role="alert">
          {t(notice === 'busy' ? 'stopped.busy.why' : 'stopped.unreachable.why')}
        </p>
      )}
      {session.repair_refused && (screen.name === 'consent' || screen.name === 'choose') && (
        <RepairRefused flow={flow} request={start.request} />
      )}
      <CurrentScreen flow={flow} catalog={catalog} onLeave={onLeave} logo={config.look?.logo ?? null} />
      {leaving && (
        <Confirm
          title={t('leave.title')}
          body={t('leave.body', { count })}
          yes={t('leave.yes')}
          no={t('leave.no')}
          onYes={() => flow.decline()}
          onNo={() => setLeaving(false)}
        />
      )}
    </>
  )
}

/**
 * The user of a session never changes, so another address begins the application's request again. Not once an account
 * is connected here, because it would be left behind. The screen below lets the person go on as they are.
 */
function RepairRefused({ flow, request }: { flow: Flow; request: string | null }): JSX.Element {
  const { t } = useSpeech()
  const { session, busy } = flow
  const canBeginAgain = request !== null && session.shares_email && session.connections.length === 0
  return (
    <div class="notice stack">
      <p role="status">
        {session.shares_email
          ? t('sign_in.repair_refused')
          : t('sign_in.repair_refused_user', { app: session.client.name })}
      </p>
      {canBeginAgain && (
        <button
          type="button"
          class="button button-quiet"
          disabled={busy}
          onClick={() => location.replace(fromRoot(`?${request}`))}
        >
          {t('sign_in.other_email')}
        </button>
      )}
    </div>
  )
}

function CurrentScreen({ logo, ...props }: ScreenProps & { logo: string | null }): JSX.Element {
  const { screen } = props.flow
  switch (screen.name) {
    case 'consent':
      return <Consent {...props} logo={logo} />
    case 'sign_in':
      return <SignIn {...props} />
    case 'sign_in_off':
      return <SignInOff {...props} />
    case 'choose':
      return <Choose {...props} />
    case 'credentials':
      return <Credentials key={`${screen.providerId} ${screen.connectionId ?? ''}`} {...props} view={screen} />
    case 'checking':
      return <Checking {...props} view={screen} />
    case 'trouble':
      return <Trouble {...props} view={screen} />
    case 'repaired':
      return <Repaired {...props} view={screen} />
    case 'summary':
      return <Summary {...props} />
  }
}

type RepairedView = Extract<View, { name: 'repaired' }>

/**
 * A connection has its new key, and reading continues where it stopped. There is nothing left to decline: the repair
 * does not wait for the application's code.
 */
function Repaired({ flow, catalog, view }: ScreenProps & { view: RepairedView }): JSX.Element {
  const { t } = useSpeech()
  const provider = catalog.find(view.providerId)?.name ?? view.providerId
  return (
    <Card
      screen="repaired"
      title={t('repaired.title', { provider })}
      lead={t('repaired.lead')}
      sandbox={flow.session.sandbox}
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
