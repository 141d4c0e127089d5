/**
 * /sapi/v1/simple-earn: positions, and the records of subscriptions, redemptions and rewards.
 * Sources: https://developers.binance.com/docs/simple_earn, and the recorded answers in
 * https://github.com/binance/binance-connector-typescript/tree/master/tests/mock_values/restful/simpleEarn
 *
 * The coins of a flexible position are in the spot balances too, as LD + asset: the same coins seen twice.
 */
import { dayMs } from '@assay/core'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { toFixedText, toUnits } from '../../core/units.ts'
import type { BinanceAccount } from '../authentication.ts'
import { listOf, type World } from '../history.ts'
import { numericIdOf, type RowOf } from '../rows.ts'
import { pageOf, thirtyDays, within } from './pages.ts'
import { decimals } from './symbols.ts'
import { BinanceRefusal, requireParameter } from '../wire.ts'

type Product = 'flexible' | 'locked'

const rewardTypes = new Set(['BONUS', 'REALTIME', 'REWARDS', 'ALL'])

export function flexiblePositions(of: BinanceAccount, query: URLSearchParams, context: CallContext): object {
  const world = of.world()
  const asset = query.get('asset')
  const held = [...(world.balances.get('flexible') ?? [])]
    .filter(([name, units]) => units > 0n && (asset === null || name === asset))
    .reverse()
  const { rows, total } = pageOf(held, query, context)
  return { rows: rows.map(([name, units]) => describeFlexible(world, name, units)), total }
}

function describeFlexible(world: World, asset: string, units: bigint): object {
  const realTime = rewarded(world, 'flexible', (row) => row.event.asset === asset && row.event.type === 'REALTIME')
  const bonus = rewarded(world, 'flexible', (row) => row.event.asset === asset && row.event.type === 'BONUS')
  return {
    totalAmount: print(units),
    tierAnnualPercentageRate: {},
    latestAnnualPercentageRate: '0.02599895',
    yesterdayAirdropPercentageRate: '0.00000000',
    asset,
    airDropAsset: asset,
    canRedeem: true,
    collateralAmount: print(0n),
    productId: `${asset}001`,
    yesterdayRealTimeRewards: print(0n),
    cumulativeBonusRewards: print(bonus),
    cumulativeRealTimeRewards: print(realTime),
    cumulativeTotalRewards: print(bonus + realTime),
    autoSubscribe: false,
  }
}

export function lockedPositions(of: BinanceAccount, query: URLSearchParams, context: CallContext): object {
  const world = of.world()
  const asset = query.get('asset')
  const open = listOf(world, 'subscription', 'locked')
    .filter((row) => heldIn(world, row) > 0n && (asset === null || row.event.asset === asset))
    .toReversed()
  const { rows, total } = pageOf(open, query, context)
  return { rows: rows.map((row) => describeLocked(world, row)), total }
}

function heldIn(world: World, { event }: RowOf<'subscription'>): bigint {
  return world.balances.get(`locked ${event.position ?? 0}`)?.get(event.asset) ?? 0n
}

function describeLocked(world: World, row: RowOf<'subscription'>): object {
  const { event, atMs } = row
  const days = event.days ?? 30
  const paid = rewarded(world, 'locked', (reward) => reward.event.position === event.position)
  const endMs = atMs + days * dayMs
  return {
    positionId: event.position ?? 0,
    parentPositionId: event.position ?? 0,
    projectId: `${event.asset}*${days}`,
    asset: event.asset,
    amount: print(heldIn(world, row)),
    purchaseTime: String(atMs),
    duration: String(days),
    accrualDays: '1',
    rewardAsset: event.asset,
    APY: '0.0300',
    rewardAmt: print(paid),
    extraRewardAsset: event.asset,
    extraRewardAPR: '0',
    estExtraRewardAmt: print(0n),
    nextPay: print(0n),
    nextPayDate: String(endMs),
    payPeriod: '1',
    redeemAmountEarly: print(heldIn(world, row)),
    rewardsEndDate: String(endMs),
    deliverDate: String(endMs + dayMs),
    redeemPeriod: '1',
    redeemingAmt: print(0n),
    redeemTo: 'SPOT',
    partialAmtDeliverDate: String(endMs + dayMs),
    canRedeemEarly: true,
    canFastRedemption: false,
    autoSubscribe: false,
    type: 'NORMAL',
    status: 'HOLDING',
    canReStake: false,
  }
}

