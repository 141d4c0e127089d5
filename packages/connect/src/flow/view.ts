/**
 * Which screen comes next. Pure: the session says what is missing, the view says where the person went in between. A
 * reload with the same two lands on the same screen.
 */
import type { ErrorItem } from '../api/http.ts'
import type { ConnectSession, SessionConnection } from '../api/session-api.ts'

/** Where the person is, once signed in and agreed. */
export type View =
  | { name: 'choose' }
  | {
      name: 'credentials'
      providerId: string
      connectionId: string | null
      /** The person chose a key although the provider offers sign-in, too. */
      byKey?: boolean
      /** The wallet app that was searched for. */
      walletApp?: string
    }
  /** `connectionId` is null until the provider has answered. */
  | { name: 'checking'; providerId: string; connectionId: string | null }
  | { name: 'trouble'; providerId: string; connectionId: string | null; item: ErrorItem; byKey?: boolean }
  /** A new key for an existing connection: reading continues where it stopped. */
  | { name: 'repaired'; providerId: string }
  | { name: 'summary' }

export type Screen = { name: 'consent' } | { name: 'sign_in' } | { name: 'sign_in_off' } | View

export function toScreen(session: ConnectSession, agreed: boolean, view: View | null): Screen {
  if (session.user === null) {
    // A repair shares nothing new. Whether it needs consent is known once the person is known.
    if (!agreed && session.connection_id === null) return { name: 'consent' }
    return { name: session.email_sign_in ? 'sign_in' : 'sign_in_off' }
  }
  if (!session.consented) return { name: 'consent' }
  return settleView(session, view ?? firstView(session))
}

/** The person agreed before signing in, and nothing new has to be shown, so the page does not ask twice. */
export function isConsentComplete(session: ConnectSession, agreed: boolean): boolean {
  return agreed && session.user !== null && !session.consented && session.existing.length === 0
}

export function firstView(session: ConnectSession): View {
  if (session.connections.length > 0) return { name: 'summary' }
  if (session.connection_id !== null) {
    const broken = session.existing.find(({ connection_id }) => connection_id === session.connection_id)
    const providerId = broken?.provider_id ?? session.provider_id
    if (providerId !== null) return { name: 'credentials', providerId, connectionId: session.connection_id }
  }
  if (session.provider_id !== null) {
    return { name: 'credentials', providerId: session.provider_id, connectionId: null }
  }
  return { name: 'choose' }
}

/** A view from before a reload may name a connection that has progressed or was removed. */
function settleView(session: ConnectSession, view: View): View {
  if (view.name === 'summary' && session.connections.length === 0) return { name: 'choose' }
  if (view.name !== 'checking') return view
  const connection = findChecked(session, view)
  if (connection === undefined) return view
  if (connection.status === 'needs_reauth') return toTrouble(connection)
  return view
}

export function findChecked(
  session: ConnectSession,
  view: { providerId: string; connectionId: string | null },
): SessionConnection | undefined {
  if (view.connectionId === null) return undefined
  return session.connections.find(({ connection_id }) => connection_id === view.connectionId)
}

export function toTrouble(connection: SessionConnection): Extract<View, { name: 'trouble' }> {
  const { provider_id, connection_id, status_cause, status_message } = connection
  const item = {
    cause: status_cause === null || status_cause === 'invalid_credentials' ? 'needs_reauth' : status_cause,
    message: status_message ?? '',
  }
  return { name: 'trouble', providerId: provider_id, connectionId: connection_id, item }
}
