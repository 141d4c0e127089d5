/** The receiver of the service's events: accepts only signed events, keeps the last few, and shows them. */
import { verifyWebhook, WebhookError, type WebhookRequest } from '@assay/sdk'

export interface ReceivedEvent {
  id: string
  receivedAt: string
  type: string
  body: string
}

const eventsMax = 50

export interface WebhookBox {
  /** From now on events signed with this secret are accepted. */
  trust(secret: string): void
  /** False when no secret that we know has signed it, or when it does not look like an event. */
  receive(request: WebhookRequest): Promise<boolean>
  list(): readonly ReceivedEvent[]
}

export function createWebhookBox(now: () => number): WebhookBox {
  const events: ReceivedEvent[] = []
  let secret: string | undefined
  return {
    trust(given) {
      secret = given
    },

    async receive(request) {
      if (secret === undefined) return false
      try {
        const event = await verifyWebhook(request, secret, { nowMs: now() })
        const id = String(new Headers(request.headers as Record<string, string>).get('webhook-id'))
        // Messages are delivered at least once: the same one may come again.
        if (events.some((known) => known.id === id)) return true
        events.unshift({ id, receivedAt: new Date(now()).toISOString(), ...describeEvent(event) })
        events.length = Math.min(events.length, eventsMax)
        return true
      } catch (error) {
        if (error instanceof WebhookError || error instanceof SyntaxError) return false
        throw error
      }
    },

    list: () => events,
  }
}

function describeEvent(event: unknown): { type: string; body: string } {
  const { type } = event as { type?: unknown }
  return { type: typeof type === 'string' ? type : '(no type)', body: JSON.stringify(event, null, 2) }
}
