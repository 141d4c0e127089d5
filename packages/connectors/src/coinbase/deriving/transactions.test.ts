/**
 * Rows are invented and shaped after public documents: docs.cdp.coinbase.com/coinbase-app/track-apis/transactions, and
 * the oddities after the tests of github.com/rotki/rotki (rotkehlchen/tests/exchanges/test_coinbase.py).
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TransactionDraft } from '@assay/core'
import type { StoredRecord } from '../../kit/connector.ts'
import { linkKeys } from './families.ts'
import { toTransactions } from './transactions.ts'

const staked = 'wallet-staked'
const facts = { state: { staked: [staked], discovered: [] } }
const at = '2024-03-25T13:03:11Z'

function row(id: string, type: string, amount: string, currency: string, more: object = {}, wallet = ''): StoredRecord {
  const body = {
    ...{ id, type, status: 'completed', created_at: at },
    ...{ amount: { amount, currency }, native_amount: { amount: '1.00', currency: 'USD' } },
    ...more,
  }
  const partition = wallet === '' ? `wallet-${currency}` : wallet
  return { stream: 'transactions', partition, key: id, occurredAtMs: Date.parse(at), body: JSON.stringify(body) }
}

/** One group of records, in whatever order its rows come. */
function derive(...rows: StoredRecord[]): TransactionDraft[] {
  const drafts = toTransactions(rows, facts)
  const sorted = (list: TransactionDraft[]): TransactionDraft[] =>
    list.toSorted((a, b) => (a.naturalKey < b.naturalKey ? -1 : 1))
  assert.deepEqual(sorted(toTransactions(rows.toReversed(), facts)), sorted(drafts))
  return drafts
}

function only(...rows: StoredRecord[]): TransactionDraft {
  const [draft, ...others] = derive(...rows)
  assert.ok(draft !== undefined && others.length === 0, `${others.length + 1} transactions`)
  return draft
}

const amounts = (legs: TransactionDraft['inputs']): string[] =>
  legs.map(({ amount, symbol, place }) => `${amount} ${symbol}${place === undefined ? '' : ` ${place}`}`)

function shape(draft: TransactionDraft): unknown[] {
  const { type, category, inputs, outputs, fees } = draft
  return [type, category, amounts(inputs), amounts(outputs), amounts(fees)]
}

function shareKey(a: StoredRecord, b: StoredRecord): boolean {
  return linkKeys(a).some((key) => linkKeys(b).includes(key))
}

describe('a conversion', () => {
  const trade = { id: 'trade-1', fee: { amount: '0.50', currency: 'BTC' } }
  const paid = row('a', 'trade', '-2', 'BTC', { trade })
  const got = row('b', 'trade', '30', 'ETH', { trade })

  it('has its halves in two wallets, joined by the trade’s id; the fee is a part of what was paid', () => {
    assert.ok(shareKey(paid, got))
    assert.deepEqual(shape(only(paid, got)), ['input_and_output', 'convert', ['30 ETH'], ['1.5 BTC'], ['0.5 BTC']])
  })

  it('with only one half is never a sale', () => {
    const half = only(paid)
    assert.deepEqual([half.type, half.category, half.incomplete], ['uncategorized', 'convert', ['inputs']])
    assert.equal(half.naturalKey, only(paid, got).naturalKey)
  })

  it('a fee in the person’s own currency was not charged on top', () => {
    const inMoney = { trade: { id: 'trade-1', fee: { amount: '9.99', currency: 'USD' } } }
    const draft = only(row('a', 'trade', '-2', 'BTC', inMoney), row('b', 'trade', '30', 'ETH', inMoney))
    assert.deepEqual([amounts(draft.outputs), draft.fees], [['2 BTC'], []])
  })

  it('dollars into dollars keep both sides', () => {
    const draft = only(row('a', 'trade', '-5', 'USD', { trade }, 'w1'), row('b', 'trade', '5', 'USD', { trade }, 'w2'))
    assert.deepEqual([amounts(draft.inputs), amounts(draft.outputs)], [['5 USD'], ['5 USD']])
  })
})

