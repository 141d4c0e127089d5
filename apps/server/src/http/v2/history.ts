/** GET /accounts/v2/assets/history */
import { getAssetHistory } from '@assay/contract'
import type { ErrorItem } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { ownerOf } from '../owner.ts'

export function registerHistory(app: FastifyInstance, { serve, connections, portfolio, sync }: FrontDoors): void {
  serve(app, getAssetHistory, async ({ query, caller }) => {
    const owner = ownerOf(caller)
    const { fromMs, hole } = await sync.findCompleteness(owner)
    const { start_time: startTime, end_time: endTime } = query
    const data = await portfolio.listDailyValues(owner, { startTime, endTime, completeFromMs: fromMs })
    const errors: ErrorItem[] = await connections.listIssues(owner)
    if (hole !== undefined) {
      const { cause, connectionId } = hole
      const until = new Date(fromMs).toISOString()
      const message = `Values before ${until} cannot be derived. ${hole.message}`
      errors.push({ cause, connection_id: connectionId, message })
    }
    return { json: { data, errors } }
  })
}
