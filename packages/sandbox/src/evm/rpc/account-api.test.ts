import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { askExplorer, askNode, openWallet, type TestWallet, type WireRow } from '../../testing/evm-client.ts'
import { control, startTestSandbox } from '../../testing/kraken-client.ts'

let sandbox: Sandbox
let wallet: TestWallet
let self: string
before(async () => {
  sandbox = await startTestSandbox()
  wallet = await openWallet(sandbox, 'default')
  self = wallet.address.toLowerCase()
})
after(() => sandbox.close())

interface NodeBlock {
  hash: string
  number: string
  timestamp: string
  withdrawals: { index: string; validatorIndex: string; address: string; amount: string }[]
}

interface NodeTransaction {
  nonce: string
  from: string
  to: string | null
  value: string
  gas: string
  input: string
  blockHash: string
}

interface NodeReceipt {
  transactionIndex: string
  gasUsed: string
  cumulativeGasUsed: string
  effectiveGasPrice: string
  status: string
  contractAddress: string | null
  logs: { address: string; topics: string[]; data: string; logIndex: string }[]
}

async function onChain(row: WireRow): Promise<{ block: NodeBlock; sent: NodeTransaction; receipt: NodeReceipt }> {
  const number = `0x${BigInt(row['blockNumber'] ?? '').toString(16)}`
  return {
    block: await askNode<NodeBlock>(sandbox, 1, 'eth_getBlockByNumber', number, false),
    sent: await askNode<NodeTransaction>(sandbox, 1, 'eth_getTransactionByHash', row['hash']),
    receipt: await askNode<NodeReceipt>(sandbox, 1, 'eth_getTransactionReceipt', row['hash']),
  }
}

const decimal = (hex: string | undefined): string => BigInt(hex ?? '').toString()
const pick = (row: WireRow | undefined, ...names: string[]): unknown[] => names.map((name) => row?.[name])

/** The fields that every list of token transfers has. */
async function commonFields(row: WireRow): Promise<WireRow> {
  const { block, sent, receipt } = await onChain(row)
  return {
    blockNumber: decimal(block.number),
    timeStamp: decimal(block.timestamp),
    hash: row['hash'] ?? '',
    nonce: decimal(sent.nonce),
    blockHash: block.hash,
    transactionIndex: decimal(receipt.transactionIndex),
    gas: decimal(sent.gas),
    gasPrice: decimal(receipt.effectiveGasPrice),
    gasUsed: decimal(receipt.gasUsed),
    cumulativeGasUsed: decimal(receipt.cumulativeGasUsed),
    input: 'deprecated',
    methodId: sent.input.slice(0, 10),
  }
}

