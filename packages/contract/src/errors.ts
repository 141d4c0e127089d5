/**
 * ErrorResponse (an RFC 9457 problem document), its elements, and the empty list of v2's successes. In v1 a provider is
 * called a crypto source, in errors as everywhere.
 */
import { causes, refusalCodes, type RefusalCode } from '@assay/core'
import { z } from 'zod'
import { CryptoSourceId, ProviderId } from './values.ts'

export const statusOf: Readonly<Record<RefusalCode, number>> = {
  invalid_request: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
}

export const titleOf: Readonly<Record<RefusalCode, string>> = {
  invalid_request: 'Invalid request',
  invalid_token: 'Invalid or missing access token',
  insufficient_scope: 'The access token does not allow this',
  not_found: 'Not found',
  method_not_allowed: 'Method not allowed',
  payload_too_large: 'Request body too large',
  unsupported_media_type: 'Unsupported media type',
  rate_limited: 'Too many requests',
  internal: 'Internal error',
  unavailable: 'Temporarily unavailable',
}

const cause = z.enum(causes)

const itemHead = {
  cause,
  message: z.string().meta({ description: 'In words that may be shown to a person.' }),
  parameter: z.string().optional().meta({ description: 'The parameter or body field that was wrong.' }),
}
const itemTail = {
  connection_id: z.string().optional(),
  retry_after_seconds: z.int().optional(),
  fix: z.string().optional().meta({ description: 'What the person can do about it.' }),
}

const ErrorItem = z
  .object({ ...itemHead, provider_id: ProviderId.optional(), ...itemTail })
  .meta({ id: 'ErrorItem', description: 'One thing that went wrong.' })

export const ErrorItemV1 = z
  .object({ ...itemHead, crypto_source_id: CryptoSourceId.optional(), ...itemTail })
  .meta({ id: 'v1/ErrorItem', description: 'One thing that went wrong.' })

// This is not a tuple, because JSON Schema wants at least one item in prefixItems.
const ErrorEmpty = z.array(z.never()).max(0).meta({ id: 'ErrorEmpty', description: 'Nothing to say.' })

/** `errors` of a v2 success. */
export const successErrors = z.union([ErrorEmpty, z.array(ErrorItem).min(1)])

const problemHead = {
  type: z.string().meta({ examples: ['urn:assay:problem:invalid_request'] }),
  title: z.string(),
  status: z.int(),
  code: z.enum(refusalCodes),
  detail: z.string(),
  request_id: z.string().meta({ description: 'Also in X-Request-Id; name it when you ask for help.' }),
}

export const ErrorResponse = z
  .object({ ...problemHead, errors: z.array(ErrorItem) })
  .meta({ id: 'ErrorResponse', description: 'A problem document (RFC 9457).' })

export const ErrorResponseV1 = z
  .object({ ...problemHead, errors: z.array(ErrorItemV1) })
  .meta({ id: 'v1/ErrorResponse', description: 'A problem document (RFC 9457).' })

export type ErrorResponse = z.output<typeof ErrorResponse>
