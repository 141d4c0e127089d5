/**
 * From records to transactions. Shapes: binance-spot-api-docs (myTrades); developers.binance.com docs/wallet/capital,
 * docs/wallet/asset (dividend record, dust log), docs/convert, docs/fiat, docs/simple_earn. All values are invented,
 * except the dust log and the fiat payment, which are the documents' own examples because their arithmetic shows what
 * is included.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { add, dayMs, hourMs, negate, zero, type Decimal, type TransactionDraft } from '@assay/core'
import type { StoredRecord } from '../kit/connector.ts'
import type { StreamName } from './definition.ts'
import { headReaders } from './records.ts'
import { linkKeys, toTransactions } from './transactions.ts'

function record(stream: StreamName, body: object, partition = ''): StoredRecord {
  const text = JSON.stringify(body)
  const { key, occurredAtMs } = headReaders[stream](text)
  return { stream, partition, key, occurredAtMs, body: text }
}

function single(stream: StreamName, body: object): TransactionDraft {
  const drafts = toTransactions([record(stream, body)])
  assert.equal(drafts.length, 1)
  return drafts[0] as TransactionDraft
}

/** What a draft does to the balances. */
function changesOf({ inputs, outputs, fees }: TransactionDraft): Record<string, Decimal> {
  const sums: Record<string, Decimal> = {}
  const count = (symbol: string, amount: Decimal): void => void (sums[symbol] = add(sums[symbol] ?? zero, amount))
  for (const { symbol, amount } of inputs) count(symbol, amount)
  for (const { symbol, amount } of [...outputs, ...fees]) count(symbol, negate(amount))
  return sums
}

const fill = {
  symbol: 'ETHBTC',
  id: 7001,
  orderId: 9001,
  price: '0.05000000',
  qty: '1.50000000',
  quoteQty: '0.07500000',
  commission: '0.00150000',
  commissionAsset: 'ETH',
  time: Date.UTC(2025, 4, 1),
  isBuyer: true,
}

describe('trades', () => {
  it('the fills of one order are one transaction, with a fee in each asset that was charged', () => {
    const fills = [
      { ...fill, id: 7002, qty: '0.50000000', quoteQty: '0.02500000', commission: '0.00003', commissionAsset: 'BNB' },
      fill,
    ].map((body) => record('trades', body, 'ETH/BTC'))
    assert.deepEqual(new Set(fills.flatMap(linkKeys)).size, 1)
    const [draft, ...others] = toTransactions(fills) as [TransactionDraft]
    assert.equal(others.length, 0)
    assert.deepEqual(changesOf(draft), { ETH: '1.9985', BTC: '-0.1', BNB: '-0.00003' })
    assert.deepEqual([draft.naturalKey, draft.category], ['trade:ETHBTC:9001@7001', 'trade'])
  })

  it('a sale gives the quote and takes the base', () => {
    const sale = { ...fill, isBuyer: false, commission: '0.000075', commissionAsset: 'BTC' }
    const [draft] = toTransactions([record('trades', sale, 'ETH/BTC')]) as [TransactionDraft]
    assert.deepEqual(changesOf(draft), { BTC: '0.074925', ETH: '-1.5' })
  })

  it('LUNA from before June 2022 is today’s LUNC', () => {
    const bought = (time: number): string | undefined => {
      const body = { ...fill, symbol: 'LUNAUSDT', commissionAsset: 'BNB', time }
      return toTransactions([record('trades', body, 'LUNA/USDT')])[0]?.inputs[0]?.symbol
    }
    assert.deepEqual([bought(Date.UTC(2022, 3, 1)), bought(Date.UTC(2023, 3, 1))], ['LUNC', 'LUNA'])
  })
})

const deposit = {
  id: '769800519366885376',
  amount: '0.001',
  coin: 'BNB',
  network: 'BSC',
  status: 1,
  address: '0xa1',
  txId: '0xb2',
  insertTime: 1661493146000,
  transferType: 0,
}
const withdrawal = {
  id: 'b6ae22b3aa844210a7041aee7589627c',
  amount: '8.91000000',
  transactionFee: '0.004',
  coin: 'USDT',
  status: 6,
  address: '0x94',
  txId: '0xb5',
  applyTime: '2019-10-12 11:12:02',
  network: 'ETH',
  transferType: 0,
}