describe('purchases and sales', () => {
  const terms = { id: 'deal-1', fee: { amount: '1.78', currency: 'EUR' }, payment_method_name: 'Visa' }

  it('a purchase from the money in a wallet has a fee inside what was paid', () => {
    const rows = [row('a', 'buy', '-120.00', 'EUR', { buy: terms }), row('b', 'buy', '0.004', 'BTC', { buy: terms })]
    const expected = ['input_and_output', 'buy', ['0.004 BTC'], ['118.22 EUR'], ['1.78 EUR']]
    assert.deepEqual(shape(only(...rows)), expected)
  })

  it('a purchase by card takes nothing from Coinbase', () => {
    const draft = only(row('b', 'buy', '0.004', 'BTC', { buy: terms }))
    assert.deepEqual(shape(draft), ['input_only', 'buy', ['0.004 BTC'], [], []])
    assert.deepEqual([draft.description, draft.incomplete], ['Visa', []])
  })

  it('the fee of a sale is deducted from the proceeds', () => {
    const rows = [row('a', 'sell', '-0.1', 'BTC', { sell: terms }), row('b', 'sell', '98.22', 'EUR', { sell: terms })]
    assert.deepEqual(shape(only(...rows)), ['input_and_output', 'sell', ['100 EUR'], ['0.1 BTC'], ['1.78 EUR']])
  })
})

describe('fills of an order', () => {
  const fill = (commission: string | null, side?: string): object => ({
    advanced_trade_fill: {
      ...{ fill_price: '7.409', product_id: 'NEAR-USD', order_id: 'order-6', commission },
      ...(side === undefined ? {} : { order_side: side }),
    },
  })
  // The figures of rotki's test: two fills in one second, and both rows of each carry the commission.
  const rows = [
    row('5', 'advanced_trade_fill', '25.8100000000000000', 'NEAR', fill('1.9122629', 'buy')),
    row('6', 'advanced_trade_fill', '2.0000000000000000', 'NEAR', fill('0.14816', 'buy')),
    row('7', 'advanced_trade_fill', '-191.22', 'USD', fill('1.9122629', 'buy')),
    row('8', 'advanced_trade_fill', '-14.81', 'USD', fill('0.14816', 'buy')),
  ]

  it('in one second are one trade, and the commission is charged once, in the quote, beside the amounts', () => {
    const expected = ['input_and_output', 'trade', ['27.81 NEAR'], ['206.03 USD'], ['2.0604229 USD']]
    assert.deepEqual(shape(only(...rows)), expected)
  })

  it('are still one trade without the side, or with the commission on only one row', () => {
    for (const [base, quote] of [
      ['0.85', null],
      [null, '0.85'],
    ] as const) {
      const draft = only(
        row('1', 'advanced_trade_fill', '-0.5', 'NEAR', fill(base)),
        row('2', 'advanced_trade_fill', '205.5', 'USD', fill(quote)),
      )
      assert.deepEqual(shape(draft), ['input_and_output', 'trade', ['205.5 USD'], ['0.5 NEAR'], ['0.85 USD']])
    }
  })

  it('at other times are other trades of the same order', () => {
    const later = { ...fill('0.1'), created_at: '2024-03-25T13:09:00Z' }
    const drafts = derive(
      ...rows,
      row('9', 'advanced_trade_fill', '1', 'NEAR', later),
      row('10', 'advanced_trade_fill', '-7.4', 'USD', later),
    )
    assert.deepEqual(
      drafts.map(({ providerReference, inputs }) => [providerReference, amounts(inputs)]),
      [
        ['order-6', ['27.81 NEAR']],
        ['order-6', ['1 NEAR']],
      ],
    )
    assert.equal(new Set(drafts.map(({ naturalKey }) => naturalKey)).size, 2)
  })

  it('without the other wallet charge nothing and name the missing part', () => {
    const half = only(row('5', 'advanced_trade_fill', '25.81', 'NEAR', fill('1.9')))
    assert.deepEqual([half.type, half.fees, half.incomplete], ['uncategorized', [], ['outputs']])
  })
})

