/**
 * An endpoint as data. Validation, OpenAPI and the SDK's types all come from these records, so the documentation cannot
 * differ from what the server does.
 */
import type { RefusalCode } from '@assay/core'
import type { z } from 'zod'
import type { Paging } from './pages.ts'

export type Scope =
  | 'providers:read'
  | 'providers:write'
  | 'assets:read'
  | 'transactions:read'
  | 'offline_access'
  | 'claims:read'
  | 'enterprise:read'
  | 'enterprise:manage'

/** Which shape of the rules an endpoint belongs to; v1 is one document, all v2 families another, connect the third. */
export type Family = 'platform_v1' | 'accounts_v2' | 'enterprise_v2' | 'connect_v1'

export interface Endpoint {
  /** Unique over all families; also the OpenAPI operationId, and the name of the list that its cursors are bound to. */
  readonly id: string
  readonly family: Family
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Written as in the reference, with parameters in braces: `/accounts/v2/transactions/{id}`. */
  readonly path: string
  /** What the access token must allow; null when no token is asked for. */
  readonly scope: Scope | null
  /** Further scopes that it must allow too. */
  readonly moreScopes?: readonly Scope[]
  /** The Bearer is the secret of a connect or manage session, not an access token. */
  readonly bearer?: 'session' | 'manage'
  /** It exists in sandbox mode only, and is a 404 elsewhere. */
  readonly sandboxOnly?: true
  /** Present on lists: adds `limit`, `cursor` and, in v2, `next_uri`; `query` then holds the filters alone. */
  readonly paging?: Paging
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly response: z.ZodType
  /** JSON by default; for a stream of lines, `response` describes one line. */
  readonly mediaType?: 'application/x-ndjson'
  /** Set when a parameter can select a text table: its first lines. */
  readonly csv?: string
  readonly summary: string
  readonly description: string
  /** Errors beyond those that every endpoint can return. */
  readonly errors: readonly RefusalCode[]
  readonly example: Example
}

/** A call and its answer. Query and path as they are sent, before any encoding. */
export interface Example {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly response: unknown
}

export function defineEndpoint<const E extends Endpoint>(endpoint: E): E {
  return endpoint
}

/** A part that an endpoint lacks (such as `query`) is an empty record. */
type Nothing = Record<never, never>

export type ParamsOf<E extends Endpoint> = E extends { params: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : Nothing
export type QueryOf<E extends Endpoint> = E extends { query: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : Nothing
export type BodyOf<E extends Endpoint> = E extends { body: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : undefined
export type ResponseOf<E extends Endpoint> = z.output<E['response']>
