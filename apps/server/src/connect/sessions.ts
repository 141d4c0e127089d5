/**
 * One run of the connect flow, in steps that follow each other and survive a reload:
 *
 *   begin ──▶ sign_in ──▶ consent ──▶ connect ──▶ finished: a code goes to the application
 *                │           │           │
 *                └───────────┴───────────┴──────▶ declined: what was connected is destroyed
 *
 * A session ends after thirty minutes, as if it had been declined. It also ends when a consent with its client does, and
 * with the login key that its user was named by. Only the browser that began a session knows its
 * secret; we store a hash. Each step locks its session, so two steps never run at once. Adding and removing an account
 * do not lock it.
 */
import { invalidParameter, notFound, Refusal } from '@assay/core'
import {
  consentVersion,
  toAccountName,
  toConsentLanguage,
  toConsentRecord,
  type ConsentFacts,
  type ConsentLanguage,
} from '@assay/core/consent'
import { randomUUID } from 'node:crypto'
import { recordAudit } from '../audit.ts'
import { refuseRestless } from '../audit-log/index.ts'
import type { Connections } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import { grantSeconds, OAuthError, type Consent, type Oauth } from '../oauth/index.ts'
import type { Owner } from '../owner.ts'
import type { Client, Tenants, UserName } from '../tenants/index.ts'
import { parseDisplayOptions } from './display-options.ts'
import { hashSecret, newSecret } from './secrets.ts'
import { refuseLogin, verifyLoginToken } from './sign-in/login-token.ts'
import type { ConnectSession, SignedInBy } from './store.ts'
import * as store from './store.ts'

export interface SessionDeps {
  db: Database
  oauth: Oauth
  tenants: Tenants
  connections: Connections
  issuer: string
  now: () => number
  randomBytes: (size: number) => Buffer
}

export type SessionStep = 'sign_in' | 'consent' | 'connect' | 'ended'

const lifeSeconds = 1_800
/** More connections than a user has; a page shows them all. */
export const connectionsMax = 500

/** The connect URL's parameters, as they came. Throws an OAuthError that says whether it may go back to the client. */
export async function beginConnectSession(
  deps: SessionDeps,
  entries: readonly (readonly [string, string])[],
): Promise<{ session: ConnectSession; secret: string }> {
  const { db, oauth, tenants, connections } = deps
  const request = await oauth.parseAuthorizationRequest(entries)
  // Repeated parameters were refused above, so each name has one value.
  const parameters = new Map(entries.filter(([, value]) => value !== ''))
  const options = parseDisplayOptions(parameters, request, (id) => connections.findProviderName(id) !== undefined)
  const loginToken = parameters.get('login_token')
  const { issuer, now } = deps
  const { listLoginKeys } = tenants
  const login =
    loginToken === undefined
      ? undefined
      : await verifyLoginToken({ sql: db, issuer, now, listLoginKeys }, request, loginToken)

  const secret = newSecret(deps.randomBytes)
  const secretHash = hashSecret(secret)
  const loginKeyId = login?.keyId ?? null
  const begun = { sessionId: randomUUID(), secretHash, request, options, loginKeyId, lifeSeconds }
  if (login === undefined) return { session: await store.insertSession(db, begun), secret }
  const { client } = request
  const session = await db.transaction(async (tx) => {
    const isThere = await tenants.holdLoginKey(tx, client.clientId, login.keyId)
    if (!isThere) throw refuseLogin(request, 'is signed by a key that was just removed')
    return store.insertSession(tx, begun)
  })
  const user = { externalUserId: login.subject }
  if (!client.confirmFirstConsent && !client.confirmEveryConsent) {
    return { session: await signIn(deps, session, user, 'login_token'), secret }
  }
  const { tenantKey, tenantId, clientId } = client
  const claimed = await tenants.ensureUser({ tenantKey, tenantId, ...user })
  const signedIn = await db.transaction(async (tx) => {
    const { sessionId } = await lock(tx, session.sessionId)
    const isKnown = !client.confirmEveryConsent && (await oauth.holdConsent(tx, claimed, clientId)) !== undefined
    if (!isKnown) return store.claimUser(tx, sessionId, claimed)
    return carryConsent(deps, tx, await store.setUser(tx, sessionId, claimed, 'login_token'))
  })
  return { session: signedIn, secret }
}

