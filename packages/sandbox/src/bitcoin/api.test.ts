/**
 * Every endpoint, field by field, against https://github.com/Blockstream/esplora/blob/master/API.md; the order of
 * fields, fields that are left out and texts of errors against
 * https://github.com/Blockstream/electrs/blob/new-index/src/rest.rs.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import {
  openWallet,
  readChain,
  startBitcoin,
  type EsploraInput,
  type EsploraTransaction,
  type TestWallet,
} from '../testing/bitcoin-client.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startBitcoin()
})
after(() => sandbox.close())

const hash = /^[0-9a-f]{64}$/
const hex = /^([0-9a-f]{2})*$/

interface Stats {
  funded_txo_count: number
  funded_txo_sum: number
  spent_txo_count: number
  spent_txo_sum: number
  tx_count: number
}

async function transactionOf(wallet: TestWallet, kind: string): Promise<EsploraTransaction> {
  const { transactions } = await wallet.state()
  const found = transactions.find((transaction) => transaction.kind === kind)
  assert.ok(found !== undefined, kind)
  return wallet.json<EsploraTransaction>(`/tx/${found.txid}`)
}

function assertInteger(value: unknown, name: string): void {
  assert.ok(Number.isSafeInteger(value) && (value as number) >= 0, `${name}: ${String(value)}`)
}

function assertInput(input: EsploraInput): void {
  const fields = ['txid', 'vout', 'prevout', 'scriptsig', 'scriptsig_asm', 'witness', 'is_coinbase', 'sequence']
  const shown = Object.keys(input).filter((name) => name !== 'inner_redeemscript_asm')
  assert.deepEqual(
    shown,
    fields.filter((name) => name !== 'witness' || input.witness !== undefined),
  )
  assert.match(input.txid, hash)
  assertInteger(input.vout, 'vout')
  assertInteger(input.sequence, 'sequence')
  assert.match(input.scriptsig, hex)
  for (const item of input.witness ?? []) assert.match(item, hex)
}

function assertTransaction(transaction: EsploraTransaction): void {
  assert.deepEqual(Object.keys(transaction), [
    'txid',
    'version',
    'locktime',
    'vin',
    'vout',
    'size',
    'weight',
    'fee',
    'status',
  ])
  assert.match(transaction.txid, hash)
  for (const name of ['version', 'locktime', 'size', 'weight', 'fee'] as const) assertInteger(transaction[name], name)
  transaction.vin.forEach(assertInput)
  for (const output of [...transaction.vout, ...transaction.vin.flatMap(({ prevout }) => prevout ?? [])]) {
    const fields = ['scriptpubkey', 'scriptpubkey_asm', 'scriptpubkey_type', 'scriptpubkey_address', 'value']
    const hasAddress = output.scriptpubkey_type !== 'op_return'
    assert.deepEqual(
      Object.keys(output),
      fields.filter((name) => hasAddress || name !== 'scriptpubkey_address'),
    )
    assert.match(output.scriptpubkey, hex)
    assertInteger(output.value, 'value')
  }
  const { status } = transaction
  assert.deepEqual(
    Object.keys(status),
    status.confirmed ? ['confirmed', 'block_height', 'block_hash', 'block_time'] : ['confirmed'],
  )
}

describe('GET /tx/:txid', () => {
  it('shows every form of script in the words of Esplora', async () => {
    const forms = [
      ['legacy', 'p2pkh', /^1/, /^OP_DUP OP_HASH160 OP_PUSHBYTES_20 [0-9a-f]{40} OP_EQUALVERIFY OP_CHECKSIG$/],
      ['nested_segwit', 'p2sh', /^3/, /^OP_HASH160 OP_PUSHBYTES_20 [0-9a-f]{40} OP_EQUAL$/],
      ['default', 'v0_p2wpkh', /^bc1q/, /^OP_0 OP_PUSHBYTES_20 [0-9a-f]{40}$/],
      ['taproot', 'v1_p2tr', /^bc1p/, /^OP_PUSHNUM_1 OP_PUSHBYTES_32 [0-9a-f]{64}$/],
    ] as const
    for (const [scenario, type, address, asm] of forms) {
      const transaction = await transactionOf(await openWallet(sandbox, scenario), 'send')
      assertTransaction(transaction)
      const [input] = transaction.vin
      assert.equal(input?.prevout?.scriptpubkey_type, type)
      assert.match(input.prevout.scriptpubkey_address ?? '', address)
      assert.match(input.prevout.scriptpubkey_asm, asm)
      assert.equal(input.witness?.length, { p2pkh: undefined, p2sh: 2, v0_p2wpkh: 2, v1_p2tr: 1 }[type])
      const redeem = type === 'p2sh' ? /^OP_0 OP_PUSHBYTES_20 [0-9a-f]{40}$/ : /^undefined$/
      assert.match(String(input.inner_redeemscript_asm), redeem)
      const sum = (values: number[]): number => values.reduce((all, value) => all + value, 0)
      const spent = sum(transaction.vin.map(({ prevout }) => prevout?.value ?? 0))
      assert.equal(spent - sum(transaction.vout.map(({ value }) => value)), transaction.fee)
    }
  })

  it('shows the reward of a block, which spends nothing', async () => {
    const transaction = await transactionOf(await openWallet(sandbox, 'miner'), 'reward')
    assertTransaction(transaction)
    const [input] = transaction.vin
    assert.equal(input?.is_coinbase, true)
    assert.deepEqual([input.txid, input.vout, input.prevout], ['00'.repeat(32), 4_294_967_295, null])
    assert.deepEqual(input.witness, ['00'.repeat(32)])
    assert.deepEqual([transaction.fee, transaction.vout[0]?.value], [0, 313_711_042])
    const height = Buffer.from(input.scriptsig, 'hex').readUIntLE(1, 3)
    assert.equal(height, transaction.status.block_height, 'BIP-34: the reward names its block')
  })

  it('shows a note as an output without an address or a value', async () => {
    const wallet = await openWallet(sandbox, 'default')
    const { transactions } = await wallet.state()
    const all = await Promise.all(transactions.map(({ txid }) => wallet.json<EsploraTransaction>(`/tx/${txid}`)))
    const notes = all.flatMap(({ vout }) => vout.filter(({ scriptpubkey_type: type }) => type === 'op_return'))
    const text = Buffer.from('Assay sandbox: a note on the chain')
    assert.deepEqual(notes, [
      {
        scriptpubkey: `6a22${text.toString('hex')}`,
        scriptpubkey_asm: `OP_RETURN OP_PUSHBYTES_34 ${text.toString('hex')}`,
        scriptpubkey_type: 'op_return',
        value: 0,
      },
    ])
  })

  it('has its status and its bytes beside it', async () => {
    const wallet = await openWallet(sandbox, 'default')
    const transaction = await transactionOf(wallet, 'send')
    assert.deepEqual(await wallet.json(`/tx/${transaction.txid}/status`), transaction.status)
    const answer = await wallet.get(`/tx/${transaction.txid}/hex`)
    assert.equal(answer.headers.get('content-type'), 'text/plain')
    assert.equal((await answer.text()).length, transaction.size * 2)
    assert.deepEqual(await wallet.json(`/tx/${'ab'.repeat(32)}/status`), { confirmed: false })
  })

  it('says which of its outputs were spent, and by which input', async () => {
    const wallet = await openWallet(sandbox, 'default')
    const spender = await transactionOf(wallet, 'send')
    const [input] = spender.vin
    assert.ok(input !== undefined)
    const spend = await wallet.json(`/tx/${input.txid}/outspend/${input.vout}`)
    assert.deepEqual(spend, { spent: true, txid: spender.txid, vin: 0, status: spender.status })
    const all = await wallet.json<object[]>(`/tx/${input.txid}/outspends`)
    assert.deepEqual(all[input.vout], spend)
    const { utxos } = await wallet.state()
    const [coin] = utxos
    assert.deepEqual(await wallet.json(`/tx/${coin?.txid}/outspend/${coin?.vout}`), { spent: false })
  })
})

describe('GET /address/:address', () => {
  it('counts what the chain and the mempool paid to it and took from it', async () => {
    const wallet = await openWallet(sandbox, 'single_address')
    const address = wallet.credentials['address'] ?? ''
    const answer = await wallet.json<{ address: string; chain_stats: Stats; mempool_stats: Stats }>(
      `/address/${address}`,
    )
    assert.deepEqual(Object.keys(answer), ['address', 'chain_stats', 'mempool_stats'])
    const fields = ['funded_txo_count', 'funded_txo_sum', 'spent_txo_count', 'spent_txo_sum', 'tx_count']
    assert.deepEqual(Object.keys(answer.chain_stats), fields)
    assert.equal(answer.address, address)
    const { balance_sat: balance } = await wallet.state()
    const { funded_txo_sum: funded, spent_txo_sum: spent, tx_count: count } = answer.chain_stats
    assert.deepEqual([String(funded - spent), count], [balance.total, 60])
    assert.deepEqual(Object.values(answer.mempool_stats), [0, 0, 0, 0, 0])
  })

  it('lists its history in pages of 25, newest first, each after the last txid of the one before', async () => {
    const wallet = await openWallet(sandbox, 'single_address')
    const address = wallet.credentials['address'] ?? ''
    const pages = await readChain(wallet, address)
    assert.deepEqual(
      pages.map((page) => page.length),
      [25, 25, 10],
    )
    const heights = pages.flat().map(({ status }) => status.block_height ?? 0)
    assert.deepEqual(
      heights,
      heights.toSorted((a, b) => b - a),
    )
    const { transactions } = await wallet.state()
    assert.deepEqual(
      pages.flat().map(({ txid }) => txid),
      transactions.map(({ txid }) => txid).toReversed(),
    )
    pages.flat().forEach(assertTransaction)
    assert.deepEqual(await wallet.json(`/address/${address}/txs`), pages[0])
    assert.deepEqual(await wallet.json(`/address/${address}/txs/chain/${'ab'.repeat(32)}`), [])
    assert.deepEqual(await wallet.json(`/address/${address}/txs/chain/nonsense`), pages[0])
  })

  it('lists unconfirmed transactions before confirmed ones, and in a list of their own, up to 50 of them', async () => {
    const wallet = await openWallet(sandbox, 'single_address', 'busy')
    const address = wallet.credentials['address'] ?? ''
    const entry = { type: 'receive', asset: 'BTC', amount: '0.0001', subtype: 'unconfirmed' }
    const { ids } = (await wallet.change('entries', { entries: Array.from({ length: 52 }, () => entry) })) as {
      ids: string[]
    }
    const waiting = await wallet.json<EsploraTransaction[]>(`/address/${address}/txs/mempool`)
    assert.deepEqual(
      waiting.map(({ txid }) => txid),
      ids.toReversed().slice(0, 50),
    )
    waiting.forEach(assertTransaction)
    assert.ok(waiting.every(({ status }) => !status.confirmed))
    const both = await wallet.json<EsploraTransaction[]>(`/address/${address}/txs`)
    assert.deepEqual([both.length, both.slice(0, 50)], [75, waiting])
    const { mempool_stats: stats } = await wallet.json<{ mempool_stats: Stats }>(`/address/${address}`)
    assert.deepEqual(Object.values(stats), [52, 520_000, 0, 0, 52])
  })

  it('lists its unspent outputs, including those that are not confirmed', async () => {
    const wallet = await openWallet(sandbox, 'unconfirmed')
    const { addresses, utxos } = await wallet.state()
    const listed = await Promise.all(
      addresses.map(({ address }) =>
        wallet.json<{ txid: string; vout: number; status: { confirmed: boolean }; value: number }[]>(
          `/address/${address}/utxo`,
        ),
      ),
    )
    for (const coin of listed.flat()) assert.deepEqual(Object.keys(coin), ['txid', 'vout', 'status', 'value'])
    assert.deepEqual(
      listed.flat().map(({ txid, vout, value }) => `${txid}:${vout} ${value}`),
      utxos.map(({ txid, vout, value_sat: value }) => `${txid}:${vout} ${value}`),
    )
    assert.ok(listed.flat().some(({ status }) => !status.confirmed))
  })

  it('knows addresses that were never used, in either case of bech32', async () => {
    const { text } = await openWallet(sandbox, 'empty')
    const unused = 'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ'
    for (const address of [unused, unused.toLowerCase(), '1BoatSLRHtKNngkdXEeobR76b53LETtpyT']) {
      for (const list of ['txs', 'txs/chain', 'txs/mempool', 'utxo'])
        assert.equal(await text(`/address/${address}/${list}`), '[]')
    }
  })
})

describe('GET /block…', () => {
  it('describes a block by its hash, which its height and its successor name', async () => {
    const wallet = await openWallet(sandbox, 'default')
    const { status } = await transactionOf(wallet, 'send')
    const block = await wallet.json<Record<string, unknown>>(`/block/${status.block_hash}`)
    assert.deepEqual(Object.keys(block), [
      ...['id', 'height', 'version', 'timestamp', 'tx_count', 'size', 'weight', 'merkle_root', 'previousblockhash'],
      ...['mediantime', 'nonce', 'bits', 'difficulty'],
    ])
    assert.deepEqual(
      [block['id'], block['height'], block['timestamp']],
      [status.block_hash, status.block_height, status.block_time],
    )
    for (const name of ['version', 'tx_count', 'size', 'weight', 'mediantime', 'nonce', 'bits'])
      assertInteger(block[name], name)
    assert.match(String(block['merkle_root']), hash)
    const height = status.block_height ?? 0
    assert.equal(await wallet.text(`/block-height/${height}`), status.block_hash)
    assert.equal(await wallet.text(`/block-height/${height - 1}`), block['previousblockhash'])
    const next = await wallet.text(`/block-height/${height + 1}`)
    assert.deepEqual(await wallet.json(`/block/${status.block_hash}/status`), {
      in_best_chain: true,
      height,
      next_best: next,
    })
  })

  it('lists ten blocks down from the tip, or from a height', async () => {
    const { json, get, state } = await openWallet(sandbox, 'empty')
    const { tip } = await state()
    const newest = await json<{ id: string; height: number; previousblockhash: string }[]>('/blocks')
    assert.deepEqual([newest.length, newest[0]?.id, newest[0]?.height], [10, tip.hash, tip.height])
    newest.slice(1).forEach((block, above) => assert.equal(newest[above]?.previousblockhash, block.id))
    assert.deepEqual((await json<object[]>(`/blocks/${tip.height - 3}`)).slice(0, 7), newest.slice(3))
    assert.equal((await get(`/blocks/${tip.height + 1}`)).status, 404)
  })

  it('tells the height and the hash of the tip as plain text', async () => {
    const { get, state, text } = await openWallet(sandbox, 'empty')
    const answer = await get('/blocks/tip/height')
    assert.equal(answer.headers.get('content-type'), 'text/plain')
    const { tip } = await state()
    assert.deepEqual([await answer.text(), await text('/blocks/tip/hash')], [String(tip.height), tip.hash])
  })
})

describe('errors', () => {
  it('are plain text with 400 or 404', async () => {
    const { get } = await openWallet(sandbox, 'empty')
    const unknown = 'ab'.repeat(32)
    const answers = [
      [`/tx/${unknown}`, 404, 'Transaction not found'],
      [`/tx/${unknown}/hex`, 404, 'Transaction not found'],
      ['/tx/nonsense', 400, 'Invalid hex string'],
      [`/tx/${unknown}/outspend/one`, 400, 'Invalid number'],
      [`/block/${unknown}`, 404, 'Block not found'],
      ['/block/12', 400, 'Invalid hex string'],
      ['/block-height/99999999', 404, 'Block not found'],
      ['/block-height/-1', 400, 'Invalid number'],
      ['/address/1BoatSLRHtKNngkdXEeobR76b53LETtpyX', 400, 'base58 error'],
      ['/address/bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdx/txs', 400, 'bech32 error'],
      ['/address/tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', 400, 'Address on invalid network'],
      ['/nonsense', 404, 'endpoint does not exist "/nonsense"'],
    ] as const
    for (const [path, status, body] of answers) {
      const answer = await get(path)
      assert.deepEqual([answer.status, await answer.text()], [status, body], path)
      assert.equal(answer.headers.get('content-type'), 'text/plain')
    }
    assert.equal((await fetch(`${sandbox.urls.bitcoin}/tx`, { method: 'POST', body: '00' })).status, 404)
  })

  it('say 429 when one IP address asks too much, without Retry-After, and it passes', async () => {
    let nowMs = Date.UTC(2026, 10, 15)
    const strict = await startBitcoin({ pace: 'real', now: () => nowMs })
    try {
      const ask = (): Promise<Response> => fetch(`${strict.urls.bitcoin}/blocks/tip/height`)
      const statuses: number[] = []
      for (let call = 0; call < 101; call += 1) statuses.push((await ask()).status)
      assert.deepEqual(statuses, [...Array.from({ length: 100 }, () => 200), 429])
      const refused = await ask()
      assert.equal(refused.headers.get('retry-after'), null)
      assert.match(await refused.text(), /<title>429 Too Many Requests<\/title>/)
      nowMs += 1_000
      assert.equal((await ask()).status, 200)
    } finally {
      await strict.close()
    }
  })

  it('follow the faults of a wallet, and leave other wallets alone', async () => {
    const down = await openWallet(sandbox, 'down')
    const { addresses } = await down.state()
    assert.equal((await down.get(`/address/${addresses[0]?.address}`)).status, 503)
    const fine = await openWallet(sandbox, 'default')
    const [first] = (await fine.state()).addresses
    assert.equal((await fine.get(`/address/${first?.address}`)).status, 200)
  })

  it('come from a small limit of the wallet alone', async () => {
    let nowMs = Date.UTC(2026, 10, 15)
    const strict = await startBitcoin({ pace: 'real', now: () => nowMs })
    try {
      const wallet = await openWallet(strict, 'rate_limited')
      const [first] = (await wallet.state()).addresses
      const ask = async (): Promise<number> => (await wallet.get(`/address/${first?.address}/txs`)).status
      const statuses: number[] = []
      for (let call = 0; call < 11; call += 1) statuses.push(await ask())
      assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429])
      assert.equal((await wallet.get('/blocks/tip/height')).status, 200)
      nowMs += 500
      assert.equal(await ask(), 200)
    } finally {
      await strict.close()
    }
  })

  it('on rows repeat the end of the page before, or push a new row in', async () => {
    const wallet = await openWallet(sandbox, 'single_address', 'rows')
    const address = wallet.credentials['address'] ?? ''
    const faults = `${sandbox.controlUrl}/control/providers/bitcoin/faults`
    const [first = [], second = []] = await readChain(wallet, address)
    const last = first.at(-1)?.txid ?? ''
    const arm = (fault: object): Promise<Response> =>
      fetch(faults, { method: 'POST', body: JSON.stringify({ account_id: wallet.accountId, times: 1, ...fault }) })
    await arm({ kind: 'duplicate_rows', rows: 2 })
    const repeated = await wallet.json(`/address/${address}/txs/chain/${last}`)
    assert.deepEqual(repeated, [...first.slice(-2), ...second])
    await arm({ kind: 'shifting_page' })
    await wallet.json(`/address/${address}/txs/chain`)
    const [newest, ...others] = await wallet.json<EsploraTransaction[]>(`/address/${address}/txs/chain`)
    assert.deepEqual(others, first.slice(0, 24))
    assert.equal(newest?.vout.find((output) => output.scriptpubkey_address === address)?.value, 10_000)
  })
})
