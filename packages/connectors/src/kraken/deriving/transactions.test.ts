import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { add, subtract, zero, type Decimal, type TransactionDraft } from '@assay/core'
import fc from 'fast-check'
import type { StoredRecord } from '../../kit/connector.ts'
import { linkKeys } from './families.ts'
import { parseLedgerRow } from '../records.ts'
import { toTransactions } from './transactions.ts'

type Row = [type: string, asset: string, amount: string, fee?: string, subtype?: string]

const refid = 'TJKLXF-PGMUI-4NTLXU'
let serial = 0

/** A ledger entry as docs.kraken.com shows it. */
function ledger([type, asset, amount, fee = '0', subtype = '']: Row, over: { refid?: string; time?: string } = {}) {
  serial += 1
  const body = `{"refid":"${over.refid ?? refid}","time":${over.time ?? '1688464484.1787'},"type":"${type}","subtype":"${subtype}","aclass":"currency","asset":"${asset}","amount":"${amount}","fee":"${fee}","balance":"0"}`
  const key = `L${String(serial).padStart(5, '0')}-KG3EQ-UFO4T5`
  const row = parseLedgerRow(key, body)
  return { stream: 'ledger', partition: '', key, occurredAtMs: row.timeMs, body } satisfies StoredRecord
}

function funding(stream: 'deposits' | 'withdrawals', members: Record<string, unknown>): StoredRecord {
  const body = JSON.stringify({ aclass: 'currency', refid, time: 1617014586, fee: '0', ...members })
  return { stream, partition: '', key: refid, occurredAtMs: 1_617_014_586_000, body }
}

function only(records: readonly StoredRecord[]): TransactionDraft {
  const drafts = toTransactions(records)
  assert.equal(drafts.length, 1)
  return drafts[0] as TransactionDraft
}

/** Type, category, and legs as text: `+0.01 BTC −640 USD fee 1.02 USD`. */
function told(draft: TransactionDraft): string {
  const legs = [
    ...draft.inputs.map(({ amount, symbol }) => `+${amount} ${symbol}`),
    ...draft.outputs.map(({ amount, symbol }) => `−${amount} ${symbol}`),
    ...draft.fees.map(({ amount, symbol, kind }) => `${kind} fee ${amount} ${symbol}`),
  ]
  return [draft.type, draft.category, ...legs].join(' ')
}

function group(...rows: Row[]): string {
  return told(only(rows.map((row) => ledger(row))))
}

