/** What only Coinbase has: two ways to one account, tokens that are spent by renewing them, and a bad connection. */
import { hourMs } from '@assay/core'
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { NewCredentials } from '../../../apps/server/src/connections/index.ts'
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import { openEngine } from '../../../apps/server/src/test-engine.ts'
import { until } from '../../until.ts'
import { coinbase, toHeld } from '../books/coinbase-books.ts'
import {
  explained,
  heldBalances,
  listTransactions,
  heldChanges,
  heldKeys,
  storedBalances,
  storedKeys,
} from '../books/reckoning.ts'

interface Minted {
  account_id: string
  credentials: Record<'api_key' | 'secret_key' | 'ed25519_api_key' | 'ed25519_secret_key' | 'account', string>
}

describe('Coinbase', async () => {
  const engine = await openEngine({})
  const { db } = engine

  async function control<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${engine.sandbox.controlUrl}/control/${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    assert.equal(response.status, 200)
    return (await response.json()) as T
  }

  const mint = (scenario: string): Promise<Minted> =>
    control('POST', 'accounts', { provider_id: 'coinbase', scenario, account: randomUUID() })

  const keyOf = ({ credentials }: Minted): NewCredentials => ({
    ...{ type: 'api_key', apiKey: credentials.api_key, secretKey: credentials.secret_key },
  })
  const ed25519KeyOf = ({ credentials }: Minted): NewCredentials => ({
    ...{ type: 'api_key', apiKey: credentials.ed25519_api_key, secretKey: credentials.ed25519_secret_key },
  })

  /** As a browser would: the provider's page is opened and allowed. */
  async function signIn({ credentials: { account } }: Minted): Promise<NewCredentials> {
    const codeVerifier = randomBytes(32).toString('base64url')
    const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')
    const redirectUri = 'http://127.0.0.1:1/callback'
    const asked = { redirectUri, state: randomUUID(), codeChallenge }
    const page = new URL(engine.connections.toSignInUrl('coinbase', asked))
    const body = new URLSearchParams([...page.searchParams, ['account', account], ['decision', 'allow']])
    page.search = ''
    const response = await fetch(page, { method: 'POST', body, redirect: 'manual' })
    const code = new URL(response.headers.get('location') ?? '').searchParams.get('code') ?? ''
    return { type: 'oauth2', code, codeBoundTo: null, codeVerifier, redirectUri }
  }

  type Owner = Awaited<ReturnType<typeof engine.newOwner>>

  async function add(owner: Owner, credentials: NewCredentials) {
    const adding = engine.connections.add(owner, {
      ...{ providerId: 'coinbase', displayLabel: null, credentials, connectSessionId: null },
    })
    const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
    await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
    await engine.drain({ delayed: true, enough: async () => (await db.rows(verifying)).length === 0 })
    return adding
  }

  async function connect(credentials: NewCredentials): Promise<ConnectionRef> {
    const owner = await engine.newOwner()
    const { connectionId, errors } = await add(owner, credentials)
    assert.ok(connectionId !== null, JSON.stringify(errors))
    const ref = await engine.toRef(owner, connectionId)
    await engine.drain({ delayed: true })
    return ref
  }

  async function assertExplained(ref: ConnectionRef, { account_id: id }: Minted): Promise<void> {
    const held = toHeld(await control('GET', `accounts/${id}/state`))
    assert.deepEqual(await storedKeys(db, ref), heldKeys(held))
    assert.deepEqual(await storedBalances(db, ref), heldBalances(held, coinbase.symbolOf))
    assert.deepEqual(await explained(db, ref), heldChanges(held, coinbase.symbolOf))
    assert.deepEqual(await explained(db, ref), await storedBalances(db, ref))
  }

  async function beginReading(ref: ConnectionRef): Promise<void> {
    const { key_lane: lane } = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
      ref.connectionId,
    ])
    await engine.sync.beginReading(db, ref, lane)
  }

  async function moveClock(ms: number): Promise<void> {
    await engine.moveClock(ms)
    await control('POST', 'clock', { offset_ms: await engine.clock.advance(0) })
  }

  async function countTokenCalls({ account_id: id }: Minted): Promise<number> {
    const { requests } = await control<{ requests: { endpoint: string; count: number }[] }>(
      'GET',
      `log?account_id=${id}`,
    )
    return requests.filter(({ endpoint }) => endpoint.endsWith('token')).reduce((sum, { count }) => sum + count, 0)
  }

  const statusOf = async (ref: ConnectionRef): Promise<string | undefined> =>
    (await engine.connections.find(ref, ref.connectionId))?.status

  // This test is first, because moving the clock makes every other connection due as well.
  it('expired tokens are renewed once for all jobs, every time, and never spent twice', async () => {
    const account = await mint('default')
    const ref = await connect(await signIn(account))
    for (let round = 1; round <= 4; round += 1) {
      await moveClock(2 * hourMs)
      await beginReading(ref)
      await Promise.all([engine.drain({ delayed: true }), engine.drain({ delayed: true })])
      assert.equal(await statusOf(ref), 'active')
      assert.equal(await countTokenCalls(account), 1 + round)
    }
    await assertExplained(ref, account)
  })

  it('a wallet that is opened later is found, and its history with it', async () => {
    const account = await mint('empty')
    const ref = await connect(keyOf(account))
    const entries = [
      { type: 'receive', asset: 'BTC', amount: '0.5' },
      { type: 'receive', asset: 'ONDO', amount: '12' },
    ]
    await control('POST', `accounts/${account.account_id}/entries`, { entries })
    await moveClock(hourMs)
    await beginReading(ref)
    await engine.drain({ delayed: true })
    assert.equal((await storedKeys(db, ref)).length, 2)
    await assertExplained(ref, account)
  })

  it('a send that was pending is confirmed later, and keeps its id', async () => {
    const account = await mint('default')
    const { ids } = await control<{ ids: string[] }>('POST', `accounts/${account.account_id}/entries`, {
      entries: [{ type: 'send', asset: 'BTC', amount: '-0.001' }],
    })
    const [id = ''] = ids
    await control('POST', `accounts/${account.account_id}/records`, { id, status: 'pending' })
    const ref = await connect(keyOf(account))
    const find = async (): Promise<{ id: string; status: string | undefined } | undefined> => {
      const rows = await listTransactions(db, ref)
      const row = rows.find(({ document }) => document.includes(`"provider_reference":"${id}"`))
      return row === undefined ? undefined : { id: row.id, status: /"status":"(\w+)"/.exec(row.document)?.[1] }
    }
    const before = await find()
    assert.equal(before?.status, 'pending')
    await control('POST', `accounts/${account.account_id}/records`, { id, status: 'completed' })
    await moveClock(hourMs)
    await beginReading(ref)
    await engine.drain({ delayed: true })
    const after = await find()
    assert.deepEqual([after?.status, after?.id], ['confirmed', before.id])
    await assertExplained(ref, account)
  })

  for (const scenario of ['default', 'empty', 'flaky']) {
    for (const [way, authorize] of Object.entries({ keyOf, ed25519KeyOf, signIn })) {
      it(`transactions explain every balance to the digit: ${scenario}, ${way}`, async () => {
        const account = await mint(scenario)
        const ref = await connect(await authorize(account))
        for (let round = 0; round < 20 && (await statusOf(ref)) !== 'active'; round += 1) {
          await moveClock(hourMs / 6)
          await engine.drain({ delayed: true })
        }
        assert.equal(await statusOf(ref), 'active')
        await assertExplained(ref, account)
      })
    }
  }

  it('staked and liquid are separate in holdings and in the transactions that explain them', async () => {
    const ref = await connect(keyOf(await mint('default')))
    const rows = await db.rows<{ symbol: string; liquid: string; staked: string; held: string; locked: string }>(
      `select a.symbol, h.liquid::text, h.staked::text,
         (select coalesce(sum(p.amount) filter (where not p.staked), 0)::text from postings p
          where p.user_key = h.user_key and p.connection_key = h.connection_key and p.asset_key = h.asset_key) as held,
         (select coalesce(sum(p.amount) filter (where p.staked), 0)::text from postings p
          where p.user_key = h.user_key and p.connection_key = h.connection_key and p.asset_key = h.asset_key) as locked
       from holdings h join assets a using (asset_key) where h.user_key = $1 and h.connection_key = $2`,
      [ref.userKey, ref.connectionKey],
    )
    const plain = (amount: string): string => amount.replace(/\.?0+$/, '')
    assert.ok(rows.filter(({ staked }) => plain(staked) !== '0' && plain(staked) !== '').length >= 3)
    for (const { symbol, liquid, staked, held, locked } of rows) {
      assert.deepEqual([plain(held), plain(locked)], [plain(liquid), plain(staked)], symbol)
    }
  })

  it('a key and a sign-in of one person are the same account', async () => {
    const account = await mint('default')
    const owner = await engine.newOwner()
    const first = await add(owner, keyOf(account))
    const second = await add(owner, await signIn(account))
    assert.equal(second.connectionId, first.connectionId)
    assert.deepEqual(
      second.errors.map(({ cause }) => cause),
      ['already_connected'],
    )
  })
})
