/** The receiver of the service's events: takes them, keeps the last few, shows them. */
export interface ReceivedEvent {
  receivedAt: string
  type: string
  body: string
}

const eventsMax = 50

export interface WebhookBox {
  /** False when the body is no JSON object. */
  receive(body: string): boolean
  list(): readonly ReceivedEvent[]
}

export function createWebhookBox(now: () => number): WebhookBox {
  const events: ReceivedEvent[] = []
  return {
    receive(body) {
      const event = parseEvent(body)
      if (event === undefined) return false
      events.unshift({
        receivedAt: new Date(now()).toISOString(),
        type: event.type,
        body: JSON.stringify(event.value, null, 2),
      })
      events.length = Math.min(events.length, eventsMax)
      return true
    },
    list: () => events,
  }
}

function parseEvent(body: string): { type: string; value: object } | undefined {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { type } = value as { type?: unknown }
  return { type: typeof type === 'string' ? type : '(no type)', value }
}
