/**
 * Holdings: the spot wallet and the positions of Simple Earn. The spot wallet shows flexible positions once more under
 * `LD` codes; those are left out, because the positions have the asset's own code.
 *
 * A flexible loan has flexible positions as its collateral (binance.com, "What is Binance Flexible Loan"), which earn on,
 * and pays its coins into the spot wallet. What is owed is in a list of its own, so the reading is in doubt.
 */
import { add, findDecimal, isZero, SourceError, zero, type Asset, type Decimal } from '@assay/core'
import { z } from 'zod'
import { leaveOutUnreadable } from '../kit/balances.ts'
import type { Balance, Balances, Spent } from '../kit/connector.ts'
import { parseJson, readAnswer } from '../kit/json.ts'
import { isEarnMirror, readAssetCode } from './assets.ts'
import { joinSpent, refuseFailure, type Call } from './client.ts'
import { endpoints, type Endpoint } from './endpoints.ts'

const accountAnswer = z.object({
  balances: z.array(z.object({ asset: z.string(), free: z.string(), locked: z.string() })),
})
const positionsAnswer = z.object({
  rows: z.array(
    z.object({
      asset: z.string(),
      totalAmount: z.string().nullish(),
      amount: z.string().nullish(),
      collateralAmount: z.string().nullish(),
    }),
  ),
})

const pageSize = 100
/** More products than Binance offers. */
const pagesMax = 50

interface Held {
  code: string
  amount: Decimal
  place: 'spot' | 'flexible' | 'locked'
}

const loan = 'a loan against Simple Earn'

interface FetchedBalances extends Pick<Balances, 'balances' | 'unreadable' | 'isInDoubt'> {
  /** Codes of everything that was read. */
  codes: string[]
  spent: Spent[]
}

export async function fetchBalances(call: Call): Promise<FetchedBalances> {
  const account = await call(endpoints.account, { omitZeroBalances: 'true' })
  const { balances } = readAnswer('account', accountAnswer, parseJson(account.text))
  const flexible = await fetchPositions(call, endpoints.flexiblePositions, 'totalAmount')
  const locked = await fetchPositions(call, endpoints.lockedPositions, 'amount')
  const mirrored = new Set(flexible.held.map(({ code }) => code))
  const spot = balances.map(({ asset, free, locked }): Held => {
    const amount = add(readAmount(asset, free), readAmount(asset, locked))
    return { code: asset, amount, place: 'spot' }
  })
  const held = [...spot, ...flexible.held, ...locked.held].filter(({ amount }) => !isZero(amount))
  const { readable, unreadable = [] } = leaveOutUnreadable('binance', held)
  const counted = readable.filter(({ code, place }) => place !== 'spot' || !isEarnMirror(code, mirrored))
  const named = [...unreadable, ...(flexible.isCollateral ? [loan] : [])]
  return {
    balances: toBalances(counted),
    ...(named.length > 0 && { unreadable: named }),
    ...(flexible.isCollateral && { isInDoubt: true }),
    codes: counted.map(({ code }) => code),
    spent: joinSpent(account.spent, flexible.spent, locked.spent),
  }
}

async function fetchPositions(
  call: Call,
  endpoint: Endpoint,
  member: 'totalAmount' | 'amount',
): Promise<{ held: Held[]; isCollateral: boolean; spent: Spent[] }> {
  const held: Held[] = []
  let isCollateral = false
  let spent: Spent[] = []
  for (let current = 1; current <= pagesMax; current += 1) {
    const page = await call(endpoint, { current: String(current), size: String(pageSize) })
    const answer = parseJson(page.text)
    refuseFailure(endpoint, answer)
    const { rows } = readAnswer(endpoint.path, positionsAnswer, answer)
    spent = page.spent
    for (const row of rows) {
      held.push({
        code: row.asset,
        amount: readAmount(row.asset, row[member] ?? ''),
        place: member === 'amount' ? 'locked' : 'flexible',
      })
      isCollateral ||= !isZero(readAmount(row.asset, row.collateralAmount ?? '0'))
    }
    if (rows.length < pageSize) break
  }
  return { held, isCollateral, spent }
}

function readAmount(code: string, value: string): Decimal {
  const amount = findDecimal(value)
  if (amount === undefined) throw new SourceError('unreadable_answer', `balances: ${code} has no decimal amount`)
  return amount
}

function toBalances(held: readonly Held[]): Balance[] {
  const folded = new Map<string, { asset: Asset; liquid: Decimal; staked: Decimal }>()
  for (const { code, amount, place } of held) {
    const asset = readAssetCode(code)
    const { liquid, staked } = folded.get(asset.assetId) ?? { liquid: zero, staked: zero }
    folded.set(
      asset.assetId,
      place === 'locked'
        ? { asset, liquid, staked: add(staked, amount) }
        : { asset, liquid: add(liquid, amount), staked },
    )
  }
  return [...folded.values()].map(({ asset: { assetId, symbol, name }, liquid, staked }) => ({
    assetId,
    symbol,
    name,
    liquid,
    staked,
  }))
}
