/**
 * Accounts on several networks, one of which cannot be read: wallets of the real connector on simulated chains, and a
 * provider that each test writes.
 */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, after } from 'node:test'
import type { Balances, Stream } from '@assay/connectors'
import { hourMs, parseDecimal, SourceError, zero, type Fault } from '@assay/core'
import { randomUUID } from 'node:crypto'
import type { ConnectionRef } from '../owner.ts'
import { openEngine } from '../test-engine.ts'
import { createTestProvider, openReader, plainStream, record, type TestProvider } from './test-provider.ts'

interface Wallet extends ConnectionRef {
  accountId: string
}

describe('a network that does not answer', async () => {
  const away = new Set<string>()
  const calls = new Map<string, number>()
  let upstream = ''
  const proxy = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    void forward(request).then(({ status, text }) => {
      // It may ask to be called again at once: the others must not be read again as often.
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' })
      response.end(text)
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  after(() => proxy.close())
  const { port } = proxy.address() as AddressInfo
  const engine = await openEngine({}, { providerUrls: { evm: `http://127.0.0.1:${port}` } })
  const { db } = engine
  upstream = engine.sandbox.urls['evm'] ?? ''

  async function forward(request: IncomingMessage): Promise<{ status: number; text: string }> {
    const [, , network = ''] = (request.url ?? '').split('/')
    calls.set(network, (calls.get(network) ?? 0) + 1)
    let body = ''
    for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString()
    if (away.has(network)) return { status: 503, text: '' }
    const { method = 'GET', headers } = request
    const answer = await fetch(`${upstream}${request.url ?? ''}`, {
      method,
      headers: { 'content-type': headers['content-type'] ?? 'application/json' },
      ...(method === 'GET' ? {} : { body }),
    })
    return { status: answer.status, text: await answer.text() }
  }

  async function connect(scenario: string): Promise<Wallet> {
    const made = await engine.control<{ account_id: string; credentials: { address: string } }>('accounts', {
      provider_id: 'evm',
      scenario,
      account: randomUUID(),
    })
    const owner = await engine.newOwner()
    const account = { accountId: made.account_id, apiKey: '', secretKey: '' }
    const credentials = { type: 'wallet', address: made.credentials.address } as const
    const { connectionId, errors } = await engine.add(owner, account, { providerId: 'evm', credentials })
    assert.ok(connectionId, JSON.stringify(errors))
    const ref = await engine.toRef(owner, connectionId)
    await engine.drain({ delayed: true })
    return { ...ref, accountId: made.account_id }
  }
  const deposit = (of: Wallet, asset: string): Promise<unknown> =>
    engine.control(`accounts/${of.accountId}/entries`, { entries: [{ type: 'deposit', asset, amount: '1' }] })
  async function run(ref: Wallet): Promise<void> {
    const { keyLane } = await db.row<{ keyLane: string }>(
      'select key_lane as "keyLane" from connections where id = $1',
      [ref.connectionId],
    )
    await db.execute('delete from graphile_worker._private_jobs')
    await engine.sync.plan(db, { ...ref, keyLane }, 0)
    await engine.drain()
  }
  const find = async (ref: Wallet) => {
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.ok(row)
    const { status, status_cause: cause, proof_grade: grade } = row
    return { status, cause, grade }
  }
  const listEther = async (ref: Wallet): Promise<string[]> => {
    const rows = await db.rows<{ amount: string }>(
      `select trim_scale(h.liquid)::text as amount from holdings h join assets a using (asset_key)
       where h.user_key = $1 and a.id = 'crypto:ethereum'`,
      [ref.userKey],
    )
    return rows.map(({ amount }) => amount)
  }
  const countTransactions = async (ref: Wallet): Promise<number> =>
    (await db.rows('select from transactions where user_key = $1', [ref.userKey])).length
  const listCircuits = async (): Promise<string[]> => {
    const rows = await db.rows<{ name: string }>(
      'select provider_id as name from circuits where opened_at is not null order by 1',
    )
    return rows.map(({ name }) => name)
  }
  const plusOne = (amount: string | undefined): string => {
    const [whole = '', part] = (amount ?? '').split('.')
    return [String(BigInt(whole) + 1n), ...(part === undefined ? [] : [part])].join('.')
  }

  it('keeps neither the other networks nor wallets that are not on it from being read, and is named', async () => {
    const wallets = [await connect('default'), await connect('default'), await connect('default')] as const
    const elsewhere = await connect('empty')
    for (const one of [...wallets, elsewhere]) assert.equal((await find(one)).status, 'active')
    const [wallet] = wallets
    const before = { ether: await listEther(wallet), transactions: await countTransactions(wallet) }
    const { grade } = await find(wallet)

    away.add('8453')
    await engine.moveClock(hourMs)
    await deposit(wallet, 'ETH')
    await engine.moveClock(hourMs)
    await run(wallet)
    await run(wallet)
    const after = { ether: await listEther(wallet), transactions: await countTransactions(wallet) }
    assert.deepEqual(after, { ether: before.ether.map(plusOne), transactions: before.transactions + 1 })
    assert.deepEqual(await find(wallet), { status: 'degraded', cause: 'venue_down', grade })
    const [issue] = await engine.connections.listIssues(wallet)
    assert.match(issue?.message ?? '', /^Ethereum & EVM: “Base” cannot be reached at the moment\./)

    for (const one of [...wallets, ...wallets]) await run(one)
    assert.deepEqual(await listCircuits(), ['evm/base node'])
    await run(elsewhere)
    assert.equal((await find(elsewhere)).status, 'active')

    // Known to be away, it is called no more, and the others are.
    await db.execute("update circuits set probe_at = $1::timestamptz + interval '1 hour'", [db.now()])
    calls.clear()
    await deposit(wallet, 'ETH')
    await engine.moveClock(hourMs / 4)
    await run(wallet)
    assert.equal(calls.get('8453'), undefined)
    assert.equal(await countTransactions(wallet), before.transactions + 2)
    // The others are not read more often than without the outage: every 15 minutes, more or less.
    const { isRegular } = await db.row<{ isRegular: boolean }>(
      `select next_sync_at > $2::timestamptz + interval '10 minutes' as "isRegular" from connections where id = $1`,
      [wallet.connectionId, db.now()],
    )
    assert.ok(isRegular)
    assert.deepEqual(await find(wallet), { status: 'degraded', cause: 'venue_down', grade })

    away.delete('8453')
    await engine.moveClock(2 * hourMs)
    for (const one of wallets) await run(one)
    await engine.moveClock(hourMs)
    for (const one of wallets) await run(one)
    assert.deepEqual(await listCircuits(), [])
    assert.deepEqual(await listEther(wallet), before.ether.map(plusOne).map(plusOne))
    assert.deepEqual(await find(wallet), { status: 'active', cause: null, grade })
  })
})

describe('a network that cannot be read', async () => {
  const reader = await openReader()
  const names = ['coins', 'tokens', 'pictures', 'games', 'stakes', 'loans']

  async function open(): Promise<{ provider: TestProvider; ref: ConnectionRef }> {
    const streams = names.map((name): Stream => {
      return { ...plainStream, name, unit: 'block', partitioned: true, overlap: 0 }
    })
    const networks = { A: 'Aarau', B: 'Basel', C: 'Chur' }
    const provider = reader.use(createTestProvider({ streams: streams as [Stream, Stream], networks }))
    const nowMs = reader.clock.now()
    provider.height = { height: 100, atMs: nowMs }
    provider.partitions = names.flatMap((stream) => Object.keys(networks).map((partition) => ({ stream, partition })))
    for (const list of ['coins/A', 'coins/B', 'loans/C']) {
      provider.lists.set(list, [record(list, nowMs - hourMs, { height: 50 })])
    }
    provider.answer = ({ window }, page) => toTimed(window.start, page)
    provider.answerBalances = () => balanceOf('3')
    return { provider, ref: await reader.connectTest() }
  }
  function toTimed<Page extends { next: string | null }>(start: number, page: Page): Page {
    return page.next === null ? { ...page, times: { startMs: start + 1, endMs: Math.ceil(reader.clock.now()) } } : page
  }
  const balanceOf = (amount: string): Balances => ({
    balances: [
      { assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin', liquid: parseDecimal(amount), staked: zero },
    ],
  })
  const find = async (ref: ConnectionRef) => {
    const row = await reader.connections.find(ref, ref.connectionId)
    assert.ok(row)
    const { status, status_cause: cause, proof_grade: grade } = row
    return { status, cause, grade }
  }
  const findMessage = async (ref: ConnectionRef): Promise<string> =>
    (await reader.connections.listIssues(ref))[0]?.message ?? ''

  for (const [fault, words] of [
    ['venue_down', /“Basel” cannot be reached/],
    ['unreadable_answer', /data of “Basel” came in a form that we cannot read/],
  ] as const) {
    it(`with ${fault} is named, the others are read and shown, and a part of its own history is not`, async () => {
      const { provider, ref } = await open()
      const { answer } = provider
      provider.answer = (request, page) => {
        if (request.partition === 'B' && request.stream !== 'coins') throw new SourceError(fault, 'no')
        return answer(request, page)
      }
      await reader.drain({ enough: async () => (await find(ref)).cause !== null })
      assert.deepEqual(await reader.listAmounts(ref), ['1', '1'])
      assert.deepEqual(await find(ref), { status: 'syncing', cause: fault, grade: null })
      assert.match(await findMessage(ref), words)

      provider.answer = answer
      await reader.drain({ delayed: true })
      assert.deepEqual(await reader.listAmounts(ref), ['1', '1', '1'])
      assert.deepEqual(await find(ref), { status: 'active', cause: null, grade: 'proved' })
    })
  }

  for (const fault of ['venue_down', 'data_hole'] satisfies Fault[]) {
    it(`for its balances, with ${fault}, is read when they are, and balances without them are not judged`, async () => {
      const { provider, ref } = await open()
      const error = new SourceError(fault, 'no', { unread: ['Basel'] })
      const switches = { isAway: true }
      provider.answerBalances = () =>
        switches.isAway ? { ...balanceOf('2'), failed: [{ partition: 'B', error }] } : balanceOf('3')
      provider.answerHeight = (partition) => {
        if (partition === 'B' && switches.isAway) throw error
        return provider.height
      }
      await reader.drain({ delayed: true, enough: async () => (await reader.listAmounts(ref)).length > 0 })
      assert.deepEqual(await reader.listAmounts(ref), ['1', '1'])
      assert.deepEqual(await find(ref), { status: 'syncing', cause: fault, grade: null })
      assert.match(await findMessage(ref), /“Basel”/)
      const read = provider.balancesRead

      switches.isAway = false
      // Each list ends with the next block.
      provider.answerHeight = () => ({ height: (provider.height.height += 1), atMs: reader.clock.now() })
      await reader.drain({ delayed: true })
      assert.ok(provider.balancesRead > read)
      assert.deepEqual(await reader.listAmounts(ref), ['1', '1', '1'])
      assert.deepEqual(await find(ref), { status: 'active', cause: null, grade: 'proved' })
      const { readings } = await reader.db.row<{ readings: string }>(
        'select count(*)::text as readings from observed_balances where user_key = $1',
        [ref.userKey],
      )
      assert.equal(readings, '2')
    })
  }

  /** Blocks of a second, and records in them. */
  function startChain() {
    const now = (): number => reader.clock.now()
    const beginningMs = now() - 100 * hourMs
    const heightAt = (atMs: number): number => Math.floor((atMs - beginningMs) / 1_000)
    const timeAt = (height: number): number => beginningMs + height * 1_000
    const recordAt = (key: string, atMs: number) => record(key, timeAt(heightAt(atMs)), { height: heightAt(atMs) })
    const answer: TestProvider['answer'] = ({ window }, page) =>
      page.next === null ? { ...page, times: { startMs: timeAt(window.start), endMs: timeAt(window.end) } } : page
    const toHeight = (atMs: number) => ({ height: heightAt(atMs), atMs: timeAt(heightAt(atMs)) })
    return { now, recordAt, answer, toHeight }
  }
  async function run(ref: ConnectionRef): Promise<void> {
    await reader.moveClock(16 * 60_000)
    const { keyLane } = await reader.db.row<{ keyLane: string }>(
      'select key_lane as "keyLane" from connections where id = $1',
      [ref.connectionId],
    )
    await reader.db.execute('delete from graphile_worker._private_jobs')
    await reader.sync.plan(reader.db, { ...ref, keyLane }, 0)
    await reader.drain()
  }

  it('for long is not judged by balances that are partly old, also when the rest is judged meanwhile', async () => {
    const { now, recordAt, answer, toHeight } = startChain()
    const { provider, ref } = await open()
    provider.lists.clear()
    const [ofA, ofB] = [[recordAt('A1', now() - hourMs)], [recordAt('B1', now() - hourMs)]]
    provider.lists.set('coins/A', ofA).set('coins/B', ofB)
    provider.answer = answer
    const error = new SourceError('data_hole', 'the index has no block of the last day')
    let [away, held] = [false, '2']
    provider.answerBalances = () =>
      away ? { ...balanceOf(held), failed: [{ partition: 'B', error }] } : balanceOf(held)
    provider.answerHeight = (partition) => {
      if (partition === 'B' && away) throw error
      return toHeight(now())
    }
    await reader.drain({ delayed: true })
    const grades: (string | null)[] = []
    async function runAndLook(): Promise<void> {
      await run(ref)
      grades.push((await find(ref)).grade)
    }
    await runAndLook()
    away = true
    ofA.push(recordAt('A2', now() + 300_000))
    ofB.push(recordAt('B2', now() + 300_000))
    held = '3'
    // After eight failures the rest is judged.
    for (let failures = 0; failures < 9; failures += 1) await runAndLook()
    away = false
    held = '4'
    for (let runs = 0; runs < 3; runs += 1) await runAndLook()
    assert.deepEqual(await reader.listAmounts(ref), ['1', '1', '1', '1'])
    assert.deepEqual(new Set(grades), new Set(['proved']))
  })

  it('up to the present is judged when its lists have come to the time of the balances', async () => {
    const { now, recordAt, answer, toHeight } = startChain()
    const { provider, ref } = await open()
    provider.lists.clear()
    provider.lists.set('coins/A', [recordAt('A1', now() - 2 * hourMs)])
    provider.answer = answer
    let held = '1'
    provider.answerBalances = () => balanceOf(held)
    // Longer than the time between two runs, which read nothing new.
    provider.answerHeight = () => toHeight(now() - 40 * 60_000)
    await reader.drain({ delayed: true })
    for (let runs = 0; runs < 5; runs += 1) await run(ref)
    assert.equal((await find(ref)).grade, 'proved')
    held = '5'
    for (let runs = 0; runs < 5; runs += 1) await run(ref)
    assert.equal((await find(ref)).grade, 'open')
  })
})