describe('trades and purchases', () => {
  it('the two rows of a trade are one transaction, with the fee apart', () => {
    const draft = only([ledger(['trade', 'XXBT', '0.0100000000']), ledger(['trade', 'ZUSD', '-640.0000', '1.0200'])])
    assert.equal(told(draft), 'input_and_output trade +0.01 BTC −640 USD trading fee 1.02 USD')
    assert.equal(draft.naturalKey, `exchange:${refid}`)
    assert.equal(draft.providerReference, refid)
    assert.deepEqual([draft.status, draft.method, draft.confidence], ['confirmed', 'venue', 1])
    assert.deepEqual(draft.incomplete, [])
  })

  it('times are cut to milliseconds, not rounded', () => {
    assert.equal(only([ledger(['staking', 'DOT.S', '1'], { time: '1688464484.1787' })]).occurredAtMs, 1_688_464_484_178)
    assert.equal(only([ledger(['staking', 'DOT.S', '1'], { time: '1688464484.9999' })]).occurredAtMs, 1_688_464_484_999)
    assert.equal(only([ledger(['staking', 'DOT.S', '1'], { time: '1688464484' })]).occurredAtMs, 1_688_464_484_000)
  })

  it('spend and receive are a purchase, a sale or a conversion by which side is money', () => {
    assert.equal(
      group(['spend', 'ZEUR', '-28.3660', '0.2827'], ['receive', 'XXBT', '0.0003102764']),
      'input_and_output buy +0.0003102764 BTC −28.366 EUR conversion fee 0.2827 EUR',
    )
    assert.equal(group(['spend', 'SOL', '-2'], ['receive', 'ZUSD', '300']), 'input_and_output sell +300 USD −2 SOL')
    assert.equal(group(['spend', 'SOL', '-2'], ['receive', 'DOT', '70']), 'input_and_output convert +70 DOT −2 SOL')
  })

  it('the legs through which Kraken settles a tokenised share cancel and are not shown', () => {
    assert.equal(
      group(
        ['spend', 'SPCXx', '-1.5'],
        ['receive', 'ZEUR', '200'],
        ['spend', 'ZUSD', '-230'],
        ['receive', 'ZUSD', '230'],
      ),
      'input_and_output sell +200 EUR −1.5 SPCXx',
    )
  })

  it('dust keeps its zero leg: it says what the dust was traded for', () => {
    assert.equal(
      group(['trade', 'XXBT', '-0.0000000001'], ['trade', 'ZUSD', '0.0000']),
      'input_and_output trade +0 USD −0.0000000001 BTC',
    )
  })

  it('a fee paid in fee credits is a fee, not a leg', () => {
    assert.equal(
      group(['trade', 'XXBT', '1'], ['trade', 'ZUSD', '-60000'], ['trade', 'KFEE', '0', '9600']),
      'input_and_output trade +1 BTC −60000 USD trading fee 9600 KFEE',
    )
  })

  it('a rebate is an input', () => {
    assert.equal(
      group(['trade', 'XXBT', '1'], ['trade', 'ZUSD', '-60000', '-6']),
      'input_and_output trade +6 USD +1 BTC −60000 USD',
    )
  })

  it('a trade without its other side names the missing part', () => {
    const draft = only([ledger(['trade', 'XXBT', '-1', '0.1'])])
    assert.equal(told(draft), 'uncategorized trade −1 BTC trading fee 0.1 BTC')
    assert.deepEqual(draft.incomplete, ['inputs'])
  })

  it('a conversion between two wallets of one asset is a move, not a failed conversion', () => {
    // In April 2023, when withdrawals of staked ether were enabled.
    const rows: Row[] = [
      ['conversion', 'ETH2.S', '-0.0600000000'],
      ['conversion', 'XETH', '0.0600000000'],
    ]
    const draft = only(rows.map((row) => ledger(row)))
    assert.deepEqual([told(draft), draft.status], ['input_and_output staking_unlock +0.06 ETH −0.06 ETH', 'confirmed'])
    assert.deepEqual(
      [...draft.inputs, ...draft.outputs].map(({ place }) => place),
      [undefined, 'staked'],
    )
    assert.equal(draft.naturalKey, `exchange:${refid}`)
  })

  it('a trade that Kraken took back has failed', () => {
    const draft = only(['1', '-1'].map((amount) => ledger(['trade', 'XXBT', amount])))
    assert.deepEqual([told(draft), draft.status], ['input_and_output trade', 'failed'])
  })
})

