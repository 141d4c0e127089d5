/** /platform/v1/provider: add, list, remove. */
import { addProviderV1, completeProviderV1, listProvidersV1, removeProviderV1 } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { AddResult } from '../../connections/index.ts'
import { applicationOf, ownerOf } from '../shapes/owner.ts'
import { linkHeaders, readRows } from '../paging/pages.ts'
import { toV1Item } from '../request/problem.ts'
import { checkNamedProvider, toConnectedMembers, toCredentials, toSelection } from '../shapes/providers.ts'
import type { FrontDoors } from '../front-doors.ts'

/** More than any user has: a list without `limit` still has an end. */
const connectionsMax = 10_000

export function registerProvider(app: FastifyInstance, { serve, connections, connect }: FrontDoors): void {
  serve(
    app,
    addProviderV1,
    async ({ body, caller, inTurn }) => {
      const result = await connect.addForApplication(applicationOf(caller), {
        providerId: body.crypto_source_id,
        displayLabel: body.display_label ?? null,
        credentials: toCredentials('crypto_source_id', body.crypto_source_id, body.connection),
        inTurn,
      })
      return { json: toAddedV1(result) }
    },
    { examine: (body) => checkNamedProvider('crypto_source_id', body), waits: true },
  )

  serve(
    app,
    completeProviderV1,
    async ({ params, query, caller, inTurn }) => {
      const of = { ...applicationOf(caller), providerId: params.crypto_source_id, connectSessionId: null, inTurn }
      return { json: toAddedV1(await connect.completeSignIn(query, of)) }
    },
    { waits: true },
  )

  serve(app, listProvidersV1, async ({ page, caller }) => {
    const [addedAt, id] = page.point ?? []
    const after = addedAt === undefined || id === undefined ? undefined : { addedAt, id }
    const limit = page.limit ?? connectionsMax
    const { shown, last } = await readRows(limit, (rows) => connections.list(ownerOf(caller), { limit: rows, after }))
    return {
      json: shown.map((row) => ({
        connection_id: row.id,
        crypto_source_id: row.provider_id,
        ...toConnectedMembers(row),
      })),
      headers: linkHeaders(page.next(last && [last.added_at ?? '', last.id])),
    }
  })

  serve(app, removeProviderV1, async ({ query, body, caller }) => {
    const which = toSelection('crypto_source_id', [
      { connectionId: query.connection_id, providerId: query.crypto_source_id },
      { connectionId: body?.connection_id, providerId: body?.crypto_source_id },
    ])
    const { connectionIds, dataDestroyed } = await connections.remove(ownerOf(caller), {
      ...which,
      by: { actor: 'application', clientId: caller.clientId },
    })
    return { json: { removed: true as const, connection_ids: connectionIds, data_destroyed: dataDestroyed } }
  })
}

function toAddedV1(result: AddResult) {
  return {
    crypto_source_id: result.providerId,
    connection_id: result.connectionId,
    added: result.added,
    redirect_url: result.redirectUrl ?? null,
    status: result.status,
    errors: result.errors.map(toV1Item),
  }
}
