import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { createPublicClient, erc20Abi, getAddress, http, isAddress, type PublicClient } from 'viem'
import type { Sandbox } from '../index.ts'
import { askNode, openWallet, postRpc, type TestWallet, type WireRow } from '../testing/evm-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'

const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

/**
 * The engine inside hardhat is a native library, so a process can tell whether it was loaded. Run in a process of its
 * own, because the one of this test has perhaps run another test of the chains before.
 */
const loadingProgram = `
  const { control, openAccount, startTestSandbox } = await import('${import.meta.resolve('../testing/kraken-client.ts')}')
  const { openWallet } = await import('${import.meta.resolve('../testing/evm-client.ts')}')
  const isLoaded = () => process.report.getReport().sharedObjects.some((path) => path.includes('edr'))
  const sandbox = await startTestSandbox()
  await openAccount(sandbox, 'default')
  await control(sandbox, 'GET', 'providers')
  const before = isLoaded()
  await openWallet(sandbox, 'default')
  console.log(JSON.stringify([before, isLoaded()]))
  await sandbox.close()`

let sandbox: Sandbox
let wallet: TestWallet
before(async () => {
  sandbox = await startTestSandbox()
  wallet = await openWallet(sandbox, 'default')
})
after(() => sandbox.close())

function clientOf(chainId: number, options: { batch?: boolean } = {}): PublicClient {
  return createPublicClient({ transport: http(`${sandbox.urls.evm}/rpc/${chainId}`, { retryCount: 0, ...options }) })
}

it('the engine of the chains is loaded with the first wallet, and not before', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', loadingProgram])
  assert.deepEqual(JSON.parse(stdout), [false, true])
})

it('an address has the upper and lower case of EIP-55, and is read in any case', async () => {
  assert.ok(isAddress(wallet.address, { strict: true }))
  assert.equal(getAddress(wallet.address.toLowerCase()), wallet.address)
  const lower = await wallet.list(1, 'txlist', { address: wallet.address.toLowerCase() })
  assert.deepEqual(lower.length, (await wallet.list(1, 'txlist')).length)
})

describe("viem's own reads", () => {
  for (const chainId of [1, 8453]) {
    it(`agree with the index on chain ${chainId}`, async () => {
      const client = clientOf(chainId)
      assert.equal(await client.getChainId(), chainId)
      const { address } = wallet
      assert.equal(String(await client.getBalance({ address })), (await wallet.ask(chainId, 'balance')).result)
      const rows = await wallet.list(chainId, 'txlist')
      const own = rows.filter(({ from }) => from === address.toLowerCase())
      assert.equal(await client.getTransactionCount({ address }), own.length)
      for (const row of [rows[0], rows[40], rows.at(-1)]) {
        assert.ok(row)
        const hash = row['hash'] as `0x${string}`
        const [sent, receipt] = [await client.getTransaction({ hash }), await client.getTransactionReceipt({ hash })]
        const block = await client.getBlock({ blockHash: receipt.blockHash })
        assert.deepEqual(
          [sent.from, sent.value, sent.nonce, receipt.gasUsed, receipt.effectiveGasPrice, block.timestamp].map(String),
          ['from', 'value', 'nonce', 'gasUsed', 'gasPrice', 'timeStamp'].map((name) => row[name]),
        )
      }
      assert.ok(((await client.getCode({ address: usdc })) !== undefined) === (chainId === 1))
    })
  }

  it('find the same token transfers in the logs, and the same balance', async () => {
    const client = clientOf(1)
    const event = erc20Abi.find((item) => item.type === 'event' && item.name === 'Transfer')
    assert.ok(event?.type === 'event')
    const range = { address: usdc, event, fromBlock: 'earliest', toBlock: 'latest', strict: true } as const
    const logs = [
      ...(await client.getLogs({ ...range, args: { from: wallet.address } } as never)),
      ...(await client.getLogs({ ...range, args: { to: wallet.address } } as never)),
    ] as { transactionHash: string; logIndex: number }[]
    const rows = await wallet.list(1, 'tokentx', { contractaddress: usdc })
    const fromRows = rows.map((row) => `${row['hash']} ${row['logIndex']}`)
    const fromLogs = logs.map(({ transactionHash, logIndex }) => `${transactionHash} ${logIndex}`)
    assert.deepEqual(fromLogs.toSorted(), fromRows.toSorted())
    const balance = await client.readContract({
      ...{ address: usdc, abi: erc20Abi, functionName: 'balanceOf', args: [wallet.address] },
    } as const)
    const { networks } = await wallet.state()
    assert.equal(networks[0]?.balances.find(({ asset }) => asset === usdc.toLowerCase())?.balance, String(balance))
  })

  it('may come in batches', async () => {
    const client = clientOf(1, { batch: true })
    const heights = await Promise.all([
      client.getBlockNumber({ cacheTime: 0 }),
      client.getChainId(),
      client.getBalance(wallet),
    ])
    assert.deepEqual([heights[1], heights[2] > 0n], [1, true])
  })

  it('see the data fee of the Base-shaped network in its receipts', async () => {
    const [row] = (await wallet.list(8453, 'txlist')).filter(({ from }) => from === wallet.address.toLowerCase())
    const receipt = await askNode<Record<string, string>>(sandbox, 8453, 'eth_getTransactionReceipt', row?.['hash'])
    const of = (name: string): bigint => BigInt(receipt[name] ?? '')
    const weighted = 16n * of('l1BaseFeeScalar') * of('l1GasPrice') + of('l1BlobBaseFeeScalar') * of('l1BlobBaseFee')
    assert.equal(of('l1Fee'), (of('l1GasUsed') * weighted) / 16_000_000n)
    assert.ok(of('l1Fee') > 0n)
  })
})

