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
  // There is no event for a window that was closed by hand.
  const watch = setInterval(() => {
    if (popup === null || popup.closed) listening.end()
  }, closedCheckMs)
  const listening = listenTo(
    () => popup,
    new URL(url).origin,
    onEvent,
    () => {
      clearInterval(watch)
      popup?.close()
    },
  )
  return listening
}
