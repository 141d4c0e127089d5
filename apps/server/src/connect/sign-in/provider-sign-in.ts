/**
 * Signing in at a provider with OAuth2 (RFC 6749 §4.1, RFC 7636). The provider always sends the person back to the
 * widget's callback page, which completes nothing by itself:
 *
 *   begun in a connect session: the page posts code and state with the session's secret → complete
 *   begun by an application:    the page names the application, and goes on unless the person stops it → the page asks
 *                               where to go → a handle takes the code's place → the application's redirect URI → the
 *                               application posts handle and state with its user's token → complete
 *
 * `state` is 256 bits, spent once, ten minutes, bound to what began it and to the provider (§10.12). The verifier is
 * derived from it with a key of ours, so only the name of that key is stored. The provider's own code leaves this service only
 * towards the provider.
 *
 * The person has to agree because the provider's page names only the operator of this service, and a provider that
 * remembers an earlier permission asks nothing at all. An application could otherwise begin for a user of its own, send
 * the link to a stranger and read the stranger's account.
 */
import { invalidParameter, Refusal, type Cause } from '@assay/core'
import { createHash, createHmac } from 'node:crypto'
import type { AddResult, Connections, InTurn } from '../../connections/index.ts'
import type { Sql } from '../../db/index.ts'
import type { Keyring } from '../../keys.ts'
import { examineSeal, sealText, type SealReport } from '../../sealing.ts'
import { addToRedirectUri, type Oauth } from '../../oauth/index.ts'
import type { Client, Tenants } from '../../tenants/index.ts'
import { currentKey, findKey, hashSecret, keyIdOf, newSecret, unknownSession } from '../secrets.ts'
import type { ConnectSession } from '../store.ts'
import * as store from './state-store.ts'
import type { Beginner } from './state-store.ts'

export type { Beginner } from './state-store.ts'

export interface ProviderSignInDeps {
  db: Sql
  connections: Pick<Connections, 'add' | 'findProviderName' | 'toSignInUrl'>
  oauth: Pick<Oauth, 'listGrants'>
  tenants: Pick<Tenants, 'findClient' | 'findTenant'>
  keyring: Keyring
  widgetUrl: string
  randomBytes: (size: number) => Buffer
}

export interface ProviderSignInRequest {
  providerId: string
  displayLabel: string | null
  repairOf?: string
  inTurn?: InTurn
}

const atOnce: InTurn = (work) => work()

/** Begun in a connect session, which continues afterwards. */
export function beginSignInForSession(
  deps: ProviderSignInDeps,
  of: Beginner,
  request: ProviderSignInRequest,
): Promise<AddResult> {
  return beginSignIn(deps, of, { ...request, redirectUri: null })
}

/** Begun by an application: the person returns to one of its registered addresses. */
export async function beginSignInForApplication(
  deps: ProviderSignInDeps,
  of: Beginner & { clientId: string },
  request: ProviderSignInRequest & { redirectUri?: string | undefined },
): Promise<AddResult> {
  const { inTurn = atOnce } = request
  const registered = (await inTurn(() => deps.tenants.findClient(of.clientId)))?.redirectUris ?? []
  const redirectUri = request.redirectUri ?? (registered.length === 1 ? registered[0] : undefined)
  if (redirectUri === undefined || !registered.includes(redirectUri)) {
    throw invalidParameter('connection.redirect_uri', 'must be one of the redirect URIs that the client registered')
  }
  return beginSignIn(deps, of, { ...request, redirectUri })
}

async function beginSignIn(
  deps: ProviderSignInDeps,
  of: Beginner,
  request: ProviderSignInRequest & { redirectUri: string | null },
): Promise<AddResult> {
  const { providerId, displayLabel, repairOf, redirectUri, inTurn = atOnce } = request
  const state = newSecret(deps.randomBytes)
  const key = currentKey(deps.keyring.derive('provider_sign_in'))
  const codeChallenge = createHash('sha256').update(toVerifier(key, state)).digest('base64url')
  const asked = { state, codeChallenge, redirectUri: callbackUrl(deps) }
  const redirectUrl = deps.connections.toSignInUrl(providerId, asked)
  const begun = { ...of, providerId, displayLabel, repairOf: repairOf ?? null, redirectUri, keyId: keyIdOf(key) }
  if (!(await inTurn(() => store.insertState(deps.db, hashSecret(state), begun)))) throw unknownSession()
  return { added: false, connectionId: null, providerId, displayLabel, status: 'pending', errors: [], redirectUrl }
}

/** What the provider's page sent back: a code, or the news that the person declined. */
export type ProviderAnswer = { state: string; code: string } | { state: string; error: string }

export interface ProviderAsker {
  client: Client
  tenantName: string
  providerName: string
}

/** Undefined when no application began it, or its consent has ended since. */
export async function findAsker(deps: ProviderSignInDeps, state: string): Promise<ProviderAsker | undefined> {
  const begun = await store.findForApplication(deps.db, hashSecret(state))
  if (begun === undefined) return undefined
  const { providerId, userKey, grantId } = begun
  const grant = (await deps.oauth.listGrants({ userKey })).find((one) => one.grantId === grantId)
  const client = grant && (await deps.tenants.findClient(grant.clientId))
  if (client === undefined) return undefined
  const tenant = await deps.tenants.findTenant(client.tenantId)
  const providerName = deps.connections.findProviderName(providerId) ?? providerId
  return { client, tenantName: tenant?.name ?? '', providerName }
}

