/** Hears one widget window until it is done. What does not come from that window and that origin is not looked at. */
import type { ConnectEvent, ConnectHandle } from './events.ts'
import { unwrap, wrap, type WidgetMessage } from './protocol.ts'

export interface Listening extends ConnectHandle {
  /** Nothing more will come. */
  end(): void
}

export function listenTo(
  target: () => Window | null,
  origin: string,
  onEvent: (event: ConnectEvent) => void,
  tidy: () => void,
): Listening {
  const { promise, resolve } = withResolvers<Awaited<ConnectHandle['finished']>>()
  let ended = false

  function settle(event: Awaited<ConnectHandle['finished']>): void {
    if (ended) return
    ended = true
    removeEventListener('message', hear)
    tidy()
    onEvent(event)
    resolve(event)
  }

  function hear(event: MessageEvent<unknown>): void {
    const window = target()
    if (window === null || event.source !== window || event.origin !== origin) return
    const message = unwrap<WidgetMessage>(event.data, ['hello', 'step', 'connected', 'result'])
    if (message === undefined) return
    if (message.type === 'hello') {
      // Proves to the frame that the page around it has the registered origin: only that origin got the nonce.
      window.postMessage(wrap({ type: 'welcome', nonce: message.nonce }), origin)
      onEvent({ type: 'ready' })
    } else if (message.type === 'result') settle({ type: 'result', result: message.result })
    else if (message.type === 'step') onEvent({ type: 'step', step: message.step })
    else onEvent({ type: 'connected', providerId: message.providerId, connectionId: message.connectionId })
  }

  addEventListener('message', hear)
  return { finished: promise, close: () => settle({ type: 'closed' }), end: () => settle({ type: 'closed' }) }
}

/** Promise.withResolvers is younger than the browsers we support. */
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => (resolve = settle))
  return { promise, resolve }
}
