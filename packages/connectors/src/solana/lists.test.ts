/** The lists of a wallet, against a node that answers as documented (test-node.ts). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConnectorState, Window } from '../kit/connector.ts'
import { toAssociatedAddress } from './addresses.ts'
import { connector } from './connector.ts'
import { friend, rent, startNode, toNamedMint, tokenProgram, usdc, wallet, type TestTransaction } from './test-node.ts'
import { day, ownUsdc, stake, unknownMint, open, isFault, receive, walk } from './test-wallet.ts'

const firstBlockSeconds = Date.UTC(2015, 0, 1) / 1_000

describe('lists of a Solana wallet', () => {
  const now = 1_760_000_000
  const recent = { start: (now - 30 * day) * 1_000, end: now * 1_000 }
  const rest = { start: 0, end: recent.start }

  it('two windows return every transaction once, and skip newer ones', async () => {
    const node = startNode()
    for (let count = 1; count <= 60; count += 1) node.transactions.push(receive(`s${count}`, now - count * day))
    const [newer, older] = [await walk(open(node), wallet, recent), await walk(open(node), wallet, rest)]
    assert.deepEqual([newer.keys.length, older.keys.length], [30, 30])
    assert.equal(new Set([...newer.keys, ...older.keys]).size, 60)
    const limits = node.asked.flatMap(({ method, params }) =>
      method === 'getSignaturesForAddress' ? [(params[1] as { limit: number }).limit] : [],
    )
    assert.ok(limits.includes(1_000))
  })

  it('a list does not end where a node gives a whole page again', async () => {
    const node = startNode()
    for (let count = 1; count <= 60; count += 1) node.transactions.push(receive(`s${count}`, now - count * day))
    node.isStuck = true
    await assert.rejects(walk(open(node), wallet, recent), isFault('unreadable_answer'))
    await assert.rejects(walk(open(node), wallet, rest), isFault('unreadable_answer'))
  })

  it('a token account adds transactions that do not name the wallet, and its address is learned from the wallet’s list', async () => {
    const node = startNode()
    const token = { mint: usdc, owner: wallet, before: 0n, after: 5n }
    const named = { key: ownUsdc, before: rent, after: rent, token }
    node.transactions.push(
      { ...receive('both', now - 10), accounts: [...receive('', 0).accounts, named] },
      { ...receive('token alone', now - 20), accounts: [{ key: friend, before: 9_000n, after: 4_000n }, named] },
    )
    const reader = open(node)
    const first = await walk(reader, wallet, recent)
    assert.deepEqual(first.keys, ['both'])
    const stakes = { stakes: [], signedStakes: [], ownership: {} }
    assert.deepEqual(first.state, { address: wallet, tokens: [ownUsdc], ...stakes })
    const lists = await reader.listPartitions?.(first.state)
    assert.deepEqual(
      lists?.map(({ partition }) => partition),
      [wallet, ownUsdc],
    )
    assert.deepEqual((await walk(reader, ownUsdc, recent)).keys, ['token alone'])
    assert.equal(node.asked.filter(({ method }) => method === 'getTransaction').length, 2)
  })

  it('a transaction that names token accounts and changes none of their tokens is one record', async () => {
    const node = startNode()
    const stranger = { key: friend, before: 9_000n, after: 4_000n }
    const token = { mint: usdc, owner: wallet, before: 5n, after: 5n }
    const tokens = Array.from({ length: 60 }, (_, index) => `Usdc ${index}`)
    const named = tokens.map((key) => ({ key, before: rent, after: rent, token }))
    const paid = { ...named[7], key: 'Usdc 7', before: rent, after: rent, token: { ...token, after: 6n } }
    node.transactions.push(
      { signature: 'named', atSeconds: now - 10, accounts: [stranger, ...named] },
      {
        signature: 'lamport',
        atSeconds: now - 20,
        accounts: [stranger, { key: 'Usdc 7', before: rent, after: rent + 1n }],
      },
      { signature: 'paid', atSeconds: now - 30, accounts: [stranger, paid, ...named.slice(8)] },
    )
    const state = { address: wallet, tokens }
    const lists = await Promise.all(tokens.map(async (list) => (await walk(open(node), list, recent, { state })).keys))
    assert.deepEqual(Object.fromEntries(lists.flatMap((keys, index) => (keys.length === 0 ? [] : [[index, keys]]))), {
      0: ['named'],
      7: ['lamport', 'paid'],
    })
  })

  it('transactions that name an account beside one of a stranger are not left to a list that drops them all', async () => {
    const node = startNode()
    const token = (owner: string) => ({ mint: usdc, owner, before: 5n, after: 5n })
    for (let count = 1; count <= 250; count += 1) {
      const accounts = [
        { key: friend, before: 9_000n, after: 4_000n },
        { key: 'Once own', before: rent, after: rent, token: token(friend) },
        { key: 'Own', before: rent, after: rent, token: token(wallet) },
      ]
      node.transactions.push({ signature: `s${count}`, atSeconds: now - count, accounts })
    }
    const state = { address: wallet, tokens: ['Once own', 'Own'] }
    const { keys } = await walk(open(node), 'Own', recent, { state })
    assert.deepEqual(keys, ['s100', 's200'])
  })

  it('of a token account that was handed over, the past with another owner is not recorded, and not read without an end', async () => {
    const node = startNode()
    const transact = (count: number, owners: { owner: string; ownerBefore?: string }): TestTransaction => ({
      signature: `s${count}`,
      atSeconds: now - count,
      accounts: [
        { key: friend, before: 9_000n, after: 4_000n },
        { key: 'Given', before: rent, after: rent, token: { mint: usdc, ...owners, before: 5n, after: 5n } },
      ],
    })
    node.transactions.push(transact(1, { owner: wallet, ownerBefore: friend }))
    for (let count = 2; count <= 60; count += 1) node.transactions.push(transact(count, { owner: friend }))
    node.transactions.push(transact(61, { owner: friend, ownerBefore: wallet }))
    assert.deepEqual((await walk(open(node), 'Given', recent)).keys, ['s1', 's61'])
    // From before nodes reported balances of tokens. Without s61, the account was another's.
    const accounts = [friend, 'Given', tokenProgram].map((key) => ({ key, before: rent, after: rent }))
    node.transactions.push({ signature: 'old', atSeconds: 1_600_000_000, accounts })
    assert.deepEqual((await walk(open(node), 'Given', rest)).keys, ['old'])
    node.transactions.splice(-2, 1)
    assert.deepEqual((await walk(open(node), 'Given', rest)).keys, [])
    const window: Window = { unit: 'ms', ...recent }
    const request = {
      stream: 'transactions',
      partition: 'Given',
      window,
      lastingMark: null,
      state: { address: wallet },
    }
    const first = await open(node).fetchPage({ ...request, pageMark: null })
    const mark = JSON.parse(first.next ?? '') as { wanted: object[] }
    // Behind the hand-over, after many pages.
    const pageMark = JSON.stringify({ ...mark, wanted: mark.wanted.slice(1), foreignCount: 10_000 })
    const last = await open(node).fetchPage({ ...request, pageMark })
    assert.deepEqual([last.records, last.next], [[], null])
  })

  it('stake accounts are learned from instructions, including those that were split off or merged', async () => {
    const node = startNode()
    const program = 'stake'
    const authorized = { staker: friend, withdrawer: wallet }
    const instructions = [
      { program, parsed: { type: 'initialize', info: { stakeAccount: stake, authorized } } },
      { program, parsed: { type: 'split', info: { stakeAccount: stake, newSplitAccount: 'Split', lamports: 5 } } },
      { program, parsed: { type: 'merge', info: { destination: 'Split', source: 'Merged' } } },
      { program, parsed: { type: 'initialize', info: { stakeAccount: 'Other', authorized: { withdrawer: friend } } } },
      { program: 'system', parsed: { type: 'transfer', info: {} } },
      { programId: 'Unparsed', data: '3Bxs', accounts: [] },
    ]
    node.transactions.push(receive('staked', now - 10, { instructions }))
    const { state } = await walk(open(node), wallet, recent)
    assert.deepEqual(state['stakes'], [stake, 'Split', 'Merged'])
    const lists = (await open(node).listPartitions?.(state)) ?? []
    assert.deepEqual(
      lists.map(({ stream, partition }) => [stream, partition]),
      [wallet, stake, 'Split', 'Merged'].map((partition) => ['transactions', partition]),
    )
  })

  it('a stake account that the wallet made itself is read, however many a stranger has made in its name', async () => {
    const node = startNode()
    const program = 'stake'
    const initialize = (stakeAccount: string) => ({
      ...{ program, parsed: { type: 'initialize', info: { stakeAccount, authorized: { withdrawer: wallet } } } },
    })
    const junk = (first: number): object[] =>
      Array.from({ length: 150 }, (_, index) => initialize(`Junk ${first + index}`))
    const sign = (transaction: TestTransaction): TestTransaction => ({
      ...transaction,
      accounts: transaction.accounts.map((account) => ({ ...account, signer: account.key === wallet })),
    })
    node.transactions.push(
      receive('second gift', now - 10, { instructions: junk(151) }),
      sign(receive('own', now - 20, { instructions: [initialize(stake)] })),
      receive('first gift', now - 30, { instructions: junk(1) }),
    )
    const first = await walk(open(node), wallet, recent)
    const stakes = first.state['stakes'] as string[]
    assert.deepEqual([stakes.length, stakes.includes(stake)], [200, true])
    node.transactions.unshift(sign(receive('later', now - 5, { instructions: [initialize('Later')] })))
    const { state } = await walk(open(node), wallet, recent, { state: first.state })
    assert.deepEqual(new Set((state['stakes'] as string[]).slice(0, 2)), new Set(['Later', stake]))
  })

  it('a failed transaction shows no stake account: a stranger can name any account and any wallet in it', async () => {
    const node = startNode()
    const program = 'stake'
    const authorized = { staker: friend, withdrawer: wallet }
    const instructions = [
      { program, parsed: { type: 'initialize', info: { stakeAccount: 'Exchange', authorized } } },
      { program, parsed: { type: 'withdraw', info: { stakeAccount: 'Victim', withdrawAuthority: wallet } } },
    ]
    const err = { InstructionError: [0, 'MissingRequiredSignature'] }
    node.transactions.push(receive('refused', now - 10, { instructions, err }))
    const reader = open(node)
    const { keys, state } = await walk(reader, wallet, recent)
    assert.deepEqual(keys, ['refused'])
    assert.deepEqual(await reader.listPartitions?.(state), [{ stream: 'transactions', partition: wallet }])
  })

  it('a wallet in whose name a stranger opened thousands of accounts is read, and keeps those of known tokens', async () => {
    const node = startNode()
    const token = { mint: unknownMint, owner: wallet, before: 0n, after: 0n }
    for (let index = 0; index < 60; index += 1) {
      const opened = Array.from({ length: 100 }, (_, place) => `Spam ${index}/${place}`)
      const accounts = opened.map((key) => ({ key, before: rent, after: rent, token }))
      node.transactions.push(
        receive(`spam ${index}`, now - 100 - index, { accounts: [...receive('', 0).accounts, ...accounts] }),
      )
    }
    node.tokens.push({ pubkey: ownUsdc, mint: usdc, amount: 5n })
    const reader = open(node)
    const { state } = await walk(reader, wallet, recent)
    const balances = await reader.fetchBalances(state)
    assert.deepEqual(
      balances.balances.map(({ assetId }) => assetId),
      ['crypto:usd-coin'],
    )
    const lists = (await reader.listPartitions?.(balances.state ?? state)) ?? []
    assert.ok(lists.length < 3_000)
    assert.ok(lists.some(({ partition }) => partition === ownUsdc))
    assert.equal((await reader.fetchBalances(balances.state ?? state)).state, undefined)
  })

  it('the wallet’s own accounts of known tokens are read, however many a stranger opens for the same tokens', async () => {
    const node = startNode()
    const bait = Array.from({ length: 3_000 }, (_, index) => ({ pubkey: `Bait ${index}`, mint: usdc, amount: 0n }))
    const associated = toAssociatedAddress(wallet, usdc)
    const paypal = '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo'
    const token2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
    const second = toAssociatedAddress(wallet, paypal, token2022)
    node.tokens.push(
      ...bait,
      { pubkey: associated, mint: usdc, amount: 5n },
      { pubkey: ownUsdc, mint: usdc, amount: 5n },
    )
    node.tokens.push({ pubkey: second, mint: paypal, amount: 5n, program: token2022 })
    const reader = open(node)
    const { state } = await reader.fetchBalances({ address: wallet, tokens: ['Closed', ownUsdc] })
    const tokens = state?.['tokens'] as string[]
    assert.deepEqual([tokens.length, tokens.slice(0, 3)], [2_000, [associated, second, ownUsdc]])
    // And stay so.
    assert.equal((await reader.fetchBalances(state ?? {})).state, undefined)
  })

  it('a name of any length takes little room in the records of its token', async () => {
    const node = startNode()
    node.bytes.set(unknownMint, toNamedMint({ name: 'N'.repeat(200), symbol: 'S'.repeat(200) }))
    const token = { mint: unknownMint, owner: wallet, before: 0n, after: 5n }
    node.transactions.push({
      ...receive('named', now - 10),
      accounts: [...receive('', 0).accounts, { key: 'Account', before: rent, after: rent, token }],
    })
    const { pages } = await walk(open(node), wallet, recent)
    const [record] = pages.flatMap(({ records }) => records)
    assert.match(record?.body ?? '', /"names":\{"Dea[^"]*":\{"symbol":"S+","name":"N+"\}\}/)
    assert.ok((record?.body.length ?? Infinity) < 3_000)
  })

  it('a signature that is not final is pending; a dropped one is withdrawn, and a late one is not', async () => {
    const node = startNode()
    node.transactions.push(
      receive('final', now - 60),
      receive('dropped', now - 5, { status: 'confirmed' }),
      receive('late', now - 4, { status: 'confirmed' }),
    )
    const first = await walk(open(node), wallet, recent)
    const pending = first.pages.flatMap(({ records }) => records).filter((record) => record.pending === true)
    assert.deepEqual(pending.map(({ key }) => key).toSorted(), ['dropped', 'late'])
    node.transactions = node.transactions.filter(({ signature }) => signature !== 'dropped')
    const [late] = node.transactions.splice(1, 1)
    const again = { ...recent, end: recent.end + 60_000 }
    // The list does not show it yet, though the node has it.
    node.transactions.push({ ...receive('late', now - 4, { status: 'confirmed' }), accounts: [] })
    const second = await walk(open(node), wallet, again, { lastingMark: first.lastingMark })
    assert.deepEqual(second.withdrawn, ['dropped'])
    node.transactions.splice(1, 1, receive('late', late?.atSeconds ?? 0))
    const third = await walk(open(node), wallet, again, { lastingMark: second.lastingMark })
    assert.deepEqual([third.withdrawn, third.lastingMark, third.keys], [[], '[]', ['late', 'final']])
  })

  it('a transaction of a version that the node cannot return is reported, and blocks nothing else', async () => {
    const node = startNode()
    node.transactions.push(receive('new', now - 60))
    node.errors.set('getTransaction', { code: -32_015, message: 'Transaction version (1) is not supported' })
    const { pages } = await walk(open(node), wallet, recent)
    const [record] = pages.flatMap(({ records }) => records)
    assert.deepEqual([record?.key, record?.occurredAtMs], ['new', (now - 60) * 1_000])
    assert.ok(record?.unreadable !== undefined)
  })

  it('transactions of every version are read', async () => {
    const node = startNode()
    const versions = ['legacy', 0, 1, 127] as const
    node.transactions.push(...versions.map((version) => receive(`of ${version}`, now - 60, { version })))
    const { pages } = await walk(open(node), wallet, recent)
    const records = pages.flatMap((page) => page.records)
    assert.deepEqual(new Set(records.map(({ key }) => key)), new Set(versions.map((version) => `of ${version}`)))
    assert.deepEqual(
      records.filter(({ unreadable }) => unreadable !== undefined),
      [],
    )
  })

  it('transactions that are too long for one answer together are read in several', async () => {
    const node = startNode()
    const instructions = [{ programId: 'Unparsed', data: '3'.repeat(1_000_000), accounts: [] }]
    for (let count = 1; count <= 30; count += 1)
      node.transactions.push(receive(`s${count}`, now - count, { instructions }))
    const { keys } = await walk(open(node), wallet, recent)
    assert.deepEqual(
      keys,
      Array.from({ length: 30 }, (_, index) => `s${index + 1}`),
    )
  })

  it('a transaction with more accounts than the chain allows is reported, and none of them is learned', async () => {
    const node = startNode()
    const accounts = Array.from({ length: 257 }, (_, index) => ({
      ...{ key: index === 0 ? wallet : `Account${index}`, before: 1n, after: 1n },
      token: { mint: usdc, owner: wallet, before: 0n, after: 1n },
    }))
    node.transactions.push({ signature: 'wide', atSeconds: now - 60, accounts }, receive('plain', now - 120))
    const { pages, state } = await walk(open(node), wallet, recent)
    const records = pages.flatMap((page) => page.records)
    assert.deepEqual(
      records.map(({ key, unreadable }) => [key, unreadable !== undefined]),
      [
        ['wide', true],
        ['plain', false],
      ],
    )
    assert.deepEqual(state, { address: wallet })
  })

  /** The stake account became the wallet's in the first of these slots, was another's since the second, and so on. */
  function ownedSince(...slots: number[]): ConnectorState {
    const changes = slots.map((slot, index) => ({
      ...{ signature: `in ${slot}`, slot, isOwn: index % 2 === 0, isFinal: true },
    }))
    const known = { upTo: null, slot: 802 * 432_000, changes: changes.toReversed() }
    return { address: wallet, tokens: [], stakes: [stake], ownership: { [stake]: known } }
  }

  it('rewards are requested by epoch, from when the account became the wallet’s to the last epoch that was paid', async () => {
    const node = Object.assign(startNode(), { firstBlockSeconds })
    const state = ownedSince(790 * 432_000 + 5)
    for (const epoch of [791, 795, 799, 800]) {
      node.rewards.set(`${stake}:${epoch}`, { amount: 7_000_001n, effectiveSlot: (epoch + 1) * 432_000 })
    }
    const rewards = await walk(open(node), stake, recent, { stream: 'rewards', state })
    assert.deepEqual([rewards.keys, rewards.lastingMark], [['791', '795', '799'], '800'])
    const [record] = rewards.pages.flatMap(({ records }) => records)
    assert.equal(record?.occurredAtMs, (firstBlockSeconds + 792 * 432_000) * 1_000)
    assert.match(record.body, /"postBalance":9007199254740993[,}]/)
    // In the first blocks of an epoch the last one is still being paid.
    Object.assign(node.epoch, { epoch: 801, slotIndex: 100, absoluteSlot: 801 * 432_000 + 100 })
    assert.deepEqual(
      (await walk(open(node), stake, recent, { stream: 'rewards', lastingMark: '800', state })).lastingMark,
      '800',
    )
    Object.assign(node.epoch, { slotIndex: 9_000, absoluteSlot: 801 * 432_000 + 9_000 })
    const later = await walk(open(node), stake, recent, { stream: 'rewards', lastingMark: '800', state })
    assert.deepEqual([later.keys, later.lastingMark, later.pages.length], [['800'], '801', 2])
  })

  it('rewards that were paid to another owner are left out, and later epochs are requested as they come', async () => {
    const node = Object.assign(startNode(), { firstBlockSeconds })
    for (const epoch of [698, 699, 700, 702, 703, 799])
      node.rewards.set(`${stake}:${epoch}`, { amount: 1n, effectiveSlot: (epoch + 1) * 432_000 })
    const state = ownedSince(700 * 432_000 + 5, 703 * 432_000 + 5)
    const { keys, lastingMark } = await walk(open(node), stake, recent, { stream: 'rewards', state })
    assert.deepEqual([keys, lastingMark], [['700', '702'], '800'])
    assert.equal(node.asked.filter(({ method }) => method === 'getInflationReward').length, 4)
  })

  it('rewards wait until it is known who owned the account when they were paid', async () => {
    const node = Object.assign(startNode(), { firstBlockSeconds })
    node.rewards.set(`${stake}:799`, { amount: 1n, effectiveSlot: 800 * 432_000 })
    const state = ownedSince(798 * 432_000)
    const known = (state['ownership'] as Record<string, object>)[stake]
    const stale = { ...state, ownership: { [stake]: { ...known, slot: 800 * 432_000 - 1 } } }
    const first = await walk(open(node), stake, recent, { stream: 'rewards', state: stale })
    assert.deepEqual([first.keys, first.lastingMark], [[], '799'])
    const second = await walk(open(node), stake, recent, { stream: 'rewards', state, lastingMark: first.lastingMark })
    assert.deepEqual([second.keys, second.lastingMark], [['799'], '800'])
    await assert.rejects(walk(open(node), 'Other', recent, { stream: 'rewards', state }), isFault('data_hole'))
  })

  it('a node that is behind the one before does not end the list', async () => {
    const node = startNode()
    for (let count = 1; count <= 30; count += 1) node.transactions.push(receive(`s${count}`, now - count))
    node.laggardSlot = now - 25
    await assert.rejects(walk(open(node), wallet, recent), isFault('venue_down'))
    node.laggardSlot = now - 20
    assert.equal((await walk(open(node), wallet, recent)).keys.length, 30)
  })

  for (const [code, fault] of [
    [-32_005, 'venue_down'],
    [-32_011, 'data_hole'],
    [-32_012, 'unreadable_answer'],
    [-32_602, 'unreadable_answer'],
    [429, 'rate_limited'],
  ] as const) {
    it(`error ${code} is ${fault}`, async () => {
      const node = startNode()
      node.errors.set('getSignaturesForAddress', { code, message: 'refused' })
      await assert.rejects(walk(open(node), wallet, recent), isFault(fault))
    })
  }

  for (const [name, from, to] of [
    ['without an id', '"id":', '"no":'],
    ['with a reward that has no amount', '"amount":', '"no":'],
  ] as const) {
    it(`an answer ${name} is unreadable, and not a bug of ours`, async () => {
      const node = startNode()
      node.rewards.set(`${stake}:799`, { amount: 7n, effectiveSlot: 800 * 432_000 })
      const io = {
        ...node.io,
        fetch: async (...request: Parameters<typeof fetch>) => {
          const text = await (await node.io.fetch(...request)).text()
          return new Response(text.replaceAll(from, to))
        },
      }
      const reader = connector.open({ type: 'wallet', address: wallet }, io)
      await assert.rejects(
        walk(reader, stake, recent, { stream: 'rewards', lastingMark: '799', state: ownedSince(1) }),
        isFault('unreadable_answer'),
      )
    })
  }

  it('the operator’s node is asked instead of the public one', async () => {
    const hosts: string[] = []
    const io = {
      ...startNode().io,
      baseUrl: undefined,
      fetch: async (url: string | URL | Request) => {
        hosts.push(new URL(url instanceof Request ? url.url : url).host)
        return new Response('{"jsonrpc":"2.0","id":1,"result":{"value":null}}')
      },
    }
    const credentials = { type: 'wallet', address: wallet } as const
    await connector.open(credentials, io).verify()
    await connector.open(credentials, { ...io, chainUrls: { solana: { rpc: 'https://node.example/key' } } }).verify()
    assert.deepEqual(hosts, ['api.mainnet-beta.solana.com', 'node.example'])
  })
})
