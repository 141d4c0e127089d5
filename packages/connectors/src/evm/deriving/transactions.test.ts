/**
 * Rows of the documented form in (docs.etherscan.io: txlist, txlistinternal, tokentx, tokennfttx, token1155tx,
 * txsBeaconWithdrawal; Blockscout's address_view.ex where it differs), drafts out.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isSpamTransfer, type TransactionDraft } from '@assay/core'
import type { StoredRecord } from '../../kit/connector.ts'
import { linkKeys, toTransactions } from './transactions.ts'

const own = '0x52908400098527886e0f7030069857d2e4169ee7'
const friend = '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
const router = '0xde709f2102306220921060314715629080e2fb77'
const coin = '0x1111111111111111111111111111111111111111'
const collection = '0x2222222222222222222222222222222222222222'
const weth = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const hash = `0x${'ab'.repeat(32)}`
const zeroAddress = `0x${'0'.repeat(40)}`

const place = { blockNumber: '14923678', timeStamp: '1654646411', hash }
const at = Number(place.timeStamp) * 1000

let count = 0
function record(stream: string, body: object, more: Partial<StoredRecord> = {}): StoredRecord {
  count += 1
  const key = stream === 'transactions' ? hash : `${hash}:${count}`
  return { stream, partition: '1', key, occurredAtMs: at, body: JSON.stringify(body), ...more }
}

const transaction = (more: object) =>
  record('transactions', {
    ...place,
    blockHash: hash,
    from: own,
    to: friend,
    contractAddress: '',
    value: '0',
    gasPrice: '30000000000',
    gasUsed: '21000',
    isError: '0',
    txreceipt_status: '1',
    ...more,
  })
const internal = (more: object) =>
  record('internal', {
    ...place,
    from: router,
    to: own,
    value: '0',
    contractAddress: '',
    type: 'call',
    isError: '0',
    ...more,
  })
const token = (more: object) =>
  record('erc20', {
    ...place,
    from: friend,
    to: own,
    contractAddress: coin,
    value: '1500000',
    tokenName: 'Some Coin',
    tokenSymbol: 'SOME',
    contractDecimals: '6',
    ...more,
  })
const nft = (stream: 'erc721' | 'erc1155', more: object) =>
  record(stream, {
    ...place,
    from: friend,
    to: own,
    contractAddress: collection,
    tokenID: '7',
    tokenName: 'Pictures',
    tokenSymbol: 'PIC',
    tokenDecimal: '0',
    ...more,
  })

function draftsOf(...records: StoredRecord[]): TransactionDraft[] {
  return toTransactions(records, { addresses: new Set([own]) })
}

function only(...records: StoredRecord[]): TransactionDraft {
  const [draft, ...others] = draftsOf(...records)
  assert.ok(draft)
  assert.equal(others.length, 0)
  // The order in which the records come does not matter.
  assert.deepEqual(draftsOf(...records.toReversed()), [draft])
  return draft
}

const legs = (list: TransactionDraft['inputs']): string[] => list.map(({ assetId, amount }) => `${amount} ${assetId}`)

function summary({ type, category, inputs, outputs, fees }: TransactionDraft): unknown[] {
  return [type, category, legs(inputs), legs(outputs), legs(fees)]
}

describe('coins', () => {
  it('are sent with the gas as the sender’s fee', () => {
    const draft = only(transaction({ value: '1000000000000000001' }))
    const sent = ['1.000000000000000001 crypto:ethereum']
    assert.deepEqual(summary(draft), ['send', 'withdrawal', [], sent, ['0.00063 crypto:ethereum']])
    assert.equal(draft.toAddress, '0x8617E340B3D01FA5F11F306F4090FD50E238070D')
    assert.deepEqual([draft.network, draft.hash, draft.naturalKey], ['ethereum', hash, `1:${hash}`])
  })

  it('are received without the gas as a fee', () => {
    const draft = only(transaction({ from: friend, to: own, value: '5' }))
    assert.deepEqual(summary(draft), ['receive', 'deposit', ['0.000000000000000005 crypto:ethereum'], [], []])
    assert.equal(draft.fromAddress, '0x8617E340B3D01FA5F11F306F4090FD50E238070D')
  })

  it('that a wallet sends to itself cost only the fee', () => {
    const draft = only(transaction({ to: own, value: '1000' }))
    assert.deepEqual(summary(draft), ['output_only', 'fee', [], ['0.00063 crypto:ethereum'], []])
  })

  it('a transaction that failed costs its gas and moves nothing', () => {
    const draft = only(
      transaction({ value: '1000000000000000000', isError: '1', txreceipt_status: '0' }),
      internal({ from: own, to: router, value: '1000000000000000000' }),
    )
    assert.equal(draft.status, 'failed')
    assert.deepEqual(summary(draft), ['output_only', 'fee', [], ['0.00063 crypto:ethereum'], []])
  })

  it('an approval is only a fee', () => {
    const draft = only(transaction({ to: coin, functionName: 'approve(address _spender, uint256 _value)' }))
    assert.deepEqual(summary(draft), ['output_only', 'fee', [], ['0.00063 crypto:ethereum'], []])
    assert.equal(draft.description, 'approve')
  })

  it('of another chain are separate assets', () => {
    const polygon = { ...transaction({ from: friend, to: own, value: '7' }), partition: '137' }
    assert.deepEqual(legs(only(polygon).inputs), ['0.000000000000000007 crypto:polygon'])
  })
})

describe('internal transfers', () => {
  it('come from contracts, even when the wallet is not a side of the transaction', () => {
    const draft = only(internal({ value: '42' }))
    assert.deepEqual(summary(draft), ['receive', 'deposit', ['0.000000000000000042 crypto:ethereum'], [], []])
  })

  it('the call that the transaction begins with is not counted twice', () => {
    const sent = only(
      transaction({ to: router, value: '1000000000000000000' }),
      internal({ from: own, to: router, value: '1000000000000000000', index: '0' }),
    )
    assert.deepEqual(legs(sent.outputs), ['1 crypto:ethereum'])
  })

  it('two equal ones in one transaction are two', () => {
    assert.deepEqual(legs(only(internal({ value: '5' }), internal({ value: '5' })).inputs), [
      '0.00000000000000001 crypto:ethereum',
    ])
  })

  it('a call that failed, and code that was only borrowed, moved nothing', () => {
    const draft = only(
      transaction({ to: router }),
      internal({ value: '42', isError: '1' }),
      internal({ value: '42', callType: 'delegatecall' }),
    )
    assert.deepEqual(summary(draft), ['output_only', 'fee', [], ['0.00063 crypto:ethereum'], []])
  })

  it('what a router returns makes the swap smaller', () => {
    const draft = only(
      transaction({ to: router, value: '1000000000000000000' }),
      internal({ value: '400000000000000000' }),
      token({ from: router }),
    )
    const [got, gave] = [[`1.5 evm:1:${coin}`], ['0.6 crypto:ethereum']]
    assert.deepEqual(summary(draft), ['input_and_output', 'trade', got, gave, ['0.00063 crypto:ethereum']])
  })

  it('without their own name for the hash are read by Blockscout’s', () => {
    const { hash: transactionHash, ...rest } = place
    const row = {
      ...rest,
      transactionHash,
      from: router,
      to: own,
      value: '42',
      type: 'call',
      callType: 'call',
      index: '3',
    }
    assert.deepEqual(legs(only(record('internal', row)).inputs), ['0.000000000000000042 crypto:ethereum'])
  })
})

describe('tokens', () => {
  it('have the decimals that their contract said, to the last digit', () => {
    const value = '115792089237316195423570985008687907853269984665640564039457584007913129639935'
    const draft = only(token({ value, contractDecimals: '18' }))
    assert.deepEqual(legs(draft.inputs), [
      `115792089237316195423570985008687907853269984665640564039457.584007913129639935 evm:1:${coin}`,
    ])
    assert.deepEqual(legs(only(token({ value: '3', contractDecimals: '0' })).inputs), [`3 evm:1:${coin}`])
  })

  it('have no amount without them, whatever the index says', () => {
    const { body, ...rest } = token({ value: '1500000' })
    const { contractDecimals, ...row } = JSON.parse(body) as Record<string, unknown>
    assert.equal(contractDecimals, '6')
    for (const tokenDecimal of ['6', '', null]) {
      assert.throws(() => only({ ...rest, body: JSON.stringify({ ...row, tokenDecimal }) }), /decimals/)
    }
  })

  it('are sent to their recipient, not to their contract', () => {
    const draft = only(transaction({ to: coin }), token({ from: own, to: router }))
    assert.deepEqual(summary(draft).slice(0, 4), ['send', 'withdrawal', [], [`1.5 evm:1:${coin}`]])
    assert.equal(draft.toAddress?.toLowerCase(), router)
    assert.deepEqual(legs(draft.fees), ['0.00063 crypto:ethereum'])
  })

  it('that are swapped for another in one hash are one trade', () => {
    const second = '0x3333333333333333333333333333333333333333'
    const draft = only(
      transaction({ to: router }),
      token({ from: own, to: router }),
      token({ from: router, contractAddress: second, value: '2', contractDecimals: '0' }),
    )
    const expected = ['input_and_output', 'trade', [`2 evm:1:${second}`], [`1.5 evm:1:${coin}`]]
    assert.deepEqual(summary(draft).slice(0, 4), expected)
  })

  it('an unsolicited advertisement is spam, and so is a transfer of zero in the wallet’s name', () => {
    const lure = only(token({ tokenSymbol: 'VISIT prize.com', tokenName: 'claim at prize.com' }))
    assert.ok(isSpamTransfer(lure) || lure.spam)
    const poison = only(token({ from: own, to: router, value: '0' }))
    assert.deepEqual([poison.spam, poison.inputs.length, poison.outputs.length], [true, 0, 0])
    assert.ok(!only(token({})).spam)
  })

  it('that were minted for the wallet are received', () => {
    assert.deepEqual(summary(only(token({ from: zeroAddress }))).slice(0, 2), ['input_only', 'airdrop'])
  })
})

describe('a coin that is shown as a token, too', () => {
  it('counts once', () => {
    const shown = { contractAddress: '0x0000000000000000000000000000000000001010', value: '7', tokenDecimal: '18' }
    const records = [transaction({ from: friend, to: own, value: '7' }), token(shown)]
    const draft = only(...records.map((one) => ({ ...one, partition: '137' })))
    assert.deepEqual(legs(draft.inputs), ['0.000000000000000007 crypto:polygon'])
  })

  it('counts once when the chain itself logs it like a token (EIP-7708)', () => {
    const logged = { contractAddress: '0xfffffffffffffffffffffffffffffffffffffffe', from: own, to: friend, value: '7' }
    const draft = only(transaction({ value: '7' }), token(logged))
    assert.deepEqual(legs(draft.outputs), ['0.000000000000000007 crypto:ethereum'])
  })

  it('came and went through the bridge of OP Mainnet, which no other list shows', () => {
    const shown = { contractAddress: '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0000', value: '7', tokenDecimal: '18' }
    const on = (...records: StoredRecord[]) => only(...records.map((one) => ({ ...one, partition: '10' })))
    const amount = ['0.000000000000000007 crypto:ethereum']
    const came = on(token({ ...shown, from: zeroAddress, contractDecimals: undefined }))
    assert.deepEqual(summary(came), ['receive', 'deposit', amount, [], []])
    const burn = token({ ...shown, from: own, to: zeroAddress, contractDecimals: undefined })
    const went = on(transaction({ to: router, gasPrice: '0', l1Fee: '5' }), burn)
    assert.deepEqual(summary(went).slice(0, 4), ['send', 'withdrawal', [], amount])
  })
})

describe('wrapped coins', () => {
  it('wrapping is a conversion, although WETH9 logs no transfer', () => {
    const draft = only(transaction({ to: weth, value: '2000000000000000000' }))
    const [type, category, [got = ''] = [], gave] = summary(draft) as [string, string, string[], string[]]
    assert.deepEqual([type, category, gave], ['input_and_output', 'convert', ['2 crypto:ethereum']])
    assert.match(got, /^2 /)
    assert.notEqual(got, '2 crypto:ethereum')
  })

  it('unwrapping is one, too', () => {
    const draft = only(transaction({ to: weth }), internal({ from: weth, value: '2000000000000000000' }))
    assert.equal(draft.category, 'convert')
    assert.deepEqual(legs(draft.inputs), ['2 crypto:ethereum'])
    assert.match(legs(draft.outputs)[0] ?? '', /^2 (?!crypto:ethereum)/)
  })

  it('nothing is added where the index lists a transfer', () => {
    const listed = { contractAddress: weth, from: zeroAddress, value: '2000000000000000000', contractDecimals: '18' }
    const draft = only(transaction({ to: weth, value: '2000000000000000000' }), token(listed))
    assert.deepEqual([draft.inputs.length, draft.inputs[0]?.amount, draft.category], [1, '2', 'convert'])
  })

  // A wallet that has delegated to code makes several calls in one transaction (EIP-7702).
  const two = '2000000000000000000'
  const ofWeth = { contractAddress: weth, value: two, contractDecimals: '18' }
  const batch = transaction({ to: own })

  it('that are wrapped and given away in one transaction leave none, whether the index lists the wrapping or not', () => {
    const gave = [batch, internal({ from: own, to: weth, value: two }), token({ ...ofWeth, from: own, to: router })]
    const got = token({})
    for (const listed of [[], [token({ ...ofWeth, from: zeroAddress })], [token({ ...ofWeth, from: weth })]]) {
      const draft = only(...gave, got, ...listed)
      const [, category, inputs, outputs] = summary(draft)
      assert.deepEqual([category, inputs, outputs], ['trade', [`1.5 evm:1:${coin}`], ['2 crypto:ethereum']])
    }
  })

  it('that are bought and unwrapped in one transaction leave none, either', () => {
    const bought = [batch, token({ ...ofWeth, from: router }), internal({ from: weth, value: two })]
    const gave = token({ from: own, to: router })
    for (const listed of [[], [token({ ...ofWeth, from: own, to: zeroAddress })]]) {
      const draft = only(...bought, gave, ...listed)
      assert.deepEqual([legs(draft.inputs), legs(draft.outputs)], [['2 crypto:ethereum'], [`1.5 evm:1:${coin}`]])
    }
  })
})

describe('collections', () => {
  it('a piece is a separate asset, in the amount of one', () => {
    const draft = only(transaction({ to: router, value: '10' }), nft('erc721', {}))
    assert.deepEqual(legs(draft.inputs), [`1 evm:1:${collection}:7`])
    assert.equal(draft.type, 'input_and_output')
    assert.ok(!draft.inputs[0]?.assetId.includes('/'))
  })

  it('ERC-1155 has amounts, and batches', () => {
    assert.deepEqual(legs(only(nft('erc1155', { tokenValue: '12' })).inputs), [`12 evm:1:${collection}:7`])
    const batch = nft('erc1155', { tokenID: undefined, tokenIDs: ['1', '2'], values: ['3', '4'] })
    assert.deepEqual(legs(only(batch).inputs), [`3 evm:1:${collection}:1`, `4 evm:1:${collection}:2`])
  })

  it('pieces that Blockscout lists among the tokens count once', () => {
    const draft = only(token({ value: undefined, tokenID: '7' }), nft('erc721', {}))
    assert.deepEqual(legs(draft.inputs), [`1 evm:1:${collection}:7`])
  })
})

describe('rollups', () => {
  it('the fee of the first layer comes with the receipt, or with the row', () => {
    const onBase = (one: StoredRecord): StoredRecord => ({ ...one, partition: '8453' })
    const receipt = record(
      'transactions',
      { transactionHash: hash, blockHash: hash, blockNumber: '0x1', l1Fee: '0x3e8' },
      { key: `${hash}:receipt` },
    )
    const sent = only(onBase(transaction({ value: '1' })), onBase(receipt))
    assert.deepEqual(legs(sent.fees), ['0.00063 crypto:ethereum', '0.000000000000001 crypto:ethereum'])
    const approved = only(onBase(transaction({ l1Fee: '1000' })))
    assert.deepEqual(legs(approved.outputs), ['0.000630000000001 crypto:ethereum'])
  })

  it('is incomplete while the node does not have the receipt', () => {
    const onBase = (more: object): string[] => only({ ...transaction(more), partition: '8453' }).incomplete
    assert.deepEqual(onBase({ value: '1' }), ['fees'])
    assert.deepEqual(onBase({ value: '1', gasPrice: '0' }), ['inputs', 'fees'])
    assert.deepEqual(onBase({ value: '1', l1Fee: '1000' }), [])
    assert.deepEqual(onBase({ value: '1', gasPrice: '0', l1Fee: '0' }), ['inputs', 'fees'])
    assert.deepEqual(only(transaction({ value: '1' })).incomplete, [])
  })

  // specs.optimism.io, "Deposits": the coins are made for the sender before the transaction runs, and stay if it fails.
  const deposit = (more: object): StoredRecord[] => [
    transaction({ gasPrice: '0', value: '1000000000000000000', ...more }),
    record(
      'transactions',
      { transactionHash: hash, blockHash: hash, blockNumber: '0x1', mint: '0xde0b6b3a7640000' },
      { key: `${hash}:receipt` },
    ),
  ]
  const onBase = (records: StoredRecord[]): StoredRecord[] => records.map((one) => ({ ...one, partition: '8453' }))

  it('coins that the wallet sends to itself from the first layer arrive, even if the transaction fails', () => {
    for (const more of [{ to: own }, { to: own, isError: '1', txreceipt_status: '0' }]) {
      const draft = only(...onBase(deposit(more)))
      assert.deepEqual(summary(draft), ['receive', 'deposit', ['1 crypto:ethereum'], [], []])
      assert.equal(draft.status, 'confirmed')
    }
  })

  it('coins that the wallet sends to another address from the first layer do not pass through its balance', () => {
    const draft = only(...onBase(deposit({})))
    assert.deepEqual([draft.inputs, draft.outputs], [[], []])
    const failed = only(...onBase(deposit({ isError: '1', txreceipt_status: '0' })))
    assert.deepEqual(legs(failed.inputs), ['1 crypto:ethereum'])
  })
})

describe('validators', () => {
  const withdrawal = (amount: string) => {
    const row = {
      withdrawalIndex: '13',
      validatorIndex: '117823',
      address: own,
      amount,
      blockNumber: '1',
      timestamp: '5',
    }
    return record('withdrawals', row, { key: '13' })
  }

  it('a swept amount is a reward, in gwei', () => {
    const draft = only(withdrawal('3402931175'))
    assert.deepEqual(summary(draft), ['input_only', 'staking_reward', ['3.402931175 crypto:ethereum'], [], []])
    assert.equal(draft.naturalKey, '1:withdrawal:13')
  })

  it('an exit returns the staked amount', () => {
    assert.deepEqual(summary(only(withdrawal('32000000000'))).slice(0, 2), ['receive', 'staking_unlock'])
  })
})

describe('a story', () => {
  it('is one chain and one hash', () => {
    assert.deepEqual(linkKeys(token({})), [`1:${hash}`])
    assert.deepEqual(linkKeys({ ...token({}), partition: '10' }), [`10:${hash}`])
  })

  it('with more legs than a page can serve becomes several transactions, which lose nothing', () => {
    const tokenIDs = Array.from({ length: 10_000 }, (_, index) => String(index))
    const batch = nft('erc1155', { tokenID: null, tokenIDs, values: tokenIDs.map(() => '2') })
    const records = [transaction({ value: '5' }), batch]
    const drafts = draftsOf(...records)
    assert.deepEqual(draftsOf(...records.toReversed()), drafts)
    assert.equal(new Set(drafts.map(({ naturalKey }) => naturalKey)).size, drafts.length)
    assert.ok(drafts.every(({ inputs, outputs }) => inputs.length + outputs.length <= 250))
    assert.ok(drafts.every((draft) => draft.hash === hash && draft.providerReference === hash))
    assert.equal(new Set(drafts.flatMap(({ inputs }) => legs(inputs))).size, 10_000)
    const [first, second, ...others] = drafts
    assert.deepEqual(
      [first?.naturalKey, first?.type, first?.outputs.length, first?.fees.length],
      [`1:${hash}`, 'input_and_output', 1, 1],
    )
    assert.deepEqual([second?.naturalKey, second?.type], [`1:${hash}#2`, 'receive'])
    assert.ok([second, ...others].every((draft) => draft?.outputs.length === 0 && draft.fees.length === 0))
  })

  it('takes seconds at most, however many pieces of an advertisement a stranger sends at once', () => {
    const tokenIDs = Array.from({ length: 45_000 }, (_, index) => String(index))
    const name = { tokenName: 'Claim at gifts.example', tokenSymbol: 'GIFT' }
    const before = process.cpuUsage()
    const drafts = draftsOf(nft('erc1155', { ...name, tokenID: null, tokenIDs, values: tokenIDs.map(() => '1') }))
    const { user, system } = process.cpuUsage(before)
    assert.deepEqual([drafts.length, drafts.every(({ spam }) => spam)], [180, true])
    assert.ok(user + system < 6_000_000, `${user + system} µs`)
  })

  it('is pending as long as a record of it is, and the newest balance has it already', () => {
    const draft = only(transaction({ value: '1' }), { ...token({ from: router }), pending: true })
    assert.deepEqual([draft.status, draft.isDebited], ['pending', true])
  })
})
