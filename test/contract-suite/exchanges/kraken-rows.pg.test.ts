/**
 * Rows that real Kraken accounts have and that its documents do not mention, read by the real engine. The server below
 * answers as Kraken does, with rows that each test writes; the sources are named beside them.
 */
import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { ownedBySuite } from '../../../apps/server/src/oauth/test-oauth.ts'
import { openEngine } from '../../../apps/server/src/test-engine.ts'
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import { listTransactions, storedKeys } from '../books/reckoning.ts'

interface Row {
  id: string
  refid: string
  timeMs: number
  type: string
  subtype?: string
  asset: string
  amount: string
}

interface Withdrawal {
  refid: string
  timeMs: number
  status: string
  'status-prop'?: string
}

/** One account: what its ledger and its list of withdrawals have now, and what `count` claims. */
interface Books {
  ledger: Row[]
  withdrawals: Withdrawal[]
  count: number | undefined
  calls: Record<string, number>
}

const secretKey = 'kQH5HW/8p1uGOVjbgWA7FunAmGO8lsSUXNsu3eow76sz84Q18fWxnyRzBHCd3pd5nE9qa99HAZtuZuj6F1huXg=='

function answer(books: Books, endpoint: string, params: URLSearchParams): object {
  const [start, end] = [Number(params.get('start')) * 1_000, Number(params.get('end')) * 1_000]
  const inside = ({ timeMs }: { timeMs: number }): boolean => start < timeMs && timeMs <= end
  if (endpoint === 'GetApiKeyInfo') return { permissions: ['query-funds', 'query-ledger'], validUntil: '0' }
  if (endpoint === 'BalanceEx') return {}
  if (endpoint === 'Ledgers') {
    const rows = books.ledger.filter(inside).toSorted((a, b) => b.timeMs - a.timeMs || (a.id < b.id ? -1 : 1))
    const offset = Number(params.get('ofs'))
    const page = rows.slice(offset, offset + 50).map(({ id, timeMs, subtype = '', ...row }) => {
      return [id, { ...row, subtype, time: timeMs / 1_000, aclass: 'currency', fee: '0', balance: '0' }]
    })
    return { ledger: Object.fromEntries(page) as object, count: books.count ?? rows.length }
  }
  const listed = endpoint === 'WithdrawStatus' ? books.withdrawals.filter(inside) : []
  return listed.map(({ timeMs, ...row }) => {
    return { ...row, time: timeMs / 1_000, asset: 'XXBT', amount: '1', fee: '0', txid: '6544b4', info: 'bc1q' }
  })
}

describe('rows of real Kraken accounts', async () => {
  const accounts = new Map<string, Books>()
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const books = accounts.get(String(request.headers['api-key']))
      const endpoint = request.url?.split('/').at(-1) ?? ''
      if (books === undefined) return response.end('{"error":["EAPI:Invalid key"]}')
      books.calls[endpoint] = (books.calls[endpoint] ?? 0) + 1
      response.end(JSON.stringify({ error: [], result: answer(books, endpoint, new URLSearchParams(body)) }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ownedBySuite().after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const engine = await openEngine({}, { providerUrls: { kraken: url } })
  const { db, clock } = engine

  async function connect(books: Partial<Books>): Promise<{ ref: ConnectionRef; books: Books }> {
    const apiKey = String(accounts.size).padStart(56, 'k')
    const own: Books = { ledger: [], withdrawals: [], count: undefined, calls: {}, ...books }
    accounts.set(apiKey, own)
    const owner = await engine.newOwner()
    const { connectionId, errors } = await engine.add(owner, { accountId: apiKey, apiKey, secretKey })
    assert.ok(connectionId !== null, JSON.stringify(errors))
    const ref = await engine.toRef(owner, connectionId)
    await engine.drain({ delayed: true })
    return { ref, books: own }
  }

  async function readAgain(ref: ConnectionRef): Promise<void> {
    const query = 'select key_lane from connections where id = $1'
    const { key_lane: lane } = await db.row<{ key_lane: string }>(query, [ref.connectionId])
    await engine.sync.beginReading(db, ref, lane)
    await engine.drain({ delayed: true })
  }

  const statusOf = async (ref: ConnectionRef): Promise<string | undefined> => {
    const [only] = await listTransactions(db, ref)
    return /"status": ?"(\w+)"/.exec(only?.document ?? '')?.[1]
  }
  const daysAgo = (days: number): number => clock.now() - days * dayMs

  it('`refid: "Unknown"` links no rows: five rewards are five transactions', async () => {
    const ledger = Array.from({ length: 5 }, (_, index): Row => {
      const at = daysAgo(10) + index * 60_000
      return {
        ...{ id: `L${index}`, refid: 'Unknown', timeMs: at },
        type: 'earn',
        subtype: 'reward',
        asset: 'DOT.F',
        amount: '1',
      }
    })
    const { ref } = await connect({ ledger })
    assert.equal((await listTransactions(db, ref)).length, 5)
  })

  it('a reference that Earn uses again months later is a second transaction, and the first stays', async () => {
    const reward = (id: string, days: number): Row => {
      return { id, refid: 'R1', timeMs: daysAgo(days), type: 'earn', subtype: 'reward', asset: 'DOT.F', amount: '1' }
    }
    const { ref, books } = await connect({ ledger: [reward('L1', 200)] })
    const [first] = await listTransactions(db, ref)
    books.ledger.push(reward('L2', 0.01))
    await readAgain(ref)
    const both = await listTransactions(db, ref)
    assert.equal(both.length, 2)
    assert.ok(both.some(({ id }) => id === first?.id))
  })

  it('a count that is lower than the number of rows does not close a window', async () => {
    const ledger = Array.from({ length: 170 }, (_, index): Row => {
      const id = `L${String(index).padStart(3, '0')}`
      return { id, refid: id, timeMs: daysAgo(100) + index * 1_000, type: 'deposit', asset: 'XXBT', amount: '1' }
    })
    const { ref } = await connect({ ledger, count: 60 })
    assert.equal((await storedKeys(db, ref)).length, 170)
  })

  it('MATIC and POL, booked under two references two days apart, are one migration', async () => {
    const half = (id: string, asset: string, amount: string, days: number): Row => {
      return {
        id,
        refid: `R${id}`,
        timeMs: daysAgo(days),
        type: 'transfer',
        subtype: 'delistingconversion',
        asset,
        amount,
      }
    }
    const { ref } = await connect({ ledger: [half('L1', 'MATIC', '-250.5', 60), half('L2', 'POL', '250.5', 58)] })
    assert.deepEqual(
      (await listTransactions(db, ref)).map(({ category }) => category),
      ['convert'],
    )
  })

  it('a withdrawal that is on hold for weeks is read again until it is done', async () => {
    const timeMs = daysAgo(1)
    const ledger: Row[] = [{ id: 'L1', refid: 'W1', timeMs, type: 'withdrawal', asset: 'XXBT', amount: '-1' }]
    const held: Withdrawal = { refid: 'W1', timeMs, status: 'Success', 'status-prop': 'on-hold' }
    const { ref, books } = await connect({ ledger, withdrawals: [held] })
    assert.equal(await statusOf(ref), 'pending')
    await engine.moveClock(35 * dayMs)
    books.withdrawals = [{ refid: 'W1', timeMs, status: 'Success' }]
    await readAgain(ref)
    assert.equal(await statusOf(ref), 'confirmed')
  })
})
