/**
 * `state` of a sign-in at a provider (RFC 6749 §10.12): 256 bits, spent once, ten minutes, bound to the session or grant
 * that began it and to the provider. Whatever comes back with another one, or to somebody else, is refused.
 *
 * No provider of the catalogue signs in by OAuth2 yet. What is certain about every such provider is here; the exchange
 * of its code comes with the first of them.
 */
import { Refusal, type Cause } from '@assay/core'
import type { AddResult, Connections } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { hashSecret, newSecret } from './secrets.ts'
import * as store from './store.ts'
import type { ProviderState } from './store.ts'

export type { ProviderState } from './store.ts'

const lifeSeconds = 600

export async function issueState(
  sql: Sql,
  randomBytes: (size: number) => Buffer,
  state: ProviderState,
): Promise<string> {
  const value = newSecret(randomBytes)
  await store.insertState(sql, hashSecret(value), state, lifeSeconds)
  return value
}

/** Who comes back from a provider; the page of a session does not know from which. */
export type Returning = Omit<ProviderState, 'providerId'> & { providerId?: string }

/** Only for whoever began this sign-in at this provider, and only once. */
export async function completeSignIn(
  deps: { db: Sql; connections: Pick<Connections, 'findProviderName'> },
  state: string,
  of: Returning,
): Promise<AddResult> {
  if (of.providerId !== undefined && deps.connections.findProviderName(of.providerId) === undefined) {
    throw refuse('There is no such provider.', 'unknown_provider', 'provider_id')
  }
  const providerId = await store.takeState(deps.db, hashSecret(state), of)
  if (providerId === undefined) {
    throw refuse('This sign-in was not begun here, was used before or took too long.', 'invalid_state', 'state')
  }
  throw refuse(`${providerId} cannot be connected by oauth2.`, 'unsupported_connection_type', 'provider_id')
}

function refuse(message: string, cause: Cause, parameter: string): Refusal {
  return new Refusal('invalid_request', message, { items: [{ cause, parameter, message }] })
}
