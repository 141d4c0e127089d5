/**
 * The sandbox's own endpoints (docs/guides/sandbox.md). They exist in sandbox mode only: elsewhere the group is not
 * registered and the paths are 404 like any other.
 */
import { hasIdShape, notFound, Refusal } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Database } from '../../db/index.ts'
import { bringJobsForward } from '../../jobs/index.ts'
import type { SandboxMailbox } from '../../mail/index.ts'
import { createKeyOf, revokeKeysOf } from '../../sandbox/index.ts'
import { parseOrRefuse } from '../request/invalid.ts'
import { authorizationBody, authorize, type AuthorizationDeps } from './authorizations.ts'

export interface SandboxRoutesDeps extends AuthorizationDeps {
  db: Database
  mailbox: SandboxMailbox
}

const yearMs = 366 * 86_400_000
const clockMs = z
  .int()
  .min(0)
  .max(20 * yearMs)
  .optional()
const clockBody = z.strictObject({ advance_ms: clockMs, offset_ms: clockMs }).check(({ value, issues }) => {
  if ((value.advance_ms === undefined) !== (value.offset_ms === undefined)) return
  const message = 'is needed, or offset_ms in its place: exactly one of them'
  issues.push({ code: 'custom', path: ['advance_ms'], message, input: value })
})

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

  app.post<{ Params: { connection_id: string } }>(
    '/sandbox/connections/:connection_id/keys',
    async (request, reply) => {
      const fields = await createKeyOf(deps, readConnectionId(request.params))
      return reply.header('Cache-Control', 'no-store').send({ data: fields })
    },
  )
  app.delete<{ Params: { connection_id: string } }>(
    '/sandbox/connections/:connection_id/keys',
    async (request, reply) => {
      await revokeKeysOf(deps, readConnectionId(request.params))
      return reply.send({ data: null })
    },
  )

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

/** Malformed text would be an error in PostgreSQL (NUL) and cannot be an id. */
function readConnectionId({ connection_id: id }: { connection_id: string }): string {
  if (!hasIdShape('con', id)) throw notFound('connection_of_sandbox')
  return id
}

/**
 * One offset for providers, reading, cool-downs and expiry alike; jobs that fall due in the skipped time are due now.
 */
async function moveClock(
  deps: SandboxRoutesDeps,
  body: z.infer<typeof clockBody>,
): Promise<{ now: string; offset_ms: number }> {
  const current = await deps.db.clock.advance(0)
  const byMs = body.advance_ms ?? (body.offset_ms ?? 0) - current
  if (byMs < 0) throw new Refusal('invalid_request', `the clock only goes forward; its offset is ${current} ms already`)
  const offsetMs = await deps.db.clock.advance(byMs)
  await deps.control.setClock(offsetMs)
  await bringJobsForward(deps.db, byMs)
  return { now: new Date(deps.db.clock.now()).toISOString(), offset_ms: offsetMs }
}