describe('the node', () => {
  const ask = (method: string, ...params: unknown[]): object => ({ jsonrpc: '2.0', id: 7, method, params })

  it('refuses methods that a reader does not need', async () => {
    for (const method of [
      'eth_sendTransaction',
      'hardhat_setBalance',
      'evm_mine',
      'debug_traceTransaction',
      'constructor',
    ]) {
      const { error } = (await postRpc(sandbox, 1, ask(method))) as { error: { code: number } }
      assert.equal(error.code, -32601)
    }
  })

  it('answers malformed requests as JSON-RPC specifies', async () => {
    const codeOf = (answer: unknown): number => (answer as { error: { code: number } }).error.code
    assert.equal(codeOf(await postRpc(sandbox, 1, '{')), -32700)
    assert.equal(codeOf(await postRpc(sandbox, 1, { method: 'eth_chainId' })), -32600)
    assert.equal(codeOf(await postRpc(sandbox, 1, [])), -32600)
    const [good, bad] = (await postRpc(sandbox, 1, [ask('eth_chainId'), 5])) as { result?: string }[]
    assert.deepEqual([good, codeOf(bad)], [{ jsonrpc: '2.0', id: 7, result: '0x1' }, -32600])
    const reverted = ask('eth_call', { to: usdc, data: '0x12345678' }, 'latest')
    assert.ok(codeOf(await postRpc(sandbox, 1, reverted)) !== 0)
  })

  it('has final blocks behind the newest', async () => {
    const heights = []
    for (const tag of ['finalized', 'safe', 'latest']) {
      heights.push(Number((await askNode<{ number: string }>(sandbox, 1, 'eth_getBlockByNumber', tag, false)).number))
    }
    const [finalized = 0, safe = 0, latest = 0] = heights
    assert.ok(latest - finalized >= 64 && latest - finalized < 70 && latest - safe >= 32 && safe > finalized)
  })

  it('makes blocks as the clock goes', async () => {
    const own = { ms: Date.UTC(2026, 10, 15) }
    const stopped = await startTestSandbox({ now: () => own.ms })
    try {
      const latest = async (): Promise<[number, number]> => {
        const block = await askNode<Record<string, string>>(stopped, 1, 'eth_getBlockByNumber', 'latest', false)
        return [Number(block['number']), Number(block['timestamp'])]
      }
      const [number, timeS] = await latest()
      assert.ok(timeS <= own.ms / 1000 && timeS > own.ms / 1000 - 12)
      await control(stopped, 'POST', 'clock', { offset_ms: 3_600_000 })
      assert.deepEqual(await latest(), [number + 300, timeS + 3_600])
    } finally {
      await stopped.close()
    }
  })
})

