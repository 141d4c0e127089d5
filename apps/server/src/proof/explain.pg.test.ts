/** What a transaction is made of, and what it was before. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../test/until.ts'
import type { ConnectionRef } from '../owner.ts'
import { openEngine } from '../test-engine.ts'
import type { Explanation } from './explain.ts'

describe('the explanation of a transaction', async () => {
  const engine = await openEngine()
  const { db } = engine
  const ref = await engine.connect(await engine.newOwner(), 'default')
  await engine.drain({ delayed: true })
  const explain = async (id: string): Promise<Explanation> => {
    const found = await engine.proof.explain(ref, `txn_${id.replaceAll('-', '')}`)
    assert.ok(found)
    return found
  }
  const findTrade = (of: ConnectionRef): Promise<{ id: string; group_key: string; document: string }> =>
    db.row(
      `select id, group_key, document from transactions
       where user_key = $1 and category = 'trade' order by occurred_at desc, id limit 1`,
      [of.userKey],
    )
  const replay = (): Promise<unknown> =>
    engine.ledger.replay({ connectionId: ref.connectionId, apply: true, onProgress: () => undefined })
  const countVersions = async (): Promise<number> =>
    (await db.row<{ count: number }>('select count(*)::int as count from transaction_versions')).count

  // On a busy machine a run does not wait for all prices. Deriving again asks for the others.
  await until('every price', async () => {
    if ((await db.rows('select from awaited_prices where not priced limit 1')).length === 0) return true
    await replay()
    return undefined
  })

  it('has the provider’s records verbatim, the rule, and the source of each price', async () => {
    const { id, group_key, document } = await findTrade(ref)
    const { records, rule, connector, prices, match } = await explain(id)
    assert.deepEqual([rule, connector, match], ['venue: trade', { provider_id: 'kraken', version: 3 }, null])
    const { ledger } = await engine.control<{ ledger: { id: string; refid: string; amount: string }[] }>(
      `accounts/${ref.accountId}/state`,
    )
    const booked = ledger.filter(({ refid }) => refid === group_key)
    assert.deepEqual(
      new Map(records.map(({ key, body }) => [key, (JSON.parse(body) as { amount: string }).amount])),
      new Map(booked.map((entry) => [entry.id, entry.amount])),
    )
    const legs = JSON.parse(`{${document}`) as Record<'inputs' | 'outputs', { price_in_usd: string | null }[]>
    const priced = [...legs.inputs, ...legs.outputs].flatMap(({ price_in_usd }) => price_in_usd ?? [])
    assert.deepEqual(prices.map(({ price_in_usd }) => price_in_usd).toSorted(), [...new Set(priced)].toSorted())
    assert.ok(prices.every(({ method, source }) => method !== '' && source !== ''))
  })

  it('has a former version only where something changed, and says why it ended', async () => {
    const before = await countVersions()
    await replay()
    assert.equal(await countVersions(), before, 'deriving the same again is not a change')

    const { id, document } = await findTrade(ref)
    const known = (await explain(id)).versions
    await db.execute(
      `update raw_records set body = regexp_replace(body, '"amount":"(-?)', '"amount":"\\11')
       where user_key = $1 and (connection_key, group_key) = (select connection_key, group_key from transactions where user_key = $1 and id = $2)`,
      [ref.userKey, id],
    )
    await engine.moveClock(60_000)
    await replay()
    const { versions } = await explain(id)
    assert.equal(versions.length, known.length + 1)
    const [former, present] = versions.slice(-2)
    assert.deepEqual([former?.reason, present?.reason, present?.known_to], ['derived', 'current', null])
    assert.equal(former?.known_from, known.at(-1)?.known_from)
    assert.equal(former?.known_to, present?.known_from)
    assert.equal(await countVersions(), before + 1)
    const kept = await db.row<{ document: string }>(
      'select document from transaction_versions where user_key = $1 and id = $2 order by known_to desc limit 1',
      [ref.userKey, id],
    )
    assert.equal(kept.document, document)
  })

  it('masks email addresses in the records', async () => {
    const { id, group_key } = await findTrade(ref)
    await db.execute(
      `update raw_records set body = replace(body, '{', '{"note":"ann@mail.example",')
       where user_key = $1 and group_key = $2`,
      [ref.userKey, group_key],
    )
    const bodies = (await explain(id)).records.map(({ body }) => body).join('')
    assert.match(bodies, /\*\*\*@mail\.example/)
    assert.doesNotMatch(bodies, /ann@/)
  })

  it('is hidden from other users and after the connection is removed, as are its versions', async () => {
    const { id } = await findTrade(ref)
    const wire = `txn_${id.replaceAll('-', '')}`
    assert.equal(await engine.proof.explain(await engine.newOwner(), wire), undefined)
    await engine.connections.remove(ref, { connectionId: ref.connectionId })
    assert.equal(await engine.proof.explain(ref, wire), undefined)
    await engine.drain({ delayed: true })
    assert.equal(await countVersions(), 0)
  })
})
