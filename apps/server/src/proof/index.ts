/**
 * Whether the data adds up. After each run, every asset that it touched is checked: the provider's balance must equal
 * the opening plus everything posted, or the difference is named with its cause and its place. docs/proof.md.
 */
import type { Database } from '../db/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import { explain, type ExplainDeps, type Explanation } from './explain.ts'
import type { Grade } from './judge.ts'
import { prove, type ProveDeps, type ProvedSource, type ProveOptions, type ProveResult, type Reach } from './prove.ts'
import { findHead, listProofs, type ProofRow } from './store.ts'

export type { Grade, ProofCause } from './judge.ts'
export type { Reach } from './prove.ts'
export type { ProofRow } from './store.ts'

export interface ProofPage {
  summary: {
    /** Null until there is a verdict. */
    grade: Grade | null
    checkedAt: string | null
    provedSince: string | null
    assetsByGrade: Record<Grade, number>
  }
  /** The reading of the balances that the verdicts are about. */
  observedAt: string | null
  rows: ProofRow[]
}

export interface Proof {
  /** After a run. `reach` is undefined while a list that the history needs was not read at all. */
  prove(
    ref: ConnectionRef,
    source: ProvedSource,
    reach: Reach | undefined,
    options?: ProveOptions,
  ): Promise<ProveResult>
  /** Undefined when the owner has no such connection. */
  list(
    owner: Owner,
    connectionId: string,
    page: { limit: number; after: { symbol: string; id: string } | undefined },
  ): Promise<ProofPage | undefined>
  /** What a transaction was made of; undefined when the owner has no such transaction. */
  explain(owner: Owner, transactionId: string): Promise<Explanation | undefined>
}

export type ProofDeps = ProveDeps & ExplainDeps

export function createProof(deps: ProofDeps): Proof {
  return {
    prove: (ref, source, reach, options) => prove(deps, ref, source, reach, options),
    explain: (owner, transactionId) => explain(deps, owner, transactionId),
    list: (owner, connectionId, page) => listPage(deps.db, owner, connectionId, page),
  }
}

async function listPage(
  db: Database,
  owner: Owner,
  connectionId: string,
  page: { limit: number; after: { symbol: string; id: string } | undefined },
): Promise<ProofPage | undefined> {
  return db.transaction(async (tx) => {
    // One moment for both statements: a verdict written in between would combine new rows with an old summary.
    await tx.execute('set transaction isolation level repeatable read read only')
    const head = await findHead(tx, owner, connectionId)
    if (head === undefined) return undefined
    const assetsByGrade = { proved: 0, explained: 0, unprovable: 0, open: 0, ...head.assets_by_grade }
    return {
      summary: {
        grade: head.proof_grade,
        checkedAt: head.proof_checked_at,
        provedSince: head.proved_since,
        assetsByGrade,
      },
      observedAt: head.proof_balances_at,
      rows: await listProofs(tx, owner, head.connection_key, page),
    }
  })
}
