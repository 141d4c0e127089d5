/**
 * Whose job it is: payloads carry keys and ids, as text, so that no job has to look one up for the other. Written and
 * parsed here alone.
 */
import { z } from 'zod'
import type { ConnectionRef, Owner } from '../owner.ts'

export type Payload = Record<string, string>

const integer = z.string().regex(/^\d{1,10}$/)

/** To be extended by what a job needs beside its owner. */
export const ownerPayload = z.object({
  tenant_key: integer,
  tenant_id: z.string(),
  user_key: z.string().regex(/^-?\d{1,19}$/),
  user_id: z.string(),
})

export const connectionPayload = ownerPayload.extend({ connection_key: integer, connection_id: z.string() })

export function toOwnerPayload({ tenantKey, tenantId, userKey, userId }: Owner): Payload {
  return { tenant_key: String(tenantKey), tenant_id: tenantId, user_key: userKey, user_id: userId }
}

export function toConnectionPayload(ref: ConnectionRef): Payload {
  return { ...toOwnerPayload(ref), connection_key: String(ref.connectionKey), connection_id: ref.connectionId }
}

export function toOwner(payload: z.infer<typeof ownerPayload>): Owner {
  return {
    tenantKey: Number(payload.tenant_key),
    tenantId: payload.tenant_id,
    userKey: payload.user_key,
    userId: payload.user_id,
  }
}

export function toConnectionRef(payload: z.infer<typeof connectionPayload>): ConnectionRef {
  return {
    ...toOwner(payload),
    connectionKey: Number(payload.connection_key),
    connectionId: payload.connection_id,
  }
}