/**
 * A login token named the user, and the client wants the person's own word for a first consent: a stolen login key
 * alone does not suffice to consent for a user who has never used this client or, if the client wants it for every
 * consent, for any user. The first address that a user proves is remembered, but not when accounts are connected
 * already: then it could be the thief's.
 */
export async function confirmUser(
  deps: SessionDeps,
  { sessionId, tenantKey, tenantId }: ConnectSession,
  claimed: { userKey: string; userId: string },
  email: string,
): Promise<void> {
  const { db, tenants, connections } = deps
  const owner: Owner = { tenantKey, tenantId, ...claimed }
  const existing = await connections.list(owner, { limit: 1, after: undefined })
  await db.transaction(async (tx) => {
    refuseUnless(await lock(tx, sessionId), 'sign_in')
    if (!(await tenants.confirmEmail(tx, owner, email, existing.length === 0))) {
      // The same words whether another address was confirmed or none, because a thief with a login key reads them, too.
      const message = 'is right, but this account was not confirmed with this email address'
      const fix =
        'Use the address with which you confirmed your first connection. If you never confirmed one, the application has to remove your connected accounts first.'
      const items = [{ cause: 'account_mismatch', parameter: 'code', message, fix }] as const
      throw new Refusal('invalid_request', `code ${message}`, { items })
    }
    await carryConsent(deps, tx, await store.setUser(tx, sessionId, owner, 'login_token'))
  })
}

export function stepOf(session: ConnectSession): SessionStep {
  if (session.outcome !== null) return 'ended'
  if (session.owner === null) return 'sign_in'
  return session.consent === null ? 'consent' : 'connect'
}

/** The user of a session never changes: what was connected in it is theirs. */
export async function signIn(
  deps: SessionDeps,
  { sessionId, tenantKey, tenantId }: ConnectSession,
  user: UserName,
  by: SignedInBy,
): Promise<ConnectSession> {
  const owner = await deps.tenants.ensureUser({ tenantKey, tenantId, ...user })
  return deps.db.transaction(async (tx) => {
    refuseUnless(await lock(tx, sessionId), 'sign_in')
    return carryConsent(deps, tx, await store.setUser(tx, sessionId, owner, by))
  })
}

/**
 * A repair shares nothing that is not shared already. A user whose live grant has exactly the scopes that are asked for
 * goes straight to it; the grant keeps the words that were agreed to, and its end.
 */
async function carryConsent(
  { oauth, connections }: SessionDeps,
  tx: Sql,
  session: ConnectSession,
): Promise<ConnectSession> {
  const { sessionId, owner, connectionId, clientId, scopes } = session
  if (owner === null || connectionId === null) return session
  if ((await connections.find(owner, connectionId, tx)) === undefined) return session
  const given = await oauth.holdConsent(tx, owner, clientId)
  if (given === undefined || scopes.toSorted().join() !== given.scopes.toSorted().join()) return session
  return store.setConsent(tx, sessionId, { ...given.consent, until: given.expiresAt })
}

/** The consent page that the user agreed to. */
export interface ShownConsent {
  /** This session if the caller does not say. */
  sessionId?: string | undefined
  /** The language that the page was in; that of the request if the caller does not say. */
  language?: ConsentLanguage | undefined
  /**
   * The accounts that the page listed; all that exist now if the caller does not say. Another application may add one
   * while the page is open.
   */
  existing?: readonly string[] | undefined
}