describe('deposits and withdrawals', () => {
  it('a deposit arrives when it is credited, and moves nothing when it is rejected', () => {
    const statuses = { 0: 'pending', 1: 'confirmed', 2: 'failed', 6: 'confirmed', 7: 'failed', 8: 'pending' }
    for (const [status, expected] of Object.entries(statuses)) {
      const draft = single('deposits', { ...deposit, status: Number(status) })
      assert.equal(draft.status, expected, `status ${status}`)
      assert.equal(draft.inputs.length, expected === 'failed' ? 0 : 1)
      const { pending } = headReaders.deposits(JSON.stringify({ ...deposit, status: Number(status) }))
      assert.equal(pending === true, expected === 'pending')
    }
  })

  it('a deposit without an id, as before 2022, keeps one key', () => {
    const old = { ...deposit, id: undefined }
    assert.equal(record('deposits', old).key, record('deposits', { ...old, status: 0 }).key)
  })

  it('the fee of a withdrawal is taken beside the amount, and the time is UTC', () => {
    const draft = single('withdrawals', withdrawal)
    assert.deepEqual(changesOf(draft), { USDT: '-8.914' })
    assert.deepEqual([draft.occurredAtMs, draft.hash], [Date.UTC(2019, 9, 12, 11, 12, 2), '0xb5'])
  })

  it('a pending withdrawal has left the balance, and a failed one has not', () => {
    assert.deepEqual(changesOf(single('withdrawals', { ...withdrawal, status: 4 })), { USDT: '-8.914' })
    const failed = single('withdrawals', { ...withdrawal, status: 5, info: 'The address is not valid' })
    assert.deepEqual([changesOf(failed), failed.status], [{}, 'failed'])
  })

  it('a withdrawal without txId lacks a hash; a transfer inside Binance has none to lack', () => {
    const without = { ...withdrawal, txId: undefined }
    assert.deepEqual(
      [single('withdrawals', without).hash, single('withdrawals', without).incomplete.includes('hash')],
      [null, true],
    )
    const inside = single('withdrawals', { ...withdrawal, txId: 'Off-chain transfer 4711', transferType: 1 })
    assert.deepEqual([inside.hash, inside.incomplete], [null, []])
  })
})

describe('conversions', () => {
  const convert = {
    orderId: 940708407462087200,
    orderStatus: 'SUCCESS',
    fromAsset: 'USDT',
    fromAmount: '20',
    toAsset: 'BNB',
    toAmount: '0.06154036',
    createTime: 1624248872184,
  }

  it('a conversion counts when it succeeded', () => {
    assert.deepEqual(changesOf(single('converts', convert)), { BNB: '0.06154036', USDT: '-20' })
    assert.deepEqual(changesOf(single('converts', { ...convert, orderStatus: 'FAIL' })), {})
    assert.equal(single('converts', { ...convert, orderStatus: 'PROCESS' }).status, 'pending')
  })

  it('small balances become BNB, and the charge is taken off before (example of the dust log)', () => {
    const draft = single('dust', {
      operateTime: 1615985535000,
      totalTransferedAmount: '0.00132256',
      totalServiceChargeAmount: '0.00002699',
      transId: 45178372831,
      userAssetDribbletDetails: [
        {
          transId: 4359321,
          serviceChargeAmount: '0.000009',
          amount: '0.0009',
          transferedAmount: '0.000441',
          fromAsset: 'USDT',
        },
        {
          transId: 4359321,
          serviceChargeAmount: '0.00001799',
          amount: '0.0009',
          transferedAmount: '0.00088156',
          fromAsset: 'ETH',
        },
      ],
    })
    assert.deepEqual(changesOf(draft), { BNB: '0.00132256', USDT: '-0.0009', ETH: '-0.0009' })
    assert.deepEqual(
      draft.fees.map(({ symbol, amount }) => [symbol, amount]),
      [['BNB', '0.00002699']],
    )
  })

  const dividend = {
    id: 242006910,
    amount: '10.00000000',
    asset: 'MATIC',
    divTime: 1726660800000,
    tranId: 1,
    direction: -1,
  }

  it('a coin that was swapped for its successor is one transaction', () => {
    const gone = { ...dividend, enInfo: 'MATIC to POL swap' }
    const come = { ...gone, id: 242006911, asset: 'POL', direction: 1 }
    const halves = [record('dividends', come), record('dividends', gone)]
    assert.equal(new Set(halves.flatMap(linkKeys)).size, 1)
    const [draft, ...others] = toTransactions(halves) as [TransactionDraft]
    assert.equal(others.length, 0)
    assert.deepEqual([changesOf(draft), draft.category], [{ POL: '10', MATIC: '-10' }, 'convert'])
    assert.equal(toTransactions([record('dividends', gone)])[0]?.type, 'uncategorized')
  })

  it('a dividend with an unknown description keeps that description', () => {
    const draft = single('dividends', { ...dividend, direction: 1, enInfo: 'Quantum teleport' })
    assert.deepEqual(
      [draft.type, draft.description, changesOf(draft)],
      ['uncategorized', 'Quantum teleport', { MATIC: '10' }],
    )
  })

  it('an airdrop and its reversal are two transactions', () => {
    const given = single('dividends', { ...dividend, direction: 1, enInfo: 'FLR airdrop for XRP holders' })
    assert.deepEqual([given.category, given.type], ['airdrop', 'input_only'])
    const taken = single('dividends', { ...dividend, enInfo: 'Correction of the FLR airdrop' })
    assert.deepEqual([taken.type, changesOf(taken)], ['uncategorized', { MATIC: '-10' }])
  })
})

