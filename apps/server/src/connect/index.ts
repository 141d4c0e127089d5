/**
 * Front door of the connect flow: the session API behind the widget, sign-in, and the user's own page. A person goes
 * through it step by step; an integrator's own tests go through it in one call of the sandbox. Both use these steps.
 */
import { Refusal } from '@assay/core'
import { isSignIn, type AddResult, type Connections, type GivenCredentials, type InTurn } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Oauth } from '../oauth/index.ts'
import type { Owner } from '../owner.ts'
import type { Keyring } from '../keys.ts'
import type { Tenants } from '../tenants/index.ts'
import { deleteManageSession } from './manage/manage-store.ts'
import * as manage from './manage/manage.ts'
import * as provider from './sign-in/provider-sign-in.ts'
import { hashBearer, unknownSession } from './secrets.ts'
import { describeSession, type SessionView } from './session-view.ts'
import * as sessions from './sessions.ts'
import {
  enterSignInCode,
  requestSignInCode,
  type SignInCodeRequester,
  type Origin,
  type SignInDeps,
  type SignInLimits,
} from './sign-in/sign-in.ts'
import * as store from './store.ts'
import type { ConnectSession } from './store.ts'

export { createAccessLog } from './manage/access-log.ts'
export { checkProviderCodes } from './sign-in/provider-sign-in.ts'
export { createMailTask, sweepConnect } from './tasks.ts'
export { endSessions } from './store.ts'
export { listTenantsNearLimit, networkOf, resendAfterSeconds } from './sign-in/sign-in.ts'
export type { ConnectSession } from './store.ts'
export type { MyPage } from './manage/manage.ts'
export type { ConnectProgress } from './progress-store.ts'
export type { SessionView } from './session-view.ts'

export interface SourceToAdd {
  providerId: string
  displayLabel: string | null
  credentials: GivenCredentials
  /** A settled connection of the user whose credentials these replace. */
  repairOf?: string
  /** Runs what needs the database when it is the caller's turn. */
  inTurn?: InTurn
}

/** An application that adds a source for its user. */
export interface Application extends Owner {
  clientId: string
  grantId: string
}

export interface ConnectDeps extends provider.ProviderSignInDeps {
  db: Database
  oauth: Oauth
  tenants: Tenants
  connections: Connections
  keyring: Keyring
  /** `{auth_url}`. */
  issuer: string
  /** Whether codes can be mailed. */
  emailSignIn: boolean
  signInLimits: SignInLimits
  onTenantLimit: SignInDeps['onTenantLimit']
  now: () => number
  randomBytes: (size: number) => Buffer
}

type Entries = readonly (readonly [string, string])[]

export type Connect = ReturnType<typeof createConnect>

export function createConnect(deps: ConnectDeps) {
  const { db, oauth, connections, emailSignIn } = deps

  async function authenticate(authorization: string | undefined): Promise<ConnectSession> {
    const session = await store.findSessionBySecret(db, hashBearer(authorization))
    if (session === undefined) throw unknownSession()
    return session
  }

  /** Undefined: the session has lapsed. */
  async function describe(sessionId: string): Promise<SessionView | undefined> {
    const session = await store.findSession(db, sessionId)
    return session && describeSession(deps, session)
  }

  return {
    emailSignIn,

    /** Throws an OAuthError that says whether it may go back to the client; `findErrorRedirect` returns the address. */
    beginConnectSession: (entries: Entries) => sessions.beginConnectSession(deps, entries),
    findErrorRedirect: oauth.findErrorRedirect,

    authenticate,
    describe,

    ...createEmailSignIn(deps),

    signInForSandbox: (session: ConnectSession, externalUserId: string): Promise<ConnectSession> =>
      sessions.signIn(deps, session, { externalUserId }, 'sandbox'),

    giveConsent: (session: ConnectSession, shown: sessions.ShownConsent): Promise<ConnectSession> =>
      sessions.giveConsent(deps, session, shown),

    addSource: (session: ConnectSession, source: SourceToAdd) => addInSession(deps, session, source),
    addForApplication: (application: Application, source: SourceToAdd) => addForApplication(deps, application, source),

    async removeSource(session: ConnectSession, connectionId: string): Promise<void> {
      await connections.removeInSession(ownerOf(session), session.sessionId, connectionId)
    },

    resume: (session: ConnectSession, sessionId: string): Promise<void> => resume(deps, session, sessionId),

    finish: (session: ConnectSession) => sessions.finish(deps, session),
    decline: (session: ConnectSession): Promise<string> => sessions.decline(deps, session),

    /** Handles the return from a provider's own page. Refuses unless this session began there with this state. */
    completeInSession: (session: ConnectSession, answer: provider.ProviderAnswer, inTurn?: InTurn) =>
      provider.completeInSession(deps, answer, session, inTurn),
    /** The same for what an application began. */
    completeSignIn: (answer: provider.ProviderAnswer, of: provider.Returning): Promise<AddResult> =>
      provider.completeSignIn(deps, answer, of),
    /** The application that began a sign-in at a provider; undefined when a session did, or nothing waits for it. */
    findProviderAsker: (state: string) => provider.findAsker(deps, state),
    /** Where to send a provider's answer if an application began the sign-in; undefined otherwise. */
    forwardAnswer: (answer: provider.ProviderAnswer) => provider.forwardAnswer(deps, answer),

    beginManageSession: (clientId: string) => manage.beginManageSession(deps, clientId),
    authenticateManaging: (authorization: string | undefined) => manage.authenticateManaging(db, authorization),

    endManageSession: (session: manage.ManageSession) => deleteManageSession(db, session),
    describeMe: (session: manage.ManageSession) => manage.describeMe(deps, manage.ownerOf(session)),
    async removeMyConnection(session: manage.ManageSession, connectionId: string): Promise<void> {
      await connections.remove(manage.ownerOf(session), { connectionId, by: { actor: 'user' } })
    },
    revokeMyGrant: (session: manage.ManageSession, grantId: string) =>
      manage.revokeMyGrant(deps, manage.ownerOf(session), grantId),
    deleteMe: (session: manage.ManageSession) => manage.deleteMe(deps, manage.ownerOf(session)),
  }
}