describe('the fields of a row', () => {
  // https://docs.etherscan.io/api-reference/endpoint/txlist
  it('txlist: are documented, with the values of the chain', async () => {
    const rows = await wallet.list(1, 'txlist', { sort: 'asc' })
    const [first] = rows
    const swapped = rows.find((row) => row['functionName']?.startsWith('swapExactETHForTokens'))
    const created = rows.find((row) => row['to'] === '')
    for (const row of [first, swapped, created, rows.find((one) => one['isError'] === '1')]) {
      assert.ok(row)
      const { block, sent, receipt } = await onChain(row)
      const { confirmations, functionName, ...rest } = row
      assert.deepEqual(rest, {
        blockNumber: decimal(block.number),
        blockHash: sent.blockHash,
        timeStamp: decimal(block.timestamp),
        hash: row['hash'],
        nonce: decimal(sent.nonce),
        transactionIndex: decimal(receipt.transactionIndex),
        from: sent.from,
        to: sent.to ?? '',
        value: decimal(sent.value),
        gas: decimal(sent.gas),
        gasPrice: decimal(receipt.effectiveGasPrice),
        input: sent.input,
        methodId: sent.input.slice(0, 10),
        contractAddress: receipt.contractAddress ?? '',
        cumulativeGasUsed: decimal(receipt.cumulativeGasUsed),
        txreceipt_status: decimal(receipt.status),
        gasUsed: decimal(receipt.gasUsed),
        isError: receipt.status === '0x1' ? '0' : '1',
      })
      assert.ok(BigInt(confirmations ?? '') > 1_000n)
      assert.equal(typeof functionName, 'string')
    }
    assert.deepEqual(pick(first, 'methodId', 'functionName', 'value', 'to'), ['0x', '', '10123456789012345678', self])
    assert.equal(swapped?.['methodId'], '0x7ff36ab5', "the selector of Uniswap's own router")
  })

  // https://docs.etherscan.io/api-reference/endpoint/txlistinternal and docs.blockscout.com/devs/apis/rpc/account
  it('txlistinternal: payments out of a contract, including one that was undone', async () => {
    const rows = await wallet.list(1, 'txlistinternal')
    const paid = rows.find((row) => row['value'] === '666666666666666667')
    assert.ok(paid)
    const { block } = await onChain(paid)
    const splitter = paid['from']
    assert.deepEqual(
      { ...paid, gas: '', gasUsed: '' },
      {
        blockNumber: decimal(block.number),
        timeStamp: decimal(block.timestamp),
        hash: paid['hash'],
        transactionHash: paid['hash'],
        from: splitter,
        to: self,
        value: paid['value'],
        ...{ contractAddress: '', input: '', type: 'call', callType: 'call', gas: '', gasUsed: '' },
        ...{ traceId: paid['traceId'], index: paid['index'], isError: '0', errCode: '' },
      },
    )
    assert.deepEqual(pick(paid, 'traceId', 'index'), ['0', '1'], 'the first call in the transaction')
    const undone = rows.filter((row) => row['isError'] === '1')
    assert.equal(undone.length, 1)
    const of = await askExplorer(sandbox, 1, {
      ...{ module: 'account', action: 'txlistinternal', txhash: paid['hash'] ?? '' },
    })
    assert.ok((of.result as WireRow[]).every((row) => row['hash'] === paid['hash'] && row['from'] === splitter))
    assert.equal((of.result as WireRow[]).length, 2)
  })

  // https://docs.etherscan.io/api-reference/endpoint/tokentx, with Blockscout's logIndex
  it('tokentx: match the log and the contract’s own name', async () => {
    const rows = await wallet.list(1, 'tokentx')
    for (const [symbol, name, decimals] of [
      ['USDC', 'USD Coin', '6'],
      ['GUSD', 'Gemini dollar', '2'],
      ['https://usdc-bonus.example', '$ USDC Bonus: visit usdc-bonus.example', '0'],
    ]) {
      const row = rows.find((one) => one['tokenSymbol'] === symbol)
      assert.ok(row)
      const { receipt } = await onChain(row)
      const log = receipt.logs.find(({ logIndex }) => decimal(logIndex) === row['logIndex'])
      const { confirmations, functionName, ...rest } = row
      assert.deepEqual(rest, {
        ...(await commonFields(row)),
        from: `0x${log?.topics[1]?.slice(-40)}`,
        to: `0x${log?.topics[2]?.slice(-40)}`,
        contractAddress: log?.address,
        value: decimal(log?.data),
        ...{ tokenName: name, tokenSymbol: symbol, tokenDecimal: decimals, logIndex: row['logIndex'] },
      })
      assert.ok(confirmations !== undefined && functionName !== '')
    }
  })

  // https://docs.etherscan.io/api-reference/endpoint/tokennfttx
  it('tokennfttx: have an id beyond any float, and no value', async () => {
    const rows = await wallet.list(1, 'tokennfttx')
    assert.deepEqual(
      rows.map((row) => [row['from'] === self ? 'out' : 'in', row['tokenID']?.slice(-3)]),
      [
        ['in', '001'],
        ['in', '002'],
        ['out', '001'],
      ].map(([way, end]) => [way, end]),
    )
    const [row] = rows
    assert.ok(row)
    const { confirmations, functionName, from, to, contractAddress, logIndex, tokenID, ...rest } = row
    const words = { tokenName: 'Sandbox Portraits', tokenSymbol: 'PORTRAIT', tokenDecimal: '0' }
    assert.deepEqual(rest, { ...(await commonFields(row)), ...words })
    assert.deepEqual([from, to, logIndex], [`0x${'0'.repeat(40)}`, self, '0'])
    assert.ok(BigInt(tokenID ?? '') > 2n ** 100n)
    assert.ok(contractAddress !== undefined && confirmations !== undefined && functionName !== undefined)
  })

  // https://docs.etherscan.io/api-reference/endpoint/token1155tx
  it('token1155tx: a batch is a row for each of its tokens, under one log', async () => {
    const rows = await wallet.list(1, 'token1155tx')
    assert.deepEqual(
      rows.map((row) => pick(row, 'tokenID', 'tokenValue', 'logIndex')),
      [
        ['7', '100', '0'],
        ['7', '5', '0'],
        ['8', '1', '0'],
        ['9', '2000000', '0'],
        ['7', '30', '0'],
      ],
    )
    const [, batch, second] = rows
    assert.ok(batch)
    assert.equal(batch['hash'], second?.['hash'])
    const { confirmations, functionName, from, to, contractAddress, logIndex, tokenID, tokenValue, ...rest } = batch
    assert.deepEqual(rest, { ...(await commonFields(batch)), tokenName: 'Sandbox Items', tokenSymbol: 'ITEM' })
    assert.deepEqual([to, tokenID, tokenValue, logIndex], [self, '7', '5', '0'])
    assert.ok([confirmations, functionName, from, contractAddress].every((field) => field !== undefined))
  })

  // https://docs.etherscan.io/api-reference/endpoint/txsbeaconwithdrawal
  it('txsBeaconWithdrawal: amounts are in gwei and match the block', async () => {
    const rows = await wallet.list(1, 'txsBeaconWithdrawal')
    assert.equal(rows.length, 42)
    const [row] = rows
    assert.ok(row)
    const number = `0x${BigInt(row['blockNumber'] ?? '').toString(16)}`
    const block = await askNode<NodeBlock>(sandbox, 1, 'eth_getBlockByNumber', number, false)
    const own = block.withdrawals.find(({ address }) => address === self)
    assert.deepEqual(row, {
      withdrawalIndex: decimal(own?.index),
      validatorIndex: '514229',
      address: self,
      amount: '16123457',
      blockNumber: decimal(block.number),
      timestamp: decimal(block.timestamp),
    })
    assert.deepEqual([decimal(own?.amount), decimal(own?.validatorIndex)], ['16123457', '514229'])
    assert.equal((await wallet.ask(8453, 'txsBeaconWithdrawal')).message, 'No transactions found')
  })

  // https://docs.etherscan.io/api-reference/endpoint/balance, balancemulti
  it('balance and balancemulti: wei, as the node says', async () => {
    const wei = decimal(await askNode<string>(sandbox, 1, 'eth_getBalance', self, 'latest'))
    assert.deepEqual(await wallet.ask(1, 'balance'), { status: '1', message: 'OK', result: wei })
    const nobody = `0x${'1'.repeat(40)}`
    const { result } = await wallet.ask(1, 'balancemulti', { address: `${self},${nobody}` })
    assert.deepEqual(result, [
      { account: self, balance: wei },
      { account: nobody, balance: '0' },
    ])
  })
})