describe('Simple Earn', () => {
  it('rewards are interest, and two with different contents are two transactions', () => {
    const reward = { asset: 'BUSD', rewards: '0.00006408', projectId: 'USDT001', type: 'BONUS', time: 1577233578000 }
    assert.deepEqual(changesOf(single('earn_flexible', reward)), { BUSD: '0.00006408' })
    assert.equal(
      record('earn_flexible', reward).key,
      record('earn_flexible', { ...reward, rewards: `${reward.rewards}00` }).key,
    )
    assert.notEqual(record('earn_flexible', reward).key, record('earn_flexible', { ...reward, type: 'REALTIME' }).key)
    const locked = { positionId: '123123', time: 1577233578000, asset: 'BNB', lockPeriod: '30', amount: '21312.23223' }
    assert.deepEqual(changesOf(single('earn_locked', locked)), { BNB: '21312.23223' })
  })
})

describe('a reward that is listed as a dividend too', () => {
  const atMs = Date.UTC(2025, 4, 1, 3, 16, 11)
  const bonus = (laterMs = 0): StoredRecord =>
    record('earn_flexible', {
      ...{ asset: 'USDC', rewards: '0.02739600', projectId: 'USDC001', type: 'BONUS', time: atMs + laterMs },
    })
  const shown = (laterMs: number, more: object = {}): StoredRecord =>
    record('dividends', {
      ...{ id: 242006910 + laterMs, amount: '0.027396', asset: 'USDC', divTime: atMs + laterMs, tranId: 1 },
      ...{ direction: 1, enInfo: 'Flexible', ...more },
    })
  /** As the ledger groups them. */
  const derive = (records: readonly StoredRecord[]): TransactionDraft[] => {
    const stories: { keys: Set<string>; records: StoredRecord[] }[] = []
    for (const one of records) {
      const keys = new Set<string>(linkKeys(one))
      const near = stories.filter((story) => !story.keys.isDisjointFrom(keys))
      for (const story of near) stories.splice(stories.indexOf(story), 1)
      stories.push({
        keys: new Set([...keys, ...near.flatMap((story) => [...story.keys])]),
        records: [...near.flatMap((story) => story.records), one],
      })
    }
    return stories.flatMap((story) => toTransactions(story.records))
  }
  const keysOf = (records: readonly StoredRecord[]): string[] => derive(records).map(({ naturalKey }) => naturalKey)

  it('counts once, whichever comes first', () => {
    for (const laterMs of [0, 2 * hourMs, 11 * hourMs, -3 * hourMs]) {
      assert.deepEqual(keysOf([shown(laterMs), bonus()]), [`earn_flexible:${bonus().key}`], `${laterMs}`)
    }
    const locked = { positionId: '123123', time: atMs, asset: 'USDC', lockPeriod: '30', amount: '0.027396' }
    const both = [record('earn_locked', locked), shown(0, { enInfo: 'Simple Earn Locked Rewards' })]
    assert.deepEqual(derive(both).map(changesOf), [{ USDC: '0.027396' }])
  })

  it('of the same amount each day counts once a day', () => {
    const days = Array.from({ length: 30 }, (_, index) => index * dayMs)
    const drafts = derive(days.flatMap((laterMs) => [bonus(laterMs), shown(laterMs + hourMs)]))
    assert.equal(drafts.length, 30)
    assert.equal(new Set(drafts.map(({ naturalKey }) => naturalKey)).size, 30)
  })

  it('is not confused with a dividend of another amount, asset or day, or with one that was taken back', () => {
    const others = [
      shown(1, { amount: '0.0273961' }),
      shown(2, { asset: 'USDT' }),
      shown(dayMs),
      shown(3, { direction: -1 }),
    ]
    assert.equal(derive([bonus(), ...others]).length, 5)
    assert.equal(derive([bonus(), shown(1), shown(2)]).length, 2)
    assert.equal(derive([shown(1), shown(2)]).length, 2)
  })

  it('is not confused with a dividend that says that it is of something else', () => {
    for (const enInfo of ['Launchpool', 'BNB Vault', 'ETH 2.0 Staking', 'SOLO airdrop', 'BHFT distribution']) {
      assert.equal(derive([bonus(), shown(0, { enInfo })]).length, 2, enInfo)
    }
    for (const enInfo of ['Flexible', 'Bonus Tiered APR Rewards distribution', 'of a new kind', undefined]) {
      assert.equal(derive([bonus(), shown(0, { enInfo })]).length, 1, enInfo)
    }
  })

  it('does not repeat what is paid in real time, into Simple Earn', () => {
    const paid = { asset: 'USDC', rewards: '0.027396', projectId: 'USDC001', type: 'REALTIME', time: atMs }
    assert.equal(derive([record('earn_flexible', paid), shown(hourMs)]).length, 2)
  })
})