describe('staking', () => {
  it('a transfer shows up in both wallets and is one move, from liquid to staked', () => {
    const out = row('a', 'staking_transfer', '-5.57', 'DOT')
    const into = row('b', 'staking_transfer', '5.57', 'DOT', {}, staked)
    assert.ok(shareKey(out, into))
    const expected = ['input_and_output', 'staking_lock', ['5.57 DOT staked'], ['5.57 DOT'], []]
    assert.deepEqual(shape(only(out, into)), expected)
  })

  it('ETH2 is staked ether, and comes back as ether', () => {
    const draft = only(row('a', 'unstaking_transfer', '-1', 'ETH2'), row('b', 'unstaking_transfer', '1', 'ETH'))
    assert.deepEqual(shape(draft), ['input_and_output', 'staking_unlock', ['1 ETH'], ['1 ETH staked'], []])
  })

  it('a reward lies where its wallet is', () => {
    assert.deepEqual(amounts(only(row('a', 'staking_reward', '0.1', 'SOL', {}, staked)).inputs), ['0.1 SOL staked'])
    assert.deepEqual(amounts(only(row('a', 'staking_reward', '0.1', 'SOL')).inputs), ['0.1 SOL'])
  })

  it('two moves of one amount in one second stay two', () => {
    const drafts = derive(
      row('a', 'staking_transfer', '-1', 'SOL'),
      row('b', 'staking_transfer', '1', 'SOL', {}, staked),
      row('c', 'staking_transfer', '-1', 'SOL'),
      row('d', 'staking_transfer', '1', 'SOL', {}, staked),
    )
    assert.equal(new Set(drafts.map(({ naturalKey }) => naturalKey)).size, 2)
  })
})

describe('moves between own wallets', () => {
  it('that are equal are paired in seconds, however many there are', () => {
    const rows = Array.from({ length: 36_000 }, (_, index) => {
      const created_at = new Date(Date.parse(at) + Math.floor(index / 2) * 400).toISOString()
      return row(`${index}`, 'transfer', index % 2 === 0 ? '-1' : '1', 'BTC', { created_at }, `wallet-${index % 2}`)
    })
    const before = process.cpuUsage()
    assert.equal(toTransactions(rows, facts).length, 18_000)
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 10_000_000, `${(user + system) / 1_000_000} s`)
  })
})

describe('echoes of sends', () => {
  it('that are equal are dropped in seconds, however many there are', () => {
    const rows = Array.from({ length: 36_000 }, (_, index) => {
      const created_at = new Date(Date.parse(at) + Math.floor(index / 2) * 400).toISOString()
      return row(`${index}`, index % 2 === 0 ? 'send' : 'exchange_deposit', '-1', 'BTC', { created_at })
    })
    const before = process.cpuUsage()
    assert.equal(toTransactions(rows, facts).length, 18_000)
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 10_000_000, `${(user + system) / 1_000_000} s`)
  })
})

