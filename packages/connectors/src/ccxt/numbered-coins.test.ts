/**
 * Hyperliquid, where the deployer of a coin chooses its name: "no uniqueness constraints" (hyperliquid.gitbook.io, "HIP-1:
 * Native token standard"). Answers as in "Info endpoint": `spotMetaAndAssetCtxs`, `spotClearinghouseState` (`token` is the
 * coin's number) and `userFillsByTime`, whose `coin` is the pair and whose `feeToken` is a name.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hourMs } from '@assay/core'
import type { AccountReader, Io, StoredRecord } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const window = { unit: 'ms' as const, start: nowMs - 24 * hourMs, end: nowMs }
const connector = createCcxtConnector('hyperliquid')

type Coin = readonly [name: string, number: number]
const usdc: Coin = ['USDC', 0]
const hype: Coin = ['HYPE', 150]
const unitBitcoin: Coin = ['UBTC', 197]

let hosts = 0

/** The coins of a pair, and the pairs by their number: `@1`. The list of coins has gaps, so a place is not a number. */
function open(pairs: readonly (readonly [Coin, Coin])[], answers: Readonly<Record<string, unknown>>): AccountReader {
  const coins = new Map(pairs.flat().map((coin) => [coin[1], coin]))
  const meta = {
    tokens: [...coins.values()].map(([name, index]) => ({
      ...{ name, index, szDecimals: 2, weiDecimals: 8, tokenId: `0x${index}`, fullName: `Unit ${name}` },
    })),
    universe: pairs.map(([base, quote], index) => ({ name: `@${index}`, tokens: [base[1], quote[1]], index })),
  }
  hosts += 1
  const io: Io = {
    fetch: async (_, init) => {
      const { type } = JSON.parse(typeof init?.body === 'string' ? init.body : '{}') as { type: string }
      if (type === 'spotMetaAndAssetCtxs') return Response.json([meta, pairs.map(() => ({ midPx: '0.1' }))])
      return Response.json(answers[type] ?? 'default')
    },
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: `http://numbered-${hosts}.test` },
  }
  return connector.open({ type: 'wallet', address: `0x${'1'.repeat(40)}` }, io)
}

async function readBalances(held: readonly (readonly [Coin, string])[]): Promise<Record<string, string>> {
  const balances = held.map(([[coin, token], total]) => ({ coin, token, total, hold: '0.0', entryNtl: '0.0' }))
  const reader = open([[hype, usdc]], { spotClearinghouseState: { balances } })
  const read = await reader.fetchBalances({})
  return Object.fromEntries(read.balances.map(({ assetId, liquid }) => [assetId, String(liquid)]))
}

interface Fill {
  coin: string
  side?: 'A' | 'B'
  fee?: string
  feeToken: string
  builderFee?: string
}

async function derive(pairs: readonly (readonly [Coin, Coin])[], fills: readonly Fill[]) {
  const rows = fills.map(({ side = 'B', fee = '0.5', ...fill }, index) => ({
    ...{ px: '3', sz: '2', time: nowMs - hourMs, oid: index, tid: index, hash: '0x0', dir: 'Buy', crossed: true },
    ...{ side, fee, ...fill },
  }))
  const reader = open(pairs, { userFillsByTime: rows })
  const request = { stream: 'trades', partition: '', window, pageMark: null, lastingMark: null, state: {} }
  const { records } = await reader.fetchPage(request)
  const stored = records.map((record): StoredRecord => ({ ...record, stream: 'trades', partition: '' }))
  const stories = Map.groupBy(stored, (record) => connector.linkKeys(record)[0])
  const drafts = [...stories.values()].flatMap((story) =>
    connector.toTransactions(story, { addresses: new Set(), state: {} }),
  )
  return drafts.map(({ inputs, outputs, fees, incomplete }) => [
    ...[inputs, outputs, fees].map((legs) => legs.map(({ assetId, amount }) => `${amount} ${assetId}`).join()),
    ...(incomplete ?? []),
  ])
}