describe('deposits and withdrawals', () => {
  const txid = '6544b41b607d8b2512baf801755a3a87b6a9b0199b07dab46a64e67302f92765'

  it('the ledger gives the amounts, the deposit list hash and addresses', () => {
    const draft = only([
      ledger(['deposit', 'XXBT', '0.72485000']),
      funding('deposits', {
        method: 'Bitcoin',
        asset: 'XXBT',
        txid,
        info: 'bc1qours',
        amount: '0.72485',
        status: 'Success',
        originators: ['bc1qtheirs'],
      }),
    ])
    assert.equal(told(draft), 'receive deposit +0.72485 BTC')
    assert.deepEqual([draft.hash, draft.toAddress, draft.fromAddress], [txid, 'bc1qours', 'bc1qtheirs'])
    assert.deepEqual([draft.network, draft.description, draft.incomplete], [null, 'Bitcoin', ['network']])
    assert.equal(draft.status, 'confirmed')
  })

  it('a withdrawal has its fee, its network and its recipient', () => {
    const members = { asset: 'USDT', txid, info: 'TQmd', amount: '1996.5', status: 'Success', network: 'Tron' }
    const draft = only([ledger(['withdrawal', 'USDT', '-1996.5', '2.5']), funding('withdrawals', members)])
    assert.equal(told(draft), 'send withdrawal −1996.5 USDT withdrawal fee 2.5 USDT')
    assert.deepEqual(
      [draft.hash, draft.toAddress, draft.network, draft.incomplete],
      [txid, 'TQmd', 'Tron', ['from_address']],
    )
  })

  it('without the list the rest is null and named; money by bank lacks nothing', () => {
    const crypto = only([ledger(['withdrawal', 'XXBT', '-1', '0.0001'])])
    assert.deepEqual([crypto.hash, crypto.incomplete], [null, ['network', 'hash', 'to_address', 'from_address']])
    const members = { asset: 'ZEUR', txid: '12341234', info: 'BANKCODEXXX', amount: '10', status: 'Success' }
    const bank = only([ledger(['deposit', 'ZEUR', '10']), funding('deposits', members)])
    assert.deepEqual([bank.hash, bank.toAddress, bank.incomplete], [null, null, []])
  })

  it('a withdrawal that came back has failed and moved nothing', () => {
    const draft = only([
      ledger(['withdrawal', 'XETH', '-9.995', '0.005'], { time: '1600000000' }),
      ledger(['withdrawal', 'XETH', '9.995', '-0.005'], { time: '1600000600' }),
    ])
    assert.deepEqual([told(draft), draft.status], ['send withdrawal', 'failed'])
    assert.equal(draft.occurredAtMs, 1_600_000_000_000)
  })

  it('a withdrawal that came back without its fee moved only the fee', () => {
    const draft = only([
      ledger(['withdrawal', 'XETH', '-9.995', '0.005']),
      ledger(['withdrawal', 'XETH', '9.995', '0']),
    ])
    assert.deepEqual([told(draft), draft.status], ['send withdrawal withdrawal fee 0.005 ETH', 'failed'])
  })

  it('a withdrawal is pending until Kraken says Success, and a failed one until its money is back', () => {
    for (const status of ['Initial', 'Pending', 'Settled', 'Failure']) {
      const members = { asset: 'XETH', amount: '9.995', status }
      const draft = only([ledger(['withdrawal', 'XETH', '-9.995']), funding('withdrawals', members)])
      assert.deepEqual([draft.status, draft.isDebited], ['pending', true])
    }
    // Without a ledger row the balance still has it.
    const announced = only([funding('withdrawals', { asset: 'XETH', amount: '9.995', status: 'Initial' })])
    assert.deepEqual([announced.status, announced.isDebited], ['pending', undefined])
  })

  it('a deposit on its way is pending; in the ledger it is confirmed', () => {
    const record = funding('deposits', { asset: 'XXDG', amount: '997', fee: '1', status: 'Settled', txid })
    const announced = only([record])
    assert.deepEqual(
      [told(announced), announced.status, announced.hash],
      ['receive deposit +997 DOGE deposit fee 1 DOGE', 'pending', txid],
    )
    const arrived = only([record, ledger(['deposit', 'XXDG', '997', '1'])])
    assert.deepEqual([arrived.status, arrived.naturalKey], ['confirmed', announced.naturalKey])
  })

  it('a failed deposit is shown, and a completed one waits for its ledger row', () => {
    const failed = only([funding('deposits', { asset: 'XXDG', amount: '997', status: 'Failure' })])
    assert.deepEqual([told(failed), failed.status], ['receive deposit', 'failed'])
    assert.deepEqual(toTransactions([funding('deposits', { asset: 'XXDG', amount: '997', status: 'Success' })]), [])
  })

  it('a card purchase under one reference is a deposit and a purchase', () => {
    const drafts = toTransactions([
      ledger(['deposit', 'ZEUR', '100', '3']),
      ledger(['spend', 'ZEUR', '-97']),
      ledger(['receive', 'XXBT', '0.001']),
    ])
    assert.deepEqual(drafts.map(told), [
      'receive deposit +100 EUR deposit fee 3 EUR',
      'input_and_output buy +0.001 BTC −97 EUR',
    ])
  })
})

