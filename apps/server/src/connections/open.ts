/** Opens a connection for a worker: unseals its credentials, loads its connector and makes the `io` it may use. */
import {
  listOrigins,
  restrictFetch,
  type ConnectionType,
  type Connector,
  type Io,
  type ProviderClient,
  type AccountReader,
} from '@assay/connectors'
import type { ProviderDefinition } from '@assay/connectors/catalog'
import type { Database } from '../db/index.ts'
import type { NonceRange, PartCalls } from '../metering/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { isDestroyed, openCredentials } from './credentials/credential-types.ts'
import type { Sealer } from './credentials/seal.ts'
import * as store from './store.ts'

export interface OpenDeps {
  loadConnector(providerId: string): Promise<Connector>
  getDefinition(providerId: string): ProviderDefinition
  fetch: typeof globalThis.fetch
  /** The time by the service's clock, which in sandbox mode can be ahead of the machine's. */
  now(): number
  /** Base URLs that replace the providers' own. */
  providerUrls: Readonly<Record<string, string>>
  /** How the operator is registered at providers that people sign in at. */
  providerClients: Readonly<Record<string, ProviderClient>>
  /** Nodes and indexes of chains that the operator has chosen. */
  chainUrls?: Io['chainUrls']
  /** How long a provider may take to answer; the connectors' own default if undefined. */
  requestTimeoutMs?: number
}

export interface OpenedConnection {
  connector: Connector
  /** The provider as plain data: its streams, how far apart the records of a story lie, how late rows appear. */
  definition: ProviderDefinition
  reader: AccountReader
  providerId: string
  connectionType: ConnectionType
  userKey: string
  keyLane: string
  status: store.ConnectionStatus
  /** True when it may be read: a grant is live, or it still belongs to its connect session. */
  allowed: boolean
  connectSessionId: string | null
  repairOf: string | null
  /** Epoch ms; null when the key's rights were never read. */
  rightsCheckedAtMs: number | null
  nonces: Nonces
  parts: PartCalls
  /** How many records are kept of this connection; large ones count as several. */
  records: number
  /** The same of all connections of the user. */
  userRecords: number
  userConnections: number
}

export async function openConnection(
  deps: OpenDeps,
  db: Database,
  sealer: Sealer,
  ref: ConnectionRef,
): Promise<OpenedConnection | undefined> {
  const row = await store.findOpenable(db, ref)
  if (row === undefined) return undefined
  const stored = { sealedCredentials: row.sealed_credentials, address: row.address, networks: row.networks }
  if (isDestroyed(stored)) return undefined
  const definition = deps.getDefinition(row.provider_id)
  const connector = await deps.loadConnector(row.provider_id)
  const nonces = createNonces(() => deps.now())
  const parts: PartCalls = { reach: (_, request) => request() }
  const urls = {
    baseUrl: deps.providerUrls[row.provider_id],
    ...(deps.chainUrls === undefined ? {} : { chainUrls: deps.chainUrls }),
  }
  const io: Io = {
    fetch: restrictFetch(deps.fetch, listOrigins(definition, urls)),
    now: () => deps.now(),
    nextNonce: () => nonces.next(),
    reach: (part, request) => parts.reach(part, request),
    ...urls,
    ...(deps.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: deps.requestTimeoutMs }),
  }
  const credentials = await openCredentials(row.connection_type, {
    ...{ db, sealer, io, ref, stored },
    providerId: row.provider_id,
    signIn: definition.signIn,
    client: deps.providerClients[row.provider_id],
    boundTo: row.repair_of ?? ref.connectionId,
  })
  return {
    connector,
    definition,
    reader: connector.open(credentials, io),
    providerId: row.provider_id,
    connectionType: row.connection_type,
    userKey: ref.userKey,
    keyLane: row.key_lane,
    status: row.status,
    allowed: row.allowed,
    connectSessionId: row.session_id,
    repairOf: row.repair_of,
    rightsCheckedAtMs: row.rights_checked_at === null ? null : Date.parse(row.rights_checked_at),
    nonces,
    parts,
    records: Number(row.record_count),
    userRecords: Number(row.user_records),
    userConnections: row.user_connections,
  }
}

/**
 * More than a job ever needs. One write reserves them, so that nonces grow across restarts without a write per request.
 */
const noncesPerJob = 5_000

/**
 * The nonces of one opened connection. Several providers refuse a nonce that does not grow, so a worker reserves a
 * range for its key before its first call (metering/ask.ts). The range is also a fence: only the worker that reserved
 * the newest one may use the key.
 */
export interface Nonces extends NonceRange {
  next(): string
}

function createNonces(now: () => number): Nonces {
  let nonce = 0n
  const nonces: Nonces = {
    last: undefined,
    // Microseconds, because a program that used the key before has usually sent milliseconds or less.
    toReserve: () => ({ atLeast: now() * 1_000, count: noncesPerJob }),
    use(last) {
      nonces.last = last
      nonce = last - BigInt(noncesPerJob)
    },
    next() {
      if (nonces.last === undefined) throw new Error('a nonce was used before any was reserved')
      if (nonce >= nonces.last) throw new Error(`a job used more than ${noncesPerJob} nonces`)
      nonce += 1n
      return nonce.toString()
    },
  }
  return nonces
}
