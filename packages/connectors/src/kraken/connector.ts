/**
 * Kraken (spot). The ledger is the complete source: TradesHistory lacks purchases made in the app, and its fees are
 * estimates. Deposits and withdrawals are also read, for hashes, addresses and networks.
 *
 * Kraken Futures is a separate product with its own keys and is not read.
 */
import { add, findDecimal, isZero, SourceError, zero, type Asset, type Decimal } from '@assay/core'
import { z } from 'zod'
import type { ApiKeyCredentials, Connector, Io, AccountReader, Balances } from '../kit/connector.ts'
import { toAccount } from './account.ts'
import { createClient } from './client.ts'
import { krakenDefinition } from './definition.ts'
import { fetchPage } from './pages.ts'
import { linkKeys } from './deriving/families.ts'
import { runningBalance } from './records.ts'
import { toTransactions } from './deriving/transactions.ts'
import { leaveOutUnreadable } from '../kit/balances.ts'
import { readAnswer, withTextNumbers } from '../kit/json.ts'
import { readAssetCode } from './assets.ts'

export const connector: Connector = {
  providerId: krakenDefinition.metadata.provider_id,
  version: 3,
  budget: {
    buckets: [
      {
        name: 'counter',
        scope: 'key',
        // Pro, Intermediate, Starter: docs.kraken.com, "Spot REST rate limits". No call returns an account's tier.
        tiers: [
          { capacity: 20, refillPerSecond: 1 },
          { capacity: 20, refillPerSecond: 1 / 2 },
          { capacity: 15, refillPerSecond: 1 / 3 },
        ],
      },
    ],
    verify: { counter: 1 },
    balances: { counter: 1 },
    partitions: {},
  },
  open(credentials, io) {
    if (credentials.type !== 'api_key') throw new TypeError('Kraken uses API keys')
    return openReader(credentials, io)
  },
  linkKeys,
  toTransactions,
  runningBalance,
}

function openReader(credentials: ApiKeyCredentials, io: Io): AccountReader {
  const call = createClient(credentials, io)
  return {
    verify: async () => toAccount(credentials.apiKey, await call('GetApiKeyInfo')),
    fetchBalances: async () => toBalances(await call('BalanceEx')),
    fetchPage: async ({ stream: name, window, pageMark }) => {
      const stream = krakenDefinition.streams.find((candidate) => candidate.name === name)
      if (stream === undefined) throw new RangeError(`Kraken has no stream ${JSON.stringify(name)}`)
      return fetchPage(call, stream.name, { window, pageMark }, io.now())
    },
  }
}

const balances = z.record(z.string(), z.object({ balance: z.string(), credit_used: z.string().nullish() }))

/**
 * Holdings from BalanceEx, folded by asset.
 *
 * BalanceEx lists every wallet under its own code: staked or earning assets are in X.S, X.B, X.F …, and no longer in X
 * (docs.kraken.com, get-extended-balance; others saw zero for X while X.F held everything). Earn/Allocations lists the
 * same assets by strategy. We do not read it, because everything staked would count twice. `hold_trade` is part of
 * `balance`. What a credit line leaves to be used (`credit`) is in no balance. While some of it is used, what was bought
 * with it may be: "available balance = balance + credit - credit_used - hold_trade". So the reading is in doubt.
 *
 * `answer` is the `result` of BalanceEx; undefined for an account that never held anything.
 */
export function toBalances(answer: unknown): Pick<Balances, 'balances' | 'unreadable' | 'isInDoubt'> {
  const codes = readAnswer('BalanceEx', balances, answer === undefined ? {} : withTextNumbers(answer))
  const held = Object.entries(codes).map(([code, { balance }]) => {
    const amount = findDecimal(balance)
    if (amount === undefined) throw new SourceError('unreadable_answer', `BalanceEx: ${code} has no decimal balance`)
    return { code, amount }
  })
  const isOwing = Object.values(codes).some(({ credit_used: used }) => {
    const owed = findDecimal(used ?? '0')
    return owed === undefined || !isZero(owed)
  })
  const { readable, unreadable = [] } = leaveOutUnreadable('kraken', held)
  const named = [...unreadable, ...(isOwing ? ['a credit line that is in use'] : [])]
  const folded = new Map<string, { asset: Asset; liquid: Decimal; staked: Decimal }>()
  for (const { code, amount } of readable) {
    const { asset, walletKind } = readAssetCode(code)
    const { liquid, staked } = folded.get(asset.assetId) ?? { liquid: zero, staked: zero }
    folded.set(
      asset.assetId,
      walletKind === 'staked'
        ? { asset, liquid, staked: add(staked, amount) }
        : { asset, liquid: add(liquid, amount), staked },
    )
  }
  const listed = [...folded.values()]
    .filter(({ liquid, staked }) => !isZero(liquid) || !isZero(staked))
    .map(({ asset: { assetId, symbol, name }, liquid, staked }) => ({ assetId, symbol, name, liquid, staked }))
  return {
    balances: listed,
    ...(named.length > 0 && { unreadable: named }),
    ...(isOwing && { isInDoubt: true }),
  }
}