describe('staking and earning', () => {
  it('rewards are income, less the commission', () => {
    assert.equal(
      group(['staking', 'DOT.S', '0.1', '0.015']),
      'input_only staking_reward +0.1 DOT staking fee 0.015 DOT',
    )
    assert.equal(group(['earn', 'ETH.B', '0.01', '0', 'reward']), 'input_only staking_reward +0.01 ETH')
    assert.equal(group(['reward', 'ZEUR', '0.0179']), 'input_only interest +0.0179 EUR')
    assert.equal(group(['invite bonus', 'ZUSD', '10']), 'input_only gift +10 USD')
  })

  it('the two halves of a transfer to staking find each other without a common reference', () => {
    const out = ledger(['transfer', 'DOT', '-10', '0', 'spottostaking'], { refid: 'BOG5AE5', time: '1640000000' })
    const back = ledger(['transfer', 'DOT.S', '10.0000000', '0', 'stakingfromspot'], {
      refid: 'RUP62A7',
      time: '1640000007',
    })
    assert.deepEqual(linkKeys(out), linkKeys(back))
    const draft = only([back, out])
    assert.equal(told(draft), 'input_and_output staking_lock +10 DOT −10 DOT')
    assert.equal(draft.naturalKey, `move:${out.key}`)
  })

  it('many transfers of one amount are paired by time, locks with locks', () => {
    const at = (time: string) => ({ refid: `R${time}`, time })
    const drafts = toTransactions([
      ledger(['transfer', 'DOT', '-10', '0', 'spottostaking'], at('1640000000')),
      ledger(['transfer', 'DOT.S', '10', '0', 'stakingfromspot'], at('1640000001')),
      ledger(['transfer', 'DOT.S', '-10', '0', 'stakingtospot'], at('1640000002')),
      ledger(['transfer', 'DOT', '10', '0', 'spotfromstaking'], at('1640000003')),
      ledger(['transfer', 'DOT', '-10', '0', 'spottostaking'], at('1650000000')),
      ledger(['transfer', 'DOT.S', '10', '0', 'stakingfromspot'], at('1650000001')),
    ])
    assert.deepEqual(drafts.map(told), [
      'input_and_output staking_lock +10 DOT −10 DOT',
      'input_and_output staking_unlock +10 DOT −10 DOT',
      'input_and_output staking_lock +10 DOT −10 DOT',
    ])
  })

  it('half of a transfer is never income: its other half is named as missing', () => {
    const draft = only([ledger(['transfer', 'DOT.S', '10', '0', 'stakingfromspot'])])
    assert.equal(told(draft), 'uncategorized staking_lock +10 DOT')
    assert.deepEqual(draft.incomplete, ['outputs'])
  })

  it('halves that lie weeks apart are not joined into one move', () => {
    const drafts = toTransactions([
      ledger(['transfer', 'DOT', '-10', '0', 'spottostaking'], { time: '1640000000' }),
      ledger(['transfer', 'DOT.S', '10', '0', 'stakingfromspot'], { time: '1643000000' }),
    ])
    assert.deepEqual(drafts.map(told), ['uncategorized staking_lock −10 DOT', 'uncategorized staking_lock +10 DOT'])
  })

  it('Earn puts both halves under one reference', () => {
    assert.equal(
      group(['earn', 'XETH', '-1', '0', 'allocation'], ['earn', 'ETH.B', '1', '0', 'allocation']),
      'input_and_output staking_lock +1 ETH −1 ETH',
    )
    assert.equal(
      group(['earn', 'ETH.B', '-1', '0', 'deallocation'], ['earn', 'XETH', '1', '0', 'deallocation']),
      'input_and_output staking_unlock +1 ETH −1 ETH',
    )
  })

  it('each leg lies in the wallet it changes, and what can be spent at once is liquid', () => {
    const placesOf = (...rows: Row[]): (string | undefined)[] => {
      const { inputs, outputs, fees } = only(rows.map((row) => ledger(row)))
      return [...inputs, ...outputs, ...fees].map(({ place }) => place)
    }
    assert.deepEqual(placesOf(['staking', 'DOT.S', '0.1', '0.015']), ['staked', 'staked'])
    assert.deepEqual(placesOf(['reward', 'DOT', '0.1', '0.015']), [undefined, undefined])
    const lock: Row[] = [
      ['earn', 'XETH', '-1', '0', 'allocation'],
      ['earn', 'ETH.B', '1', '0', 'allocation'],
    ]
    assert.deepEqual(placesOf(...lock), ['staked', undefined])
    const earning: Row[] = [
      ['earn', 'XXBT', '-1', '0', 'autoallocation'],
      ['earn', 'XBT.F', '1', '0', 'autoallocation'],
    ]
    assert.deepEqual(placesOf(...earning), [undefined, undefined])
  })

  it('what earns by itself can still be spent: that move is a transfer', () => {
    assert.equal(
      group(['earn', 'XXBT', '-1', '0', 'autoallocation'], ['earn', 'XBT.F', '1', '0', 'autoallocation']),
      'input_and_output transfer +1 BTC −1 BTC',
    )
  })

  it('a staking row that takes is not a reward', () => {
    assert.equal(group(['staking', 'ETH2.S', '-0.01']), 'uncategorized other −0.01 ETH')
  })
})

