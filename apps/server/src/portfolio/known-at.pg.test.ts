/** What was known at a time is what the list showed then, whatever has happened since. */
import { minuteMs, parseDecimal } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { markInstallation } from '../db/index.ts'
import { fundingRow, ledgerRow, noonMs, openLedger } from '../ledger/test-ledger.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { ConnectionRef } from '../owner.ts'
import { createPortfolio, finishPage, type UncheckedToken, type TransactionPoint } from './index.ts'
import { readKnownAt } from './known-at-store.ts'
import { addConnection, addUser } from './test-portfolio.ts'

const hash = 'ab'.repeat(32)

const change = fc.oneof(
  fc.record({ kind: fc.constantFrom('deposit', 'withdrawal', 'pending'), row: fc.nat(5), at: fc.nat(20) }),
  fc.record({ kind: fc.constantFrom('amount', 'time', 'withdrawn'), row: fc.nat(5), at: fc.nat(20) }),
  fc.record({ kind: fc.constantFrom('price', 'prices down', 'show', 'transfer'), row: fc.nat(5), at: fc.nat(20) }),
)
type Change = typeof change extends fc.Arbitrary<infer One> ? One : never

describe('known_at', async () => {
  const opened = await openLedger(ownedBySuite())
  const { db, ledger, connector, prices, keepAt, derive } = opened
  await markInstallation(db, 'sandbox')
  const portfolio = createPortfolio({ db })
  let users = 0

  interface Person {
    access: UncheckedToken
    own: ConnectionRef
    /** Provisional until it is shown. */
    other: ConnectionRef
  }

  async function newPerson(): Promise<Person> {
    users += 1
    const ann = await addUser(db, `ann${users}`)
    const shownAt = db.now()
    const own = await addConnection(db, ann, { key: 1, id: `con_${users}a`, shownAt })
    const other = await addConnection(db, ann, { key: 2, id: `con_${users}b`, connectSessionId: 'ses_1' })
    return { access: ann.access, own, other }
  }

  async function withdraw(of: ConnectionRef, key: string): Promise<void> {
    const page = { stream: 'ledger', partition: '', records: [], withdrawn: [key], complete: undefined }
    await db.transaction((tx) => ledger.keepRaw(tx, of, connector, [page]))
  }

  async function apply({ own, other }: Person, { kind, row, at }: Change): Promise<void> {
    const [key, group, atMs] = [`L${row}`, `R${row}`, noonMs + at * minuteMs]
    if (kind === 'deposit') await keepAt(own, 'ledger', ledgerRow(key, group))
    else if (kind === 'withdrawal') {
      await keepAt(own, 'ledger', ledgerRow(key, group, { type: 'withdrawal', amount: '-0.5' }))
    } else if (kind === 'pending') {
      await keepAt(own, 'deposits', fundingRow(group, { status: at % 2 === 0 ? 'Pending' : 'Success' }))
    } else if (kind === 'amount') await keepAt(own, 'ledger', ledgerRow(key, group, { amount: `0.${at + 1}` }))
    else if (kind === 'time') await keepAt(own, 'ledger', ledgerRow(key, group, {}, atMs))
    else if (kind === 'withdrawn') await withdraw(own, key)
    else if (kind === 'show') {
      await db.execute(
        `update connections set session_id = null, shown_at = $3, shown_seq = 0
         where user_key = $1 and connection_key = $2 and session_id is not null`,
        [other.userKey, other.connectionKey, db.now()],
      )
    } else if (kind === 'transfer') {
      await keepAt(own, 'ledger', ledgerRow('LW', 'RW', { type: 'withdrawal', amount: '-0.5' }))
      await keepAt(own, 'withdrawals', fundingRow('RW', { txid: hash }))
      await keepAt(other, 'ledger', ledgerRow('LD', 'RD', {}, noonMs + minuteMs))
      await keepAt(other, 'deposits', fundingRow('RD', { txid: hash }, noonMs + minuteMs))
    } else opened.setPrice(kind === 'price' ? parseDecimal(String(60_000 + at)) : 'down')
    await derive(own)
    await derive(other)
    if (kind === 'price') {
      opened.moveClock(2 * 86_400_000)
      await prices.backfill()
      await ledger.reprice()
    }
  }

  const walk = async (
    list: (page: {
      limit: number
      after: TransactionPoint | undefined
    }) => Promise<{ items: string; end: TransactionPoint | undefined }>,
    limit: number,
  ): Promise<object[]> => {
    const all: object[] = []
    let after: TransactionPoint | undefined
    do {
      const { items, end } = await list({ limit, after })
      all.push(...(JSON.parse(`[${items}]`) as object[]))
      after = end
    } while (after !== undefined)
    return all
  }
  const listPresent = ({ access }: Person): Promise<object[]> =>
    walk(async (page) => {
      const reading = await portfolio.readTransactions(access, { shape: 'v2', filters: {}, ...page })
      return reading?.result.page ?? { items: '', end: undefined }
    }, 100)
  const listKnownAt = ({ access }: Person, knownAt: string, limit: number, filters = {}): Promise<object[]> =>
    walk(async (page) => {
      // Few rows in a step, so that pages end in the middle of steps, and steps in the middle of versions.
      const reading = await readKnownAt(db, access, { filters, knownAt, ...page }, 2)
      if (reading === undefined) return { items: '', end: undefined }
      return finishPage(reading.result, (work) => work())
    }, limit)

  it('repeats every response of a random week', async () => {
    // Random changes may all affect different rows. These changes give every week two former versions.
    const corrected = [0, 3, 4].map((at): Change => ({ kind: at === 0 ? 'deposit' : 'amount', row: 1, at }))
    let former = 0
    const week = fc.asyncProperty(
      fc.array(change, { minLength: 8, maxLength: 16 }),
      fc.integer({ min: 1, max: 5 }),
      async (random, limit) => {
        const person = await newPerson()
        const recorded: { at: string; list: object[] }[] = []
        const changes = [...random, ...corrected]
        for (const one of changes) {
          await db.clock.advance(Math.floor((7 * 86_400_000) / changes.length))
          await apply(person, one)
          recorded.push({ at: db.now(), list: await listPresent(person) })
          // The next change must have a later millisecond.
          await db.clock.advance(1_000)
        }
        for (const { at, list } of recorded) assert.deepEqual(await listKnownAt(person, at, limit), list, at)
        former += (await db.rows('select from transaction_versions where user_key = $1', [person.own.userKey])).length
      },
    )
    await fc.assert(week, { numRuns: 8, endOnFailure: true })
    assert.ok(former > 10, `only ${former} former versions`)
  })

  it('accepts a range and connections, and finds one transaction as it was', async () => {
    const person = await newPerson()
    const { access, own } = person
    await apply(person, { kind: 'deposit', row: 1, at: 0 })
    await apply(person, { kind: 'deposit', row: 2, at: 0 })
    const before = await listPresent(person)
    const at = db.now()
    await db.clock.advance(1_000)
    await apply(person, { kind: 'amount', row: 1, at: 7 })
    const [id] = before.map((one) => (one as { id: string }).id)
    for (const one of before) {
      const found = await portfolio.readOneKnownAt(access, { id: (one as { id: string }).id, knownAt: at })
      assert.deepEqual(JSON.parse(found?.result.item ?? 'null'), one)
    }
    const early = await portfolio.readOneKnownAt(access, { id: id ?? '', knownAt: '2026-01-01T00:00:00.000Z' })
    assert.equal(early?.result.item, null)
    const startTime = new Date(noonMs).toISOString()
    const endTime = new Date(noonMs + 1).toISOString()
    assert.deepEqual(await listKnownAt(person, at, 9, { startTime, endTime }), before)
    assert.deepEqual(await listKnownAt(person, at, 9, { endTime: startTime }), [])
    assert.deepEqual(await listKnownAt(person, at, 9, { connectionIds: [own.connectionId] }), before)
    assert.deepEqual(await listKnownAt(person, at, 9, { connectionIds: ['con_other'] }), [])
  })
})
