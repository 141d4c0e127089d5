/**
 * The state of reading. Coverage says which windows of a connection's history were read, which holes are left, and why.
 * A refresh reads again; v1 answers with bare members, v2 with the same members inside `data`.
 */
import { causes } from '@assay/core'
import { z } from 'zod'
import { connectionId, CryptoSourceId, ProviderId, text, time } from './values.ts'
import { successErrors } from './errors.ts'

const window = {
  start_time: time.meta({ description: 'Included.' }),
  end_time: time.meta({ description: 'Excluded.' }),
}

const CoveredWindow = z.object(window).meta({ id: 'CoveredWindow', description: 'Read to its end.' })

const CoverageHole = z
  .object({
    ...window,
    cause: z.enum(causes),
    message: z.string().meta({ description: 'In words that may be shown to a person.' }),
  })
  .meta({ id: 'CoverageHole', description: 'Not read yet, or not readable.' })

export const StreamCoverage = z
  .object({
    stream: z.string().meta({ description: 'One of the lists that the provider keeps.', examples: ['ledger'] }),
    windows: z
      .array(CoveredWindow)
      .meta({ description: 'Oldest first. Of a stream with several lists: what was read in all of them.' }),
    holes: z.array(CoverageHole).meta({ description: 'Oldest first.' }),
    provider_limit: z.string().nullable().meta({ description: 'What the provider itself does not offer.' }),
    remedy: z.string().nullable().meta({ description: 'What the person can do about the holes or the limit.' }),
    partitions: z
      .object({
        count: z.int().meta({ description: 'Lists of this kind that the account has, such as symbols or addresses.' }),
        incomplete: z.int().meta({ description: 'Those that were not read to their end.' }),
      })
      .meta({ description: 'A stream may have many lists; `?partition=` shows one.' }),
  })
  .meta({ id: 'StreamCoverage' })

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
