/**
 * Holdings from BalanceEx, folded by asset.
 *
 * BalanceEx lists every wallet under its own code: staked or earning assets are in X.S, X.B, X.F …, and no longer in X
 * (docs.kraken.com, get-extended-balance; others saw zero for X while X.F held everything). Earn/Allocations lists the
 * same assets by strategy. We do not read it, because everything staked would count twice. `hold_trade` is part of
 * `balance`; a credit line is borrowed and does not count.
 */
import { add, findDecimal, isZero, SourceError, zero, type Asset, type Decimal } from '@assay/core'
import { z } from 'zod'
import type { Balance } from '../kit/connector.ts'
import { readAnswer, withTextNumbers } from '../kit/json.ts'
import { readCode } from './assets.ts'

const balances = z.record(z.string(), z.object({ balance: z.string() }))

/** `answer` is the `result` of BalanceEx; undefined for an account that never held anything. */
export function toBalances(answer: unknown): Balance[] {
  const codes = readAnswer('BalanceEx', balances, answer === undefined ? {} : withTextNumbers(answer))
  const folded = new Map<string, { asset: Asset; liquid: Decimal; staked: Decimal }>()
  for (const [code, { balance }] of Object.entries(codes)) {
    const amount = findDecimal(balance)
    if (amount === undefined) {
      throw new SourceError('unreadable_answer', `BalanceEx: ${code} has no decimal balance`)
    }
    const { asset, place } = readCode(code)
    const { liquid, staked } = folded.get(asset.assetId) ?? { liquid: zero, staked: zero }
    folded.set(
      asset.assetId,
      place === 'staked'
        ? { asset, liquid, staked: add(staked, amount) }
        : { asset, liquid: add(liquid, amount), staked },
    )
  }
  return [...folded.values()]
    .filter(({ liquid, staked }) => !isZero(liquid) || !isZero(staked))
    .map(({ asset: { assetId, symbol, name }, liquid, staked }) => ({ assetId, symbol, name, liquid, staked }))
}
