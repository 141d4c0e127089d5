/**
 * The sandbox's own endpoints (contract §11). They exist in sandbox mode only: elsewhere the group is not registered
 * and the paths are 404 like any other.
 */
import { findSignIn } from '@assay/connectors/catalog'
import { Refusal } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import type { Connect, ConnectSession } from '../../connect/index.ts'
import type { AddResult } from '../../connections/index.ts'
import type { Database } from '../../db/index.ts'
import { hastenJobs } from '../../jobs/index.ts'
import type { SandboxMailbox } from '../../mail/index.ts'
import { OAuthError } from '../../oauth/index.ts'
import type { SandboxControl } from '../../sandbox/index.ts'
import { parseOrRefuse } from '../invalid.ts'

export interface SandboxRoutesDeps {
  db: Database
  clock: Clock
  connect: Connect
  control: SandboxControl
  mailbox: SandboxMailbox
  /** Each authorization gets a provider account of its own. */
  newAccount(): string
}

const providersMax = 20
const authorizationBody = z.strictObject({
  client_id: z.string(),
  code_challenge: z.string(),
  code_challenge_method: z.string(),
  state: z.string(),
  redirect_uri: z.string().optional(),
  scope: z.string().optional(),
  user: z.string().min(1).max(255),
  providers: z.array(z.strictObject({ provider_id: z.string(), scenario: z.string().optional() })).max(providersMax),
})

const yearMs = 366 * 86_400_000
const clockBody = z.union([
  z.strictObject({
    advance_ms: z
      .int()
      .min(0)
      .max(20 * yearMs),
  }),
  z.strictObject({
    offset_ms: z
      .int()
      .min(0)
      .max(20 * yearMs),
  }),
])

export function registerSandboxRoutes(app: FastifyInstance, deps: SandboxRoutesDeps): void {
  app.post('/sandbox/authorizations', async (request, reply) => {
    const body = parseOrRefuse(authorizationBody, request.body ?? undefined)
    return reply.header('Cache-Control', 'no-store').send(await authorize(deps, body))
  })

  app.get('/sandbox/scenarios', async (_request, reply) => {
    const { providers } = await deps.control.listProviders()
    return reply.send({ data: providers.map(({ provider_id, scenarios }) => ({ provider_id, scenarios })) })
  })

  app.get('/sandbox/mailbox', async (_request, reply) => {
    return reply.header('Cache-Control', 'no-store').send({ data: await deps.mailbox.list() })
  })

  const faultsPath = '/sandbox/providers/:provider_id/faults'
  app.post<{ Params: { provider_id: string } }>(faultsPath, async (request, reply) => {
    const fault = parseOrRefuse(z.record(z.string(), z.unknown()), request.body ?? undefined)
    await deps.control.setFault(request.params.provider_id, fault)
    return reply.send({ data: fault })
  })
  app.delete<{ Params: { provider_id: string } }>(faultsPath, async (request, reply) => {
    await deps.control.clearFaults(request.params.provider_id)
    return reply.send({ data: null })
  })

  app.post('/sandbox/clock', async (request, reply) => {
    const body = parseOrRefuse(clockBody, request.body ?? undefined)
    return reply.send({ data: await moveClock(deps, body) })
  })
}

async function authorize(deps: SandboxRoutesDeps, body: z.infer<typeof authorizationBody>): Promise<object> {
  const { user, providers, ...parameters } = body
  const known = await deps.control.listProviders()
  const sources = providers.map(({ provider_id: providerId, scenario = 'default' }) => {
    const provider = known.providers.find((candidate) => candidate.provider_id === providerId)
    if (provider === undefined) throw unknownName('unknown_provider', 'provider_id', providerId)
    if (!provider.scenarios.some(({ name }) => name === scenario))
      throw unknownName('invalid_parameter', 'scenario', scenario)
    return { providerId, scenario }
  })
  const begun = await deps.connect.begin(toEntries(parameters)).catch(refuseInstead)
  const session = await deps.connect.giveConsent(await deps.connect.signInForSandbox(begun.session, user))
  const added: AddResult[] = []
  for (const { providerId, scenario } of sources) {
    const account = { providerId, scenario, account: deps.newAccount() }
    added.push(await (findSignIn(providerId) === undefined ? addByKey : addBySigningIn)(deps, session, account))
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

interface TestAccount {
  providerId: string
  scenario: string
  account: string
}

async function addByKey(deps: SandboxRoutesDeps, session: ConnectSession, of: TestAccount): Promise<AddResult> {
  const credentials = { type: 'api_key', ...(await deps.control.createAccount(of)) } as const
  return deps.connect.addSource(session, { providerId: of.providerId, displayLabel: null, credentials })
}

/** What the person does: to the provider's page, allow, and back with what it says. */
async function addBySigningIn(deps: SandboxRoutesDeps, session: ConnectSession, of: TestAccount): Promise<AddResult> {
  const source = { providerId: of.providerId, displayLabel: null, credentials: { type: 'sign_in' } } as const
  const begun = await deps.connect.addSource(session, source)
  if (begun.redirectUrl === undefined) return begun
  const answer = await deps.control.signIn(begun.redirectUrl, of)
  const { tenantId, userId, sessionId } = session
  return deps.connect.completeSignIn(answer, { tenantId, userId: userId ?? '', sessionId, grantId: null })
}

function toEntries(parameters: Readonly<Record<string, string | undefined>>): [string, string][] {
  return Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

/** There is no browser to send back: the authorization error becomes a refusal of this call. */
function refuseInstead(error: unknown): never {
  if (error instanceof OAuthError) throw new Refusal('invalid_request', error.message)
  throw error
}

function unknownName(cause: 'unknown_provider' | 'invalid_parameter', parameter: string, value: string): Refusal {
  const message = `there is no ${JSON.stringify(value.slice(0, 80))}; see GET /sandbox/scenarios`
  return new Refusal('invalid_request', `${parameter}: ${message}`, { items: [{ cause, parameter, message }] })
}

/** One offset for providers, reading, cool-downs and expiry alike; jobs that fall due in the skipped time are due now. */
async function moveClock(
  deps: SandboxRoutesDeps,
  body: z.infer<typeof clockBody>,
): Promise<{ now: string; offset_ms: number }> {
  const current = await deps.clock.advance(0)
  const byMs = 'advance_ms' in body ? body.advance_ms : body.offset_ms - current
  if (byMs < 0) throw new Refusal('invalid_request', `the clock only goes forward; its offset is ${current} ms already`)
  const offsetMs = await deps.clock.advance(byMs)
  await deps.control.setClock(offsetMs)
  await hastenJobs(deps.db, byMs)
  return { now: new Date(deps.clock.now()).toISOString(), offset_ms: offsetMs }
}