describe('blocks', () => {
  const block = (action: string, more: Record<string, string> = {}): ReturnType<typeof askExplorer> =>
    askExplorer(sandbox, 1, { module: 'block', action, ...more })

  // https://docs.etherscan.io/api-reference/endpoint/getblocknobytime
  it('getblocknobytime: the block before a time, or the one after it', async () => {
    const [, , third] = await wallet.list(1, 'txlist')
    const timestamp = third?.['timeStamp'] ?? ''
    const number = Number(third?.['blockNumber'])
    const find = async (offset: number, closest: string): Promise<unknown> =>
      (await block('getblocknobytime', { timestamp: String(Number(timestamp) + offset), closest })).result
    assert.deepEqual(
      [await find(0, 'before'), await find(11, 'before'), await find(-1, 'before'), await find(1, 'after')],
      [String(number), String(number), String(number - 1), String(number + 1)],
    )
    assert.equal(await find(0, 'after'), String(number))
    assert.equal(await find(10 ** 10, 'after'), 'Error! No closest block found')
    assert.equal((await block('getblocknobytime', { timestamp: 'noon' })).status, '0')
  })

  // https://docs.blockscout.com/devs/apis/rpc/block
  it('eth_block_number: in the shape of JSON-RPC', async () => {
    const { result, ...rest } = (await block('eth_block_number')) as unknown as Record<string, string>
    assert.deepEqual(rest, { jsonrpc: '2.0', id: 1 })
    const after = await askNode<string>(sandbox, 1, 'eth_blockNumber')
    assert.ok(BigInt(after) >= BigInt(result ?? ''))
  })

  // https://docs.etherscan.io/api-reference/endpoint/ethblocknumber
  it('eth_blockNumber of the proxy: the same', async () => {
    const { result } = await wallet.ask(1, 'eth_blockNumber', { module: 'proxy' })
    const after = await askNode<string>(sandbox, 1, 'eth_blockNumber')
    assert.ok(BigInt(after) >= BigInt(String(result)))
  })

  it('an explorer whose clock is behind has neither the blocks nor the rows of the time since', async () => {
    const all = await wallet.list(1, 'txlist')
    const fault = { kind: 'clock_skew', skew_ms: -43_200_000, endpoint: '/api' }
    const late = Math.floor(Date.now() / 1000)
    const find = async (): Promise<number> =>
      Number((await block('getblocknobytime', { timestamp: String(late + 10 ** 6), closest: 'before' })).result)
    const newest = await find()
    await control(sandbox, 'POST', 'providers/evm/faults', fault)
    try {
      // Blocks of Ethereum are twelve seconds apart.
      assert.ok(Math.abs(newest - (await find()) - 3_600) < 10)
      const { result } = (await block('eth_block_number')) as unknown as { result: string }
      assert.ok(Math.abs(newest - Number(result) - 3_600) < 10)
      const listed = await wallet.list(1, 'txlist')
      assert.deepEqual(
        listed.map((row) => row['hash']),
        all.filter((row) => Number(row['blockNumber']) <= Number(result)).map((row) => row['hash']),
      )
    } finally {
      await control(sandbox, 'DELETE', 'providers/evm/faults')
    }
  })
})

