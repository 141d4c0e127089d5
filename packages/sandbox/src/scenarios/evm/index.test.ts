import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { askNode, openWallet, type TestWallet, type WireRow } from '../../testing/evm-client.ts'
import { startTestSandbox } from '../../testing/kraken-client.ts'
import { evmScenarios } from './index.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startTestSandbox()
})
after(() => sandbox.close())

const weth: Record<number, string> = {
  1: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
  8453: '0x4200000000000000000000000000000000000006',
}
const depositTopic = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c'
const withdrawalTopic = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65'

/** What the wallet gained and lost by the lists; `value` names the fields that hold the amount. */
function changeOf(rows: readonly WireRow[], self: string, value: (row: WireRow) => bigint): bigint {
  let sum = 0n
  for (const row of rows) {
    if (row['to'] === self) sum += value(row)
    if (row['from'] === self) sum -= value(row)
  }
  return sum
}

const numberIn = (row: WireRow, field: string): bigint => BigInt(row[field] ?? '')

/** Computed only from what goes over the wire; the data fee is in the receipts. */
async function reckonEther(wallet: TestWallet, chainId: number): Promise<bigint> {
  const self = wallet.address.toLowerCase()
  const transactions = await wallet.list(chainId, 'txlist')
  const isGood = (row: WireRow): boolean => row['isError'] === '0'
  let sum = changeOf(transactions.filter(isGood), self, (row) => numberIn(row, 'value'))
  for (const row of transactions.filter(({ from }) => from === self)) {
    sum -= numberIn(row, 'gasUsed') * numberIn(row, 'gasPrice')
    const receipt = await askNode<{ l1Fee?: string }>(sandbox, chainId, 'eth_getTransactionReceipt', row['hash'])
    assert.equal(receipt.l1Fee !== undefined, chainId === 8453)
    sum -= BigInt(receipt.l1Fee ?? 0)
  }
  const internals = await wallet.list(chainId, 'txlistinternal')
  sum += changeOf(internals.filter(isGood), self, (row) => numberIn(row, 'value'))
  for (const row of await wallet.list(chainId, 'txsBeaconWithdrawal')) sum += numberIn(row, 'amount') * 10n ** 9n
  return sum
}

/** Wrapping writes no transfer: a reader has to look at the contract's own events. */
async function reckonWrapping(wallet: TestWallet, chainId: number): Promise<bigint> {
  const padded = `0x${wallet.address.slice(2).toLowerCase().padStart(64, '0')}`
  const logs = await askNode<{ topics: string[]; data: string }[]>(sandbox, chainId, 'eth_getLogs', {
    ...{ fromBlock: 'earliest', toBlock: 'latest', address: weth[chainId] },
    topics: [[depositTopic, withdrawalTopic], padded],
  })
  return logs.reduce((sum, { topics, data }) => sum + (topics[0] === depositTopic ? BigInt(data) : -BigInt(data)), 0n)
}

async function balanceOf(chainId: number, contract: string, owner: string): Promise<bigint> {
  const data = `0x70a08231${owner.slice(2).toLowerCase().padStart(64, '0')}`
  return BigInt(await askNode<string>(sandbox, chainId, 'eth_call', { to: contract, data }, 'latest'))
}

describe('every scenario of a wallet', () => {
  it('is one that the contract names; those about keys do not apply to a wallet', () => {
    assert.deepEqual(
      evmScenarios.map(({ name }) => name),
      ['default', 'empty', 'large', 'rate_limited', 'down', 'flaky'],
    )
  })
})

