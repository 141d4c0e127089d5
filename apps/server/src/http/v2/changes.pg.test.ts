import { listTransactionChanges, listTransactions, type ResponseOf } from '@assay/contract'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorize, redeem, untilRead } from '../../../../../test/application.ts'
import { openResource, until, type SignedIn } from '../test-resource.ts'

type Change = ResponseOf<typeof listTransactionChanges>['data'][number]
type Transaction = ResponseOf<typeof listTransactions>['data'][number]
interface Problem {
  status: number
  errors: { cause: string; parameter?: string }[]
}

const path = '/accounts/v2/transactions/changes'
const list = '/accounts/v2/transactions'
const daySeconds = 86_400

describe('GET /accounts/v2/transactions/changes', async () => {
  const api = await openResource()
  const kraken = { provider_id: 'kraken' }
  const ann = await api.signIn('ann', { providers: [kraken] })
  const bob = await api.signIn('bob', { providers: [{ ...kraken, scenario: 'empty' }] })

  async function walkList(who: SignedIn): Promise<Map<string, Transaction>> {
    const all = new Map<string, Transaction>()
    for (let next = `${list}?limit=100`; next !== '';) {
      const { page, data } = await api.ask(listTransactions, next, who.access_token)
      for (const row of data) all.set(row.id, row)
      next = page.next
    }
    return all
  }

  /** Applies every page from a cursor onwards and returns the cursor to continue from. */
  async function follow(who: SignedIn, copy: Map<string, Transaction>, from: string): Promise<string> {
    for (let next = from; ;) {
      const { page, cursor, data } = await api.ask(listTransactionChanges, next, who.access_token)
      for (const change of data) apply(copy, change)
      if (page.next === '') return cursor
      next = page.next
    }
  }

  function apply(copy: Map<string, Transaction>, change: Change): void {
    if (change.op === 'upsert') copy.set(change.transaction.id, change.transaction)
    else copy.delete(change.id)
  }

  const refused = async (query: string, token: string): Promise<Problem> => {
    const { status, body, text } = await api.call<Problem>('GET', `${path}?${query}`, token)
    assert.equal(status, 400, text)
    return body
  }

  it('200: the changes applied in order give the list, and a later poll returns what changed since', async () => {
    const copy = new Map<string, Transaction>()
    const first = await follow(ann, copy, `${path}?limit=37`)
    assert.deepEqual(copy, await walkList(ann))
    assert.ok(copy.size > 200)
    const idle = await api.ask(listTransactionChanges, `${path}?cursor=${first}`, ann.access_token)
    assert.deepEqual([idle.data, idle.page.next], [[], ''])

    const again = await api.signIn('ann', { providers: [kraken] })
    const second = await follow(again, copy, `${path}?limit=100&cursor=${idle.cursor}`)
    assert.deepEqual(copy, await walkList(again))
    assert.ok(copy.size > 400)

    await api.call('DELETE', `/accounts/v2/providers?connection_id=${ann.connectionIds[0] ?? ''}`, again.access_token)
    await follow(again, copy, `${path}?limit=100&cursor=${second}`)
    assert.deepEqual(copy, await walkList(again))
    assert.ok(copy.size > 200)
  })

  it('200: limit defaults to 30, every page but the last is full, and next has limit and cursor', async () => {
    const first = await api.ask(listTransactionChanges, path, ann.access_token)
    assert.equal(first.data.length, 30)
    const query = new URLSearchParams(first.page.next.split('?')[1])
    assert.deepEqual([...query.keys()], ['limit', 'cursor'])
    assert.equal(query.get('cursor'), first.cursor)
    const whole = encodeURIComponent(first.page.next)
    const expected = (await api.ask(listTransactionChanges, first.page.next, ann.access_token)).data
    for (const form of [`limit=30&cursor=${first.cursor}`, `cursor=${whole}`, `next_uri=${whole}`]) {
      assert.deepEqual((await api.ask(listTransactionChanges, `${path}?${form}`, ann.access_token)).data, expected)
    }
  })

  it('200: a user without transactions, and one without connections, have a cursor too', async () => {
    for (const who of [bob, await api.signIn('zoe')]) {
      const { data, cursor, page } = await api.ask(listTransactionChanges, path, who.access_token)
      assert.deepEqual([data, page.next], [[], ''])
      assert.deepEqual((await api.ask(listTransactionChanges, `${path}?cursor=${cursor}`, who.access_token)).data, [])
    }
  })

  it('200: what a connect session reads appears only once its code has been redeemed', async () => {
    const kim = await api.signIn('kim')
    const { cursor } = await api.ask(listTransactionChanges, path, kim.access_token)
    const session = await authorize(api.url, 'kim', [kraken])
    const { db } = api.service
    const read = `select from transactions join connections c using (user_key, connection_key) where c.id = $1`
    await until(
      () => db.rows(read, [session.connections[0]?.connection_id]),
      (rows) => rows.length > 100,
    )
    const before = await api.ask(listTransactionChanges, `${path}?cursor=${cursor}`, kim.access_token)
    assert.deepEqual(before.data, [])
    const settled = { ...(await redeem(api.url, session)), connectionIds: [] }
    await untilRead(api.url, settled.access_token)
    const copy = new Map<string, Transaction>()
    await follow(settled, copy, `${path}?limit=100&cursor=${before.cursor}`)
    assert.deepEqual(copy, await walkList(settled))
    assert.ok(copy.size > 200)
  })

  it('400: a cursor of another user, of another list, altered, or with a filter', async () => {
    const { cursor } = await api.ask(listTransactionChanges, path, ann.access_token)
    const { page } = await api.ask(listTransactions, `${list}?limit=1`, ann.access_token)
    const ofList = new URLSearchParams(page.next.split('?')[1]).get('cursor') ?? ''
    for (const wrong of [ofList, `${cursor.slice(0, -2)}AA`]) {
      assert.equal((await refused(`cursor=${wrong}`, ann.access_token)).errors[0]?.parameter, 'cursor')
    }
    assert.equal((await refused(`cursor=${cursor}`, bob.access_token)).errors[0]?.parameter, 'cursor')
    assert.equal((await refused('types=send', ann.access_token)).errors[0]?.cause, 'unknown_parameter')
    assert.equal((await refused('limit=101', ann.access_token)).errors[0]?.parameter, 'limit')
  })

  it('401, 403: needs transactions:read', async () => {
    assert.equal((await api.call('GET', path)).status, 401)
    const narrow = await api.signIn('ann', { scope: 'assets:read' })
    assert.equal((await api.call('GET', path, narrow.access_token)).status, 403)
  })

  it('400: a cursor that has not been read on for longer than removals are kept has expired; one that was polled has not', async () => {
    const { cursor: idle } = await api.ask(listTransactionChanges, `${path}?limit=100`, bob.access_token)
    await api.moveClock(60 * daySeconds)
    let who = await api.signIn('bob')
    const { cursor: polled } = await api.ask(listTransactionChanges, `${path}?cursor=${idle}`, who.access_token)
    await api.moveClock(60 * daySeconds)
    who = await api.signIn('bob')
    const expired = await refused(`cursor=${idle}`, who.access_token)
    assert.deepEqual(
      expired.errors.map(({ cause, parameter }) => [cause, parameter]),
      [['cursor_expired', 'cursor']],
    )
    assert.deepEqual((await api.ask(listTransactionChanges, `${path}?cursor=${polled}`, who.access_token)).data, [])
    assert.equal((await api.ask(listTransactionChanges, path, who.access_token)).page.next, '')
  })

  it('400: a cursor that is ahead of the newest change, as after a restored backup, has expired', async () => {
    const who = await api.signIn('ann')
    const cursor = await follow(who, new Map(), `${path}?limit=100`)
    const back = 'update user_ledgers set change_seq = change_seq - $1::bigint'
    await api.service.db.execute(back, [1])
    assert.equal((await refused(`cursor=${cursor}`, who.access_token)).errors[0]?.cause, 'cursor_expired')
    await api.service.db.execute(back, [-1])
    assert.equal((await api.ask(listTransactionChanges, `${path}?cursor=${cursor}`, who.access_token)).page.next, '')
  })
})
