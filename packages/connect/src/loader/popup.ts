/** The widget in a window of its own. Must be called from a click, or the browser blocks it. */
import type { ConnectEvent, ConnectHandle } from './events.ts'
import { listenTo } from './listen.ts'

const width = 480
const height = 760
const closedCheckMs = 400

/** Ends the call that opened the window, and leaves the window open. */
let handOver: () => void = () => undefined

export function openPopup(url: string, onEvent: (event: ConnectEvent) => void): ConnectHandle {
  const left = Math.max(0, screenX + (outerWidth - width) / 2)
  const top = Math.max(0, screenY + (outerHeight - height) / 2)
  const popup = open(url, 'assay-connect', `popup,width=${width},height=${height},left=${left},top=${top}`)
  let isHandedOver = false
  // Browsers send no event when the user closes a window.
  const watch = setInterval(() => {
    if (popup?.closed === true) listening.close()
  }, closedCheckMs)
  const tidy = (): void => {
    clearInterval(watch)
    if (!isHandedOver) popup?.close()
  }
  const listening = listenTo({ target: () => popup, origin: new URL(url).origin, tidy }, onEvent)
  // The name is always the same, so a second click reloads the window that the first one opened. Both calls would hear
  // its result, and an application that redeems a code twice loses the tokens of the first time.
  if (popup !== null) {
    handOver()
    handOver = () => {
      isHandedOver = true
      listening.close()
    }
  }
  const message = 'The browser did not open a window. Call openConnect directly from a click.'
  // Deferred, so that the caller has the handle before its first event.
  if (popup === null) queueMicrotask(() => listening.end({ type: 'error', code: 'popup_blocked', message }))
  return listening
}
