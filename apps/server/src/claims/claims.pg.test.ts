import { parseDecimal, Refusal, zero } from '@assay/core'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { recordStatements } from '../db/test-statements.ts'
import { createTenants } from '../tenants/index.ts'
import { until } from '../../../../test/until.ts'
import type { Owned, OwnedAccount } from '../portfolio/index.ts'
import { createClaims, listClaims } from './index.ts'
import { insertClaim } from './store.ts'

type ClaimRequest = Parameters<ReturnType<typeof createClaims>['make']>[1]

const worthADollar = (audience?: string): ClaimRequest => ({
  claim: 'value_at_least',
  assetId: null,
  amount: parseDecimal('1'),
  asOf: undefined,
  grades: ['proved'],
  audience,
})

const exchangeOf = (providerId: string): string => providerId
const empty: OwnedAccount = {
  ...{ providerId: 'an_exchange', fingerprint: 'f', fingerprintOf: 'account', grade: 'proved' },
  ...{ isFollowed: false, isKnown: true, amount: zero, certain: zero },
}
const nothing: Owned = { asOf: '2026-03-02T10:11:12.345Z', accounts: [empty] }

it('requests for the keys need no token, so repeated requests write nothing for an hour', async (t) => {
  const { db } = await testDatabase(t)
  const claims = createClaims({
    ...{ db, secrets: [new Uint8Array(32).fill(7)], issuer: 'https://auth.example', sandbox: false },
    ...{ freshForMs: 86_400_000, wholeLedgers: [], claimable: [] },
    ...{ exchangeOf, listOwned: () => assert.fail('a list of keys needs no accounts') },
  })
  const first = await claims.jwks()
  assert.equal(first.keys.length, 1)
  const sent = await recordStatements(async () => assert.deepEqual(await claims.jwks(), first))
  assert.deepEqual(
    sent.map(({ text }) => text.trim().split(' ', 1)[0]),
    ['select'],
  )
})

it('the user’s page lists every question, however often another one is repeated afterwards', async (t) => {
  const { db } = await testDatabase(t)
  const tenants = createTenants({ db })
  const tenant = await tenants.createTenant('Example Ltd')
  const ann = await tenants.ensureUser({ ...tenant, externalUserId: 'ann' })
  const now = Date.parse(db.now())
  const make = (number: number, amount: string, audience: string): Promise<void> => {
    const madeAt = new Date(now + number).toISOString()
    return insertClaim(db, ann, {
      ...{ claim: 'value_at_least', assetId: null, amount: parseDecimal(amount), asOf: madeAt, askedFor: null },
      ...{ id: String(number), grantId: 'grt_1', holds: true, grade: 'proved', audience, madeAt },
    })
  }
  await make(0, '1000000', 'https://insurer.example')
  for (let number = 1; number < 40; number += 1) await make(number, '1', 'cli_1')
  for (let number = 40; number < 80; number += 1) await make(number, '1', `https://${number}.example`)
  const listed = await listClaims(db, ann, 20)
  assert.equal(listed.length, 20)
  assert.ok(listed.some(({ amount, audience }) => amount === '1000000' && audience === 'https://insurer.example'))
  assert.deepEqual(
    listed.map(({ madeAt }) => madeAt),
    listed
      .map(({ madeAt }) => madeAt)
      .toSorted()
      .toReversed(),
  )
  assert.equal((await listClaims(db, ann, 500)).length, 42, 'two questions, with each audience once')
})

it('an application that repeats a claim does not keep its user from being deleted', async (t) => {
  const { db } = await testDatabase(t)
  const tenants = createTenants({ db })
  const tenant = await tenants.createTenant('Example Ltd')
  const ann = await tenants.ensureUser({ ...tenant, externalUserId: 'ann' })
  let whileAsked = async (): Promise<void> => undefined
  const claims = createClaims({
    ...{ db, secrets: [new Uint8Array(32).fill(7)], issuer: 'https://auth.example', sandbox: false },
    ...{ freshForMs: 86_400_000, wholeLedgers: [], claimable: [] },
    exchangeOf,
    async listOwned() {
      await whileAsked()
      return nothing
    },
  })
  const asker = { ...ann, clientId: 'cli_1', grantId: 'grt_1' }
  const ask = () => claims.make(asker, worthADollar())
  await ask()
  let deletion: Promise<boolean> | undefined
  whileAsked = async () => {
    deletion ??= db.transaction((tx) => tenants.deleteUser(tx, ann))
    deletion.catch(() => undefined)
    const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'delete from users%'"
    await until('the deletion waits for the claim', async () => (await db.maybeRow(waiting)) && true)
  }
  assert.equal((await ask()).holds, false)
  await deletion
  assert.deepEqual(await db.rows('select from claims'), [])
  await assert.rejects(ask(), (error) => error instanceof Refusal && error.code === 'invalid_token')
})

it('a claim that is repeated takes one row, and one consent has at most a hundred answers a day', async (t) => {
  const { db } = await testDatabase(t)
  const tenants = createTenants({ db })
  const tenant = await tenants.createTenant('Example Ltd')
  const ann = await tenants.ensureUser({ ...tenant, externalUserId: 'ann' })
  const claims = createClaims({
    ...{ db, secrets: [new Uint8Array(32).fill(7)], issuer: 'https://auth.example', sandbox: false },
    ...{ freshForMs: 86_400_000, wholeLedgers: [], claimable: [] },
    ...{ exchangeOf, listOwned: async () => nothing },
  })
  const asker = { ...ann, clientId: 'cli_1', grantId: 'grt_1' }
  const ask = (audience?: string) => claims.make(asker, worthADollar(audience))
  for (let repeat = 0; repeat < 5; repeat += 1) await ask()
  assert.equal((await db.rows('select from claims')).length, 1)
  for (let audience = 1; audience < 100; audience += 1) await ask(`https://${audience}.example`)
  await assert.rejects(ask('https://100.example'), (error) => error instanceof Refusal && error.code === 'rate_limited')
  await ask('https://7.example')
  assert.equal((await listClaims(db, ann, 500)).length, 100)
})
