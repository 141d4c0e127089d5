/** The widget in a frame: inside an element of the page, or in a dialog over it. */
import type { ConnectEvent, ConnectHandle } from './events.ts'
import { listenTo } from './listen.ts'

export function openFrame(
  url: string,
  onEvent: (event: ConnectEvent) => void,
  container: HTMLElement | undefined,
): ConnectHandle {
  const frame = document.createElement('iframe')
  frame.src = url
  frame.title = 'Connect your accounts'
  frame.referrerPolicy = 'no-referrer'
  Object.assign(frame.style, { border: '0', width: '100%', height: '100%', display: 'block' })

  const dialog = container === undefined ? createDialog() : undefined
  ;(dialog ?? container)?.append(frame)
  const listening = listenTo(
    () => frame.contentWindow,
    new URL(url).origin,
    onEvent,
    () => {
      frame.remove()
      dialog?.close()
      dialog?.remove()
    },
  )
  // Escape closes a dialog; the person has then decided.
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
