/**
 * Own transfers are looked for at the end of every run. This job does it when connections of a user come or go without
 * a run: a session's connections are settled, or one is removed.
 */
import type { Database, Sql } from './db/index.ts'
import { addJob, type Handler } from './jobs/index.ts'
import type { Ledger } from './ledger/index.ts'
import type { Owner } from './owner.ts'

const jobMaxMs = 20_000

/** Call it in the transaction that makes matching necessary. */
export async function queueMatching(tx: Sql, owner: Owner): Promise<void> {
  await addJob(tx, 'match', { owner })
}

export function createMatchTask({
  db,
  ledger,
}: {
  db: Database
  ledger: Pick<Ledger, 'matchTransfers'>
}): Handler<'match'> {
  return async ({ owner }, signal) => {
    const endsAt = performance.now() + jobMaxMs
    const mayContinue = (): boolean => !signal.aborted && performance.now() < endsAt
    if (!(await ledger.matchTransfers(owner, mayContinue))) await queueMatching(db, owner)
  }
}