/**
 * Where the callback page continues; undefined when a connect session waits for this answer, or nothing does. A
 * declined sign-in ends at once.
 */
export async function forwardAnswer(deps: ProviderSignInDeps, answer: ProviderAnswer): Promise<string | undefined> {
  const stateHash = hashSecret(answer.state)
  if ('error' in answer) {
    const redirectUri = await store.dropForApplication(deps.db, stateHash)
    return redirectUri && addToRedirectUri(redirectUri, { error: 'access_denied', state: answer.state })
  }
  const handle = newSecret(deps.randomBytes)
  const sealed = await sealText(deps.keyring, boundTo(stateHash), answer.code)
  const redirectUri = await store.keepAnswer(deps.db, stateHash, hashSecret(handle), sealed)
  return redirectUri && addToRedirectUri(redirectUri, { code: handle, state: answer.state })
}

/** The caller that returns from a provider. The page of a connect session does not know which provider it was. */
export type Returning = Beginner & { providerId?: string; inTurn?: InTurn }

/** A connect session without a user began nothing. One that has ended takes nothing more. */
export async function completeInSession(
  deps: ProviderSignInDeps,
  answer: ProviderAnswer,
  { owner, sessionId, outcome }: Pick<ConnectSession, 'owner' | 'sessionId' | 'outcome'>,
  inTurn: InTurn = atOnce,
): Promise<AddResult> {
  if (owner === null || outcome !== null) throw unknownState()
  return completeSignIn(deps, answer, { ...owner, connectSessionId: sessionId, grantId: null, inTurn })
}

/** Works only for the caller that began this sign-in at this provider, and only once. */
export async function completeSignIn(
  deps: ProviderSignInDeps,
  answer: ProviderAnswer,
  { inTurn = atOnce, ...of }: Returning,
): Promise<AddResult> {
  if (of.providerId !== undefined && deps.connections.findProviderName(of.providerId) === undefined) {
    throw refuse('Unknown provider.', 'unknown_provider', 'provider_id')
  }
  const stateHash = hashSecret(answer.state)
  const handleHash = of.grantId === null || !('code' in answer) ? null : hashSecret(answer.code)
  const begun = await inTurn(() => store.takeState(deps.db, stateHash, { ...of, handleHash }))
  if (begun === undefined) throw unknownState()
  const { providerId, displayLabel, repairOf, sealedCode, keyId } = begun
  if ('error' in answer) return toDeclined(deps, providerId, displayLabel)
  const key = findKey(deps.keyring.derive('provider_sign_in'), keyId)
  if (key === undefined) throw unknownState()
  return deps.connections.add(of, {
    providerId,
    displayLabel,
    credentials: {
      type: 'oauth2',
      // A code that an application's handle stood for is handed on as it was sealed: this process cannot open it.
      code: sealedCode ?? answer.code,
      codeBoundTo: sealedCode === null ? null : boundTo(stateHash),
      codeVerifier: toVerifier(key, answer.state),
      redirectUri: callbackUrl(deps),
    },
    connectSessionId: of.connectSessionId,
    inTurn,
    ...(repairOf === null ? {} : { repairOf }),
  })
}

/**
 * Opens every code that an application has not come for yet. They are not sealed again: they lapse before a key leaves.
 */
export async function checkProviderCodes(db: Sql, keyring: Keyring): Promise<SealReport> {
  const report: SealReport = { sealedBy: new Map(), lost: [] }
  for (const { stateHash, sealedCode } of await store.listSealedProviderCodes(db)) {
    const seal = { id: stateHash.toString('hex'), boundTo: boundTo(stateHash), sealed: sealedCode }
    await examineSeal(report, keyring, seal)
  }
  return report
}

function toDeclined({ connections }: ProviderSignInDeps, providerId: string, displayLabel: string | null): AddResult {
  const name = connections.findProviderName(providerId) ?? providerId
  const message = `You did not allow it at ${name}. Nothing was stored.`
  const item = { cause: 'missing_permission', provider_id: providerId, message } as const
  const fix = `Sign in to ${name} again and allow reading.`
  return { added: false, connectionId: null, providerId, displayLabel, status: null, errors: [{ ...item, fix }] }
}

/** §3.1.2: exactly the address that is registered at the provider. */
function callbackUrl({ widgetUrl }: ProviderSignInDeps): string {
  return `${widgetUrl}/callback`
}

/** Only our key can derive it, although the state travels through the browser. */
function toVerifier(key: Uint8Array, state: string): string {
  return createHmac('sha256', key).update(state).digest('base64url')
}

function boundTo(stateHash: Buffer): string {
  return `provider_state ${stateHash.toString('hex')}`
}

function unknownState(): Refusal {
  return refuse('This sign-in was not begun here, was used before or took too long.', 'invalid_state', 'state')
}

function refuse(message: string, cause: Cause, parameter: string): Refusal {
  return new Refusal('invalid_request', message, { items: [{ cause, parameter, message }] })
}
