import { matchTransfers, parseDecimal, type TransferLeg } from '@assay/core'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { ConnectionRef } from '../connections/index.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { TransactionDocument } from './render.ts'
import { addConnection, fundingRow, ledgerRow, noonMs, openLedger } from './test-ledger.ts'
import { dropLegs, keepLegs, matchOwnTransfers } from './transfers.ts'

const minuteMs = 60_000
const hash = 'ab'.repeat(32)
const alone = { category: 'withdrawal', method: 'venue', confidence: 1 } as const

describe('own transfers', async () => {
  const opened = await openLedger(ownedBySuite())
  const { db, ledger, connector, keepAt, derive, queued } = opened

  interface Stored {
    id: string
    connection_id: string
    category: string
    updated_at: string
    document: string
  }

  /** A user with connections of these names. */
  async function newUser(...names: string[]): Promise<ConnectionRef[]> {
    const userId = `usr_${randomUUID()}`
    const refs = names.map((name) => ({ tenantId: 'ten_a', userId, connectionId: `con_${name}_${userId}` }))
    for (const ref of refs) await addConnection(db, ref)
    return refs
  }

  const listStored = ({ userId }: ConnectionRef): Promise<Stored[]> =>
    db.rows<Stored>(
      `select id, connection_id, category, updated_at, document from transactions where user_id = $1
       order by connection_id, occurred_at, id`,
      [userId],
    )
  const parse = ({ document }: Stored): TransactionDocument => JSON.parse(`{${document}`) as TransactionDocument
  /** By connection and time: the place of the counterpart in the same list, and how sure. */
  async function listMatched(ref: ConnectionRef): Promise<(string | null)[]> {
    const stored = await listStored(ref)
    return stored.map((row) => {
      const { counterpart } = parse(row)
      return (
        counterpart && `${stored.findIndex(({ id }) => id === counterpart.transaction_id)} ${counterpart.confidence}`
      )
    })
  }

  async function send(
    from: ConnectionRef,
    refid: string,
    more: Record<string, string> = {},
    atMs = noonMs,
  ): Promise<void> {
    await keepAt(
      from,
      'ledger',
      ledgerRow(`L${refid}`, refid, { type: 'withdrawal', amount: '-0.5', fee: '0.0001' }, atMs),
    )
    await keepAt(from, 'withdrawals', fundingRow(refid, { fee: '0.0001', txid: hash, ...more }, atMs))
    await derive(from)
  }

  async function receive(
    to: ConnectionRef,
    refid: string,
    more: Record<string, string> = {},
    atMs = noonMs + minuteMs,
  ): Promise<void> {
    await keepAt(to, 'ledger', ledgerRow(`L${refid}`, refid, {}, atMs))
    await keepAt(to, 'deposits', fundingRow(refid, { txid: hash, ...more }, atMs))
    await derive(to)
  }

  it('get each other as counterpart and the category transfer; the type stays', async () => {
    const [a, b] = await newUser('a', 'b')
    assert.ok(a && b)
    await send(a, 'W1')
    await db.execute("update transactions set updated_at = '2020-01-01T00:00:00Z' where user_id = $1", [a.userId])
    await receive(b, 'D1')
    const stored = await listStored(a)
    const [sent, received] = stored.map(parse)
    const categorization = { category: 'transfer', method: 'match', confidence: 1 }
    assert.deepEqual(
      [sent?.type, sent?.categorization, sent?.counterpart],
      ['send', categorization, { transaction_id: stored[1]?.id, confidence: 1 }],
    )
    assert.deepEqual(
      [received?.type, received?.categorization, received?.counterpart],
      ['receive', categorization, { transaction_id: stored[0]?.id, confidence: 1 }],
    )
    assert.deepEqual(
      stored.map(({ category }) => category),
      ['transfer', 'transfer'],
    )
    assert.ok(stored.every(({ updated_at }) => updated_at > '2026'))
  })

  it('derived again are the same bytes, and no row looks changed', async () => {
    const [a, b] = await newUser('a', 'b')
    assert.ok(a && b)
    await send(a, 'W1')
    await receive(b, 'D1')
    const before = await listStored(a)
    await db.execute('update raw_records set derived = false where user_id = $1', [a.userId])
    await derive(a)
    await derive(b)
    assert.deepEqual(await listStored(a), before)
  })

  it('are two again when the evidence goes, with the texts they had before', async () => {
    const [a, b] = await newUser('a', 'b')
    assert.ok(a && b)
    await send(a, 'W1')
    await receive(b, 'D1', { txid: 'cd'.repeat(32) })
    const before = (await listStored(a)).map(({ document }) => document)
    assert.deepEqual(await listMatched(a), [null, null])
    await receive(b, 'D1')
    assert.deepEqual(await listMatched(a), ['1 1', '0 1'])
    await receive(b, 'D1', { txid: 'cd'.repeat(32) })
    assert.deepEqual(
      (await listStored(a)).map(({ document }) => document),
      before,
    )
  })

  it('leave a weaker match for a better one', async () => {
    const [a, b, c] = await newUser('a', 'b', 'c')
    assert.ok(a && b && c)
    await send(a, 'W1')
    await receive(b, 'D1', { txid: '' })
    assert.deepEqual(await listMatched(a), ['1 0.8', '0 0.8'])
    await receive(c, 'D2')
    assert.deepEqual(await listMatched(a), ['2 1', null, '0 1'])
  })

  it('are not guessed between two candidates, and found when one of them goes', async () => {
    const [a, b, c] = await newUser('a', 'b', 'c')
    assert.ok(a && b && c)
    await send(a, 'W1', { txid: '' })
    await receive(b, 'D1', { txid: '' })
    await receive(c, 'D2', { txid: '' })
    assert.deepEqual(await listMatched(a), [null, null, null])
    await db.transaction(ledger.startDestroying(c, { served: true }))
    assert.ok(queued.includes(a.userId))
    assert.equal(await ledger.matchTransfers(a, () => true), true)
    assert.deepEqual(await listMatched(a), ['1 0.8', '0 0.8'])
  })

  it('stand alone at once when the other side’s connection is removed', async () => {
    const [a, b] = await newUser('a', 'b')
    assert.ok(a && b)
    await send(a, 'W1')
    const [before] = await listStored(a)
    await receive(b, 'D1')
    await db.transaction(ledger.startDestroying(b, { served: true }))
    const after = await listStored(a)
    assert.deepEqual(
      after.map(({ document, category }) => [document, category]),
      [[before?.document, 'withdrawal']],
    )
    assert.deepEqual(await db.rows('select from transfer_matches where user_id = $1', [a.userId]), [])
  })

  it('name each other anew when the id of one is retired', async () => {
    const [a, b] = await newUser('a', 'b')
    assert.ok(a && b)
    await send(a, 'W1')
    await receive(b, 'D1')
    const [, received] = await listStored(a)
    await receive(b, 'D1', {}, noonMs + 5 * minuteMs)
    const after = await listStored(a)
    assert.notEqual(after[1]?.id, received?.id)
    assert.deepEqual(await listMatched(a), ['1 1', '0 1'])
  })

  it('are not looked for in what is still a session’s, and found when it is settled', async () => {
    const [a, b] = await newUser('a', 'b')
    assert.ok(a && b)
    await db.execute("update connections set session_id = 'ses_1' where id = $1", [b.connectionId])
    await receive(b, 'D1')
    await send(a, 'W1')
    await db.execute('update raw_records set derived = false where user_id = $1', [a.userId])
    await derive(b)
    assert.deepEqual(await listMatched(a), [null, null])
    await db.execute('update connections set session_id = null where id = $1', [b.connectionId])
    await ledger.matchTransfers(a, () => true)
    assert.deepEqual(await listMatched(a), ['1 1', '0 1'])
  })

  it('of another user are no candidates', async () => {
    const [a] = await newUser('a')
    const [b] = await newUser('b')
    assert.ok(a && b)
    await send(a, 'W1')
    await receive(b, 'D1')
    assert.deepEqual([...(await listMatched(a)), ...(await listMatched(b))], [null, null])
  })

  it('are found by connections that are derived at once, while one of them is removed', async () => {
    const [a, b, c] = await newUser('a', 'b', 'c')
    assert.ok(a && b && c)
    const names = Array.from({ length: 30 }, (_, index) => String(index).padStart(2, '0'))
    const hashOf = (name: string): string => name.repeat(32)
    const row = (name: string, more: object) => fundingRow(name, { txid: hashOf(name), ...more }, noonMs)
    for (const [ref, stream, more] of [
      [a, 'withdrawals', { type: 'withdrawal', amount: '-0.5' }],
      [b, 'deposits', {}],
      [c, 'deposits', {}],
    ] as const) {
      await keepAt(ref, 'ledger', ...names.map((name) => ledgerRow(`L${name}`, name, more)))
      await keepAt(ref, stream, ...names.map((name) => row(ref === c ? `${name}c` : name, {})))
    }
    await Promise.all([
      ...[a, b, a, b].map((ref) => ledger.derive(ref, connector, () => true)),
      db.transaction(async (tx) => {
        await tx.rows('select from connections where id = $1 for update', [c.connectionId])
        await ledger.startDestroying(c, { served: true })(tx)
      }),
    ])
    const matched = await listMatched(a)
    assert.equal(matched.length, 60)
    assert.ok(
      matched.every((one) => one?.endsWith(' 1')),
      JSON.stringify(matched),
    )
  })

  it('judged bit by bit, in any order, are those that judging all at once would find', async () => {
    const [a, b, c] = await newUser('a', 'b', 'c')
    assert.ok(a && b && c)
    const one = fc.record({
      id: fc.integer({ min: 0, max: 12 }).map((id) => `txn_${String(id).padStart(2, '0')}`),
      of: fc.constantFrom(a, b, c),
      direction: fc.constantFrom('out' as const, 'in' as const),
      amount: fc.constantFrom('1', '0.9').map(parseDecimal),
      fee: fc.constantFrom('0', '0.1').map(parseDecimal),
      hash: fc.constantFrom(null, null, 'h', 'i'),
      toAddress: fc.constantFrom(null, null, 'A', 'B'),
      occurredAtMs: fc.integer({ min: 0, max: 60 }).map((hours) => noonMs + hours * 60 * minuteMs),
      gone: fc.boolean(),
    })
    const property = fc.asyncProperty(fc.array(one, { minLength: 4, maxLength: 24 }), async (steps) => {
      const present = new Map<string, TransferLeg>()
      for (const { id, of, gone, ...facts } of steps) {
        // A transaction stays in its connection.
        const connectionId = present.get(id)?.connectionId ?? of.connectionId
        const leg = { id, assetId: 'crypto:bitcoin', ...facts }
        await db.transaction(async (tx) => {
          if (gone) await dropLegs(tx, a, [id])
          else await keepLegs(tx, { ...a, connectionId }, [{ ...leg, alone }], new Set(present.keys()))
        })
        if (gone) present.delete(id)
        else present.set(id, { ...leg, connectionId })
        await matchOwnTransfers(db, a, () => true)
      }
      const found = await db.rows<{ text: string }>(
        `select concat_ws(' ', outgoing_id, incoming_id, confidence) as text from transfer_matches
         where user_id = $1 order by 1`,
        [a.userId],
      )
      const wanted = matchTransfers([...present.values()]).map((match) => Object.values(match).join(' '))
      assert.deepEqual(
        found.map(({ text }) => text),
        wanted.toSorted(),
      )
      await db.transaction((tx) => dropLegs(tx, a, [...present.keys()]))
    })
    await fc.assert(property, { numRuns: 25 })
  })
})