export async function giveConsent(
  { db, tenants, connections }: SessionDeps,
  session: ConnectSession,
  shown: ShownConsent,
): Promise<ConnectSession> {
  // A browser holds the pages of several applications. What was agreed to for one must not count for another.
  if (shown.sessionId !== undefined && shown.sessionId !== session.sessionId) {
    throw invalidParameter('session_id', 'must be that of this session, whose consent page has to be shown first')
  }
  const client = await getEnabledClient(tenants, session.clientId)
  const tenant = await tenants.findTenant(session.tenantId)
  const { owner } = session
  const existing = owner === null ? [] : await connections.list(owner, { limit: connectionsMax, after: undefined })
  return db.transaction(async (tx) => {
    const locked = await lock(tx, session.sessionId)
    // Giving it twice is one consent, with the words of the first time.
    if (stepOf(locked) === 'connect') return locked
    refuseUnless(locked, 'consent')
    if (locked.owner === null) throw new Error('a session that awaits a consent has a user')
    await refuseRestless(tx, locked.owner)
    const listed = new Set(shown.existing ?? existing.map(({ id }) => id))
    const seen = existing
      .filter(({ id }) => listed.has(id))
      .map((row) => toAccountName(connections.findProviderName(row.provider_id) ?? row.provider_id, row.display_label))
    const given = { client, tenantName: tenant?.name ?? '', existing: seen, language: shown.language }
    const { tenantId, sessionId, clientId } = locked
    const whose = { tenantId, clientId, userId: locked.owner.userId }
    await recordAudit(tx, {
      ...whose,
      actor: 'user',
      action: 'consent.given',
      subject: sessionId,
      fields: locked.scopes,
    })
    return store.setConsent(tx, sessionId, toConsent(locked, given))
  })
}

/**
 * The operator may have disabled it since the session began. What a person agrees to or types in from then on could not
 * reach it. The session can still be declined.
 */
export async function getEnabledClient(tenants: Tenants, clientId: string): Promise<Client> {
  const client = await tenants.getClient(clientId)
  if (client.disabledAt !== null) throw new Refusal('invalid_token', 'This session has ended: its client is disabled.')
  return client
}

/**
 * Where the browser goes, and the code alone for callers that have no browser. Finishing again is allowed while the code
 * could be redeemed: the first answer may have been lost, and with it what the person has connected.
 */
export async function finish(
  { db, oauth, tenants }: SessionDeps,
  { sessionId, clientId, redirectUri }: ConnectSession,
): Promise<{ redirectTo: string; code: string }> {
  const client = await getEnabledClient(tenants, clientId)
  // The operator may have removed it since the session began, and a new session that names it would be refused.
  if (!client.redirectUris.includes(redirectUri)) {
    throw new Refusal('invalid_request', 'redirect_uri is no longer registered for this client')
  }
  return db.transaction(async (tx) => {
    const session = await lock(tx, sessionId)
    const { owner, consent, codeChallenge, codeChallengeMethod, scopes, state } = session
    const toResult = (code: string) => ({ redirectTo: oauth.toCodeRedirect({ redirectUri, state }, code), code })
    if (owner !== null && session.outcome === 'finished') {
      const replaced = await oauth.replaceCode(tx, owner, sessionId)
      if (replaced !== undefined) return toResult(replaced)
    }
    refuseUnless(session, 'connect')
    if (owner === null || consent === null) throw new Error('a session in its last step has a user and a consent')
    // A session that carries its consent over comes here without having given one.
    await refuseRestless(tx, owner)
    const asked = { redirectUri, codeChallenge, codeChallengeMethod, scopes }
    const code = await oauth.issueAuthorizationCode(
      { client, owner, ...asked, connectSessionId: sessionId, consent },
      tx,
    )
    await store.setOutcome(tx, sessionId, 'finished')
    return toResult(code)
  })
}

/** Declining twice is allowed: the first answer may have been lost. */
export async function decline({ db, oauth, connections }: SessionDeps, { sessionId }: ConnectSession): Promise<string> {
  const session = await db.transaction(async (tx) => {
    const locked = await lock(tx, sessionId)
    if (locked.outcome === 'finished') throw wrongStep(missing.ended)
    const { owner } = locked
    if (owner !== null) await connections.discardSession(tx, owner, sessionId)
    if (locked.outcome === null) await store.setOutcome(tx, sessionId, 'declined')
    return locked
  })
  const { redirectUri, state } = session
  const redirectTo = oauth.findErrorRedirect(
    new OAuthError('access_denied', 'the user declined', { redirectUri, state }),
  )
  if (redirectTo === undefined) throw new Error('a session has a registered redirect URI')
  return redirectTo
}

