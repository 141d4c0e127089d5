/** The connect API's answers: from what the connect module says to snake_case on the wire. */
import { findProvider } from '@assay/connectors/catalog'
import type { ResponseOf, getMe, getSession } from '@assay/contract'
import type { MyPage, ConnectProgress, SessionView } from '../../connect/index.ts'
import type { ConnectionRow } from '../../connections/index.ts'
import type { Client } from '../../tenants/index.ts'

type WireSession = ResponseOf<typeof getSession>['session']

export interface Installation {
  emailSignIn: boolean
  sandbox: boolean
}

export function toWireSession(view: SessionView, { emailSignIn, sandbox }: Installation): WireSession {
  const { session, unfinished } = view
  return {
    session_id: session.sessionId,
    expires_at: session.expiresAt,
    step: view.step,
    ended: session.outcome,
    ...toAskers(view.client, view.tenantName),
    scopes: [...session.scopes],
    grant_expires_at: view.grantExpiresAt,
    shares_email: view.sharesEmail,
    display: session.display,
    web_message_origin: session.webMessageOrigin,
    lang: session.lang,
    theme: session.theme,
    provider_id: session.providerId,
    connection_id: view.connectionId,
    repair_refused: view.isRepairRefused,
    email_sign_in: emailSignIn,
    user: view.user,
    consented: session.consent !== null,
    existing: view.existing.map((row) => ({ ...toConnection(row), added_at: row.added_at ?? '' })),
    unfinished:
      unfinished === null
        ? null
        : {
            session_id: unfinished.sessionId,
            started_at: unfinished.startedAt,
            connection_count: unfinished.connectionCount,
          },
    connections: view.connections.map((row) => ({ ...toConnection(row), progress: toProgress(row.progress) })),
    sandbox,
  }
}

export function toAskers(client: Client, tenantName: string): Pick<WireSession, 'client' | 'tenant'> {
  return {
    client: {
      client_id: client.clientId,
      name: client.name,
      logo_uri: client.logoUri,
      homepage_uri: client.homepageUri,
    },
    tenant: { name: tenantName },
  }
}

function toConnection(row: ConnectionRow): Omit<WireSession['existing'][number], 'added_at'> {
  return {
    connection_id: row.id,
    provider_id: row.provider_id,
    name: findProvider(row.provider_id)?.name ?? row.provider_id,
    display_label: row.display_label,
    status: row.status,
    status_cause: row.status_cause,
    status_message: row.status_message,
  }
}

type WireProgress = WireSession['connections'][number]['progress']

function toProgress(progress: ConnectProgress): WireProgress {
  const { assets, records, transactions, done, top } = progress
  const times = { history_from: progress.historyFrom, value_in_usd: progress.valueInUsd }
  return { verified: true, assets, records, transactions, done, top, ...times, proof: toProof(progress.proof) }
}

function toProof(proof: ConnectProgress['proof']): WireProgress['proof'] {
  if (proof === null) return null
  const { grade, provedSince, difference } = proof
  if (difference === null) return { grade, proved_since: provedSince, difference }
  const { assetSymbol, cause, amount, startMs, endMs, assets } = difference
  const interval = { start_time: new Date(startMs).toISOString(), end_time: new Date(endMs).toISOString() }
  return {
    grade,
    proved_since: provedSince,
    difference: { asset_symbol: assetSymbol, cause, amount, ...interval, assets },
  }
}

type WireMe = ResponseOf<typeof getMe>

export function toWireMe({ email, connections, grants, endedGrants, tenantReads, events }: MyPage): WireMe {
  return {
    user: { email },
    connections: connections.map((row) => ({
      ...toConnection(row),
      added_at: row.added_at ?? '',
      last_synced_at: row.last_synced_at,
      // Counts of rows are not money, here and below.
      transaction_count: Number(row.transaction_count),
      record_count: Number(row.record_count),
    })),
    grants: grants.map(toGrant),
    ended_grants: endedGrants.map((grant) => ({
      ...toGrant(grant),
      ended_at: grant.endedAt,
      ended_by: grant.endedBy,
    })),
    events: events.map(({ actor, action, clientName, providerName, count, lastAt }) => ({
      ...{ actor, action, count, last_at: lastAt },
      client_name: clientName,
      provider_name: providerName,
    })),
    tenant_reads: tenantReads.map(({ clientId, clientName, accesses }) => ({
      client: { client_id: clientId, name: clientName },
      accesses: accesses.map(toAccess),
    })),
  }
}

function toGrant(grant: MyPage['grants'][number]): WireMe['grants'][number] {
  return {
    grant_id: grant.grantId,
    client: { client_id: grant.clientId, name: grant.clientName },
    scopes: grant.scopes,
    granted_at: grant.grantedAt,
    expires_at: grant.expiresAt,
    accesses: grant.accesses.map(toAccess),
    claims: grant.claims.map(({ claim, assetId, amount, asOf, holds, audience, madeAt }) => ({
      ...{ claim, asset_id: assetId, amount, as_of: asOf, holds, audience, made_at: madeAt },
    })),
  }
}

function toAccess({
  endpoint,
  hour,
  count,
  lastAt,
}: {
  endpoint: string
  hour: string
  count: string
  lastAt: string
}) {
  return { endpoint, hour, count: Number(count), last_at: lastAt }
}
