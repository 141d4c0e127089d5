/** /accounts/v2/providers: add, list, remove, and the catalogue. */
import { addProvider, completeProvider, listCatalog, listProviders, removeProvider } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import { readRows } from '../paging/pages.ts'
import { readCatalog } from '../shapes/catalog.ts'
import { applicationOf, ownerOf } from '../shapes/owner.ts'
import {
  checkNamedProvider,
  toAdded,
  toConnectedMembers,
  toCredentials,
  toProofMember,
  toSelection,
} from '../shapes/providers.ts'
import type { FrontDoors } from '../front-doors.ts'

export function registerProviders(app: FastifyInstance, { serve, connections, connect, catalog }: FrontDoors): void {
  serve(
    app,
    addProvider,
    async ({ body, caller, inTurn }) => {
      const result = await connect.addForApplication(applicationOf(caller), {
        providerId: body.provider_id,
        displayLabel: body.display_label ?? null,
        credentials: toCredentials('provider_id', body.provider_id, body.connection),
        inTurn,
      })
      return { json: toAdded(result) }
    },
    { examine: (body) => checkNamedProvider('provider_id', body), waits: true },
  )

  serve(
    app,
    completeProvider,
    async ({ params, body, caller, inTurn }) => {
      const of = { ...applicationOf(caller), providerId: params.provider_id, connectSessionId: null, inTurn }
      return { json: toAdded(await connect.completeSignIn(body, of)) }
    },
    { waits: true },
  )

  serve(app, listProviders, async ({ page, caller }) => {
    const owner = ownerOf(caller)
    const [addedAt, id] = page.point ?? []
    const after = addedAt === undefined || id === undefined ? undefined : { addedAt, id }
    const { shown, last } = await readRows(page.limit, (limit) => connections.list(owner, { limit, after }))
    const errors = await connections.listIssues(owner)
    const data = shown.map((row) => ({
      connection_id: row.id,
      provider_id: row.provider_id,
      ...toConnectedMembers(row),
      record_count: Number(row.record_count),
      proof: toProofMember(row),
    }))
    return { json: { page: { next: page.next(last && [last.added_at ?? '', last.id]) }, data, errors } }
  })

  serve(app, removeProvider, async ({ query, body, caller }) => {
    const which = toSelection('provider_id', [
      { connectionId: query.connection_id, providerId: query.provider_id },
      { connectionId: body?.connection_id, providerId: body?.provider_id },
    ])
    const { connectionIds, dataDestroyed } = await connections.remove(ownerOf(caller), {
      ...which,
      by: { actor: 'application', clientId: caller.clientId },
    })
    const data = { removed: true as const, connection_ids: connectionIds, data_destroyed: dataDestroyed }
    return { json: { data, errors: [] } }
  })

  serve(app, listCatalog, async ({ query, page }) => ({ json: readCatalog(catalog, page, query) }))
}
