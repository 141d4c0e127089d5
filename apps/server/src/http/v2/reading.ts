/** What was read of a connection (/accounts/v2/providers/{connection_id}/coverage), and reading again. */
import { getCoverage, getRefresh, refreshAssets, refreshTransactions } from '@assay/contract'
import { hasIdShape, notFound } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { StreamCoverage } from '../../sync/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { ownerOf } from '../shapes/owner.ts'
import { toRefreshData } from '../shapes/refreshes.ts'

export function registerReading(app: FastifyInstance, { serve, connections, sync }: FrontDoors): void {
  serve(app, getCoverage, async ({ params, query, caller }) => {
    const owner = ownerOf(caller)
    const { connection_id: connectionId } = params
    const known = hasIdShape('con', connectionId)
    const streams = known ? await sync.findCoverage(owner, connectionId, query.partition) : undefined
    if (streams === undefined) throw notFound('connection')
    return { json: { data: { streams: streams.map(toWire) }, errors: await connections.listIssues(owner) } }
  })

  serve(app, refreshAssets, async ({ body, caller }) => {
    const refresh = await sync.requestRefresh(ownerOf(caller), 'assets', body?.connection_ids)
    return { json: { data: toRefreshData(refresh), errors: [] } }
  })

  serve(app, refreshTransactions, async ({ body, caller }) => {
    const refresh = await sync.requestRefresh(ownerOf(caller), 'transactions', body?.connection_ids)
    return { json: { data: toRefreshData(refresh), errors: [] } }
  })

  serve(app, getRefresh, async ({ params, caller }) => {
    const owner = ownerOf(caller)
    const known = hasIdShape('rfr', params.refresh_id)
    const refresh = known ? await sync.findRefresh(owner, params.refresh_id) : undefined
    if (refresh === undefined) throw notFound('refresh')
    return { json: { data: toRefreshData(refresh), errors: await connections.listIssues(owner) } }
  })
}

const toTime = (ms: number): string => new Date(ms).toISOString()

function toWire({ stream, windows, holes, providerLimit, remedy, partitions }: StreamCoverage) {
  return {
    stream,
    windows: windows.map(({ startMs, endMs }) => ({ start_time: toTime(startMs), end_time: toTime(endMs) })),
    holes: holes.map(({ startMs, endMs, cause, message }) => ({
      start_time: toTime(startMs),
      end_time: toTime(endMs),
      cause,
      message,
    })),
    provider_limit: providerLimit,
    remedy,
    partitions,
  }
}