describe('the controls of a wallet', () => {
  it('books transfers in and out, on either network, and the balance follows', async () => {
    const own = await openWallet(sandbox, 'empty', 'booked')
    const [deposit] = await own.book({ type: 'deposit', asset: 'ETH', amount: '2.000000000000000001' })
    const pair = await own.book(
      { type: 'deposit', asset: 'USDC', amount: '10.5' },
      { type: 'deposit', asset: 'USDC@8453', amount: '7' },
    )
    assert.equal((await own.ask(1, 'balance')).result, '2000000000000000001')
    assert.deepEqual(pick((await own.list(1, 'txlist'))[0], 'hash', 'value'), [deposit, '2000000000000000001'])
    assert.deepEqual(pick((await own.list(1, 'tokentx'))[0], 'hash', 'value'), [pair[0], '10500000'])
    assert.deepEqual(pick((await own.list(8453, 'tokentx'))[0], 'hash', 'value'), [pair[1], '7000000'])
    const [out] = await own.book({ type: 'withdrawal', asset: 'USDC', amount: '-0.5', address: wallet.address })
    const [, sent] = await own.list(1, 'tokentx')
    assert.deepEqual(pick(sent, 'hash', 'to', 'value'), [out, wallet.address.toLowerCase(), '500000'])
    assert.ok(
      (await wallet.list(1, 'tokentx')).some(({ hash }) => hash === out),
      'the other wallet received it',
    )
    const [native] = (await own.state()).networks[0]?.balances ?? []
    const fee = (await own.list(1, 'txlist')).at(-1) as WireRow
    const spent = BigInt(fee['gasUsed'] ?? '') * BigInt(fee['gasPrice'] ?? '')
    assert.equal(native?.balance, String(2_000_000_000_000_000_001n - spent))
  })

  it('refuses bookings that a chain cannot contain', async () => {
    const own = await openWallet(sandbox, 'empty', 'refused')
    for (const [entry, reason] of [
      [{ type: 'withdrawal', asset: 'ETH', amount: '1' }, /needed/],
      [{ type: 'deposit', asset: 'BTC', amount: '1' }, /no asset BTC/],
      [{ type: 'deposit', asset: 'CBBTC', amount: '1' }, /no asset CBBTC/],
      [{ type: 'staking', asset: 'ETH', amount: '1' }, /deposit and withdrawal can/],
      [{ type: 'deposit', asset: 'ETH', amount: '1', time: '2026-01-01T00:00:00Z' }, /time/],
      [{ type: 'deposit', asset: 'ETH', amount: '1', address: 'x' }, /not an address/],
      [{ type: 'deposit', asset: 'USDC', amount: '0.0000001' }, /decimals/],
    ] as const) {
      await assert.rejects(own.book(entry), reason)
    }
    await assert.rejects(control(sandbox, 'POST', `accounts/${own.accountId}/key`, { revoked: true }), /no key/)
    assert.equal((await own.ask(1, 'txlist')).message, 'No transactions found')
  })

  it('reorganises the newest block: the transaction moves to a later one, or is gone', async () => {
    const own = await openWallet(sandbox, 'empty', 'reorganised')
    const [kept] = await own.book({ type: 'deposit', asset: 'ETH', amount: '3' })
    const [hash] = await own.book({ type: 'deposit', asset: 'ETH', amount: '1' })
    const heightOf = (row: WireRow | undefined): string => `0x${BigInt(row?.['blockNumber'] ?? '').toString(16)}`
    const blockAt = (height: string): Promise<{ hash: string }> =>
      askNode<{ hash: string }>(sandbox, 1, 'eth_getBlockByNumber', height, false)
    const [, before] = await own.list(1, 'txlist')
    await control(sandbox, 'POST', `accounts/${own.accountId}/records`, { id: hash })
    const [, moved] = await own.list(1, 'txlist')
    assert.deepEqual([before?.['hash'], moved?.['hash']], [hash, hash])
    assert.equal(Number(moved?.['blockNumber']), Number(before?.['blockNumber']) + 1)
    const replaced = await blockAt(heightOf(before))
    assert.notEqual(replaced.hash, before?.['blockHash'], 'another block at the same height')
    const withdrawn = (ids: unknown[]): Promise<unknown> =>
      control(sandbox, 'POST', `accounts/${own.accountId}/withdrawn`, { ids })
    await assert.rejects(withdrawn([kept]), /only the transactions of the newest booked block/)
    await withdrawn([hash])
    assert.notEqual((await blockAt(heightOf(moved))).hash, moved?.['blockHash'])
    assert.equal(await askNode(sandbox, 1, 'eth_getTransactionReceipt', hash), null)
    assert.deepEqual(
      (await own.list(1, 'txlist')).map((row) => row['hash']),
      [kept],
    )
    assert.equal((await own.ask(1, 'balance')).result, '3000000000000000000')
    assert.equal((await own.state()).networks[0]?.effects.length, 1)
  })
})

it('a new process with the same seed has the same chain and recognises the wallets of the first; another seed has others', async () => {
  const [again, stranger] = [await startTestSandbox(), await startTestSandbox({ seed: 'another seed' })]
  try {
    // This opens wallets in another order, and without minting the first one.
    await openWallet(again, 'flaky', 'somebody')
    for (const chainId of [1, 8453]) {
      const path = `/index/${chainId}/api?module=account&action=txlist&address=${wallet.address}`
      const read = async (of: Sandbox): Promise<unknown> => {
        const { result } = (await (await fetch(of.urls.evm + path)).json()) as { result: WireRow[] }
        return result.map(settled)
      }
      const rows = (await wallet.list(chainId, 'txlist')).map(settled)
      assert.deepEqual(await read(again), rows)
      assert.deepEqual(await read(stranger), [])
    }
    const state = (await control(again, 'GET', `accounts/${wallet.accountId}/state`)) as { public_account_id: string }
    assert.equal(state.public_account_id, wallet.address)
  } finally {
    await Promise.all([again.close(), stranger.close()])
  }
})

/** Leaves out the fields that grow with every block. */
function settled(row: WireRow): WireRow {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'confirmations'))
}

function pick(row: WireRow | undefined, ...names: string[]): unknown[] {
  return names.map((name) => row?.[name])
}
