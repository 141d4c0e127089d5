/** Scenarios of the simulated Binance that the contract has no words for, read by the real engine. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConnectionRef } from '../../apps/server/src/owner.ts'
import { openEngine } from '../../apps/server/src/test-engine.ts'
import { until } from '../until.ts'
import { symbolOf, toHeld, type BinanceState } from './binance-books.ts'
import { explained, heldBalances, heldChanges, heldKeys, storedBalances, storedKeys } from './reckoning.ts'

describe('Binance: accounts with troubles', async () => {
  const engine = await openEngine({ ASSAY_SANDBOX_PACE: 'fastest' })
  const { db } = engine

  async function control<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${engine.sandbox.controlUrl}/control/${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    return (await response.json()) as T
  }

  interface Added {
    ref: ConnectionRef | undefined
    errors: string
    readBooks(): Promise<BinanceState>
  }

  async function connect(scenario: string): Promise<Added> {
    const minted = await control<{ account_id: string; credentials: { api_key: string; secret_key: string } }>(
      'POST',
      'accounts',
      { provider_id: 'binance', scenario, account: scenario },
    )
    const { api_key: apiKey, secret_key: secretKey } = minted.credentials
    const owner = await engine.newOwner()
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'binance', displayLabel: null, credentials, sessionId: null }
    const adding = engine.connections.add(owner, request)
    const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
    await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
    await engine.drain({ delayed: true, enough: async () => (await db.rows(verifying)).length === 0 })
    const { connectionId, errors } = await adding
    const ref = connectionId === null ? undefined : await engine.toRef(owner, connectionId)
    if (ref !== undefined) await engine.drain({ delayed: true })
    return {
      ref,
      errors: JSON.stringify(errors),
      readBooks: () => control<BinanceState>('GET', `accounts/${minted.account_id}/state`),
    }
  }

  async function connected(scenario: string): Promise<Added & { ref: ConnectionRef }> {
    const added = await connect(scenario)
    assert.ok(added.ref !== undefined, added.errors)
    return { ...added, ref: added.ref }
  }

  it('a pair that is gone affects itself alone, and one that still answers is read', async () => {
    const { ref, readBooks } = await connected('delisted')
    const held = toHeld(await readBooks())
    // BUSDUSDT answers −1121; LENDUSDT is in no list of pairs and still tells its trades.
    const isTold = ({ partition }: { partition: string }): boolean => partition !== 'BUSD/USDT'
    const told = { ...held, records: held.records.filter(isTold) }
    assert.notEqual(told.records.length, held.records.length)
    assert.deepEqual(await storedKeys(db, ref), heldKeys(told))
    assert.deepEqual(await storedBalances(db, ref), heldBalances(held, symbolOf))
    assert.deepEqual(await explained(db, ref), heldChanges(told, symbolOf))
    const row = await engine.connections.find(ref, ref.connectionId)
    assert.equal(row?.status, 'active')
  })

  for (const [scenario, cause] of Object.entries({
    binance_us: 'invalid_credentials',
    invalid_credentials: 'invalid_credentials',
    can_trade: 'excess_permission',
    down: 'venue_down',
  })) {
    it(`${scenario}: is not added, because of ${cause}`, async () => {
      const { ref, errors } = await connect(scenario)
      assert.equal(ref, undefined)
      assert.match(errors, new RegExp(`"cause":"${cause}"`))
    })
  }
})
