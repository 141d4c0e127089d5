/** What else is written through a connection while its balances are proved. */
import { hourMs, parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Database, Sql } from '../db/index.ts'
import { addPostings } from '../ledger/deriving/postings-store.ts'
import type { ConnectionRef } from '../owner.ts'
import { openEngine } from '../test-engine.ts'
import { until } from '../../../../test/until.ts'
import { prove, type ProveOptions } from './prove.ts'

describe('a proof', async () => {
  const engine = await openEngine()
  const { db } = engine
  const source = { connector: { providerId: 'kraken' }, definition: {} } as const
  const still = { isWallet: () => false, onChanged: async () => undefined }
  const reach = { untilMs: Infinity, beginningMs: 0, holes: [], hasUnread: false, partitions: new Set<string>() }
  const coin = { assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin' }

  /** A connection with so many assets that are due; the first one is a coin. */
  async function connectDue(count = 1): Promise<ConnectionRef> {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    await engine.drain({ delayed: true })
    const others = Array.from({ length: count - 1 }, (_, index) => ({ ...coin, assetId: `evm:1:${index}` }))
    const keys = await engine.assets.ensureKeys(db, [coin, ...others])
    const head = { transactionId: randomUUID(), occurredAt: new Date(Date.parse(db.now()) - hourMs).toISOString() }
    const postings = [...keys.values()].map(
      (assetKey, ordinal) =>
        ({ ...head, assetKey, ordinal, side: 'i', amount: '1', isStaked: false, isSpam: false }) as const,
    )
    await addPostings(db, ref, postings)
    return ref
  }

  interface Beside extends ProveOptions {
    /** The rival begins after the first statement with this text: when the first verdicts are written. */
    after?: string
  }

  /** `rival` begins while the proof is under way, and waits for it. Returns how many batches were judged. */
  async function proveBeside(
    ref: ConnectionRef,
    rival: () => Promise<unknown>,
    { after = 'delete from due_proofs', ...options }: Beside = {},
  ): Promise<number> {
    let batches = 0
    let rivals: Promise<unknown> | undefined
    async function meet(text: string): Promise<void> {
      if (rivals !== undefined || !text.includes(after)) return
      rivals = rival()
      rivals.catch(() => undefined)
      await until('a rival that waits', async () =>
        db.maybeRow(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
      )
    }
    const withRival = (tx: Sql): Sql => ({
      ...tx,
      async rows<Row>(text: string, values?: readonly unknown[]) {
        const rows = await tx.rows<Row>(text, values)
        await meet(text)
        return rows
      },
      async execute(text, values) {
        const result = await tx.execute(text, values)
        if (text.includes('insert into proofs')) batches += 1
        await meet(text)
        return result
      },
    })
    const beside: Database = { ...db, transaction: (work) => db.transaction((tx) => work(withRival(tx))) }
    const deps = { db: beside, ledger: engine.ledger, ...still }
    await prove(deps, ref, source, reach, options)
    assert.ok(rivals)
    await rivals
    return batches
  }

  it('ends before the removal of its connection', async () => {
    const ref = await connectDue()
    await proveBeside(ref, () => engine.connections.remove(ref, { connectionId: ref.connectionId }))
    assert.deepEqual(await db.rows('select from proofs where user_key = $1', [ref.userKey]), [])
  })

  it('of thousands of assets makes room for it after one batch', async () => {
    const ref = await connectDue(3_000)
    const remove = (): Promise<unknown> => engine.connections.remove(ref, { connectionId: ref.connectionId })
    assert.equal(await proveBeside(ref, remove), 1)
  })

  it('makes room for it between two assets of a batch, too', async () => {
    const ref = await connectDue(30)
    const remove = (): Promise<unknown> => engine.connections.remove(ref, { connectionId: ref.connectionId })
    assert.equal(await proveBeside(ref, remove, { after: 'from daily_changes', roomEveryMs: 0 }), 0)
  })

  it('is followed by another one after a reading of the balances that waited for it', async () => {
    const ref = await connectDue()
    const balance = { ...coin, liquid: parseDecimal('2'), staked: parseDecimal('0') }
    await proveBeside(ref, () => engine.ledger.keepHoldings(ref, 'kraken', [balance]))
    assert.equal((await db.rows('select from due_proofs where user_key = $1', [ref.userKey])).length, 1)
    assert.equal((await db.rows('select from proofs where user_key = $1', [ref.userKey])).length, 1)
  })
})
