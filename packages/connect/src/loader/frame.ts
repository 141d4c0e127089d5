/** The widget in a frame: inside an element of the page, or in a dialog over it. */
import type { ConnectEvent, ConnectHandle } from './events.ts'
import { listenTo } from './listen.ts'

/** The widget's script reports itself before the page is loaded, so its message only has to arrive. */
const silenceMaxMs = 3_000
/** The height until the widget has reported its own. */
const startHeight = 480

export function openFrame(
  url: string,
  onEvent: (event: ConnectEvent) => void,
  container: HTMLElement | undefined,
): ConnectHandle {
  const frame = document.createElement('iframe')
  frame.src = url
  frame.title = 'Connect your accounts'
  frame.referrerPolicy = 'no-referrer'
  Object.assign(frame.style, {
    border: '0',
    width: '100%',
    height: container === undefined ? '100%' : `${startHeight}px`,
    display: 'block',
  })

  const dialog = container === undefined ? createDialog() : undefined
  let isLoaded = false
  let blocked: ReturnType<typeof setTimeout> | undefined
  const listening = listenTo(
    {
      target: () => frame.contentWindow,
      origin: new URL(url).origin,
      fitsContent: dialog === undefined,
      onLoaded: () => (isLoaded = true),
      // In a dialog, the dialog sets the height.
      ...(dialog === undefined ? { onHeight: (height) => (frame.style.height = `${height}px`) } : {}),
      // The keys that are pressed inside the frame never reach the dialog.
      ...(dialog === undefined ? {} : { onEscape: () => listening.close() }),
      tidy() {
        clearTimeout(blocked)
        frame.remove()
        dialog?.close()
        dialog?.remove()
      },
    },
    onEvent,
  )
  // The browser reports a frame that its host's policy forbids as loaded, and the frame stays silent.
  frame.addEventListener('load', () => {
    blocked = setTimeout(() => {
      const message = `The widget did not answer in a frame of ${location.origin}. Is this an embed origin of the client?`
      if (!isLoaded) listening.end({ type: 'error', code: 'blocked', message })
    }, silenceMaxMs)
  })
  ;(dialog ?? container)?.append(frame)
  // Escape closes a dialog, so the person has decided.
  dialog?.addEventListener('cancel', () => listening.close())
  dialog?.showModal()
  return listening
}

function createDialog(): HTMLDialogElement {
  const dialog = document.createElement('dialog')
  Object.assign(dialog.style, {
    width: 'min(480px, 100vw)',
    height: 'min(760px, 100dvh)',
    maxWidth: 'none',
    maxHeight: 'none',
    padding: '0',
    border: '0',
    borderRadius: '12px',
    overflow: 'hidden',
  })
  document.body.append(dialog)
  return dialog
}
