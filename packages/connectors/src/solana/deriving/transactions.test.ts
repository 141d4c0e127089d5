/**
 * From documented answers of `getTransaction` and `getInflationReward` (solana.com/docs/rpc/http) to drafts. Values are
 * invented.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isSpamTransfer, type TransactionDraft } from '@assay/core'
import type { StoredRecord } from '../../kit/connector.ts'
import { nativeMint } from '../assets.ts'
import { toBody, type Sides } from '../records.ts'
import {
  friend,
  rent,
  toAnswer,
  tokenProgram,
  usdc,
  wallet,
  type TestAccount,
  type TestTransaction,
} from '../test-node.ts'
import { linkKeys, toTransactions } from './transactions.ts'

const signature = 'signature'
const ownUsdc = 'OwnUsdcAccount'
const stake = 'OwnStakeAccount'
const facts = { state: { address: wallet, tokens: [ownUsdc], stakes: [stake] } }

/** `sides` are those of the stake account, in its own list. */
function recordOf(
  transaction: Partial<TestTransaction>,
  more: Partial<StoredRecord> = {},
  sides: Sides = { wasOwn: true, isOwn: true },
): StoredRecord {
  const answer = toAnswer({ signature, atSeconds: 1_760_000_000, accounts: [], ...transaction })
  const digits = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value)
  const body = toBody(JSON.parse(JSON.stringify(answer, digits)), more.partition === stake ? { sides } : {})
  return { stream: 'transactions', partition: wallet, key: signature, occurredAtMs: 1_760_000_000_000, body, ...more }
}

function deriveAll(
  accounts: readonly TestAccount[],
  more: Partial<TestTransaction> = {},
  lists = [wallet],
  sides?: Sides,
): TransactionDraft[] {
  return toTransactions(
    lists.map((partition) => recordOf({ accounts, ...more }, { partition }, sides)),
    facts,
  )
}

function derive(...given: Parameters<typeof deriveAll>): TransactionDraft {
  const [draft, ...others] = deriveAll(...given)
  assert.ok(draft !== undefined)
  assert.deepEqual(others, [])
  return draft
}

/** Describes what it did as one line of text. */
function told({ type, category, status, inputs, outputs, fees }: TransactionDraft): string[] {
  const say = (sign: string, legs: readonly { amount: string; symbol: string; place?: string }[]): string[] =>
    legs.map(({ amount, symbol, place }) => `${sign}${amount} ${symbol}${place === 'staked' ? ' staked' : ''}`)
  return [`${type} ${category} ${status}`, ...say('+', inputs), ...say('-', outputs), ...say('fee ', fees)]
}

const token = (owner: string, before: bigint | undefined, after: bigint | undefined, mint = usdc) => ({
  ...{ mint, owner },
  ...(before === undefined ? {} : { before }),
  ...(after === undefined ? {} : { after }),
})

