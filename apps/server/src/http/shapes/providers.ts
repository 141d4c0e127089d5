/** What v1 and v2 share when they speak of providers: filters, credentials and the members of a connection. */
import { findProvider } from '@assay/connectors/catalog'
import type { z } from 'zod'
import type { connection } from '@assay/contract'
import { Refusal } from '@assay/core'
import type { AddResult, ConnectionRow, GivenCredentials } from '../../connections/index.ts'

/** A provider that does not exist is a mistake of the caller; one that the user has not connected matches nothing. */
export function checkProviders(parameter: string, ids: readonly string[] | undefined): void {
  for (const id of ids ?? []) {
    if (findProvider(id) !== undefined) continue
    const message = `unknown provider ${JSON.stringify(id.slice(0, 80))}; GET /accounts/v2/providers/catalog lists all of them`
    throw new Refusal('invalid_request', `${parameter}: ${message}`, {
      items: [{ cause: 'unknown_provider', parameter, message }],
    })
  }
}

/** Which fields a connection needs depends on its provider, so an unknown one is refused before anything is missing. */
export function checkNamedProvider(parameter: string, body: unknown): void {
  const named = new Map<string, unknown>(Object.entries(Object(body) as object)).get(parameter)
  if (typeof named === 'string' && named !== '') checkProviders(parameter, [named])
}

/**
 * The members of `connection`, in the names that code uses. Whether they fit the provider is checked where they are
 * added.
 */
export function toCredentials(
  parameter: string,
  providerId: string,
  given: z.output<typeof connection>,
): GivenCredentials {
  checkProviders(parameter, [providerId])
  return toCamelMembers(given)
}

type Camel<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name
type CamelMembers<T> = T extends unknown ? { [Name in keyof T as Camel<Name>]: Exclude<T[Name], undefined> } : never

function toCamelMembers<T extends object>(given: T): CamelMembers<T> {
  const members = Object.entries(given).filter(([, value]) => value !== undefined)
  const toCamel = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(members.map(([name, value]) => [toCamel(name), value as unknown])) as CamelMembers<T>
}

interface Selection {
  connectionId?: string | undefined
  providerId?: string | undefined
}

/** Exactly one of the two, in the query or in the body. */
export function toSelection(
  providerName: string,
  given: readonly Selection[],
): { connectionId: string } | { providerId: string } {
  const wanted = given.flatMap(({ connectionId, providerId }) => [
    ...(connectionId === undefined ? [] : [{ connectionId }]),
    ...(providerId === undefined ? [] : [{ providerId }]),
  ])
  const [one, ...others] = wanted
  if (one === undefined || others.length > 0) {
    throw new Refusal(
      'invalid_request',
      `Send exactly one of connection_id and ${providerName}, in the query or in the body.`,
      {
        items: [
          {
            cause: 'bad_request',
            message: `exactly one of connection_id and ${providerName} is needed, got ${wanted.length}`,
          },
        ],
      },
    )
  }
  if ('providerId' in one) checkProviders(providerName, [one.providerId])
  return one
}

export function toProofMember({ proof_grade: grade, proof_checked_at, proved_since }: ConnectionRow) {
  if (grade === null || proof_checked_at === null) return null
  return { grade, checked_at: proof_checked_at, proved_since }
}

export function toConnectedMembers(
  row: Omit<ConnectionRow, 'record_count' | 'proof_grade' | 'proof_checked_at' | 'proved_since'>,
) {
  return {
    name: findProvider(row.provider_id)?.name ?? row.provider_id,
    display_label: row.display_label,
    connection_type: row.connection_type,
    status: row.status,
    status_cause: row.status_cause,
    status_message: row.status_message,
    added_at: row.added_at ?? '',
    last_synced_at: row.last_synced_at,
    next_sync_at: row.next_sync_at,
    history_from: row.history_from,
    // This is a count of rows, not an amount of money.
    transaction_count: Number(row.transaction_count),
  }
}

/** v2 and the connect session answer alike. */
export function toAdded(result: AddResult) {
  const ids = { connection_id: result.connectionId, provider_id: result.providerId }
  const { added, displayLabel, status, errors, redirectUrl = null } = result
  return { data: { added, redirect_url: redirectUrl, ...ids, display_label: displayLabel, status }, errors }
}
