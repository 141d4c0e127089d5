/** SQL over what a reader should know beside the data: connections that are still being read, or cannot be read now. */
import type { Cause } from '@assay/core'
import type { Sql } from '../db/index.ts'

/** What `toIssue` needs of a connection. */
export interface IssueRow {
  id: string
  provider_id: string
  status: 'syncing' | 'degraded' | 'needs_reauth'
  status_cause: Cause | null
  status_message: string | null
  next_sync_at: string | null
}

const issuesMax = 100

export async function listUnsettled(sql: Sql, userKeys: readonly string[]): Promise<IssueRow[]> {
  return sql.rows<IssueRow>(
    `select id, provider_id, status, status_cause, status_message, next_sync_at from connections
     where user_key = any($1::bigint[]) and session_id is null and status in ('syncing', 'degraded', 'needs_reauth')
     order by added_at, id limit $2`,
    [[...userKeys], issuesMax],
  )
}
