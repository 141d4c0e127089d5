/**
 * Private endpoints about the account itself: GetApiKeyInfo, Balance, BalanceEx, Earn/Allocations.
 * Sources: https://docs.kraken.com/api-reference/account-data/get-api-key-info, …/get-account-balance,
 * …/get-extended-balance, https://docs.kraken.com/api-reference/earn/list-earn-allocations
 */
import { encodeNumber } from '../../core/ids.ts'
import { multiplyUnits, toFixedText, toUnits } from '../../core/units.ts'
import { dayOf, findCoin, priceDecimals, priceInUsd } from '../../market/series.ts'
import { getAsset, type Asset } from '../assets.ts'
import type { KrakenAccount } from '../authentication.ts'
import type { World } from '../history.ts'
import type { EarnStrategy } from '../story.ts'
import { isTrue } from '../wire.ts'

// Whole seconds as text, and "0" for never: only this endpoint writes times like this.
const keyMadeAt = String(Date.UTC(2021, 1, 20, 8, 30) / 1000)
const usdDecimals = 4

export function apiKeyInfo(account: KrakenAccount, nowMs: number): object {
  return {
    apiKeyName: 'assay-sandbox',
    apiKey: account.credentials.apiKey,
    nonce: account.key.nonce.toString(),
    nonceWindow: 0,
    permissions: account.key.permissions,
    iban: publicAccountId(account.id),
    validUntil: String(Math.floor((account.key.validUntilMs ?? 0) / 1000)),
    queryFrom: '0',
    queryTo: '0',
    createdTime: keyMadeAt,
    modifiedTime: keyMadeAt,
    ipAllowlist: [],
    lastUsed: String(Math.floor(nowMs / 1000)),
  }
}

/**
 * Kraken's account number has the shape of an IBAN: "AA88 N84G WOAK NMOI". It is the same for every key of an account.
 */
export function publicAccountId(accountId: string): string {
  const letters = encodeNumber(accountId, 'iban', 0)
  const check = String(letters.charCodeAt(9) % 90).padStart(2, '0')
  return `AA${check} N84G ${letters.slice(0, 4)} ${letters.slice(4, 8)}`
}

export function balance(world: World): object {
  return Object.fromEntries([...world.balances].map(([code, units]) => [code, printed(units, code)]))
}

export function extendedBalance(world: World): object {
  const rows = [...world.balances].map(([code, units]) => [
    code,
    { balance: printed(units, code), hold_trade: printed(0n, code) },
  ])
  return Object.fromEntries(rows) as object
}

/** Amounts are those of the balance codes the strategies hold: the same coins seen a second time, not further ones. */
export function earnAllocations(world: World, parameters: URLSearchParams, nowMs: number): object {
  const items = allocationsOf(world, nowMs)
  const shown = isTrue(parameters, 'hide_zero_allocations') ? items.filter((item) => item.units > 0n) : items
  const total = (pick: (item: Allocation) => bigint): string =>
    toFixedText(
      shown.reduce((sum, item) => sum + pick(item), 0n),
      usdDecimals,
    )
  return {
    converted_asset: 'USD',
    total_allocated: total((item) => item.usd),
    total_rewarded: total((item) => item.rewardedUsd),
    items: shown.map(describeAllocation),
  }
}

export interface Allocation {
  strategy: EarnStrategy
  asset: Asset
  units: bigint
  usd: bigint
  rewarded: bigint
  rewardedUsd: bigint
  toUsd: (units: bigint) => bigint
}

export function allocationsOf(world: World, nowMs: number): Allocation[] {
  return world.strategies.map((strategy) => {
    const asset = getAsset(strategy.code)
    const coin = findCoin(asset.coin ?? '')
    const price = coin === undefined ? 0n : priceInUsd(coin, dayOf(nowMs))
    const toUsd = (units: bigint): bigint => multiplyUnits(units, asset.decimals, price, priceDecimals, usdDecimals)
    const units = world.balances.get(strategy.code) ?? 0n
    const rewarded = world.ledger.rows
      .filter((row) => row.code === strategy.code && (row.type === 'staking' || row.subtype === 'reward'))
      .reduce((sum, row) => sum + row.change, 0n)
    return { strategy, asset, units, usd: toUsd(units), rewarded, rewardedUsd: toUsd(rewarded), toUsd }
  })
}

function describeAllocation(item: Allocation): object {
  const { strategy, asset } = item
  const both = (units: bigint): object => ({
    native: toFixedText(units, asset.decimals),
    converted: toFixedText(item.toUsd(units), usdDecimals),
  })
  const { bonding } = strategy
  const waiting = bonding && {
    ...both(toUnits(bonding.amount, asset.decimals)),
    allocation_count: 1,
    allocations: [
      { created_at: bonding.createdAt, expires: bonding.expires, ...both(toUnits(bonding.amount, asset.decimals)) },
    ],
  }
  return {
    strategy_id: strategy.id,
    native_asset: strategy.asset,
    amount_allocated: { ...(waiting && { bonding: waiting }), total: both(item.units) },
    total_rewarded: both(item.rewarded),
  }
}

function printed(units: bigint, code: string): string {
  return toFixedText(units, getAsset(code).decimals)
}