describe('the rest', () => {
  it('futures count as another account', () => {
    assert.equal(group(['transfer', 'ZUSD', '-5', '0', 'spottofutures']), 'send transfer −5 USD')
    assert.equal(group(['transfer', 'ZUSD', '5', '0', 'spotfromfutures']), 'receive transfer +5 USD')
  })

  it('a transfer without a subtype is an airdrop by guess, and only when crypto arrives', () => {
    const draft = only([ledger(['transfer', 'BCH', '0.5'])])
    assert.deepEqual([told(draft), draft.method, draft.confidence], ['input_only airdrop +0.5 BCH', 'rule', 0.6])
    assert.equal(group(['transfer', 'ZUSD', '5']), 'uncategorized other +5 USD')
    assert.equal(group(['transfer', 'BCH', '-0.5']), 'uncategorized other −0.5 BCH')
  })

  it('each rollover is a separate fee, although the position has one reference', () => {
    const drafts = toTransactions([
      ledger(['rollover', 'ZUSD', '0', '0.5'], { time: '1640000000' }),
      ledger(['rollover', 'ZUSD', '0', '0.6'], { time: '1640014400' }),
      ledger(['margin', 'ZUSD', '-20', '1'], { time: '1640020000' }),
    ])
    assert.deepEqual(drafts.map(told), [
      'output_only other −20 USD trading fee 1 USD',
      'output_only fee −0.5 USD',
      'output_only fee −0.6 USD',
    ])
    assert.equal(new Set(drafts.map((draft) => draft.naturalKey)).size, 3)
  })

  it('an unknown type is kept, with its own name', () => {
    const draft = only([ledger(['teleport', 'XXBT', '-1', '0.1', 'quantum'])])
    assert.equal(told(draft), 'uncategorized other −1 BTC other fee 0.1 BTC')
    assert.deepEqual([draft.description, draft.incomplete, draft.confidence], ['teleport/quantum', ['type'], 0])
  })

  it('an unknown wallet is kept and marked', () => {
    const draft = only([ledger(['deposit', 'DOT.Q', '1'])])
    assert.ok(draft.incomplete.includes('asset_id'))
    assert.equal(draft.inputs[0]?.assetId, 'kraken:DOT.Q')
  })

  it('a row without a reference stands alone', () => {
    const record = ledger(['staking', 'XBT.M', '0.00000123'], { refid: '' })
    const draft = only([record])
    assert.deepEqual([draft.naturalKey, draft.providerReference], [`reward:${record.key}`, null])
  })

  it('the tiniest and the widest amounts come out as they went in', () => {
    assert.equal(group(['staking', 'FOO', '1e-18']), 'input_only staking_reward +0.000000000000000001 FOO')
    const wide = '123456789012.123456789012345678'
    assert.equal(group(['deposit', 'FOO', wide]), `receive deposit +${wide} FOO`)
  })

  it('a record that cannot be read is an error and is not skipped', () => {
    const record = ledger(['trade', 'XXBT', '1'])
    for (const body of [record.body.replace('"1"', '"much"'), record.body.replace('"type"', '"kind"'), '{', 'null']) {
      assert.throws(() => toTransactions([{ ...record, body }]))
    }
  })
})

