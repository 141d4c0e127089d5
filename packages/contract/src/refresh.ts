/** What a refresh answers with. v1 has the members bare, v2 inside `data`. */
import { causes } from '@assay/core'
import { z } from 'zod'
import { successErrors } from './errors.ts'
import { connectionId, CryptoSourceId, ProviderId } from './provider-ids.ts'
import { text, time } from './values.ts'

const head = {
  refresh_id: z.string(),
  status: z.enum(['queued', 'running', 'succeeded', 'partial', 'failed']),
  requested_at: time,
}

const outcome = {
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cooling_down']),
  cause: z.enum(causes).nullable(),
}

const v2Connection = z.object({ connection_id: connectionId, provider_id: ProviderId, ...outcome })
const v1Connection = z.object({ connection_id: connectionId, crypto_source_id: CryptoSourceId, ...outcome })

const RefreshResponseData = z
  .object({ ...head, connections: z.array(v2Connection) })
  .meta({ id: 'RefreshResponseData' })

export const RefreshResponse = z
  .object({ data: RefreshResponseData, errors: successErrors })
  .meta({ id: 'RefreshResponse' })

export const RefreshResponseV1 = z
  .object({ ...head, connections: z.array(v1Connection) })
  .meta({ id: 'v1/RefreshResponse' })

/** Without `connection_ids`: all connections of the user. */
export const refreshBody = z.strictObject({ connection_ids: z.array(text(64)).min(1).max(100).optional() }).optional()