describe('transactions of Solana', () => {
  it('SOL is sent with a separate fee, and received', () => {
    const sent = derive([
      { key: wallet, before: 9_000_000_000n, after: 7_499_995_000n },
      { key: friend, before: 0n, after: 1_500_000_000n },
    ])
    assert.deepEqual(told(sent), ['send withdrawal confirmed', '-1.5 SOL', 'fee 0.000005 SOL'])
    assert.deepEqual([sent.fromAddress, sent.toAddress, sent.hash], [wallet, friend, signature])
    const came = derive([
      { key: friend, before: 2_000_005_000n, after: 0n },
      { key: wallet, before: 1n, after: 2_000_000_001n },
    ])
    assert.deepEqual(told(came), ['receive deposit confirmed', '+2 SOL'])
    assert.deepEqual([came.fromAddress, came.toAddress], [friend, wallet])
  })

  it('the deposit of an own token account is a fee, and does not come back as income', () => {
    const opened = derive([
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n - rent - 5_000n },
      // A lamport that lay at the address before counts towards the deposit.
      { key: ownUsdc, before: 1n, after: rent + 1n, token: token(wallet, undefined, 0n) },
    ])
    assert.deepEqual(told(opened), ['output_only fee confirmed', '-0.00204428 SOL'])
    assert.equal(opened.description, 'With a deposit of 0.00203928 SOL for a token account')
    const closed = derive([
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n + rent - 5_000n },
      { key: ownUsdc, before: rent, after: 0n, token: token(wallet, 0n, undefined) },
    ])
    assert.deepEqual(told(closed), ['receive transfer confirmed', '+0.00203928 SOL', 'fee 0.000005 SOL'])
    assert.equal(closed.description, 'Deposit of a closed token account')
    // The mint was closed before, so the node reports no tokens. The record is in the list of the account as well.
    const unreported = [
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n + rent - 5_000n },
      { key: ownUsdc, before: rent, after: 0n },
    ]
    assert.deepEqual(told(derive(unreported, {}, [wallet, ownUsdc])), told(closed))
  })

  it('a deposit that comes back is neither the price of a swap, nor the reverse of a transfer, nor paid for a burned token', () => {
    const returned = ['receive transfer confirmed', '+0.00203928 SOL']
    const closing = (units: bigint): TestAccount => ({
      ...{ key: ownUsdc, before: rent, after: 0n, token: token(wallet, units, undefined) },
    })
    const sold = deriveAll([
      { key: wallet, before: 1_000_000_000n, after: 3_000_000_000n + rent - 5_000n },
      closing(300_000_000n),
      { key: 'Pool', before: rent, after: rent, token: token(friend, 0n, 300_000_000n) },
      { key: 'PoolSol', before: 9_000_000_000n, after: 7_000_000_000n },
    ])
    assert.deepEqual(sold.map(told), [
      ['input_and_output trade confirmed', '+2 SOL', '-300 USDC', 'fee 0.000005 SOL'],
      returned,
    ])
    assert.deepEqual(
      sold.map(({ naturalKey, hash }) => [naturalKey, hash]),
      [
        ['tx:signature', signature],
        ['tx:signature:deposit', signature],
      ],
    )
    // SOL is paid, and an account of wrapped SOL from earlier is closed afterwards.
    const bought = deriveAll([
      { key: wallet, before: 5_000_000_000n, after: 4_000_000_000n + rent - 5_000n },
      { key: ownUsdc, before: rent, after: rent, token: token(wallet, 0n, 150_000_000n) },
      { key: 'OwnWrapped', before: rent, after: 0n, token: token(wallet, 0n, undefined, nativeMint) },
      { key: 'Pool', before: rent, after: rent, token: token(friend, 150_000_000n, 0n) },
      { key: 'PoolSol', before: 0n, after: 1_000_000_000n },
    ])
    assert.deepEqual(bought.map(told), [
      ['input_and_output trade confirmed', '+150 USDC', '-1 SOL', 'fee 0.000005 SOL'],
      returned,
    ])
    const sent = deriveAll([
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n + rent - 5_000n },
      closing(7_000_000n),
      { key: 'FriendUsdc', before: rent, after: rent, token: token(friend, 0n, 7_000_000n) },
    ])
    assert.deepEqual(sent.map(told), [['send withdrawal confirmed', '-7 USDC', 'fee 0.000005 SOL'], returned])
    const burned = deriveAll([
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n + rent - 5_000n },
      closing(7_000_000n),
    ])
    assert.deepEqual(burned.map(told), [['output_only other confirmed', '-7 USDC', 'fee 0.000005 SOL'], returned])
  })

  it('a deposit is paid by, and returned to, a wallet whose owners sign in its place', () => {
    const payer = { key: friend, before: 1_000_000n, after: 995_000n }
    const opened = derive([
      payer,
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n - rent },
      { key: ownUsdc, before: 0n, after: rent, token: token(wallet, undefined, 0n) },
    ])
    assert.deepEqual(told(opened), ['output_only fee confirmed', '-0.00203928 SOL'])
    const closed = derive([
      payer,
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n + rent },
      { key: ownUsdc, before: rent, after: 0n, token: token(wallet, 0n, undefined) },
    ])
    assert.deepEqual(told(closed), ['receive transfer confirmed', '+0.00203928 SOL'])
  })

  it('a deposit that another pays and gets back is not the wallet’s', () => {
    const payer = { key: friend, signer: true }
    const opened = derive([
      { ...payer, before: 1_000_000_000n, after: 1_000_000_000n - rent - 10_000n },
      { key: wallet, signer: true, before: 7n, after: 7n },
      { key: ownUsdc, before: 0n, after: rent, token: token(wallet, undefined, 0n) },
    ])
    assert.deepEqual(told(opened), ['uncategorized other confirmed'])
    const closed = derive([
      { ...payer, before: 1_000_000_000n, after: 1_000_000_000n + rent - 10_000n },
      { key: wallet, signer: true, before: 7n, after: 7n },
      { key: ownUsdc, before: rent, after: 0n, token: token(wallet, 0n, undefined) },
    ])
    assert.deepEqual(told(closed), ['uncategorized other confirmed'])
  })

  it('a deposit that a sponsor pays does not change what the wallet sold, sent or staked', () => {
    const sponsor = { key: 'Sponsor', signer: true, before: 1_000_000_000n, after: 1_000_000_000n - rent - 5_000n }
    const opened = { key: ownUsdc, before: 0n, after: rent, token: token(wallet, undefined, 0n) }
    const spender = { key: wallet, signer: true, before: 3_000_000_000n, after: 2_000_000_000n }
    const sent = derive([sponsor, spender, opened, { key: friend, before: 0n, after: 1_000_000_000n }])
    assert.deepEqual(told(sent), ['send withdrawal confirmed', '-1 SOL'])
    const locked = { key: stake, before: 0n, after: 1_000_000_000n }
    const isNew = { wasOwn: false, isOwn: true }
    assert.deepEqual(told(derive([sponsor, spender, opened, locked], {}, [wallet, stake], isNew)), [
      'input_and_output staking_lock confirmed',
      '+1 SOL staked',
      '-1 SOL',
    ])
  })

  it('a deposit may be paid from what comes back in the same transaction', () => {
    const gained = 1_000_000_000n - 5_000n - rent
    const drafts = deriveAll(
      [
        { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n + gained },
        { key: stake, before: 1_000_000_000n, after: 0n },
        { key: ownUsdc, before: 0n, after: rent, token: token(wallet, undefined, 0n) },
      ],
      {},
      [wallet, stake],
      { wasOwn: true, isOwn: false },
    )
    assert.deepEqual(drafts.map(told), [
      [
        'input_and_output staking_unlock confirmed',
        '+1 SOL',
        '-1 SOL staked',
        'fee 0.000005 SOL',
        'fee 0.00203928 SOL',
      ],
    ])
  })

  it('a deposit that comes back is the wallet’s beside one that another pays at the same time', () => {
    const drafts = deriveAll([
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n - 5_000n + rent },
      { key: ownUsdc, before: rent, after: 0n, token: token(wallet, 5_000_000n, undefined) },
      { key: friend, signer: true, before: 1_000_000_000n, after: 1_000_000_000n - rent },
      { key: 'FriendsUsdc', before: 0n, after: rent, token: token(friend, undefined, 5_000_000n) },
    ])
    assert.deepEqual(drafts.map(told), [
      ['send withdrawal confirmed', '-5 USDC', 'fee 0.000005 SOL'],
      ['receive transfer confirmed', '+0.00203928 SOL'],
    ])
    // A sponsor pays the fee, and the wallet sends on what came back.
    const spent = deriveAll([
      { key: 'Sponsor', signer: true, before: 1_000_000_000n, after: 1_000_000_000n - 5_000n },
      { key: wallet, signer: true, before: 1_000_000_000n, after: 0n },
      { key: ownUsdc, before: rent, after: 0n, token: token(wallet, 0n, undefined) },
      { key: friend, before: 0n, after: 1_000_000_000n + rent },
    ])
    assert.deepEqual(spent.map(told), [
      ['send withdrawal confirmed', '-1.00203928 SOL'],
      ['receive transfer confirmed', '+0.00203928 SOL'],
    ])
  })

  it('tokens from before owners were reported are the wallet’s where the list of their account says so', () => {
    const stranger = { key: friend, before: 2_000_000_000n, after: 1_000_000_000n }
    const paid = { key: ownUsdc, before: rent, after: rent, token: { mint: usdc, before: 0n, after: 7_000_000n } }
    const tell = (added: { sides?: Sides }) => {
      const accounts = [stranger, { key: wallet, signer: true, before: 7n, after: 7n }, paid]
      const record = recordOf({ accounts, atSeconds: 1_620_000_000 })
      const [draft] = toTransactions(
        [record, { ...record, partition: ownUsdc, body: toBody(JSON.parse(record.body), added) }],
        facts,
      )
      return draft && [...told(draft), draft.incomplete.length > 0, draft.spam]
    }
    const received = ['input_only airdrop confirmed', '+7 USDC', false, false]
    assert.deepEqual(tell({ sides: { wasOwn: true, isOwn: true } }), received)
    assert.deepEqual(tell({ sides: { wasOwn: false, isOwn: true } }), received)
    // The wallet signed, and that does not make an account its own: it also signs what it pays to others.
    assert.deepEqual(tell({ sides: { wasOwn: true, isOwn: false } }), ['uncategorized other confirmed', false, false])
    assert.deepEqual(tell({}), ['uncategorized other confirmed', true, false])
  })

  it('a transaction with tokens from before nodes reported them is marked as incomplete', () => {
    const wrapped = (atSeconds: number) =>
      derive(
        [
          { key: wallet, before: 5_000_000_000n, after: 3_000_000_000n },
          { key: 'Wrapped', before: rent, after: 2_000_000_000n + rent },
          { key: tokenProgram, before: 1n, after: 1n },
        ],
        { atSeconds },
      ).incomplete
    assert.deepEqual(wrapped(1_608_579_465), ['inputs', 'outputs'])
    assert.deepEqual(wrapped(1_650_000_000), [])
  })

  it('wrapped SOL of Token-2022 is SOL too', () => {
    const mint = '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXej9'
    const drafts = deriveAll([
      { key: wallet, before: 9_000_000_000n, after: 4_000_000_000n - 5_000n - rent },
      {
        key: 'Wrapped',
        before: 0n,
        after: rent + 5_000_000_000n,
        token: token(wallet, undefined, 5_000_000_000n, mint),
      },
    ])
    assert.deepEqual(drafts.map(told), [['output_only fee confirmed', '-0.00204428 SOL']])
  })

  it('SOL that is put into a token account is not the wallet’s, neither a stranger’s nor its own', () => {
    const stranger = { key: friend, before: 2_000_000_000_000n, after: 1_999_999_995_000n }
    // To an account of the wallet, without the token program.
    const paid = [
      { ...stranger, after: stranger.after - 1n },
      { key: ownUsdc, before: rent, after: rent + 1n },
    ]
    const nothing = derive(paid, {}, [ownUsdc])
    assert.deepEqual([...told(nothing), nothing.spam], ['uncategorized other confirmed', true])
    // Opened with 990 SOL and handed over, and then closed by the stranger, who kept that right.
    const baited = { key: 'Bait', before: 0n, after: 990_000_000_000n, token: token(wallet, undefined, 0n) }
    assert.deepEqual(told(derive([stranger, baited], {}, ['Bait'])), ['uncategorized other confirmed'])
    const taken = { key: 'Bait', before: 990_000_000_000n, after: 0n, token: token(wallet, 0n, undefined) }
    assert.deepEqual(told(derive([stranger, taken], {}, ['Bait'])), ['uncategorized other confirmed'])
    // More than a deposit, by the wallet itself.
    const own = derive([
      { key: wallet, before: 9_000_000_000n, after: 7_999_995_000n },
      { key: ownUsdc, before: 0n, after: 1_000_000_000n, token: token(wallet, undefined, 0n) },
    ])
    assert.deepEqual(told(own), ['send withdrawal confirmed', '-1 SOL', 'fee 0.000005 SOL'])
  })

  it('wrapping SOL in two steps is sent and received, because others can take the first step too', () => {
    const wrapped = 'OwnWrapped'
    const sent = derive([
      { key: wallet, before: 9_000_000_000n, after: 7_999_995_000n },
      { key: wrapped, before: rent, after: rent + 1_000_000_000n },
    ])
    assert.deepEqual(told(sent), ['send withdrawal confirmed', '-1 SOL', 'fee 0.000005 SOL'])
    assert.equal(sent.toAddress, wrapped)
    const synced = derive([
      { key: wallet, before: 7_999_995_000n, after: 7_999_990_000n },
      {
        ...{ key: wrapped, before: rent + 1_000_000_000n, after: rent + 1_000_000_000n },
        token: token(wallet, 0n, 1_000_000_000n, nativeMint),
      },
    ])
    assert.deepEqual(told(synced), ['receive deposit confirmed', '+1 SOL', 'fee 0.000005 SOL'])
  })

  it('the deposit for the account of a recipient is a cost of sending', () => {
    const draft = derive([
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n - rent - 5_000n },
      { key: ownUsdc, before: rent, after: rent, token: token(wallet, 7_000_000n, 4_500_000n) },
      { key: 'FriendUsdc', before: 0n, after: rent, token: token(friend, undefined, 2_500_000n) },
    ])
    assert.deepEqual(told(draft), ['send withdrawal confirmed', '-2.5 USDC', 'fee 0.000005 SOL', 'fee 0.00203928 SOL'])
    assert.equal(draft.toAddress, friend)
  })

  it('tokens are received in a token account, even in a transaction that does not name the wallet', () => {
    const accounts = [
      { key: friend, before: 1_000_000n, after: 995_000n },
      { key: 'FriendUsdc', before: rent, after: rent, token: token(friend, 10_000_000n, 1_000_000n) },
      { key: ownUsdc, before: rent, after: rent, token: token(wallet, 0n, 9_000_000n) },
    ]
    assert.deepEqual(told(derive(accounts, {}, [ownUsdc])), ['receive deposit confirmed', '+9 USDC'])
  })

  it('a swap in one signature is one trade, and wrapped SOL counts as SOL', () => {
    const accounts = [
      { key: wallet, before: 5_000_000_000n, after: 5_000_000_000n - 5_000n - rent },
      { key: ownUsdc, before: rent, after: rent, token: token(wallet, 0n, 150_000_000n) },
      {
        ...{ key: 'OwnWrapped', before: rent + 1_000_000_000n, after: rent },
        token: token(wallet, 1_000_000_000n, 0n, nativeMint),
      },
      { key: 'OwnNew', before: 0n, after: rent, token: token(wallet, undefined, 0n, 'OtherMint') },
      { key: 'Pool', before: rent, after: rent, token: token(friend, 900_000_000n, 750_000_000n) },
      { key: 'PoolSol', before: 1n, after: 1_000_000_001n },
    ]
    assert.deepEqual(told(derive(accounts)), [
      'input_and_output trade confirmed',
      '+150 USDC',
      '-1 SOL',
      'fee 0.000005 SOL',
      'fee 0.00203928 SOL',
    ])
  })

  it('a failed transaction costs its fee, and nothing where another paid it', () => {
    const err = { InstructionError: [0, { Custom: 1 }] }
    const paid = derive([{ key: wallet, before: 1_000_000n, after: 995_000n }], { err })
    assert.deepEqual(told(paid), ['output_only fee failed', '-0.000005 SOL'])
    const other = derive(
      [
        { key: friend, before: 1_000_000n, after: 995_000n },
        { key: wallet, before: 7n, after: 7n },
      ],
      { err },
    )
    assert.deepEqual([...told(other), other.spam], ['uncategorized other failed', false])
  })

  it('staking moves SOL inside the wallet, and it stays the wallet’s own', () => {
    const lock = [
      { key: wallet, before: 9_000_000_000n, after: 3_999_995_000n },
      { key: stake, before: 0n, after: 5_000_000_000n },
    ]
    assert.deepEqual(told(derive(lock, {}, [stake, wallet])), [
      'input_and_output staking_lock confirmed',
      '+5 SOL staked',
      '-5 SOL',
      'fee 0.000005 SOL',
    ])
    const unlock = [
      { key: wallet, before: 1_000_000n, after: 5_010_995_000n },
      { key: stake, before: 5_010_000_000n, after: 0n },
    ]
    assert.deepEqual(told(derive(unlock, {}, [wallet, stake])), [
      'input_and_output staking_unlock confirmed',
      '+5.01 SOL',
      '-5.01 SOL staked',
      'fee 0.000005 SOL',
    ])
    // If the account belonged to another owner, which the list shows, the result would differ.
    assert.equal(derive(lock).type, 'send')
  })

  it('a stake account that is handed over counts with its balance from then on, or until then', () => {
    const accounts = [
      { key: friend, before: 1_000_000n, after: 995_000n },
      { key: stake, before: 5_000_000_000n, after: 5_000_000_000n },
    ]
    const came = derive(accounts, {}, [stake], { wasOwn: false, isOwn: true })
    assert.deepEqual(told(came), ['receive deposit confirmed', '+5 SOL staked'])
    assert.deepEqual([came.fromAddress, came.toAddress], [friend, wallet])
    const own = [{ key: wallet, before: 1_000_000n, after: 995_000n }, ...accounts.slice(1)]
    const went = derive(own, {}, [stake, wallet], { wasOwn: true, isOwn: false })
    assert.deepEqual(told(went), ['send withdrawal confirmed', '-5 SOL staked', 'fee 0.000005 SOL'])
  })

  it('rewards of an epoch and tips that a validator shares are income', () => {
    const body = '{"epoch":799,"effectiveSlot":345600000,"amount":9007199254740993,"postBalance":9007199254740994}'
    const record = { stream: 'rewards', partition: stake, key: '799', occurredAtMs: 1, body }
    const [reward] = toTransactions([record], facts)
    assert.ok(reward !== undefined)
    assert.deepEqual(told(reward), ['input_only staking_reward confirmed', '+9007199.254740993 SOL staked'])
    assert.deepEqual(linkKeys(record), [`reward:${stake}:799`])
    const tip = derive(
      [
        { key: friend, before: 1_000_000n, after: 900_000n },
        { key: stake, before: 5_000_000_000n, after: 5_000_095_000n },
      ],
      {},
      [stake],
    )
    assert.deepEqual(told(tip), ['input_only staking_reward confirmed', '+0.000095 SOL staked'])
  })

  it('a token with an advertisement for a name is spam, though its sender paid a deposit for it', () => {
    const mint = 'AdvertisementMint'
    const accounts = [
      { key: friend, before: 1_000_000_000n, after: 1_000_000_000n - 5_000n - rent },
      { key: 'OwnNew', before: 0n, after: rent, token: token(wallet, undefined, 100n, mint) },
    ]
    const given = { key: wallet, before: 1_000_000_000n, after: 3_000_000_000n }
    const record = recordOf({ accounts })
    const named = {
      ...(JSON.parse(record.body) as object),
      names: { [mint]: { symbol: 'CLAIM', name: 'Visit free-sol.xyz' } },
    }
    const [draft] = toTransactions([{ ...record, body: JSON.stringify(named) }], facts)
    assert.deepEqual(draft && told(draft), ['input_only airdrop confirmed', '+0.0001 CLAIM'])
    assert.equal(draft && isSpamTransfer(draft), true)
    // The same token with another name.
    const [plain] = toTransactions([record], facts)
    assert.equal(plain && (plain.spam || isSpamTransfer(plain)), false)
    // With SOL for the wallet itself.
    const paid = { ...named, ...(JSON.parse(recordOf({ accounts: [...accounts, given] }).body) as object) }
    const [gift] = toTransactions([{ ...record, body: JSON.stringify(paid) }], facts)
    assert.deepEqual(gift && told(gift), ['input_only airdrop confirmed', '+2 SOL', '+0.0001 CLAIM'])
    assert.equal(gift && (gift.spam || isSpamTransfer(gift)), false)
  })

  it('a transaction that is not final is pending, and already in the balance', () => {
    const accounts = [{ key: wallet, before: 10_000n, after: 5_000n }]
    const [draft] = toTransactions([recordOf({ accounts }, { pending: true })], facts)
    assert.deepEqual([draft?.status, draft?.isDebited], ['pending', true])
  })

  it('before nodes reported token balances, the SOL of the wallet’s own account is exact and the rest is marked as missing', () => {
    const accounts = [
      { key: wallet, before: 1_000_000_000n, after: 1_000_000_000n - rent - 5_000n },
      { key: ownUsdc, before: 0n, after: rent },
    ]
    const record = recordOf({ accounts })
    const old = record.body.replace(/,"preTokenBalances":\[\],"postTokenBalances":\[\]/, '')
    assert.notEqual(old, record.body)
    const lists = [wallet, ownUsdc].map((partition) => ({ ...record, body: old, partition }))
    const [draft] = toTransactions(lists, facts)
    assert.deepEqual(draft && told(draft), ['output_only fee confirmed', '-0.00204428 SOL'])
    assert.deepEqual(draft?.incomplete, ['inputs', 'outputs'])
  })

  it('SOL that was sent to the address of a token account that is closed is not the wallet’s', () => {
    const accounts = [
      { key: friend, before: 9_000_000n, after: 7_995_000n },
      { key: ownUsdc, before: 0n, after: 1_000_000n },
    ]
    assert.deepEqual(told(derive(accounts, {}, [ownUsdc])), ['uncategorized other confirmed'])
  })

  it('a body without its balances cannot be read', () => {
    const record = recordOf({ accounts: [{ key: wallet, before: 2n, after: 1n }] })
    const cut = record.body.replace('"preBalances":[2]', '"preBalances":[]')
    assert.throws(() => toTransactions([{ ...record, body: cut }], facts), /balances/)
  })
})