describe('paging', () => {
  it('pages add up to the list, in either order', async () => {
    const all = await wallet.list(1, 'tokentx')
    for (const sort of ['asc', 'desc']) {
      const pages = []
      for (let page = 1; page <= 3; page += 1)
        pages.push(...(await wallet.list(1, 'tokentx', { page, offset: 70, sort })))
      const ids = (rows: WireRow[]): string[] => rows.map((row) => `${row['hash']} ${row['logIndex']}`)
      assert.deepEqual(ids(pages), sort === 'asc' ? ids(all) : ids(all).toReversed())
    }
    assert.equal((await wallet.ask(1, 'tokentx', { page: 4, offset: 70 })).message, 'No transactions found')
  })

  it('startblock and endblock are both included; a value that is not a number is ignored', async () => {
    const all = await wallet.list(1, 'txlist')
    const startblock = all[10]?.['blockNumber'] ?? ''
    const endblock = all[20]?.['blockNumber'] ?? ''
    const within = await wallet.list(1, 'txlist', { startblock, endblock })
    assert.deepEqual(pick(within[0], 'hash'), pick(all[10], 'hash'))
    assert.deepEqual([within.length, pick(within.at(-1), 'hash')], [11, pick(all[20], 'hash')])
    assert.equal((await wallet.list(1, 'txlist', { startblock, endblock: 'latest' })).length, all.length - 10)
  })

  it('contractaddress selects one token, and without an address it lists that token for all holders', async () => {
    const contractaddress = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
    const own = await wallet.list(1, 'tokentx', { contractaddress })
    assert.ok(own.length > 100 && own.every((row) => row['contractAddress'] === contractaddress.toLowerCase()))
    const query = { module: 'account', action: 'tokentx', contractaddress, offset: 5_000, page: 1 }
    const everyone = (await askExplorer(sandbox, 1, query)).result as WireRow[]
    assert.ok(everyone.length > own.length)
  })

  // https://docs.etherscan.io/resources/common-error-messages
  it('refuses a window beyond 10,000 rows', async () => {
    const message = 'Result window is too large, PageNo x Offset size must be less than or equal to 10000'
    for (const [page, offset] of [
      [11, 1_000],
      [1, 10_001],
    ] as const) {
      assert.deepEqual(await wallet.ask(1, 'txlist', { page, offset }), { status: '0', message, result: null })
    }
    assert.equal((await wallet.ask(1, 'txlist', { page: 10, offset: 1_000 })).message, 'No transactions found')
  })
})