describe('a lived-in wallet', () => {
  it('holds what the lists add up to on both networks, for ether and every token', async () => {
    const wallet = await openWallet(sandbox, 'default')
    const self = wallet.address.toLowerCase()
    for (const chainId of [1, 8453]) {
      assert.equal((await wallet.ask(chainId, 'balance')).result, String(await reckonEther(wallet, chainId)))
      const transfers = await wallet.list(chainId, 'tokentx')
      const byContract = Map.groupBy(transfers, (row) => row['contractAddress'] ?? '')
      assert.ok(byContract.size >= 3)
      const wrapped = weth[chainId] ?? ''
      for (const contract of new Set([...byContract.keys(), wrapped])) {
        let sum = changeOf(byContract.get(contract) ?? [], self, (row) => numberIn(row, 'value'))
        if (contract === wrapped) sum += await reckonWrapping(wallet, chainId)
        assert.equal(sum, await balanceOf(chainId, contract, self), `${chainId} ${contract}`)
      }
      const portraits = await wallet.list(chainId, 'tokennfttx')
      const held = changeOf(portraits, self, () => 1n)
      assert.equal(held, await balanceOf(chainId, portraits[0]?.['contractAddress'] ?? '', self))
    }
  })

  it('has a state whose effects add up to its balances, to the last unit', async () => {
    const { networks } = await (await openWallet(sandbox, 'default')).state()
    assert.deepEqual(
      networks.map(({ chain_id }) => chain_id),
      [1, 8453],
    )
    for (const { balances, effects } of networks) {
      for (const { asset, standard, token_id, balance } of balances) {
        const own = effects.filter(
          (effect) => effect.asset === asset && (standard !== 'erc1155' || effect.token_id === token_id),
        )
        const sum = own.reduce((total, { amount }) => total + BigInt(amount), 0n)
        assert.equal(sum.toString(), balance)
        assert.ok(BigInt(balance) >= 0n)
      }
      const kinds = new Set(effects.map(({ kind }) => kind))
      for (const kind of ['transfer', 'internal', 'token', 'wrap', 'fee'] as const) assert.ok(kinds.has(kind), kind)
    }
    assert.ok(networks[0]?.effects.some(({ kind }) => kind === 'withdrawal'))
    assert.ok(networks[1]?.effects.some(({ kind }) => kind === 'data_fee'))
  })

  it('has every kind of trouble: failures that cost gas, spam, an impersonator, transfers of nothing', async () => {
    const wallet = await openWallet(sandbox, 'default')
    const self = wallet.address.toLowerCase()
    const transactions = await wallet.list(1, 'txlist')
    const failed = transactions.filter((row) => row['isError'] === '1')
    assert.equal(failed.length, 6)
    for (const row of failed) {
      assert.deepEqual([row['from'], row['txreceipt_status']], [self, '0'])
      assert.ok(numberIn(row, 'gasUsed') > 21_000n)
    }
    const transfers = await wallet.list(1, 'tokentx')
    assert.ok(transfers.some((row) => row['tokenSymbol'] === 'https://usdc-bonus.example'))
    const dollars = new Set(
      transfers.filter((row) => row['tokenSymbol'] === 'USDC').map((row) => row['contractAddress']),
    )
    assert.equal(dollars.size, 2, 'the real one and its impersonator')
    const poisoned = transfers.filter((row) => row['value'] === '0')
    assert.equal(poisoned.length, 2)
    const sentByOthers = transactions.every((row) => !poisoned.some(({ hash }) => hash === row['hash']))
    assert.ok(sentByOthers, 'it names the wallet as sender, which sent no such transaction')
    const approvals = transactions.filter((row) => row['functionName']?.startsWith('approve('))
    assert.equal(approvals.length, 4)
    assert.ok(
      transactions.some((row) => row['to'] === '' && row['contractAddress'] !== ''),
      'it created a contract',
    )
    assert.ok(
      transactions.some((row) => row['from'] === row['to']),
      'it paid itself',
    )
  })

  it('has a history from March 2021 to October 2026', async () => {
    const times = (await (await openWallet(sandbox, 'default')).list(1, 'txlist')).map((row) =>
      Number(row['timeStamp']),
    )
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    )
    const dates = [times[0], times.at(-1)].map((time) => new Date((time ?? 0) * 1000).toISOString().slice(0, 7))
    assert.deepEqual(dates, ['2021-03', '2026-10'])
  })

  it('exists for every account; when the prepared ones are taken, its history is written into the newest blocks', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const wallets = []
    for (const name of names) wallets.push(await openWallet(sandbox, 'default', name))
    assert.equal(new Set(wallets.map(({ address }) => address)).size, names.length)
    const late = wallets.at(-1)
    assert.ok(late)
    const rows = await late.list(1, 'txlist')
    assert.equal(rows.length, (await wallets[0]?.list(1, 'txlist'))?.length)
    assert.equal((await late.ask(1, 'balance')).result, String(await reckonEther(late, 1)))
    assert.equal(new Date(Number(rows[0]?.['timeStamp']) * 1000).toISOString().slice(0, 10), '2026-11-15')
  })
})

describe('the other scenarios', () => {
  it('empty: no network has seen the wallet', async () => {
    const wallet = await openWallet(sandbox, 'empty')
    for (const chainId of [1, 8453]) {
      assert.equal((await wallet.ask(chainId, 'balance')).result, '0')
      assert.equal((await wallet.ask(chainId, 'txlist')).message, 'No transactions found')
    }
  })

  it('down: only calls that name the wallet get 503', async () => {
    const { address } = await openWallet(sandbox, 'down')
    const ask = (of: string): Promise<Response> =>
      fetch(`${sandbox.urls.evm}/index/1/api?module=account&action=balance&address=${of}`)
    assert.equal((await ask(address)).status, 503)
    assert.equal((await ask('0x00000000000000000000000000000000000f0d3e')).status, 200)
  })

  it('large: 100,000 token transfers, which a reader gets by continuing from a block', async () => {
    const wallet = await openWallet(sandbox, 'large')
    const seen = new Set<string>()
    let sum = 0n
    for (let startblock = 0; ;) {
      const rows = await wallet.list(1, 'tokentx', { startblock, page: 1, offset: 10_000, sort: 'asc' })
      for (const row of rows) {
        const key = `${row['hash']} ${row['logIndex']}`
        if (!seen.has(key)) sum += numberIn(row, 'value')
        seen.add(key)
      }
      if (rows.length < 10_000) break
      startblock = Number(rows.at(-1)?.['blockNumber'])
    }
    assert.equal(seen.size, 100_000)
    assert.equal(sum, (100_000n * 100_001n) / 2n)
    assert.equal(sum, await balanceOf(1, '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', wallet.address))
  })
})
