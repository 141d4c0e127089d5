/** Opens a connection for a worker: credentials unsealed, the connector loaded, and the `io` it may use. */
import type { Connector, Io, Session } from '@assay/connectors'
import type { Database } from '../db/index.ts'
import type { Sealer } from './seal.ts'
import * as store from './store.ts'
import type { ConnectionRef } from './store.ts'

export interface OpenDeps {
  loadConnector(providerId: string): Promise<Connector>
  fetch: typeof globalThis.fetch
  /** By the service's clock, which in sandbox mode can be ahead of the machine's. */
  now(): number
  /** Other hosts than the providers' own. */
  providerUrls: Readonly<Record<string, string>>
}

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
}

/** More than a job ever needs. Reserved in one write, so that nonces grow across restarts without one write a request. */
const noncesPerOpen = 5_000

export async function openConnection(
  deps: OpenDeps,
  db: Database,
  sealer: Sealer,
  ref: ConnectionRef,
): Promise<OpenedConnection | undefined> {
  const row = await store.findOpenable(db, ref)
  if (row === undefined || row.sealed_credentials === null) return undefined
  const credentials = await sealer.open(row.repair_of ?? ref.connectionId, row.sealed_credentials)
  const connector = await deps.loadConnector(row.provider_id)
  // Microseconds, as a key last used by another program has usually seen milliseconds or less.
  let nonce = await store.reserveNonces(db, row.key_lane, deps.now() * 1_000, noncesPerOpen)
  let left = noncesPerOpen
  const io: Io = {
    fetch: deps.fetch,
    now: () => deps.now(),
    nextNonce() {
      left -= 1
      if (left < 0) throw new Error(`a job used more than ${noncesPerOpen} nonces`)
      nonce += 1n
      return nonce.toString()
    },
    baseUrl: deps.providerUrls[row.provider_id],
  }
  return {
    connector,
    session: connector.open(credentials, io),
    providerId: row.provider_id,
    keyLane: row.key_lane,
    status: row.status,
    allowed: row.allowed,
    sessionId: row.session_id,
    repairOf: row.repair_of,
  }
}