describe('rows that public projects have met', () => {
  const dayS = 86_400
  const at = (days: number): { time: string } => ({ time: String(1_700_000_000 + days * dayS) })

  it('`Unknown` is not a reference: rows that have it stand alone', () => {
    const rows = ['XBT.F', 'ETH.F', 'DOT.F'].map((code) =>
      ledger(['earn', code, '0.1', '0', 'reward'], { refid: 'Unknown' }),
    )
    assert.deepEqual(
      rows.map((row) => linkKeys(row)),
      rows.map(({ key }) => [key]),
    )
    const [first] = rows
    assert.deepEqual(only([first as StoredRecord]).naturalKey, `reward:${first?.key}`)
    assert.equal(only([first as StoredRecord]).providerReference, null)
  })

  it('a reference that Earn uses again a week later is a second event with its own key', () => {
    const rewards = [0, 7, 14].map((days) => ledger(['earn', 'DOT.F', '0.1', '0', 'reward'], at(days)))
    const drafts = toTransactions(rewards)
    assert.deepEqual(drafts.map(told), Array(3).fill('input_only staking_reward +0.1 DOT'))
    assert.deepEqual(
      drafts.map((draft) => draft.naturalKey),
      [`reward:${refid}`, `reward:${refid}@${rewards[1]?.key}`, `reward:${refid}@${rewards[2]?.key}`],
    )
    const moves = [0, 5].flatMap((days) => [
      ledger(['earn', 'XETH', '-1', '0', 'allocation'], at(days)),
      ledger(['earn', 'ETH.B', '1', '0', 'allocation'], at(days)),
    ])
    assert.deepEqual(toTransactions(moves).map(told), Array(2).fill('input_and_output staking_lock +1 ETH −1 ETH'))
  })

  it('a credit from futures is a transfer of collateral or an airdrop, with low confidence', () => {
    const dollars = only([ledger(['transfer', 'ZUSD', '5', '0', 'spotfromfutures'])])
    assert.deepEqual([told(dollars), dollars.method], ['receive transfer +5 USD', 'rule'])
    assert.ok(dollars.confidence < 1)
    for (const coin of ['ETHW', 'STRK', 'SYRUP']) {
      const draft = only([ledger(['transfer', coin, '5', '0', 'spotfromfutures'])])
      assert.deepEqual([told(draft), draft.confidence], [`input_only airdrop +5 ${coin}`, 0.6])
    }
  })

  it('airdrops are recognised in three ways', () => {
    for (const [type, subtype] of [
      ['transfer', 'airdrop'],
      ['earn', 'airdrop'],
      ['airdrop', ''],
    ] as const) {
      const draft = only([ledger([type, 'SGB', '40', '0', subtype])])
      assert.deepEqual([told(draft), draft.confidence], ['input_only airdrop +40 SGB', 1])
    }
  })

  it('a delisted coin that became another amount of another coin is a conversion with one side', () => {
    const out = only([ledger(['transfer', 'NANO', '-30', '0', 'delistingconversion'], { refid: 'R1' })])
    assert.deepEqual([told(out), out.incomplete], ['output_only convert −30 NANO', ['inputs']])
    const back = only([ledger(['earn', 'XXBT', '0.0004', '0', 'delistingconversion'], { refid: 'R2' })])
    assert.deepEqual([told(back), back.incomplete], ['input_only convert +0.0004 BTC', ['outputs']])
  })

  it('a delisted coin and what it became under one reference are one conversion', () => {
    assert.equal(
      group(
        ['transfer', 'NANO', '-30', '0', 'delistingconversion'],
        ['transfer', 'ZUSD', '25', '0', 'delistingconversion'],
      ),
      'input_and_output convert +25 USD −30 NANO',
    )
  })

  for (const [from, to, subtype] of [
    ['MATIC', 'POL', 'delistingconversion'],
    ['SAI', 'DAI', ''],
  ] as const) {
    it(`${from} and ${to} are linked across two references and are one migration`, () => {
      const old = ledger(['transfer', from, '-250.5', '0', subtype], { refid: 'R1', ...at(0) })
      const successor = ledger(['transfer', to, '250.5000', '0', subtype], { refid: 'R2', ...at(2) })
      assert.deepEqual(
        [linkKeys(old).length, linkKeys(old).filter((key) => linkKeys(successor).includes(key)).length],
        [2, 1],
      )
      const draft = only([old, successor])
      assert.equal(told(draft), `input_and_output convert +250.5 ${to} −250.5 ${from}`)
      assert.deepEqual([draft.naturalKey, draft.confidence], ['transfer:R1', 0.9])
    })
  }

  it('a lone credit of a successor coin keeps its earlier meaning', () => {
    const draft = only([ledger(['transfer', 'POL', '12'])])
    assert.deepEqual([told(draft), draft.naturalKey], ['input_only airdrop +12 POL', `transfer:${refid}`])
  })

  it('Earn without a subtype is a reward, or a move when both sides are there', () => {
    const reward = only([ledger(['earn', 'XBT.F', '0.001'])])
    assert.deepEqual([told(reward), reward.confidence], ['input_only staking_reward +0.001 BTC', 0.6])
    assert.equal(group(['earn', 'XETH', '-1'], ['earn', 'ETH.F', '1']), 'input_and_output transfer +1 ETH −1 ETH')
  })

  it('a credit is kept by its sign, with low confidence', () => {
    const draft = only([ledger(['credit', 'ZUSD', '25'])])
    assert.deepEqual([told(draft), draft.confidence], ['input_only other +25 USD', 0.5])
    assert.equal(group(['credit', 'ZUSD', '-25']), 'output_only other −25 USD')
  })

  it('dust that was swept is one conversion of many coins', () => {
    assert.equal(
      group(
        ['spend', 'ADA', '-0.1', '0', 'dustsweeping'],
        ['spend', 'DOT', '-0.02', '0', 'dustsweeping'],
        ['receive', 'ZUSD', '0.2', '0.01', 'dustsweeping'],
      ),
      'input_and_output sell +0.2 USD −0.1 ADA −0.02 DOT conversion fee 0.01 USD',
    )
  })
})

