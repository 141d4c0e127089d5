/**
 * A person returns from a provider's own page, and an application began that. The provider's page has named only this
 * service, so this one names the application. Where it can be read, it goes on by itself unless the person stops it:
 * an application's own users expect to arrive there.
 */
import type { JSX, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
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

/** Long enough to read the title. */
const goesOnAfterMs = 8_000
const tickMs = 250
/** Longer than the two presses of a double-click may be apart. */
const settlesAfterMs = 1_000
/** Hardly any phone is narrower. In a narrow strip of the screen the words would be cut into pieces. */
const readableWidthPx = 320

/**
 * The page that opened this one chooses the size of the window and may keep the focus: a window in a corner of the
 * screen names nothing. The card is in view when the page is not scrolled and its last button is in the window.
 */
function canBeRead(lastOfCard: Element | null): boolean {
  if (lastOfCard === null || document.visibilityState !== 'visible' || !document.hasFocus()) return false
  const { right, bottom } = lastOfCard.getBoundingClientRect()
  const isInView = scrollX <= 0 && scrollY <= 0 && right <= innerWidth && bottom <= innerHeight
  return isInView && innerWidth >= readableWidthPx
}

/**
 * Calls `goOn` once, after the card could be read for a while without a break. A person who touches the page decides,
 * and nothing happens by itself any more.
 */
function useGoOn<Last extends Element>(goOn: () => void): RefObject<Last | null> {
  const lastOfCard = useRef<Last>(null)
  useEffect(() => {
    let readableMs = 0
    const ticking = setInterval(() => {
      readableMs = canBeRead(lastOfCard.current) ? readableMs + tickMs : 0
      if (readableMs < goesOnAfterMs) return
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
  return lastOfCard
}

/**
 * False until the window has had the focus for a while. A page in front of this one could otherwise ask for a
 * double-click, and close with the first press: the second one would agree to a question that was not in view.
 */
function useIsSettled(): boolean {
  const [isSettled, setIsSettled] = useState(false)
  useEffect(() => {
    let settling: ReturnType<typeof setTimeout> | undefined
    const wait = (): void => {
      clearTimeout(settling)
      settling = setTimeout(() => setIsSettled(true), settlesAfterMs)
    }
    const leave = (): void => {
      clearTimeout(settling)
      setIsSettled(false)
    }
    if (document.hasFocus()) wait()
    // A press comes with the focus, except in some browsers inside applications.
    for (const arrival of ['focus', 'pointerdown']) addEventListener(arrival, wait)
    addEventListener('blur', leave)
    return () => {
      clearTimeout(settling)
      for (const arrival of ['focus', 'pointerdown']) removeEventListener(arrival, wait)
      removeEventListener('blur', leave)
    }
  }, [])
  return isSettled
}

export function Handover({ asker, decide }: HandoverProps): JSX.Element {
  const { t } = useSpeech()
  const { busy, stopped, notice, run, stop } = useRun()
  const { client, tenant, provider_name: provider } = asker
  const answer = (agreed: boolean): void =>
    run(async () => {
      if (!(await decide(agreed))) stop({ name: 'expired' })
    })
  const actions = useGoOn<HTMLDivElement>(() => answer(true))
  const isSettled = useIsSettled()
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
      <div class="actions" ref={actions}>
        <button type="button" class="button" disabled={busy || !isSettled} onClick={() => answer(true)}>
          {t('handover.agree', { app: client.name })}
        </button>
        <button type="button" class="button button-quiet" disabled={busy} onClick={() => answer(false)}>
          {t('handover.refuse')}
        </button>
      </div>
    </Card>
  )
}
