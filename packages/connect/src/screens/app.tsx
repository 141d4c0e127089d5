/** The connect flow: one screen at a time, by what the session says. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { SessionApi } from '../api/session-api.ts'
import type { WidgetConfig } from '../config.ts'
import { useFlow, type Start } from '../flow/use-flow.ts'
import { Confirm } from '../parts/confirm.tsx'
import { useSpeech } from '../texts/index.ts'
import { Checking } from './checking.tsx'
import { Choose } from './choosing/choose.tsx'
import { Consent } from './consent.tsx'
import { Credentials } from './credentials/credentials.tsx'
import { Repaired } from './repaired.tsx'
import type { ScreenProps } from './screen-props.ts'
import { SignIn, SignInOff } from './sign-in.tsx'
import { Stopped } from './stopped.tsx'
import { Summary } from './summary.tsx'
import { Trouble } from './trouble.tsx'
import { useCatalog } from './use-catalog.ts'

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
        <p class="notice" role="status">
          {t('sign_in.repair_refused', { app: session.client.name })}
        </p>
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
