/** Drafts from transactions as Esplora writes them (API.md, "Transaction format"). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TransactionDraft } from '@assay/core'
import type { AccountFacts } from '../kit/connector.ts'
import { toBitcoin, toTransactions } from './transactions.ts'

const txid = 'f'.repeat(64)
const facts: AccountFacts = { addresses: new Set(['own-1', 'own-2', 'own-change']), state: {} }

/**
 * The number is written verbatim, because a double would lose digits. TypeScript's library does not declare this
 * function yet (6.0).
 */
const { rawJSON } = JSON as unknown as { rawJSON: (this: void, text: string) => object }

type Side = Readonly<Record<string, string>>

const toOutputs = (side: Side): object[] =>
  Object.entries(side).map(([address, value]) => ({ scriptpubkey_address: address, value: rawJSON(value) }))

interface Choices {
  from: Side
  to: Side
  fee: string
  pending?: boolean
  confirmed?: boolean
}

function draftOf({ from, to, fee, pending = false, confirmed = true }: Choices): TransactionDraft {
  const vin = toOutputs(from).map((prevout) => ({ is_coinbase: false, prevout }))
  const body = JSON.stringify({
    txid,
    vin: vin.length === 0 ? [{ is_coinbase: true, prevout: null }] : vin,
    vout: toOutputs(to),
    fee: rawJSON(fee),
    status: confirmed ? { confirmed, block_height: 800_000, block_time: 1_690_168_629 } : { confirmed },
  })
  const [draft, ...others] = toTransactions(
    [{ stream: 'transactions', partition: '', key: txid, occurredAtMs: 1_690_168_629_000, body, pending }],
    facts,
  )
  assert.ok(draft !== undefined && others.length === 0)
  return draft
}

const amounts = ({ inputs, outputs, fees }: TransactionDraft): string[][] =>
  [inputs, outputs, fees].map((legs) => legs.map(({ amount }) => amount))

describe('a transaction of the chain', () => {
  it('that pays another wallet is one send with its fee; the change does not count as a movement', () => {
    const draft = draftOf({
      from: { 'own-1': '50000000', 'own-2': '30000000' },
      to: { shop: '70000000', 'own-change': '9998590' },
      fee: '1410',
    })
    assert.deepEqual([draft.type, draft.category, draft.status], ['send', 'withdrawal', 'confirmed'])
    assert.deepEqual(amounts(draft), [[], ['0.7'], ['0.0000141']])
    assert.equal(draft.fees[0]?.kind, 'network')
    assert.deepEqual([draft.hash, draft.toAddress, draft.fromAddress], [txid, 'shop', null])
  })

  it('that pays the wallet is one receive of all that reached it', () => {
    const draft = draftOf({
      from: { payer: '100000' },
      to: { 'own-1': '60000', 'own-2': '30000', payer: '9000' },
      fee: '1000',
    })
    assert.deepEqual([draft.type, draft.category], ['receive', 'deposit'])
    assert.deepEqual(amounts(draft), [['0.0009'], [], []])
    assert.deepEqual([draft.fromAddress, draft.toAddress], ['payer', null])
  })

  it('within the wallet costs its fee and nothing else', () => {
    const draft = draftOf({ from: { 'own-1': '5000', 'own-2': '5000' }, to: { 'own-change': '9000' }, fee: '1000' })
    assert.deepEqual([draft.type, draft.category], ['output_only', 'fee'])
    assert.deepEqual(amounts(draft), [[], ['0.00001'], []])
  })

  it('without an input is mined', () => {
    const draft = draftOf({ from: {}, to: { 'own-1': '312500000', pool: '0' }, fee: '0' })
    assert.deepEqual([draft.type, draft.category], ['input_only', 'mining'])
    assert.deepEqual(amounts(draft), [['3.125'], [], []])
  })

  it('that several people funded counts what the wallet lost or gained, and marks the fee as unknown', () => {
    const lost = draftOf({
      from: { 'own-1': '100000', other: '100000' },
      to: { 'own-2': '99000', x: '99500' },
      fee: '1500',
    })
    assert.deepEqual(amounts(lost), [[], ['0.00001'], []])
    assert.deepEqual([lost.type, lost.incomplete, lost.method], ['send', ['fees'], 'rule'])
    const gained = draftOf({ from: { 'own-1': '100000', payer: '50000' }, to: { 'own-2': '149000' }, fee: '1000' })
    assert.deepEqual([gained.type, amounts(gained)], ['receive', [['0.00049'], [], []]])
  })

  it('is pending until its block is deep enough; in a block it is in the balance already', () => {
    const moved = { from: { payer: '2000' }, to: { 'own-1': '1000' }, fee: '1000', pending: true }
    const inBlock = draftOf(moved)
    assert.deepEqual([inBlock.status, inBlock.isDebited], ['pending', true])
    const inMempool = draftOf({ ...moved, confirmed: false })
    assert.deepEqual([inMempool.status, inMempool.isDebited], ['pending', undefined])
  })
})

describe('amounts', () => {
  it('are exact, from one satoshi to more than a double can count', () => {
    assert.equal(toBitcoin(1n), '0.00000001')
    assert.equal(toBitcoin(-1n), '-0.00000001')
    assert.equal(toBitcoin(2_099_999_997_690_000n), '20999999.9769')
    assert.equal(toBitcoin(9_007_199_254_740_993n), '90071992.54740993')
    const draft = draftOf({ from: { payer: '9007199254740994' }, to: { 'own-1': '9007199254740993' }, fee: '1' })
    assert.deepEqual(amounts(draft), [['90071992.54740993'], [], []])
  })
})
