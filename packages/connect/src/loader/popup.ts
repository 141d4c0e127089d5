/** The widget in a window of its own. Must be called from a click, or the browser blocks it. */
import type { ConnectEvent, ConnectHandle } from './events.ts'
import { listenTo } from './listen.ts'

const width = 480
const height = 760
const closedCheckMs = 400

export function openPopup(url: string, onEvent: (event: ConnectEvent) => void): ConnectHandle {
  const left = Math.max(0, screenX + (outerWidth - width) / 2)
  const top = Math.max(0, screenY + (outerHeight - height) / 2)
  const popup = open(url, 'assay-connect', `popup,width=${width},height=${height},left=${left},top=${top}`)
  // Browsers send no event when the user closes a window.
  const watch = setInterval(() => {
    if (popup?.closed === true) listening.close()
  }, closedCheckMs)
  const tidy = (): void => {
    clearInterval(watch)
    popup?.close()
  }
  const listening = listenTo({ target: () => popup, origin: new URL(url).origin, tidy }, onEvent)
  const message = 'The browser did not open a window. Call openConnect directly from a click.'
  // Later, so that the caller has the handle before its first event.
  if (popup === null) queueMicrotask(() => listening.end({ type: 'error', code: 'popup_blocked', message }))
  return listening
}
