/**
 * A person returns from a provider's own page, and an application began that. The provider's page has named only this
 * service, so this one names the application. It goes on by itself unless the person stops it: an application's own
 * users expect to arrive there.
 */
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Asker } from '../api/session-api.ts'
import { useRun } from '../flow/use-flow.ts'
import { Card } from '../parts/card.tsx'
import { ApplicationMark } from '../parts/icons.tsx'
import { useSpeech } from '../texts/index.ts'
import { Stopped } from './stopped.tsx'

interface HandoverProps {
  asker: Asker
  /** False when the application no longer waits for it. */
  decide: (agreed: boolean) => Promise<boolean>
}

/** Long enough to read the title, and counted only while the page can be seen. */
const goesOnAfterMs = 8_000
const tickMs = 250

/** Calls `goOn` once after a while. A person who touches the page decides, and nothing happens by itself any more. */
function useGoOn(goOn: () => void): void {
  useEffect(() => {
    let seenMs = 0
    const ticking = setInterval(() => {
      if (document.visibilityState === 'visible') seenMs += tickMs
      if (seenMs < goesOnAfterMs) return
      stop()
      goOn()
    }, tickMs)
    const touches = ['pointerdown', 'pointermove', 'keydown'] as const
    function stop(): void {
      clearInterval(ticking)
      for (const touch of touches) removeEventListener(touch, stop)
    }
    for (const touch of touches) addEventListener(touch, stop)
    return stop
  }, [])
}

export function Handover({ asker, decide }: HandoverProps): JSX.Element {
  const { t } = useSpeech()
  const { busy, stopped, notice, run, stop } = useRun()
  const { client, tenant, provider_name: provider } = asker
  const answer = (agreed: boolean): void =>
    run(async () => {
      if (!(await decide(agreed))) stop({ name: 'expired' })
    })
  useGoOn(() => answer(true))
  if (stopped !== null) return <Stopped reason={stopped} client={client} display="page" />
  return (
    <Card
      screen="handover"
      title={t('handover.title', { app: client.name, provider })}
      lead={t('handover.lead', { app: client.name, tenant: tenant.name, provider })}
      mark={<ApplicationMark name={client.name} logo={client.logo_uri} />}
    >
      {notice !== null && (
        <p class="notice" role="alert">
          {t(`stopped.${notice}.why`)}
        </p>
      )}
      <p>{t('handover.doubt', { app: client.name })}</p>
      <p>{t('handover.goes_on')}</p>
      <div class="actions">
        <button type="button" class="button" disabled={busy} onClick={() => answer(true)}>
          {t('handover.agree', { app: client.name })}
        </button>
        <button type="button" class="button button-quiet" disabled={busy} onClick={() => answer(false)}>
          {t('handover.refuse')}
        </button>
      </div>
    </Card>
  )
}
