/** The scenario of the simulated Binance that the contract suite does not cover, read by the real engine. */
import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { ConnectionRef } from '../../../apps/server/src/owner.ts'
import { openEngine } from '../../../apps/server/src/test-engine.ts'
import { until } from '../../until.ts'
import { startDelisting } from './binance-delisting.ts'
import { symbolOf, toHeld, type BinanceState } from '../books/binance-books.ts'
import { explained, heldBalances, heldChanges, heldKeys, storedBalances, storedKeys } from '../books/reckoning.ts'
import { assertVerdict, listVerdicts } from '../verdict.ts'

describe('Binance: an account with pairs that are gone', async () => {
  const delisting = await startDelisting()
  after(() => delisting.close())
  const engine = await openEngine({ ASSAY_SANDBOX_PACE: 'fastest' }, { providerUrls: { binance: delisting.url } })
  delisting.target = engine.sandbox.urls.binance
  const { db } = engine

  async function control<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${engine.sandbox.controlUrl}/control/${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    return (await response.json()) as T
  }

  async function connect(scenario: string): Promise<{ ref: ConnectionRef; readBooks(): Promise<BinanceState> }> {
    const minted = await control<{ account_id: string; credentials: { api_key: string; secret_key: string } }>(
      'POST',
      'accounts',
      { provider_id: 'binance', scenario, account: scenario },
    )
    const { api_key: apiKey, secret_key: secretKey } = minted.credentials
    const owner = await engine.newOwner()
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'binance', displayLabel: null, credentials, connectSessionId: null }
    const adding = engine.connections.add(owner, request)
    const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
    await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
    await engine.drain({ delayed: true, enough: async () => (await db.rows(verifying)).length === 0 })
    const { connectionId, errors } = await adding
    assert.ok(connectionId !== null, JSON.stringify(errors))
    const ref = await engine.toRef(owner, connectionId)
    await engine.drain({ delayed: true })
    return { ref, readBooks: () => control<BinanceState>('GET', `accounts/${minted.account_id}/state`) }
  }

  it('a delisted pair affects only itself, and one that still answers is read', async () => {
    const { ref, readBooks } = await connect('delisted')
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
    // What the lost pair moved is missing from both of its assets, and from no other.
    await assertVerdict(engine, { ref, account: { hold: async () => told } }, { symbolOf })
    const { verdicts } = await listVerdicts(engine, ref)
    assert.deepEqual(Object.keys(verdicts), ['BUSD', 'USDT'])
  })

  it('a pair that disappears is still asked for, and named in coverage when it no longer answers', async () => {
    const { ref } = await connect('delisted')
    const readAgain = async (): Promise<void> => {
      await engine.moveClock(dayMs)
      const row = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
        ref.connectionId,
      ])
      await engine.sync.beginReading(db, ref, row.key_lane)
      delisting.asked.length = 0
      await engine.drain({ delayed: true })
      assert.equal((await engine.connections.find(ref, ref.connectionId))?.status, 'active')
    }
    const findHoles = async (): Promise<string[]> => {
      const streams = (await engine.sync.findCoverage(ref, ref.connectionId)) ?? []
      return streams.flatMap(({ stream, holes }) => holes.map(({ message }) => `${stream}: ${message}`))
    }
    const before = ['trades: The provider does not know BUSD/USDT. If something happened there, it cannot be read.']
    assert.deepEqual(await findHoles(), before)
    delisting.unlisted.add('MATICUSDT')
    await readAgain()
    assert.ok(delisting.asked.includes('MATICUSDT'))
    assert.deepEqual(await findHoles(), before)
    delisting.unknown.add('MATICUSDT')
    await readAgain()
    const holes = await findHoles()
    assert.deepEqual(holes.slice(0, -1), before)
    assert.match(holes.at(-1) ?? '', /^trades: The provider no longer knows MATIC\/USDT\. What happened there after /)
    // The pair is reported once and from then on requested once in a rotation.
    await readAgain()
    assert.deepEqual(await findHoles(), holes)
  })
})
