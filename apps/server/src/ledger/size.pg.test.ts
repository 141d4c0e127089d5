/** What a first read leaves on disk: how much, and in which order. */
import { dayMs } from '@assay/core'
import type { RawRecord } from '@assay/connectors'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { ConnectionRef } from '../owner.ts'
import { addConnection, noonMs, openLedger, refOf } from './test-ledger.ts'

const users = 4
const tradesEach = 1_200
/** The newest records, which are shown before the rest is read. */
const recent = 200
const pageSize = 50

/** An id as Kraken writes it. */
function krakenId(letter: string, text: string): string {
  const digits = createHash('sha256').update(letter).update(text).digest('hex').toUpperCase()
  return `${letter}${digits.slice(0, 5)}-${digits.slice(5, 10)}-${digits.slice(10, 16)}`
}

/** The two ledger entries of a trade, as Kraken writes them, the newer one first. */
function tradeOf(user: number, index: number): RawRecord[] {
  const atMs = noonMs - index * 3_600_000
  const refid = krakenId('T', `${user} ${index}`)
  const volume = `0.0${10_000 + ((index * 7_919) % 80_000)}`
  const cost = `${64 + (index % 900)}.${String((index * 7_919) % 10_000).padStart(4, '0')}`
  const [bought, paid] = index % 2 === 0 ? ['', '-'] : ['-', '']
  const entry = (asset: string, amount: string, fee: string): RawRecord => {
    const row = { aclass: 'currency', amount, asset, balance: `1${cost}`, fee, refid, time: atMs / 1000 }
    const body = JSON.stringify({ ...row, type: 'trade', subtype: 'tradespot' })
    return { key: krakenId('L', `${user} ${index} ${asset}`), occurredAtMs: atMs, body }
  }
  return [entry('XXBT', `${bought}${volume}00`, '0.0000000000'), entry('ZUSD', `${paid}${cost}`, '0.0815')]
}

describe('after a first read of trades', async () => {
  const { db, keepAt, derive } = await openLedger(ownedBySuite())

  async function readFirst(ref: ConnectionRef, user: number): Promise<void> {
    const records = Array.from({ length: tradesEach }, (_, index) => tradeOf(user, index)).flat()
    for (let from = 0; from < records.length; from += pageSize) {
      await keepAt(ref, 'ledger', ...records.slice(from, from + pageSize))
      if (from + pageSize === 2 * recent) {
        await derive(ref, { part: { sinceMs: noonMs - recent * 3_600_000 + 8 * dayMs, lists: [] } })
      }
    }
    await derive(ref)
  }

  it('a trade takes at most 3,000 bytes, with its records, postings and all indexes', async () => {
    for (let user = 2; user < 2 + users; user += 1) {
      await addConnection(db, refOf(user, 1))
      await readFirst(refOf(user, 1), user)
    }
    // This queue is empty. Its pages become free only once no transaction of the server is older, even in other
    // databases, so what VACUUM leaves depends on what else runs.
    assert.deepEqual(await db.rows('select from due_groups'), [])
    await db.execute('truncate due_groups')
    await db.execute('vacuum analyze')
    const { trades, bytes } = await db.row<{ trades: number; bytes: number }>(
      `select (select count(*)::int from transactions) as trades, sum(pg_total_relation_size(t))::float8 as bytes
       from unnest(array['raw_records', 'due_groups', 'transactions', 'postings', 'daily_changes', 'awaited_prices',
         'transfer_legs', 'removed_transactions', 'transaction_revisions', 'poison_groups', 'group_aliases']::regclass[]) as t`,
    )
    assert.equal(trades, users * tradesEach)
    assert.ok(bytes / trades <= 3_000, `${Math.round(bytes / trades)} bytes`)
  })

  it('the rows of a page are stored next to each other', async () => {
    const pages = await db.rows<{ blocks: number }>(
      `select count(distinct block)::int as blocks from (
         select user_key, (ctid::text::point)[0] as block,
           (row_number() over (partition by user_key order by occurred_at desc, id desc) - 1) / 31 as page
         from transactions) rows
       group by user_key, page having count(*) = 31`,
    )
    assert.ok(pages.length > 100)
    // 31 rows fill four blocks, and a range mostly begins and ends within a block.
    const blocks = pages.map((page) => page.blocks)
    assert.ok(Math.max(...blocks) <= 6, String(Math.max(...blocks)))
  })
})
