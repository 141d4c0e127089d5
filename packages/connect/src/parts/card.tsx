/**
 * The frame of every screen: a card on a wide screen, the whole screen on a phone. The title takes the focus when it
 * changes.
 */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useSpeech } from '../texts/index.ts'
import { Icon } from './icons.tsx'

interface CardProps {
  title: string
  children: ComponentChildren
  /** Names the screen: another one moves the focus. */
  screen: string
  onBack?: (() => void) | undefined
  onLeave?: (() => void) | undefined
  wide?: boolean
  mark?: ComponentChildren
  lead?: ComponentChildren
  sandbox?: boolean
  /** A field of the screen takes the focus itself. */
  ownFocus?: boolean
}

export function Card(props: CardProps): JSX.Element {
  const {
    title,
    children,
    screen,
    onBack,
    onLeave,
    wide = false,
    mark,
    lead,
    sandbox = false,
    ownFocus = false,
  } = props
  const { t } = useSpeech()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = title
    if (!ownFocus) heading.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [screen])
  return (
    <main class={wide ? 'card card-wide' : 'card'}>
      <div class="card-bar">
        {onBack === undefined ? (
          <span />
        ) : (
          <button type="button" class="bar-button" onClick={onBack}>
            <Icon name="back" />
            {t('common.back')}
          </button>
        )}
        {sandbox && <span class="tag">Sandbox</span>}
        {onLeave !== undefined && (
          <button type="button" class="bar-button" onClick={onLeave}>
            {t('common.not_now')}
          </button>
        )}
      </div>
      {mark}
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {children}
    </main>
  )
}