/**
 * After a closed tab: the connections of the session left open move here. Both must have been signed in by email. A
 * session begun by a login token may have been opened by another person than the user it names (a link passed on), and
 * the one who passed it on must not be able to pick up what the other connected.
 */
export async function resume(
  { db, connections }: SessionDeps,
  session: ConnectSession,
  owner: Owner,
  unfinishedId: string,
): Promise<void> {
  const { clientId, sessionId } = session
  await db.transaction(async (tx) => {
    // In the order of their ids, so that two sessions that resume each other do not wait for each other.
    for (const id of [sessionId, unfinishedId].toSorted()) await store.lockSession(tx, id)
    if (stepOf(await lock(tx, sessionId)) === 'ended') throw wrongStep(missing.ended)
    const other = await store.findSession(tx, unfinishedId)
    const same = other?.owner?.userKey === owner.userKey && other.clientId === clientId
    const open = other?.outcome === null && other.sessionId !== sessionId
    const mailed = other?.signedInBy === 'email_code' && session.signedInBy === 'email_code'
    if (!same || !open || !mailed) throw notFound('session')
    await connections.moveSession(tx, owner, unfinishedId, sessionId)
    await store.deleteSession(tx, unfinishedId)
  })
}

const order: readonly SessionStep[] = ['sign_in', 'consent', 'connect', 'ended']

/** What is said to a call that the session, at this step, cannot take. */
const missing: Readonly<Record<SessionStep, string>> = {
  sign_in: 'Sign in first.',
  consent: 'Consent first.',
  connect: 'This needs a finished session.',
  ended: 'This session has ended.',
}

export function refuseUnless(session: ConnectSession, wanted: SessionStep): void {
  const step = stepOf(session)
  if (step === wanted) return
  const isLate = step !== 'ended' && order.indexOf(step) > order.indexOf(wanted)
  throw wrongStep(isLate ? 'This was done before in this session.' : missing[step])
}

function wrongStep(message: string): Refusal {
  return new Refusal('invalid_request', message, { items: [{ cause: 'invalid_state', message }] })
}

async function lock(tx: Sql, sessionId: string): Promise<ConnectSession> {
  const session = await store.lockSession(tx, sessionId)
  if (session === undefined) throw new Refusal('invalid_token', 'This session has expired.')
  return session
}

/**
 * When the consent ends: one time in everything that a session shows and keeps. A new grant is made some minutes later,
 * and ends as much later.
 */
export function toGrantEnd({ createdAt, consent }: ConnectSession): string {
  if (consent?.until !== undefined) return consent.until
  return new Date(Date.parse(createdAt) + grantSeconds * 1_000).toISOString()
}

/** A user whom a login token or the sandbox names has no email address that the tenant could see. */
export function sharesEmail({ signedInBy, claimed }: ConnectSession): boolean {
  return claimed === null && (signedInBy === null || signedInBy === 'email_code')
}

interface ConsentGiven {
  client: Client
  tenantName: string
  /** Names of the accounts that are connected already, as they are shown. */
  existing: readonly string[]
  language: ShownConsent['language']
}

/** The consent as it was shown, in words and language. It is kept with the grant, as a record of what was agreed to. */
function toConsent(session: ConnectSession, given: ConsentGiven): Consent {
  const language = given.language ?? toConsentLanguage(session.lang)
  const facts: ConsentFacts = {
    app: given.client.name,
    tenant: given.tenantName,
    scopes: session.scopes,
    sharesEmail: sharesEmail(session),
    expiresAt: toGrantEnd(session),
    existing: given.existing,
  }
  return { version: consentVersion, text: toConsentRecord(facts, language), language }
}
