import { matchTransfers, minuteMs, parseDecimal, type TransferLeg } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ownedBySuite } from '../../oauth/test-oauth.ts'
import type { ConnectionRef } from '../../owner.ts'
import { toStoredId, toTransactionId, type TransactionContent } from '../deriving/document.ts'
import { addConnection, fundingRow, ledgerRow, makeAllDue, noonMs, openLedger, refOf } from '../test-ledger.ts'
import { dropTransferLegs, keepTransferLegs, matchOwnTransfers } from './transfers.ts'

const hash = 'ab'.repeat(32)
const alone = { category: 'withdrawal', method: 'venue', confidence: 1 } as const

describe('own transfers', async () => {
  const opened = await openLedger(ownedBySuite())
  const { db, ledger, keepAt, derive, queued } = opened

  interface Stored {
    id: string
    category: string
    change_seq: string
    updated_at: string
    document: string
  }

  let users = 1
  /** Creates a user with this many connections. */
  async function newUser<const Count extends 1 | 2 | 3>(count: Count): Promise<Refs[Count]> {
    users += 1
    const refs = [1, 2, 3].slice(0, count).map((connection) => refOf(users, connection))
    for (const ref of refs) await addConnection(db, ref)
    return refs as Refs[Count]
  }
  interface Refs {
    1: [ConnectionRef]
    2: [ConnectionRef, ConnectionRef]
    3: [ConnectionRef, ConnectionRef, ConnectionRef]
  }

  const listStored = ({ userKey }: ConnectionRef): Promise<Stored[]> =>
    db.rows<Stored>(
      `select id, category, change_seq, updated_at, document from transactions where user_key = $1
       order by connection_key, occurred_at, id`,
      [userKey],
    )
  const parse = ({ document }: Stored): TransactionContent => JSON.parse(`{${document}`) as TransactionContent
  /** Ordered by connection and time: the index of the counterpart in the same list, and the confidence. */
  async function listMatched(ref: ConnectionRef): Promise<(string | null)[]> {
    const stored = await listStored(ref)
    return stored.map((row) => {
      const { counterpart } = parse(row)
      return (
        counterpart &&
        `${stored.findIndex(({ id }) => toTransactionId(id) === counterpart.transaction_id)} ${counterpart.confidence}`
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
    const [a, b] = await newUser(2)
    await send(a, 'W1')
    const [before] = await listStored(a)
    await receive(b, 'D1')
    const stored = await listStored(a)
    const ids = stored.map(({ id }) => toTransactionId(id))
    const [sent, received] = stored.map(parse)
    const categorization = { category: 'transfer', method: 'match', confidence: 1 }
    assert.deepEqual(
      [sent?.type, sent?.categorization, sent?.counterpart],
      ['send', categorization, { transaction_id: ids[1], confidence: 1 }],
    )
    assert.deepEqual(
      [received?.type, received?.categorization, received?.counterpart],
      ['receive', categorization, { transaction_id: ids[0], confidence: 1 }],
    )
    assert.deepEqual(
      stored.map(({ category }) => category),
      ['transfer', 'transfer'],
    )
    assert.ok(BigInt(stored[0]?.change_seq ?? 0) > BigInt(before?.change_seq ?? 0))
  })

  it('that are derived again give the same bytes, and no row looks changed', async () => {
    const [a, b] = await newUser(2)
    await send(a, 'W1')
    await receive(b, 'D1')
    const before = await listStored(a)
    await makeAllDue(db, a.userKey)
    await derive(a)
    await derive(b)
    assert.deepEqual(await listStored(a), before)
  })

  it('become two separate transactions again when the evidence goes, with their earlier texts', async () => {
    const [a, b] = await newUser(2)
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

  it('give up a weaker match for a better one', async () => {
    const [a, b, c] = await newUser(3)
    await send(a, 'W1')
    await receive(b, 'D1', { txid: '' })
    assert.deepEqual(await listMatched(a), ['1 0.4', '0 0.4'])
    await receive(c, 'D2')
    assert.deepEqual(await listMatched(a), ['2 1', null, '0 1'])
  })

  it('that match only by amount and time are a suggestion: the category stays', async () => {
    const [a, b] = await newUser(2)
    await send(a, 'W1', { txid: '' })
    await receive(b, 'D1', { txid: '' })
    const stored = await listStored(a)
    assert.deepEqual(
      stored.map((row) => [row.category, parse(row).categorization, parse(row).counterpart]),
      [
        ['withdrawal', alone, { transaction_id: toTransactionId(stored[1]?.id ?? ''), confidence: 0.4 }],
        [
          'deposit',
          { ...alone, category: 'deposit' },
          { transaction_id: toTransactionId(stored[0]?.id ?? ''), confidence: 0.4 },
        ],
      ],
    )
    await makeAllDue(db, a.userKey)
    await derive(a)
    await derive(b)
    assert.deepEqual(await listStored(a), stored)
  })

  it('are not guessed between two candidates, and are found when one of the candidates goes', async () => {
    const [a, b, c] = await newUser(3)
    await send(a, 'W1', { txid: '' })
    await receive(b, 'D1', { txid: '' })
    await receive(c, 'D2', { txid: '' })
    assert.deepEqual(await listMatched(a), [null, null, null])
    await db.transaction(ledger.startDestroying(c, { hiddenSeq: '7' }))
    assert.ok(queued.includes(a.userKey))
    assert.equal(await ledger.matchTransfers(a, () => true), true)
    assert.deepEqual(await listMatched(a), ['1 0.4', '0 0.4'])
  })

  it('lose their counterpart at once when its connection is removed', async () => {
    const [a, b] = await newUser(2)
    await send(a, 'W1')
    const [before] = await listStored(a)
    await receive(b, 'D1')
    await db.transaction(ledger.startDestroying(b, { hiddenSeq: '7' }))
    const after = await listStored(a)
    assert.deepEqual(
      after.map(({ document, category }) => [document, category]),
      [[before?.document, 'withdrawal']],
    )
    assert.deepEqual(await db.rows('select from transfer_matches where user_key = $1', [a.userKey]), [])
  })

  it('name each other again when the id of one is retired', async () => {
    const [a, b] = await newUser(2)
    await send(a, 'W1')
    await receive(b, 'D1')
    const [, received] = await listStored(a)
    await receive(b, 'D1', {}, noonMs + 5 * minuteMs)
    const after = await listStored(a)
    assert.notEqual(after[1]?.id, received?.id)
    assert.deepEqual(await listMatched(a), ['1 1', '0 1'])
  })

  it('are not matched with connections of an open session, and are found when it is settled', async () => {
    const [a, b] = await newUser(2)
    await db.execute("update connections set session_id = 'ses_1' where id = $1", [b.connectionId])
    await receive(b, 'D1')
    await send(a, 'W1')
    await makeAllDue(db, a.userKey)
    await derive(b)
    assert.deepEqual(await listMatched(a), [null, null])
    await db.execute('update connections set session_id = null where id = $1', [b.connectionId])
    await ledger.matchTransfers(a, () => true)
    assert.deepEqual(await listMatched(a), ['1 1', '0 1'])
  })

  it('of another user are not candidates', async () => {
    const [a] = await newUser(1)
    const [b] = await newUser(1)
    await send(a, 'W1')
    await receive(b, 'D1')
    assert.deepEqual([...(await listMatched(a)), ...(await listMatched(b))], [null, null])
  })

  it('are found by connections that are derived at the same time, while one of them is removed', async () => {
    const [a, b, c] = await newUser(3)
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
      ...[a, b, a, b].map((ref) => derive(ref)),
      db.transaction(async (tx) => {
        await tx.rows('select from connections where id = $1 for update', [c.connectionId])
        await ledger.startDestroying(c, { hiddenSeq: '7' })(tx)
      }),
    ])
    const matched = await listMatched(a)
    assert.equal(matched.length, 60)
    assert.ok(
      matched.every((one) => one?.endsWith(' 1')),
      JSON.stringify(matched),
    )
  })

  it('that are matched step by step, in any order, are those that matching all at once would find', async () => {
    const [a, b, c] = await newUser(3)
    const deps = { db, addChanges: async () => undefined }
    const one = fc.record({
      id: fc.integer({ min: 0, max: 12 }).map((id) => toStoredId(`txn_${String(id).padStart(32, '0')}`)),
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
        const connectionKey = Number(present.get(id)?.connectionId ?? of.connectionKey)
        const leg = { id, ...facts }
        await db.transaction(async (tx) => {
          if (gone) await dropTransferLegs(deps, tx, a, [id])
          else
            await keepTransferLegs(
              tx,
              { ...a, connectionKey },
              [{ ...leg, assetKey: 1, alone }],
              new Set(present.keys()),
            )
        })
        if (gone) present.delete(id)
        else present.set(id, { ...leg, assetId: '1', connectionId: String(connectionKey) })
        await matchOwnTransfers(deps, a, () => true)
      }
      const found = await db.rows<{ text: string }>(
        `select concat_ws(' ', outgoing_id, incoming_id, confidence) as text from transfer_matches
         where user_key = $1 order by 1`,
        [a.userKey],
      )
      const wanted = matchTransfers([...present.values()]).map((match) => Object.values(match).join(' '))
      assert.deepEqual(
        found.map(({ text }) => text),
        wanted.toSorted(),
      )
      await db.transaction((tx) => dropTransferLegs(deps, tx, a, [...present.keys()]))
    })
    await fc.assert(property, { numRuns: 25 })
  })
})