function rewarded(world: World, product: Product, isWanted: (row: RowOf<'reward'>) => boolean): bigint {
  return listOf(world, 'reward', product)
    .filter(isWanted)
    .reduce((sum, { event }) => sum + toUnits(event.amount, decimals), 0n)
}

export function rewards(of: BinanceAccount, query: URLSearchParams, context: CallContext, product: Product): object {
  const type = product === 'flexible' ? requireParameter(query, 'type') : 'ALL'
  if (!rewardTypes.has(type)) throw new BinanceRefusal(-1130)
  const rows = listOf(of.world(), 'reward', product).filter(({ event }) => type === 'ALL' || event.type === type)
  return recordsOf(rows, query, context, (row) => describeReward(row))
}

export function subscriptions(
  of: BinanceAccount,
  query: URLSearchParams,
  context: CallContext,
  product: Product,
): object {
  const rows = listOf(of.world(), 'subscription', product)
  return recordsOf(rows, query, context, (row) => describeSubscription(of.id, row))
}

export function redemptions(
  of: BinanceAccount,
  query: URLSearchParams,
  context: CallContext,
  product: Product,
): object {
  const rows = listOf(of.world(), 'redemption', product)
  return recordsOf(rows, query, context, (row) => describeRedemption(of.id, row))
}

function recordsOf<R extends RowOf<'reward' | 'subscription' | 'redemption'>>(
  all: readonly R[],
  query: URLSearchParams,
  context: CallContext,
  describe: (row: R) => object,
): object {
  const asset = query.get('asset')
  const wanted = within(all, thirtyDays(query, context.nowMs)).filter(
    ({ event }) => asset === null || event.asset === asset,
  )
  const { rows, total } = pageOf(wanted, query, context)
  return { rows: rows.map(describe), total }
}

export function describeReward({ event, atMs }: RowOf<'reward'>): object {
  const amount = print(toUnits(event.amount, decimals))
  if (event.product === 'flexible') {
    return { asset: event.asset, rewards: amount, projectId: `${event.asset}001`, type: event.type, time: atMs }
  }
  const { position = 0, days = 30 } = event
  return { positionId: String(position), time: atMs, asset: event.asset, lockPeriod: String(days), amount }
}

export function describeSubscription(accountId: string, row: RowOf<'subscription'>): object {
  const { event, atMs } = row
  const amount = print(toUnits(event.amount, decimals))
  const common = {
    purchaseId: numericIdOf(accountId, row),
    type: 'NORMAL',
    sourceAccount: 'SPOT',
    amtFromSpot: amount,
    amtFromFunding: '0',
    status: 'SUCCESS',
  }
  if (event.product === 'flexible') {
    return { amount, asset: event.asset, time: atMs, productId: `${event.asset}001`, ...common }
  }
  const { position = 0, days = 30 } = event
  const projectId = `${event.asset}*${days}`
  return {
    positionId: String(position),
    projectId,
    time: atMs,
    asset: event.asset,
    amount,
    lockPeriod: String(days),
    ...common,
  }
}

export function describeRedemption(accountId: string, row: RowOf<'redemption'>): object {
  const { event, atMs } = row
  const amount = print(toUnits(event.amount, decimals))
  const redeemId = numericIdOf(accountId, row)
  if (event.product === 'flexible') {
    const { asset } = event
    return { amount, asset, time: atMs, projectId: `${asset}001`, redeemId, destAccount: 'SPOT', status: 'PAID' }
  }
  const { position = 0, days = 30 } = event
  return {
    positionId: position,
    redeemId,
    time: atMs,
    asset: event.asset,
    lockPeriod: String(days),
    amount,
    originalAmount: amount,
    type: 'MATURE',
    deliverDate: String(atMs),
    lossAmount: '0',
    isComplete: true,
    rewardAsset: event.asset,
    rewardAmt: '0',
    extraRewardAsset: event.asset,
    estExtraRewardAmt: '0',
    status: 'PAID',
  }
}

function print(units: bigint): string {
  return toFixedText(units, decimals)
}
