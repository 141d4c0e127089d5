/** Listens to one widget window until it is done. Messages from any other window or origin are ignored. */
import type { ConnectEvent, ConnectHandle, LastEvent } from './events.ts'
import { unwrap, wrap, type WidgetMessage } from './protocol.ts'

export interface Listening extends ConnectHandle {
  /** Nothing more will come. */
  end(event: LastEvent): void
}

export interface WidgetWindow {
  target: () => Window | null
  origin: string
  /** The frame takes the height of its content. */
  fitsContent?: boolean
  onLoaded?: () => void
  onHeight?: (height: number) => void
  onEscape?: () => void
  tidy: () => void
}

const heard = ['loaded', 'error', 'hello', 'ready', 'step', 'connected', 'height', 'escape', 'result'] as const

export function listenTo(from: WidgetWindow, onEvent: (event: ConnectEvent) => void): Listening {
  const { promise, resolve } = withResolvers<LastEvent>()
  let ended = false

  function settle(event: LastEvent): void {
    if (ended) return
    ended = true
    removeEventListener('message', hear)
    from.tidy()
    onEvent(event)
    resolve(event)
  }

  function hear(event: MessageEvent<unknown>): void {
    const window = from.target()
    if (window === null || event.source !== window || event.origin !== from.origin) return
    const message = unwrap<WidgetMessage>(event.data, heard)
    if (message !== undefined) handle(message, window)
  }

  function handle(message: WidgetMessage, window: Window): void {
    from.onLoaded?.()
    switch (message.type) {
      case 'loaded':
        return
      case 'hello': {
        // Proves to the frame that the page around it has the registered origin: only that origin got the nonce.
        const { nonce } = message
        return window.postMessage(wrap({ type: 'welcome', nonce, fitsContent: from.fitsContent === true }), from.origin)
      }
      case 'height':
        return from.onHeight?.(message.height)
      case 'escape':
        return from.onEscape?.()
      case 'result':
        return settle({ type: 'result', result: message.result })
      case 'error':
        return settle({ type: 'error', code: message.code, message: message.message })
      case 'ready':
        return onEvent({ type: 'ready' })
      case 'step':
        return onEvent({ type: 'step', step: message.step })
      case 'connected':
        return onEvent({ type: 'connected', providerId: message.providerId, connectionId: message.connectionId })
    }
  }

  addEventListener('message', hear)
  return { finished: promise, close: () => settle({ type: 'closed' }), end: settle }
}

/** Promise.withResolvers is younger than the browsers we support. */
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => (resolve = settle))
  return { promise, resolve }
}
