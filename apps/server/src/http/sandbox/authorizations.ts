/**
 * POST /sandbox/authorizations: the whole connect flow without a person, through the same code as the widget. A source
 * that is refused, or that cannot be reached, is reported in its own place and delays nothing else.
 */
import { findProvider, findSignIn } from '@assay/connectors/catalog'
import { Refusal, SourceError } from '@assay/core'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Connect, ConnectSession } from '../../connect/index.ts'
import { toRefusedItem, type AddResult, type GivenCredentials } from '../../connections/index.ts'
import { OAuthError } from '../../oauth/index.ts'
import {
  createKeyOf,
  findAccountBySignIn,
  type SandboxControl,
  type TestAccountDeps,
  type TestFields,
} from '../../sandbox/index.ts'

export interface AuthorizationDeps extends TestAccountDeps {
  connect: Connect
  control: SandboxControl
}

const providersMax = 20
const providerWish = z.strictObject({
  provider_id: z.string(),
  scenario: z.string().optional(),
  /**
   * The connection to repair, with a new key of the account that it reads or by signing in there again; the scenario
   * stays.
   */
  connection_id: z.string().optional(),
})
export const authorizationBody = z.strictObject({
  client_id: z.string(),
  code_challenge: z.string(),
  code_challenge_method: z.string(),
  state: z.string(),
  redirect_uri: z.string().optional(),
  scope: z.string().optional(),
  user: z.string().min(1),
  providers: z.array(providerWish).max(providersMax),
})

export async function authorize(deps: AuthorizationDeps, body: z.infer<typeof authorizationBody>): Promise<object> {
  const { user, providers, ...parameters } = body
  const known = await deps.control.listProviders()
  const sources = providers.map(({ provider_id: providerId, scenario = 'default', connection_id: repairOf }) => {
    const provider = known.providers.find((candidate) => candidate.provider_id === providerId)
    if (provider === undefined) throw unknownName('unknown_provider', 'provider_id', providerId)
    if (!provider.scenarios.some(({ name }) => name === scenario))
      throw unknownName('invalid_parameter', 'scenario', scenario)
    return { providerId, scenario, repairOf }
  })
  const begun = await deps.connect.beginConnectSession(toEntries(parameters)).catch(refuseInstead)
  const signedIn = await deps.connect.signInForSandbox(begun.session, toUserName(user))
  const session = await deps.connect.giveConsent(signedIn, {})
  const added: AddResult[] = []
  for (const { providerId, scenario, repairOf } of sources) {
    const account = { providerId, scenario, account: deps.newAccount() }
    if (repairOf !== undefined) added.push(await repair(deps, session, { providerId, repairOf }))
    else if (findSignIn(providerId) === undefined) added.push(await addByForm(deps, session, account))
    else added.push(await addBySigningIn(deps, session, { providerId, account: `${scenario}:${account.account}` }))
  }
  const { redirectTo, code } = await deps.connect.finish(session)
  return {
    redirect_to: redirectTo,
    code,
    state: session.state,
    connections: added.map(({ providerId, connectionId, added: isAdded, errors }) => ({
      provider_id: providerId,
      connection_id: connectionId,
      added: isAdded,
      errors,
    })),
  }
}

/** A tenant's name for a user has at most this length, because it is part of an index, and no control characters. */
const userNameLengthMax = 255

/** Any text names a user. One that cannot be a tenant's name for a user goes by its digest. */
function toUserName(text: string): string {
  return text.length <= userNameLengthMax && !/\p{Cc}/u.test(text)
    ? text
    : `sha256:${createHash('sha256').update(text).digest('hex')}`
}

interface TestAccount {
  providerId: string
  scenario: string
  account: string
}

async function addByForm(deps: AuthorizationDeps, session: ConnectSession, of: TestAccount): Promise<AddResult> {
  const credentials = toCredentials(await deps.control.createAccount(of))
  return deps.connect.addSource(session, { providerId: of.providerId, displayLabel: null, credentials })
}

async function repair(
  deps: AuthorizationDeps,
  session: ConnectSession,
  { providerId, repairOf }: { providerId: string; repairOf: string },
): Promise<AddResult> {
  const account = await findAccountBySignIn(deps, repairOf)
  if (account !== undefined) return addBySigningIn(deps, session, { providerId, account, repairOf })
  const credentials = toCredentials(await createKeyOf(deps, repairOf))
  return deps.connect.addSource(session, { providerId, displayLabel: null, credentials, repairOf })
}

function toCredentials({
  api_key,
  secret_key,
  passphrase,
  address,
  extended_public_key,
  descriptor,
}: TestFields): GivenCredentials {
  if (address !== undefined) return { type: 'wallet', address }
  if (extended_public_key !== undefined) return { type: 'wallet', extendedPublicKey: extended_public_key }
  if (descriptor !== undefined) return { type: 'wallet', descriptor }
  const key = { type: 'api_key', apiKey: api_key ?? '', secretKey: secret_key ?? '' } as const
  return passphrase === undefined ? key : { ...key, passphrase }
}

interface SignIn {
  providerId: string
  /** The account, in the form that `SandboxControl.signIn` takes. */
  account: string
  repairOf?: string
}

/** Does what the person does: opens the provider's page, allows access, and returns with its answer. */
async function addBySigningIn(
  deps: AuthorizationDeps,
  session: ConnectSession,
  { account, ...of }: SignIn,
): Promise<AddResult> {
  const begun = await deps.connect.addSource(session, { ...of, displayLabel: null, credentials: { type: 'oauth2' } })
  if (begun.redirectUrl === undefined) return begun
  const answer = await deps.control.signIn(begun.redirectUrl, account).catch(toFailing)
  // The page did not open, or the person was refused, so there is no answer to return with.
  if (answer instanceof SourceError) return toUnreached(of.providerId, answer)
  return deps.connect.completeInSession(session, answer)
}

function toFailing(error: unknown): SourceError {
  if (error instanceof SourceError) return error
  throw error
}

function toUnreached(providerId: string, failing: SourceError): AddResult {
  const name = findProvider(providerId)?.name ?? providerId
  const provider = { id: providerId, name, connectionType: 'oauth2' } as const
  const errors = [toRefusedItem(failing, provider)]
  return { added: false, connectionId: null, providerId, displayLabel: null, status: null, errors }
}

function toEntries(parameters: Readonly<Record<string, string | undefined>>): [string, string][] {
  return Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

/** No browser can be redirected here, so the authorization error becomes a refusal of this call. */
function refuseInstead(error: unknown): never {
  if (error instanceof OAuthError) throw new Refusal('invalid_request', error.message)
  throw error
}

function unknownName(cause: 'unknown_provider' | 'invalid_parameter', parameter: string, value: string): Refusal {
  const message = `there is no ${JSON.stringify(value.slice(0, 80))}; see GET /sandbox/scenarios`
  return new Refusal('invalid_request', `${parameter}: ${message}`, { items: [{ cause, parameter, message }] })
}
