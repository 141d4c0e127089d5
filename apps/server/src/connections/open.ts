/** Opens a connection for a worker: credentials unsealed, the connector loaded, and the `io` it may use. */
import type { Connector, Credentials, Io, ProviderClient, Session } from '@assay/connectors'
import type { Database } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { createNonces, type Nonces } from './nonces.ts'
import type { Sealer } from './seal.ts'
import * as store from './store.ts'
import { holdTokens } from './tokens.ts'

export interface OpenDeps {
  loadConnector(providerId: string): Promise<Connector>
  fetch: typeof globalThis.fetch
  /** By the service's clock, which in sandbox mode can be ahead of the machine's. */
  now(): number
  /** Other hosts than the providers' own. */
  providerUrls: Readonly<Record<string, string>>
  /** How the operator is registered at providers that people sign in at. */
  providerClients: Readonly<Record<string, ProviderClient>>
  /** How long a provider may take to answer; the connectors' own default if undefined. */
  requestTimeoutMs?: number
}

/** One call to the provider, when it may be made: within its budget, while it answers, by the worker that holds the key. */
export type Ask = <T>(cost: number, call: () => Promise<T>) => Promise<T>

export interface OpenedConnection {
  connector: Connector
  session: Session
  providerId: string
  keyLane: string
  status: store.ConnectionStatus
  /** Somebody may read it: a grant is live, or it still belongs to its session. */
  allowed: boolean
  sessionId: string | null
  repairOf: string | null
  /** Epoch ms; null when the key's rights were never read. */
  rightsCheckedAtMs: number | null
  nonces: Nonces
}

export async function openConnection(
  deps: OpenDeps,
  db: Database,
  sealer: Sealer,
  ref: ConnectionRef,
): Promise<OpenedConnection | undefined> {
  const row = await store.findOpenable(db, ref)
  if (row === undefined || row.sealed_credentials === null) return undefined
  const boundTo = row.repair_of ?? ref.connectionId
  const sealed = row.sealed_credentials
  const kept = await sealer.open(boundTo, sealed)
  const connector = await deps.loadConnector(row.provider_id)
  const nonces = createNonces(() => deps.now())
  const io: Io = {
    fetch: deps.fetch,
    now: () => deps.now(),
    nextNonce: () => nonces.next(),
    baseUrl: deps.providerUrls[row.provider_id],
    ...(deps.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: deps.requestTimeoutMs }),
  }
  const client = deps.providerClients[row.provider_id]
  const credentials: Credentials =
    kept.type === 'api_key'
      ? kept
      : { type: 'oauth2', getToken: holdTokens({ db, sealer, io, connector, client }, { ref, boundTo, sealed }, kept) }
  return {
    connector,
    session: connector.open(credentials, io),
    providerId: row.provider_id,
    keyLane: row.key_lane,
    status: row.status,
    allowed: row.allowed,
    sessionId: row.session_id,
    repairOf: row.repair_of,
    rightsCheckedAtMs: row.rights_checked_at === null ? null : Date.parse(row.rights_checked_at),
    nonces,
  }
}