describe('transfers', () => {
  const network = { status: 'confirmed', hash: '0xab', network_name: 'ethereum' }
  const fee = { transaction_fee: { amount: '0.0018', currency: 'ETH' } }

  it('the network fee of a send is a part of its amount', () => {
    const draft = only(
      row('a', 'send', '-0.2', 'ETH', {
        network: { ...network, ...fee },
        to: { resource: 'address', address: '0xcd' },
      }),
    )
    assert.deepEqual(shape(draft), ['send', 'withdrawal', [], ['0.1982 ETH'], ['0.0018 ETH']])
    assert.deepEqual([draft.hash, draft.network, draft.toAddress], ['0xab', 'ethereum', '0xcd'])
    assert.deepEqual(draft.incomplete, ['from_address'])
  })

  it('a network fee in another asset is not guessed into this one', () => {
    const draft = only(row('a', 'send', '-5', 'USDC', { network: { ...network, ...fee } }))
    assert.deepEqual([amounts(draft.outputs), draft.fees], [['5 USDC'], []])
  })

  it('an exchange_deposit repeats a send and is not counted; alone it is the transfer', () => {
    const send = row('a', 'send', '-0.03', 'BTC', { to: { resource: 'account' } })
    const echo = row('b', 'exchange_deposit', '-0.03', 'BTC', { created_at: '2024-03-25T13:03:40Z' })
    assert.ok(shareKey(send, echo))
    assert.equal(only(send, echo).naturalKey, 'tx:a')
    assert.deepEqual(shape(only(echo)), ['send', 'transfer', [], ['0.03 BTC'], []])
    assert.equal(derive(send, echo, { ...echo, body: echo.body.replace('"b"', '"c"') }).length, 2)
  })

  it('two halves up to an hour apart share a key, wherever the hour begins', () => {
    for (let minute = 0; minute < 180; minute += 7) {
      const timeAt = (ms: number): object => ({ created_at: new Date(Date.parse(at) + ms).toISOString() })
      const first = row('a', 'send', '-1', 'BTC', timeAt(minute * 60_000))
      assert.ok(shareKey(first, row('b', 'exchange_deposit', '-1', 'BTC', timeAt((minute + 59) * 60_000))))
    }
  })

  it('a pending send has left the balance, a pending deposit has not come, and a failed one moved nothing', () => {
    const sent = only(row('a', 'send', '-1', 'BTC', { status: 'pending' }))
    assert.deepEqual([sent.status, sent.isDebited, amounts(sent.outputs)], ['pending', true, ['1 BTC']])
    const coming = only(row('a', 'fiat_deposit', '50', 'EUR', { status: 'pending' }))
    assert.deepEqual([coming.status, coming.isDebited], ['pending', undefined])
    for (const status of ['failed', 'canceled', 'expired']) {
      const draft = only(row('a', 'send', '-1', 'BTC', { status }))
      assert.deepEqual([draft.status, draft.outputs, draft.fees], ['failed', [], []])
    }
    assert.equal(only(row('a', 'send', '-1', 'BTC', { status: 'waiting_for_clearing' })).status, 'pending')
  })

  it('a transfer inside Coinbase, or money by bank, lacks nothing', () => {
    assert.deepEqual(only(row('a', 'fiat_deposit', '50', 'EUR')).incomplete, [])
    const inside = { network: { status: 'off_blockchain', network_name: 'bitcoin' } }
    assert.deepEqual(only(row('a', 'send', '1', 'BTC', inside)).incomplete, [])
    assert.ok(only(row('a', 'receive', '1', 'BTC', { network })).incomplete.includes('from_address'))
  })
})

describe('everything else', () => {
  it('several wallets swept as dust are one conversion', () => {
    const draft = only(
      row('a', 'retail_simple_dust', '-0.02', 'NMR'),
      row('b', 'retail_simple_dust', '-0.01', 'LTC'),
      row('c', 'retail_simple_dust', '0.41', 'USD'),
    )
    assert.deepEqual([draft.category, draft.inputs.length, draft.outputs.length], ['convert', 1, 2])
  })

  it('a type that is not known, or has the wrong sign, is kept with its amount and Coinbase’s own type', () => {
    for (const [type, amount] of [
      ['quantum_settlement', '1.23'],
      ['tx', '-4'],
      ['fiat_deposit', '-7'],
    ] as const) {
      const draft = only(row('a', type, amount, 'USD'))
      assert.deepEqual([draft.type, draft.description, draft.incomplete], ['uncategorized', type, ['type']])
      assert.equal(draft.inputs.length + draft.outputs.length, 1)
    }
  })

  it('a ticker that only Coinbase knows stays Coinbase’s', () => {
    assert.equal(only(row('a', 'receive', '1', 'ZQNT')).inputs[0]?.assetId, 'coinbase:ZQNT')
  })

  it('an amount that is not a number is not guessed at', () => {
    assert.throws(() => toTransactions([row('a', 'receive', 'a lot', 'BTC')], facts))
    assert.throws(() => linkKeys(row('a', 'receive', '1', '')))
  })
})