describe('for any group of rows', () => {
  const types = [
    'trade',
    'spend',
    'receive',
    'deposit',
    'withdrawal',
    'staking',
    'reward',
    'earn',
    'transfer',
    'margin',
  ]
  const row = fc.record({
    type: fc.constantFrom(
      ...types,
      'rollover',
      'adjustment',
      'settled',
      'custodytransfer',
      'dividend',
      'credit',
      'airdrop',
      'brand new',
    ),
    subtype: fc.constantFrom(
      '',
      'spottostaking',
      'stakingfromspot',
      'stakingtospot',
      'allocation',
      'reward',
      'spottofutures',
      'spotfromfutures',
      'airdrop',
      'migration',
      'delistingconversion',
    ),
    asset: fc.constantFrom(
      'XXBT',
      'XBT.M',
      'DOT',
      'DOT28.S',
      'DOT.F',
      'ZUSD',
      'USD.HOLD',
      'KFEE',
      'FOO',
      'FOO.Q',
      'MATIC',
      'POL',
    ),
    // There are few distinct amounts, so that rows often cancel.
    amount: fc.constantFrom('0', '1', '-1', '2.5', '-2.5', '0.000000000000000001', '-123456789012.123456789012345678'),
    fee: fc.constantFrom('0', '0', '0.1', '-0.1'),
    time: fc.constantFrom('1640000000.1234', '1640000001', '1640500000', '1660000000'),
  })
  const records = fc
    .array(row, { minLength: 1, maxLength: 8 })
    .map((rows) =>
      rows.map(({ type, asset, amount, fee, subtype, time }) => ledger([type, asset, amount, fee, subtype], { time })),
    )

  it('inputs − outputs − fees are the change of the balance, asset by asset, and no amount is negative', () => {
    fc.assert(
      fc.property(records, (group) => {
        const change = new Map<string, Decimal>()
        const book = (assetId: string, amount: Decimal, sign: typeof add) =>
          change.set(assetId, sign(change.get(assetId) ?? zero, amount))
        for (const { key, body } of group) {
          const { asset, amount, fee } = parseLedgerRow(key, body)
          book(asset.assetId, subtract(amount, fee), add)
        }
        for (const { inputs, outputs, fees } of toTransactions(group)) {
          for (const { assetId, amount } of inputs) book(assetId, amount, subtract)
          for (const { assetId, amount } of [...outputs, ...fees]) book(assetId, amount, add)
          for (const { amount } of [...inputs, ...outputs, ...fees]) assert.ok(!amount.startsWith('-'))
        }
        assert.deepEqual(
          [...change.values()].filter((rest) => rest !== zero),
          [],
        )
      }),
      { numRuns: 500 },
    )
  })

  it('the order of the records does not matter, keys are unique, and type agrees with legs', () => {
    fc.assert(
      fc.property(records, fc.infiniteStream(fc.nat()), (group, order) => {
        const drafts = toTransactions(group)
        const shuffled = [...group].sort(() => ((order.next().value ?? 0) % 2) - 0.5)
        assert.deepEqual(toTransactions(shuffled), drafts)
        assert.equal(new Set(drafts.map((draft) => draft.naturalKey)).size, drafts.length)
        for (const { type, inputs, outputs, status } of drafts) {
          if (status === 'failed') continue
          if (type === 'input_only' || type === 'receive')
            assert.deepEqual([inputs.length > 0, outputs.length], [true, 0])
          if (type === 'output_only' || type === 'send')
            assert.deepEqual([inputs.length, outputs.length > 0], [0, true])
          if (type === 'input_and_output') assert.ok(inputs.length > 0 && outputs.length > 0)
        }
      }),
    )
  })
})