/** Codes by mail, for the connect flow and for the user's own page. */
function createEmailSignIn(deps: ConnectDeps) {
  const signInDeps: SignInDeps = { ...deps, signInKeys: deps.keyring.derive('sign_in') }

  function request(asker: SignInCodeRequester, origin: Origin, email: string, inTurn?: InTurn): Promise<string> {
    if (!deps.emailSignIn) throw new Refusal('invalid_request', 'Signing in by email is switched off here.')
    return requestSignInCode(signInDeps, asker, origin, email, inTurn)
  }

  return {
    async requestSessionCode(session: ConnectSession, origin: Origin, email: string, inTurn?: InTurn): Promise<string> {
      sessions.refuseUnless(session, 'sign_in')
      return request({ ...session, purpose: 'connect' }, origin, email, inTurn)
    },

    async enterSessionCode(session: ConnectSession, origin: Origin, code: string, inTurn?: InTurn): Promise<void> {
      sessions.refuseUnless(session, 'sign_in')
      const email = await enterSignInCode(signInDeps, session, origin, code, inTurn)
      if (session.claimed !== null) return sessions.confirmUser(deps, session, session.claimed, email)
      await sessions.signIn(deps, session, { email }, 'email_code')
    },

    async requestManageCode(
      session: manage.ManageSession,
      origin: Origin,
      email: string,
      inTurn?: InTurn,
    ): Promise<string> {
      return request({ ...session, purpose: 'manage' }, origin, email, inTurn)
    },

    async enterManageCode(session: manage.ManageSession, origin: Origin, code: string, inTurn?: InTurn): Promise<void> {
      await manage.signInToManage(deps, session, await enterSignInCode(signInDeps, session, origin, code, inTurn))
    },
  }
}

async function resume(deps: ConnectDeps, session: ConnectSession, sessionId: string): Promise<void> {
  const { owner } = session
  if (owner === null) return sessions.refuseUnless(session, 'consent')
  await sessions.resume(deps, session, owner, sessionId)
}

async function addInSession(deps: ConnectDeps, session: ConnectSession, source: SourceToAdd): Promise<AddResult> {
  const owner = ownerOf(session)
  const { sessionId } = session
  const { credentials, ...rest } = source
  const { inTurn = (work) => work() } = rest
  await inTurn(() => sessions.getEnabledClient(deps.tenants, session.clientId))
  if (!isSignIn(credentials)) return deps.connections.add(owner, { ...rest, credentials, connectSessionId: sessionId })
  return provider.beginSignInForSession(deps, { ...owner, connectSessionId: sessionId, grantId: null }, rest)
}

async function addForApplication(
  deps: ConnectDeps,
  application: Application,
  { credentials, ...rest }: SourceToAdd,
): Promise<AddResult> {
  if (!isSignIn(credentials)) {
    return deps.connections.add(application, { ...rest, credentials, connectSessionId: null })
  }
  const { redirectUri } = credentials
  return provider.beginSignInForApplication(deps, { ...application, connectSessionId: null }, { ...rest, redirectUri })
}

/** Sources are connected after sign-in and consent. */
function ownerOf(session: ConnectSession): Owner {
  sessions.refuseUnless(session, 'connect')
  if (session.owner === null) throw new Error('a session in its last step has a user')
  return session.owner
}