describe('refusals', () => {
  it('says "No transactions found", with an empty list', async () => {
    const empty = await openWallet(sandbox, 'empty')
    for (const action of ['txlist', 'txlistinternal', 'tokentx', 'tokennfttx', 'token1155tx', 'txsBeaconWithdrawal']) {
      const expected = { status: '0', message: 'No transactions found', result: [] }
      assert.deepEqual(await empty.ask(1, action), expected)
    }
  })

  it('refuses an invalid address and an invalid action', async () => {
    const refused = (result: string): object => ({ status: '0', message: 'NOTOK', result })
    const address = refused('Error! Invalid address format')
    assert.deepEqual(await wallet.ask(1, 'txlist', { address: '0x12' }), address)
    assert.deepEqual(await wallet.ask(1, 'balancemulti', { address: `${self},x` }), address)
    assert.deepEqual(await askExplorer(sandbox, 1, { module: 'account', action: 'txlist' }), address)
    const contractaddress = 'x'
    assert.equal((await wallet.ask(1, 'tokentx', { contractaddress })).result, 'Error! Invalid contract address format')
    const action = refused('Error! Missing Or invalid Action name')
    assert.deepEqual(await wallet.ask(1, 'constructor'), action)
    assert.deepEqual(await askExplorer(sandbox, 1, {}), action)
    for (const path of ['/index/2/api', '/index/1/apis', '/index/1', '/rpc/2', '/']) {
      assert.equal((await fetch(sandbox.urls.evm + path)).status, 404)
    }
  })

  it('counts the calls of a caller on each chain, 300 a minute, and refuses further ones with 200', async () => {
    const stopped = await startTestSandbox({ pace: 'real', now: () => Date.UTC(2026, 10, 15) })
    try {
      const wallets = [await openWallet(stopped, 'empty'), await openWallet(stopped, 'empty', 'omar')] as const
      for (let call = 0; call < 150; call += 1) {
        for (const { ask } of wallets) assert.equal((await ask(1, 'balance')).result, '0')
      }
      const ask = async (chainId: number): Promise<unknown> => (await wallets[0].ask(chainId, 'balance')).result
      assert.equal(await ask(1), 'Max calls per sec rate limit reached (5/sec)')
      assert.equal(await ask(8453), '0')
      await control(stopped, 'POST', 'clock', { offset_ms: 1_000 })
      assert.equal(await ask(1), '0')
    } finally {
      await stopped.close()
    }
  })

  it('counts the calls of a wallet with a limit of its own alone', async () => {
    const stopped = await startTestSandbox({ pace: 'real', now: () => Date.UTC(2026, 10, 15) })
    try {
      const limited = await openWallet(stopped, 'rate_limited')
      const other = await openWallet(stopped, 'empty')
      const results = []
      for (let call = 0; call < 3; call += 1) results.push((await limited.ask(1, 'txlist', { offset: 1 })).status)
      assert.deepEqual(results, ['1', '1', '0'])
      assert.equal((await other.ask(1, 'balance')).status, '1')
    } finally {
      await stopped.close()
    }
  })

  it('accepts an API key, but needs none', async () => {
    assert.equal((await wallet.ask(1, 'balance', { apikey: 'any' })).status, '1')
  })

  it('answers faults in the words of its protocol', async () => {
    const ask = async (fault: string): Promise<unknown[]> => {
      await control(sandbox, 'POST', 'providers/evm/faults', { kind: fault, times: 2 })
      const explorer = await wallet.ask(1, 'balance')
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [self, 'latest'] })
      const node = await fetch(`${sandbox.urls.evm}/rpc/1`, { method: 'POST', body })
      return [explorer.result, node.status, ((await node.json()) as { error: { code: number } }).error.code]
    }
    assert.deepEqual(await ask('rate_limited'), ['Max calls per sec rate limit reached (5/sec)', 429, -32005])
    assert.deepEqual(await ask('revoked'), ['Invalid API Key', 401, -32600])
    const busy = 'Unexpected error, timeout or server too busy. Please try again later'
    assert.deepEqual(await ask('service_unavailable'), [busy, 503, -32603])
  })

  it('repeats rows, and shifts them, when a fault says so', async () => {
    const parameters = { page: 2, offset: 10, sort: 'desc' }
    const hashes = async (): Promise<string[]> =>
      (await wallet.list(1, 'txlist', parameters)).map((row) => row['hash'] ?? '')
    const before = await hashes()
    await control(sandbox, 'POST', 'providers/evm/faults', { kind: 'duplicate_rows', times: 1, rows: 2 })
    assert.deepEqual((await hashes()).slice(2), before)
    await control(sandbox, 'POST', 'providers/evm/faults', { kind: 'shifting_page', times: 1 })
    assert.deepEqual(await hashes(), before)
    assert.deepEqual((await hashes()).slice(1), before.slice(0, -1))
  })
})
