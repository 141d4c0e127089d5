/** Reading one connection inside one job: its balances, and its streams within what a job may do. */
import type { Logger } from 'pino'
import type { ConnectionRef, Connections, OpenedConnection } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Budgets } from './budget.ts'
import { readStream, type JobAllowance } from './read-stream.ts'

export interface ReadingDeps {
  db: Database
  connections: Connections
  ledger: Ledger
  budgets: Budgets
  now(): number
  random(): number
  /** Divides every wait, in sandbox mode. */
  pace: number
  log: Logger
}

const pagesPerJobMax = 50
const jobMaxMs = 20_000
/** Rows of the last moments may still be on their way to the provider's own list. */
const settleMs = 2_000

/** A run's end is fixed when it begins; `until`, epoch ms, is there once it has. */
export function chooseUntil(deps: Pick<ReadingDeps, 'now' | 'pace'>, until: string | undefined): number {
  return until === undefined ? deps.now() - settleMs / deps.pace : Number(until)
}

export async function readBalances(deps: ReadingDeps, ref: ConnectionRef, opened: OpenedConnection): Promise<void> {
  await deps.budgets.take(opened, opened.connector.budget.balancesCost)
  const balances = await opened.session.fetchBalances()
  await deps.ledger.keepHoldings(ref, opened.providerId, balances)
}

/** False when the job's allowance ended first. Deriving waits for every stream: half a conversion must not show as a sale. */
export async function readHistory(
  deps: ReadingDeps,
  ref: ConnectionRef,
  opened: OpenedConnection,
  untilMs: number,
  allowance: JobAllowance,
): Promise<boolean> {
  for (const stream of opened.connector.streams) {
    if (!(await readStream(deps, ref, opened, stream, untilMs, allowance))) return false
  }
  return deps.ledger.derive(ref, opened.connector, () => allowance.mayReadOn())
}

export function startAllowance(signal: AbortSignal): JobAllowance {
  const endsAt = performance.now() + jobMaxMs
  let pages = 0
  return {
    mayReadOn: () => pages < pagesPerJobMax && performance.now() < endsAt && !signal.aborted,
    countPage() {
      pages += 1
    },
    pagesRead: () => pages,
  }
}
