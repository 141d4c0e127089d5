/** Verifying a wallet, and its balances, against a node that answers as documented (test-node.ts). */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { base58 } from '@scure/base'
import { toAssociatedAddress, tokenPrograms } from './addresses.ts'
import { nativeMint } from './assets.ts'
import { connector } from './connector.ts'
import { toMetadataAddress } from './names.ts'
import { friend, rent, startNode, toNamedMint, usdc, wallet, type TestNode } from './test-node.ts'
import { ownUsdc, stake, unknownMint, open, isFault, receive, walk } from './test-wallet.ts'

describe('a Solana wallet', () => {
  it('is verified by its address, used or not; a program, a mint and a token account are refused', async () => {
    const node = startNode()
    const unused = await open(node).verify()
    node.accounts.set(wallet, { owner: '11111111111111111111111111111111', lamports: 5n, data: ['', 'base64'] })
    const used = await open(node, { address: `solana:${wallet}?amount=1` }).verify()
    assert.equal(used.fingerprint, unused.fingerprint)
    assert.deepEqual(used.state, { address: wallet, tokens: [], stakes: [], signedStakes: [], ownership: {} })
    node.accounts.set(wallet, { owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', lamports: 5n })
    await assert.rejects(open(node).verify(), isFault('invalid_credentials'))
    await assert.rejects(open(node, { address: `${wallet}x` }).verify(), isFault('invalid_credentials'))
  })

  it('holds the exact amounts of its own account, its token accounts and its stake accounts', async () => {
    const node = startNode()
    node.lamports.set(wallet, 9_007_199_254_740_993n)
    node.stakes.set(stake, 5_000_000_001n)
    node.tokens.push(
      { pubkey: ownUsdc, mint: usdc, amount: 18_446_744_073_709_551_615n },
      { pubkey: 'SecondUsdc', mint: usdc, amount: 1n },
      { pubkey: 'Wrapped', mint: nativeMint, amount: 7n, decimals: 9, lamports: rent + 7n },
      { pubkey: 'Emptied', mint: unknownMint, amount: 0n },
    )
    const { balances, state } = await open(node).fetchBalances({ address: wallet })
    assert.deepEqual(
      balances.map(({ assetId, liquid, staked }) => [assetId, liquid, staked]),
      [
        // 9007199.254740993 and 7 lamports of wrapped SOL, without the deposits of the accounts.
        ['crypto:solana', '9007199.254741', '5.000000001'],
        ['crypto:usd-coin', '18446744073709.551616', '0'],
      ],
    )
    assert.deepEqual(state?.['tokens'], [ownUsdc, 'SecondUsdc', 'Wrapped', 'Emptied'])
    assert.deepEqual([...(connector.ownAddresses?.(state ?? {}) ?? [])].slice(0, 2), [wallet, ownUsdc])
  })

  it('requests the stake accounts that it knows when a node cannot search for them', async () => {
    const node = startNode()
    node.errors.set('getProgramAccounts', { code: -32_010, message: 'excluded from account secondary indexes' })
    const account = (withdrawer: string): object => ({
      lamports: 3_000_000_000n,
      owner: 'Stake11111111111111111111111111111111111111',
      data: { program: 'stake', parsed: { type: 'delegated', info: { meta: { authorized: { withdrawer } } } } },
    })
    node.accounts.set(stake, account(wallet)).set('Sold', account(friend))
    const { balances } = await open(node).fetchBalances({ address: wallet, stakes: [stake, 'Sold', 'Closed'] })
    assert.deepEqual(
      balances.map(({ staked }) => staked),
      ['3'],
    )
  })

  it('names tokens as Token-2022 and Metaplex do, and by their mint otherwise', async () => {
    const node = startNode()
    const [first, second, third] = [unknownMint, unknownMint.replace('Dea', 'Deb'), unknownMint.replace('Dea', 'Dec')]
    for (const mint of [first, second, third]) node.tokens.push({ pubkey: `of ${mint}`, mint, amount: 1n, decimals: 0 })
    node.bytes.set(first, toNamedMint({ name: 'A Token', symbol: 'ATK' }))
    const padded = (text: string, length: number): Buffer =>
      Buffer.concat([Buffer.from([length, 0, 0, 0]), Buffer.alloc(length, text.padEnd(length, '\0'))])
    const data = Buffer.concat([Buffer.alloc(65, 4), padded('An Old Token', 32), padded('OLD', 10), Buffer.alloc(200)])
    node.bytes.set(toMetadataAddress(second), data).set(third, Buffer.alloc(82, 1))
    const { balances } = await open(node).fetchBalances({ address: wallet })
    assert.deepEqual(
      balances.map(({ assetId, symbol, name }) => [assetId, symbol, name]),
      [
        [`solana:${first}`, 'ATK', 'A Token'],
        [`solana:${second}`, 'OLD', 'An Old Token'],
        [`solana:${third}`, 'DecX…B263', 'DecX…B263'],
      ],
    )
  })

  /** Tokens of a stranger, with a text of any length in each mint. */
  function sendTokens(node: TestNode, count: number, more: string): string[] {
    const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
    const mints = Array.from({ length: count }, (_, index) => base58.encode(sha256(`mint ${index}`)))
    for (const mint of mints) {
      node.tokens.push({ pubkey: `of ${mint}`, mint, amount: 1n, decimals: 0 })
      node.bytes.set(mint, toNamedMint({ name: 'Free', symbol: 'FREE', more }))
    }
    return mints
  }

  it('is read when a stranger sends tokens with 60 kB of metadata each, and knows their names', async () => {
    const node = startNode()
    node.lamports.set(wallet, 2_000_000_000n)
    sendTokens(node, 250, '\u0001'.repeat(60_000))
    const lengths: number[] = []
    const fetch: typeof globalThis.fetch = async (...request) => {
      const text = await (await node.io.fetch(...request)).text()
      lengths.push(text.length)
      return new Response(text)
    }
    const reader = connector.open({ type: 'wallet', address: wallet }, { ...node.io, fetch })
    const { balances } = await reader.fetchBalances({ address: wallet })
    assert.ok(lengths.every((length) => length < 500_000))
    assert.deepEqual([balances[0]?.assetId, balances.length], ['crypto:solana', 251])
    assert.ok(balances.slice(1).every(({ symbol, name }) => symbol === 'FREE' && name === 'Free'))
  })

  it('has its balances when a stranger has opened 49,000 token accounts for it', async () => {
    const node = startNode()
    node.lamports.set(wallet, 2_000_000_000n)
    node.tokens.push({ pubkey: 'Own', mint: usdc, amount: 5_000_000n })
    for (let at = 0; at < 48_999; at += 1) {
      node.tokens.push({ pubkey: `Strange${String(at).padStart(36, '1')}`, mint: usdc, amount: 0n })
    }
    const { balances } = await open(node).fetchBalances({ address: wallet })
    assert.deepEqual(
      balances.map(({ assetId, liquid }) => [assetId, liquid]),
      [
        ['crypto:solana', '2'],
        ['crypto:usd-coin', '5'],
      ],
    )
  })

  it('has its balances when such accounts have the longest extensions', async () => {
    const node = startNode()
    node.lamports.set(wallet, 2_000_000_000n)
    const extensions = [{ extension: 'confidentialTransferAccount', state: { elgamalPubkey: 'A'.repeat(2_000) } }]
    for (let at = 0; at < 10_000; at += 1) {
      const pubkey = `Strange${String(at).padStart(36, '1')}`
      node.tokens.push({ pubkey, mint: usdc, amount: 0n, program: tokenPrograms[1], extensions })
    }
    const { balances } = await open(node).fetchBalances({ address: wallet })
    assert.deepEqual(
      balances.map(({ assetId, liquid }) => [assetId, liquid]),
      [['crypto:solana', '2']],
    )
  })

  it('asks for a limited number of names, and calls the other tokens by their mints', async () => {
    const node = startNode()
    const mints = sendTokens(node, 1_200, '')
    const { balances } = await open(node).fetchBalances({ address: wallet })
    assert.equal(balances.length, 1_200)
    assert.equal(node.asked.filter(({ method }) => method === 'getMultipleAccounts').length, 20)
    const last = mints.at(-1) ?? ''
    assert.deepEqual(
      balances.filter(({ assetId }) => assetId === `solana:${last}`).map(({ symbol }) => symbol),
      [`${last.slice(0, 4)}…${last.slice(-4)}`],
    )
  })

  for (const [name, answer] of [
    ['refuses to give accounts', { code: -32_601, message: 'Method not found' }],
    ['fails when it is asked for accounts', { code: -32_603, message: 'Internal error' }],
  ] as const) {
    it(`has its balances and history from a node that ${name}, without the names of tokens`, async () => {
      const node = startNode()
      const [mint = ''] = sendTokens(node, 60, '')
      const token = { mint, owner: wallet, before: 0n, after: 5n }
      const accounts = [...receive('', 0).accounts, { key: 'Account', before: rent, after: rent, token }]
      node.transactions.push(receive('named', 1_759_999_000, { accounts }))
      node.errors.set('getMultipleAccounts', answer)
      const { balances } = await open(node).fetchBalances({ address: wallet })
      assert.equal(balances.length, 60)
      const window = { start: 1_750_000_000_000, end: node.nowMs }
      assert.deepEqual((await walk(open(node), wallet, window)).keys, ['named'])
      // A node that fails is not asked for the next fifty.
      assert.equal(node.asked.filter(({ method }) => method === 'getMultipleAccounts').length, 2)
    })
  }

  it('waits for a node that limits requests before it goes on without names', async () => {
    const node = startNode()
    sendTokens(node, 1, '')
    node.errors.set('getMultipleAccounts', { code: 429, message: 'Too many requests' })
    await assert.rejects(open(node).fetchBalances({ address: wallet }), isFault('rate_limited'))
  })

  it('Metaplex: the address of the metadata follows from the mint', () => {
    // The metadata account of USDC, as explorers show it.
    assert.equal(toMetadataAddress(usdc), '5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq')
    assert.throws(() => toMetadataAddress(usdc.replace('E', '0')), isFault('unreadable_answer'))
  })

  it('the associated account of a token follows from the wallet and the mint', () => {
    // As @solana/kit computes it.
    const address = toAssociatedAddress('vines1vzrYbzLMRdu58ou5XTby4qAqVRLmqo36NKPTg', usdc)
    assert.equal(address, '9jrTvdU2Am3UmgSAX8EKS9wwrSufkWRbZzEukDogqpQg')
  })
})
