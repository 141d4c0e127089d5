/**
 * Wallets of every kind through the whole service, against what their chain holds: the simulator's books, and the
 * unspent outputs that its own API lists for each address.
 */
import { addProvider, listAssets, getProof, listProviders, listTransactions, type ResponseOf } from '@assay/contract'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openResource, until } from '../../../apps/server/src/http/test-resource.ts'
import { openEngine } from '../../../apps/server/src/test-engine.ts'
import { toDecimalText, toUnits } from '../../reconciler.ts'
import { until as untilThere } from '../../until.ts'
import { toHeld, type BitcoinState } from '../books/bitcoin-books.ts'
import {
  explained,
  heldBalances,
  heldChanges,
  heldKeys,
  listTransactions as listStored,
  storedBalances,
  storedKeys,
} from '../books/reckoning.ts'
import { scenariosOf } from '../scenario-table.ts'
import type { Held } from '../simulator.ts'
import { reckonVerdicts } from '../verdict.ts'

interface State extends BitcoinState {
  addresses: { address: string; chain: string; index: number; balance_sat: string; tx_count: number }[]
  transactions: (BitcoinState['transactions'][number] & {
    kind: string
    fee_paid_sat: string
    sent_to: { value_sat: string }[]
  })[]
}
interface Minted {
  account_id: string
  credentials: { address?: string; extended_public_key?: string; descriptor?: string }
}
type Listed = ResponseOf<typeof listTransactions>['data'][number]