describe('money', () => {
  const payment = {
    orderNo: '353fca443f06466db0c4dc89f94f027a',
    sourceAmount: '20.0',
    fiatCurrency: 'EUR',
    obtainAmount: '4.462',
    cryptoCurrency: 'LINK',
    totalFee: '0.2',
    price: '4.437472',
    status: 'Completed',
    createTime: 1624529919000,
  }

  it('a purchase takes money from the account only if it was paid from there', () => {
    const fromBalance = single('fiat_buys', { ...payment, paymentMethod: 'Cash Balance' })
    assert.deepEqual(changesOf(fromBalance), { LINK: '4.462', EUR: '-20' })
    assert.deepEqual(
      fromBalance.fees.map(({ amount }) => amount),
      ['0.2'],
    )
    assert.deepEqual(changesOf(single('fiat_buys', { ...payment, paymentMethod: 'Credit Card' })), { LINK: '4.462' })
    assert.deepEqual(changesOf(single('fiat_buys', { ...payment, status: 'Failed' })), {})
  })

  it('a sale brings what it names, without the fee', () => {
    const draft = single('fiat_sells', { ...payment, sourceAmount: '19.6' })
    assert.deepEqual(changesOf(draft), { EUR: '19.6', LINK: '-4.462' })
  })

  it('a deposit brings the amount; a withdrawal takes amount and fee; one that expired does neither', () => {
    const order = {
      orderNo: '7d76',
      fiatCurrency: 'EUR',
      indicatedAmount: '11.00',
      amount: '10.00',
      totalFee: '1.00',
      method: 'BankAccount',
      status: 'Successful',
      createTime: 1626144956000,
    }
    assert.deepEqual(changesOf(single('fiat_deposits', order)), { EUR: '10' })
    assert.deepEqual(changesOf(single('fiat_withdrawals', order)), { EUR: '-11' })
    assert.deepEqual(changesOf(single('fiat_deposits', { ...order, status: 'Expired' })), {})
  })
})