describe('a coin with a name that anyone can choose', () => {
  it('is what its number says', async () => {
    assert.deepEqual(
      await readBalances([
        ...([
          [usdc, '10'],
          [hype, '2.5'],
          [unitBitcoin, '0.25'],
        ] as const),
        ...([
          [['UETH', 221], '1'],
          [['USOL', 254], '3'],
          [['USDT0', 268], '4'],
          [['USDE', 235], '5'],
        ] as const),
      ]),
      {
        ...{ 'crypto:usd-coin': '10', 'crypto:hyperliquid': '2.5', 'crypto:bitcoin': '0.25', 'crypto:ethereum': '1' },
        ...{ 'crypto:solana': '3', 'crypto:usdt0': '4', 'crypto:ethena-usde': '5' },
      },
    )
  })

  it('is not a known coin because it is called like one', async () => {
    const names = ['BTC', 'XBT', 'ETH', 'USDC', 'HYPE', 'UBTC', 'USDC#0', 'USD', '10000']
    const held = names.map((name, index) => [[name, 900 + index], '1000000'] as const)
    const balances = await readBalances([[usdc, '10'], ...held])
    assert.deepEqual(
      new Set(Object.keys(balances)),
      new Set(['crypto:usd-coin', ...names.map((name, index) => `hyperliquid:${name}#${900 + index}`)]),
    )
    assert.equal(balances['crypto:usd-coin'], '10')
  })

  it('is not known without a number', async () => {
    const reader = open([[hype, usdc]], {
      spotClearinghouseState: { balances: [{ coin: 'USDC', total: '7', hold: '0.0' }] },
    })
    const { balances } = await reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ assetId }) => assetId),
      ['hyperliquid:USDC#'],
    )
  })

  it('is bought and sold as itself, also where two pairs have the same names', async () => {
    const pairs = [
      [['USDC', 700], usdc],
      [hype, usdc],
      [['HYPE', 701], usdc],
    ] as const
    const fills = [
      { coin: '@1', feeToken: 'HYPE' },
      { coin: '@2', feeToken: 'HYPE' },
      { coin: '@2', side: 'A' as const, feeToken: 'USDC' },
    ]
    assert.deepEqual(await derive(pairs, fills), [
      ['2 crypto:hyperliquid', '6 crypto:usd-coin', '0.5 crypto:hyperliquid'],
      ['2 hyperliquid:HYPE#701', '6 crypto:usd-coin', '0.5 hyperliquid:HYPE#701'],
      ['6 crypto:usd-coin', '2 hyperliquid:HYPE#701', '0.5 crypto:usd-coin'],
    ])
  })

  it('leaves a fee open that either coin of the pair may be, or neither is', async () => {
    const pairs = [
      [['USDC', 700], usdc],
      [unitBitcoin, usdc],
    ] as const
    assert.deepEqual(
      await derive(pairs, [
        { coin: '@0', feeToken: 'USDC' },
        { coin: '@1', feeToken: 'HYPE' },
      ]),
      [
        ['2 hyperliquid:USDC#700', '6 crypto:usd-coin', '', 'fees'],
        ['2 crypto:bitcoin', '6 crypto:usd-coin', '', 'fees'],
      ],
    )
  })

  it('pays the fee of a contract only where it is the coin of all contracts', async () => {
    const [known, unknown] = await derive(
      [[hype, usdc]],
      [
        { coin: 'BTC', feeToken: 'USDC' },
        { coin: 'flx:TSLA', feeToken: 'BTC' },
      ],
    )
    assert.deepEqual(known?.slice(0, 3), ['', '', '0.5 crypto:usd-coin'])
    assert.equal(unknown?.[2], '')
  })

  it('pays no known coin as the fee of a pair that is not listed', async () => {
    const pairs = [[hype, usdc]] as const
    assert.deepEqual(await derive(pairs, [{ coin: '@7', feeToken: 'USDC' }]), [
      ['', '', '', 'fees', 'inputs', 'outputs'],
    ])
  })
})

describe('the fee of a trade', () => {
  it('contains what went to a builder', async () => {
    const fills = [{ coin: '@0', side: 'A' as const, fee: '0.5', builderFee: '0.3', feeToken: 'USDC' }]
    assert.deepEqual(await derive([[hype, usdc]], fills), [
      ['6 crypto:usd-coin', '2 crypto:hyperliquid', '0.5 crypto:usd-coin'],
    ])
  })
})