async function control<T>(controlUrl: string, path: string, body?: object): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${controlUrl}/control/${path}`, sent)
  assert.equal(response.status, 200, path)
  return (await response.json()) as T
}

const mint = (controlUrl: string, scenario: string): Promise<Minted> =>
  control(controlUrl, 'accounts', { provider_id: 'bitcoin', scenario, account: randomUUID() })

const toSatoshi = (amount: string): bigint => {
  const [whole = '', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(8, '0'))
}
const sumOf = (amounts: readonly string[]): bigint => amounts.reduce((sum, amount) => sum + toSatoshi(amount), 0n)

/** BIP-44, "Address gap limit": a wallet that finds 20 unused addresses in a row looks no further. */
function isBeforeGap(addresses: State['addresses'], chain: string, index: number): boolean {
  const used = addresses.filter((one) => one.chain === chain && one.tx_count > 0).map((one) => one.index)
  let end = 20
  while (used.some((one) => one < end && one + 21 > end)) end = Math.max(...used.filter((one) => one < end)) + 21
  return index < end
}

describe('a wallet through the service', async () => {
  const api = await openResource()
  const { controlUrl, urls } = api.service.sandbox
  const path = '/accounts/v2/providers'

  async function readUnspent({ addresses }: State): Promise<bigint> {
    let sum = 0n
    for (const { address } of addresses) {
      const answer = await fetch(`${urls.bitcoin}/address/${address}/utxo`)
      const outputs = (await answer.json()) as { value: number; status: { confirmed: boolean } }[]
      for (const { value, status } of outputs) if (status.confirmed) sum += BigInt(value)
    }
    return sum
  }
  async function listAll(token: string): Promise<Map<string | null, Listed>> {
    const found = new Map<string | null, Listed>()
    for (let next = '/accounts/v2/transactions?limit=100'; next !== '';) {
      const { data, page } = await api.ask(listTransactions, next, token)
      for (const one of data) found.set(one.hash, one)
      next = page.next
    }
    return found
  }

  /** The verdict on the wallet, which has one asset, is the one that these books lead to. */
  async function assertProof(connectionId: string, token: string, held: Held): Promise<void> {
    const { data, summary } = await api.ask(getProof, `${path}/${connectionId}/proof`, token)
    assert.deepEqual(
      reckonVerdicts(held, (code) => code, { forgets: false, first: undefined }),
      {},
    )
    const { BTC: units = 0n } = heldBalances(held, (code) => code)
    assert.deepEqual(
      data.map(({ asset_symbol: symbol, grade, observed, posted, difference }) => [
        ...[symbol, grade],
        ...[observed, posted, difference].map((amount) => toUnits(amount ?? '')),
      ]),
      [['BTC', 'proved', units, units, 0n]],
    )
    assert.equal(summary.grade, 'proved')
  }

  const forms = scenariosOf('bitcoin', 'own file').filter((name) => name !== 'gap')
  for (const scenario of [...forms, 'unconfirmed', 'miner']) {
    it(`${scenario}: balance, transactions, fees and proof are what the chain says`, async () => {
      const { account_id: id, credentials } = await mint(controlUrl, scenario)
      const { access_token: token } = await api.signIn(scenario)
      const connection = { type: 'wallet', ...credentials }
      const added = await api.ask(addProvider, path, token, { provider_id: 'bitcoin', connection })
      assert.deepEqual([added.data.added, added.errors], [true, []])
      const [listed] = await until(
        async () => (await api.ask(listProviders, path, token)).data,
        ([one]) => one !== undefined && one.status === 'active' && one.proof !== null,
      )
      assert.equal(listed?.connection_type, 'wallet')
      const state = await control<State>(controlUrl, `accounts/${id}/state`)

      const { data: assets } = await api.ask(listAssets, '/accounts/v2/assets', token)
      assert.deepEqual(
        assets.map(({ asset_symbol: symbol, exact }) => [symbol, toSatoshi(exact.asset_holdings)]),
        [['BTC', BigInt(state.balance_sat.confirmed)]],
      )
      // Transactions in the mempool have already removed their outputs from this list.
      const isSettled = state.transactions.every(({ confirmed }) => confirmed)
      if (isSettled) assert.equal(await readUnspent(state), BigInt(state.balance_sat.confirmed))
      const transactions = await listAll(token)
      assert.equal(transactions.size, state.transactions.length)
      for (const one of state.transactions) {
        const found = transactions.get(one.txid)
        assert.ok(found, one.txid)
        const gained = sumOf(found.inputs.map(({ amount }) => amount))
        const lost = sumOf(found.outputs.map(({ amount }) => amount))
        const fee = sumOf(found.fees.items.map(({ amount }) => amount))
        assert.equal(gained - lost - fee, BigInt(one.net_sat))
        if (one.sent_to.length > 0) {
          const sent = one.sent_to.reduce((sum, { value_sat: value }) => sum + BigInt(value), 0n)
          assert.deepEqual([found.type, lost, fee], ['send', sent, BigInt(one.fee_paid_sat)])
        }
        if (!one.confirmed) assert.equal(found.status, 'pending')
      }
      await assertProof(listed.connection_id, token, toHeld(state))
    })
  }

  it('gap: the addresses before the gap add up, and those behind it are in no sum', async () => {
    const { account_id: id, credentials } = await mint(controlUrl, 'gap')
    const { access_token: token } = await api.signIn('gap')
    const connection = { type: 'wallet', ...credentials }
    await api.ask(addProvider, path, token, { provider_id: 'bitcoin', connection })
    const [listed] = await until(
      async () => (await api.ask(listProviders, path, token)).data,
      ([one]) => one !== undefined && one.status === 'active' && one.proof !== null,
    )
    const { addresses } = await control<State>(controlUrl, `accounts/${id}/state`)
    const found = addresses.filter(({ chain, index }) => isBeforeGap(addresses, chain, index))
    assert.notEqual(found.length, addresses.length)
    const records = await Promise.all(
      found.map(async ({ address }) => {
        const answer = await fetch(`${urls.bitcoin}/address/${address}`)
        const { chain_stats: stats } = (await answer.json()) as { chain_stats: Record<string, number> }
        const units = (stats['funded_txo_sum'] ?? 0) - (stats['spent_txo_sum'] ?? 0)
        const changes = [{ code: 'BTC', amount: toDecimalText(String(units), 8) }]
        return { stream: 'transactions', partition: '', key: address, changes }
      }),
    )
    const balances = found.map(({ balance_sat: units }) => ({ code: 'BTC', amount: toDecimalText(units, 8) }))
    await assertProof(listed?.connection_id ?? '', token, { records, balances })
  })

  it('is connected once, however it is written, and a secret that can spend is refused', async () => {
    const { credentials } = await mint(controlUrl, 'empty')
    const key = credentials.extended_public_key
    assert.ok(key)
    const { access_token: token } = await api.signIn('once')
    const add = (connection: object): Promise<ResponseOf<typeof addProvider>> =>
      api.ask(addProvider, path, token, { provider_id: 'bitcoin', connection: { type: 'wallet', ...connection } })
    const first = await add({ extended_public_key: key })
    const again = await add({ descriptor: `wpkh(${key}/<0;1>/*)` })
    assert.deepEqual(
      [again.data.added, again.data.connection_id, again.errors[0]?.cause],
      [false, first.data.connection_id, 'already_connected'],
    )
    const xprv =
      'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi'
    for (const [connection, message] of [
      [{ descriptor: `wpkh(${xprv}/0/*)` }, /can spend/],
      [{ address: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5' }, /checksum/],
    ] as const) {
      const { data, errors } = await add(connection)
      assert.deepEqual([data.added, data.connection_id, errors[0]?.cause], [false, null, 'invalid_address'])
      assert.match(errors[0]?.message ?? '', message)
    }
  })

  it('keeps its key sealed: no table has it unencrypted', async () => {
    const { credentials } = await mint(controlUrl, 'empty')
    const key = credentials.extended_public_key ?? ''
    const { access_token: token } = await api.signIn('sealed')
    const connection = { type: 'wallet', extended_public_key: key }
    await api.ask(addProvider, path, token, { provider_id: 'bitcoin', connection })
    const { db } = api.service
    const tables = await db.rows<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    )
    assert.ok(tables.length > 20)
    for (const { name } of tables) {
      const found = await db.rows(`select from ${name} t where t::text like '%' || $1 || '%' limit 1`, [
        key.slice(4, 60),
      ])
      assert.equal(found.length, 0, name)
    }
  })
})

describe('a wallet whose chain changes', async () => {
  const engine = await openEngine()
  const { db, sandbox } = engine
  const ask = <T>(path: string, body?: object): Promise<T> => control(sandbox.controlUrl, path, body)
  await ask('clock', { offset_ms: await engine.clock.advance(0) })

  async function connect(scenario: string) {
    const { account_id: id, credentials } = await mint(sandbox.controlUrl, scenario)
    const owner = await engine.newOwner()
    const extendedPublicKey = credentials.extended_public_key ?? ''
    const adding = engine.connections.add(owner, {
      ...{ providerId: 'bitcoin', displayLabel: null, connectSessionId: null },
      credentials: { type: 'wallet', extendedPublicKey },
    })
    const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
    await untilThere('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
    await engine.drain({ delayed: true })
    const { connectionId } = await adding
    const ref = await engine.toRef(owner, connectionId ?? '')
    await engine.drain({ delayed: true })
    return {
      ref,
      book: async (entry: object) =>
        (await ask<{ ids: string[] }>(`accounts/${id}/entries`, { entries: [{ asset: 'BTC', ...entry }] })).ids[0] ??
        '',
      change: (txid: string, change: object) => ask(`accounts/${id}/records`, { id: txid, ...change }),
      async firstAddress() {
        const { addresses } = await ask<State>(`accounts/${id}/state`)
        return addresses.find(({ chain, index }) => chain === 'receive' && index === 0)?.address ?? ''
      },
      async readAfter(minutes: number) {
        await engine.moveClock(minutes * 60_000)
        await ask('clock', { offset_ms: await engine.clock.advance(0) })
        const sql = 'select key_lane from connections where id = $1'
        const { key_lane: lane } = await db.row<{ key_lane: string }>(sql, [ref.connectionId])
        await engine.sync.beginReading(db, ref, lane)
        await engine.drain({ delayed: true })
        const held = toHeld(await ask<State>(`accounts/${id}/state`))
        assert.deepEqual(await storedKeys(db, ref), heldKeys(held))
        assert.deepEqual(
          await storedBalances(db, ref),
          heldBalances(held, (code) => code),
        )
        assert.deepEqual(
          await explained(db, ref),
          heldChanges(held, (code) => code),
        )
      },
      async findStatus(txid: string): Promise<string | undefined> {
        const found = (await listStored(db, ref)).find(({ document }) => document.includes(txid))
        return found && /"status": ?"(\w+)"/.exec(found.document)?.[1]
      },
    }
  }

  it('shows a transaction in the mempool as pending, and as confirmed six blocks later', async () => {
    const wallet = await connect('empty')
    const txid = await wallet.book({ type: 'receive', amount: '0.00000001', subtype: 'unconfirmed' })
    await wallet.readAfter(2)
    assert.equal(await wallet.findStatus(txid), 'pending')
    await wallet.change(txid, { status: 'confirmed' })
    await wallet.readAfter(2)
    assert.equal(await wallet.findStatus(txid), 'pending')
    await wallet.readAfter(150)
    assert.equal(await wallet.findStatus(txid), 'confirmed')
  })

  it('is complete when a page of its history is longer than any other answer may be', async () => {
    const wallet = await connect('empty')
    const address = await wallet.firstAddress()
    await wallet.book({ type: 'receive', amount: '0.5', address })
    for (let count = 0; count < 26; count += 1) {
      await wallet.book({ type: 'receive', amount: '0.00123', address, subtype: 'payout' })
    }
    const page = await (await fetch(`${sandbox.urls.bitcoin}/address/${address}/txs`)).arrayBuffer()
    assert.ok(page.byteLength > 18 * 1024 * 1024)
    await wallet.readAfter(2)
    assert.equal((await listStored(db, wallet.ref)).length, 27)
  })

  it('immediately forgets a transaction that the mempool drops', async () => {
    const wallet = await connect('empty')
    const txid = await wallet.book({ type: 'receive', amount: '21', subtype: 'unconfirmed' })
    await wallet.readAfter(2)
    await wallet.change(txid, { withdrawn: true })
    await wallet.readAfter(2)
    assert.deepEqual(await listStored(db, wallet.ref), [])
  })

  it('has no ghost and no duplicate after a block was replaced, whether its transaction comes back or not', async () => {
    const wallet = await connect('empty')
    const [moved, lost] = [
      await wallet.book({ type: 'receive', amount: '1.5' }),
      await wallet.book({ type: 'receive', amount: '0.25' }),
    ]
    await wallet.readAfter(2)
    await wallet.change(lost, { withdrawn: true })
    await wallet.change(moved, { status: 'unconfirmed' })
    await wallet.readAfter(2)
    assert.deepEqual([await wallet.findStatus(moved), await wallet.findStatus(lost)], ['pending', undefined])
    await wallet.change(moved, { status: 'confirmed' })
    await wallet.readAfter(150)
    assert.deepEqual([await wallet.findStatus(moved), (await listStored(db, wallet.ref)).length], ['confirmed', 1])
  })

  it('has no ghost and no duplicate after ten blocks were replaced that were taken for final', async () => {
    const wallet = await connect('empty')
    const [moved, lost] = [
      await wallet.book({ type: 'receive', amount: '1.5' }),
      await wallet.book({ type: 'receive', amount: '0.25' }),
    ]
    await wallet.readAfter(100)
    assert.deepEqual([await wallet.findStatus(moved), await wallet.findStatus(lost)], ['confirmed', 'confirmed'])
    await wallet.change(lost, { withdrawn: true })
    await wallet.change(moved, { status: 'unconfirmed' })
    await wallet.readAfter(2)
    assert.deepEqual([await wallet.findStatus(moved), await wallet.findStatus(lost)], ['pending', undefined])
    await wallet.change(moved, { status: 'confirmed' })
    await wallet.readAfter(150)
    assert.deepEqual([await wallet.findStatus(moved), (await listStored(db, wallet.ref)).length], ['confirmed', 1])
  })
})
