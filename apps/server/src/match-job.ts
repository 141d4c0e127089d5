/**
 * Own transfers are looked for at the end of every run. A job of its own does it when connections of a user come or go
 * without a run: a session's connections are settled, one is removed.
 */
import { z } from 'zod'
import type { Database, Sql } from './db/index.ts'
import { addJob, type Task } from './jobs/index.ts'
import type { Ledger } from './ledger/index.ts'

interface Owner {
  tenantId: string
  userId: string
}

const payloadSchema = z.object({ tenant_id: z.string(), user_id: z.string() })
const jobMaxMs = 20_000

/** In the transaction that makes it necessary. */
export async function queueMatching(tx: Sql, { tenantId, userId }: Owner): Promise<void> {
  const payload = { tenant_id: tenantId, user_id: userId }
  await addJob(tx, { task: 'match', payload, key: `match:${userId}` })
}

export function createMatchTask({ db, ledger }: { db: Database; ledger: Ledger }): Task {
  return async (payload, signal) => {
    const { tenant_id: tenantId, user_id: userId } = payloadSchema.parse(payload)
    const endsAt = performance.now() + jobMaxMs
    const mayGoOn = (): boolean => !signal.aborted && performance.now() < endsAt
    const done = await ledger.matchTransfers({ tenantId, userId }, mayGoOn)
    if (!done) await queueMatching(db, { tenantId, userId })
  }
}
