/**
 * Webhooks by the Standard Webhooks specification (standardwebhooks.com): HMAC-SHA256 over `id.timestamp.body`, several
 * signatures while a secret is being replaced, and a time that must be close, which prevents replays.
 */
import { WebhookError } from './errors.ts'
import type { ProofGrade } from './types.ts'

interface Message<Type extends string, Data> {
  type: Type
  /** When it happened, by the service's clock. */
  timestamp: string
  data: Data
}

interface About {
  user_id: string
  connection_id: string
}

/** What the service sends. A message says that something changed; the API says what. */
export type WebhookEvent =
  | Message<'connection.changed', About & { change: 'read' | 'needs_reauth' | 'removed' | 'revoked' }>
  | Message<'connection.destroyed', About>
  | Message<'transactions.changed', About & { added: number; changed: number; removed: number }>
  | Message<'proof.changed', About & { grade: ProofGrade; previous_grade: ProofGrade }>
  /** By `assay webhook test`. */
  | Message<'webhook.test', Record<string, never>>

export interface WebhookRequest {
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The body as it arrived: parsing and writing it again would change the signature. */
  body: string
}

export interface WebhookOptions {
  /** How far the sender's clock may be from ours; default 300. */
  toleranceSeconds?: number
  /** Epoch milliseconds; default: now. */
  nowMs?: number
}

/**
 * The event, if one of the secrets signed it; throws a WebhookError otherwise. Compared in constant time by WebCrypto.
 */
export async function verifyWebhook(
  request: WebhookRequest,
  secrets: string | readonly string[],
  options: WebhookOptions = {},
): Promise<WebhookEvent> {
  const id = readHeader(request, 'webhook-id')
  const timestamp = readHeader(request, 'webhook-timestamp')
  checkTime(timestamp, options)
  const signatures = readHeader(request, 'webhook-signature')
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => toBytes(signature.slice('v1,'.length), 'the signature'))
  const content = new TextEncoder().encode(`${id}.${timestamp}.${request.body}`)
  for (const secret of [secrets].flat()) {
    const key = await importKey(secret)
    for (const signature of signatures) {
      if (await crypto.subtle.verify('HMAC', key, signature, content)) return JSON.parse(request.body) as WebhookEvent
    }
  }
  throw new WebhookError('no known secret signed this webhook')
}

function readHeader({ headers }: WebhookRequest, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  if (typeof value !== 'string' || value === '') throw new WebhookError(`the header ${name} is missing`)
  return value
}

function checkTime(timestamp: string, { toleranceSeconds = 300, nowMs = Date.now() }: WebhookOptions): void {
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('webhook-timestamp is not a count of seconds')
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookError(`the webhook was sent more than ${toleranceSeconds} seconds from now`)
  }
}

async function importKey(secret: string): ReturnType<typeof crypto.subtle.importKey> {
  const bytes = toBytes(secret.replace(/^whsec_/, ''), 'the secret')
  // Anyone can sign with it. WebCrypto refuses it too, with an error of its own (HMAC, "Import Key": DataError).
  if (bytes.length === 0) throw new WebhookError('the secret is empty')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

/** The error names the value that is not base64 and never quotes it. */
function toBytes(base64: string, what: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    throw new WebhookError(`${what} is not base64`)
  }
}
