/** Whether a connection adds up (…/providers/{connection_id}/proof), and what a transaction was made of (…/explain). */
import { explainTransaction, getProof } from '@assay/contract'
import { hasIdShape, notFound } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { ProofRow } from '../../proof/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { cutRows } from '../paging/pages.ts'
import { ownerOf } from '../shapes/owner.ts'

export function registerProof(app: FastifyInstance, { serve, connections, proof }: FrontDoors): void {
  serve(app, getProof, async ({ params, page, caller }) => {
    const owner = ownerOf(caller)
    const { connection_id: connectionId } = params
    const [symbol, id] = page.point ?? []
    const after = symbol === undefined || id === undefined ? undefined : { symbol, id }
    const found = hasIdShape('con', connectionId)
      ? await proof.list(owner, connectionId, { limit: page.limit + 1, after })
      : undefined
    if (found === undefined) throw notFound('connection')
    const { summary, observedAt, rows } = found
    const { shown, last } = cutRows(rows, page.limit)
    return {
      json: {
        page: { next: page.next(last && [last.asset_symbol, last.asset_id]) },
        data: shown.map((row) => toWire(row, observedAt)),
        summary: {
          // Nothing has been compared yet.
          grade: summary.grade ?? 'unprovable',
          checked_at: summary.checkedAt,
          proved_since: summary.provedSince,
          assets_by_grade: summary.assetsByGrade,
        },
        errors: await connections.listIssues(owner),
      },
    }
  })

  serve(app, explainTransaction, async ({ params, caller }) => {
    const owner = ownerOf(caller)
    const found = idShape.test(params.id) ? await proof.explain(owner, params.id) : undefined
    if (found === undefined) throw notFound('transaction')
    return { json: { data: found, errors: await connections.listIssues(owner) } }
  })
}

const idShape = /^txn_[0-9a-f]{32}$/

const messages: Readonly<Record<ProofRow['causes'][number]['cause'], string>> = {
  coverage_hole: 'A part of the history was not read, so what happened there is not in the sum.',
  pending: 'The difference is what transactions that are not final yet have moved.',
  unreadable_record: 'A record of the provider could not be understood, so what it moved is not in the sum.',
  unknown_type: 'The difference equals a movement whose meaning is not known.',
  rounding: 'The difference is smaller than the smallest amount that the provider reports.',
  accrual: 'What earns interest or rewards has grown, and the provider has not booked it yet.',
  provider_correction: 'The provider withdrew or changed a record of this time.',
  unlisted_credit: 'Coins came without a transaction in any list, as this network allows.',
  unexplained: 'The transactions do not add up to what the provider reports, and no cause is known.',
}

const toTime = (ms: number): string => new Date(ms).toISOString()

function toWire(row: ProofRow, observedAt: string | null) {
  const { asset_id, asset_symbol, grade, opening, posted, computed, observed, difference } = row
  const { first_bad_start: start, first_bad_end: end } = row
  return {
    ...{ asset_id, asset_symbol, grade, opening, posted, computed, observed },
    observed_at: observedAt,
    difference,
    causes: row.causes.map(({ cause, amount, startMs, endMs }) => ({
      ...{ cause, amount, start_time: toTime(startMs), end_time: toTime(endMs), message: messages[cause] },
    })),
    first_bad: start === null || end === null ? null : { start_time: start, end_time: end },
  }
}
