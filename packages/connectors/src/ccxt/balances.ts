/**
 * Holdings, summed over the wallets of an account. ccxt's `total` is free plus on hold; it does not show what is
 * staked.
 */
import { add, findDecimal, isZero, SourceError, zero, type Asset, type Decimal } from '@assay/core'
import { z } from 'zod'
import { leaveOutUnreadable } from '../kit/balances.ts'
import type { Balance, Balances } from '../kit/connector.ts'
import { readAnswer } from '../kit/json.ts'
import { findAbout, type WalletParams } from './catalogue/about.ts'
import { readAssetCode } from './assets.ts'
import { UnknownSymbol, Unsupported, type CcxtClient } from './client.ts'
import { findElsewhere } from './elsewhere.ts'

const amount = z.union([z.string(), z.number().transform(String)]).nullish()
const amounts = z.record(z.string(), amount)
const balanceSchema = z.object({ total: amounts, free: amounts.nullish(), used: amounts.nullish() })

export async function fetchBalances(
  client: CcxtClient,
  providerId: string,
): Promise<Pick<Balances, 'balances' | 'unreadable'> & { codes: string[] }> {
  // The account may have changed its kind since it was connected.
  if ((await findElsewhere(client, providerId)) !== undefined) return { balances: [], codes: [] }
  const held = new Map<string, Decimal>()
  const { wallets = [{}] } = findAbout(providerId)
  for (const wallet of wallets) {
    for (const [code, quantity] of await fetchWallet(client, [wallet].flat())) {
      held.set(code, add(held.get(code) ?? zero, quantity))
    }
  }
  const all = [...held].filter(([, quantity]) => !isZero(quantity)).map(([code, amount]) => ({ code, amount }))
  const { readable, ...leftOut } = leaveOutUnreadable(providerId, all)
  return { balances: toBalances(providerId, readable), ...leftOut, codes: readable.map(({ code }) => code) }
}

/** One wallet, which is in the first of these places that holds something. */
async function fetchWallet(client: CcxtClient, places: readonly WalletParams[]): Promise<[string, Decimal][]> {
  for (const params of places) {
    const amounts = await fetchAmounts(client, params)
    if (amounts.some(([, quantity]) => !isZero(quantity))) return amounts
  }
  return []
}

async function fetchAmounts(client: CcxtClient, params: WalletParams): Promise<[string, Decimal][]> {
  const { total, free, used } = readAnswer('fetchBalance', balanceSchema, await ask(client, params))
  return Object.entries(total).map(([code, text]) => {
    const known = text ?? undefined
    const quantity =
      known === undefined
        ? add(toAmount(code, free?.[code] ?? '0'), toAmount(code, used?.[code] ?? '0'))
        : toAmount(code, known)
    return [code, quantity]
  })
}

async function ask(client: CcxtClient, params: WalletParams): Promise<unknown> {
  try {
    return await client.balances(params)
  } catch (error) {
    if (error instanceof Unsupported || error instanceof UnknownSymbol)
      throw new SourceError('unreadable_answer', 'fetchBalance: not supported')
    throw error
  }
}

function toAmount(code: string, value: string): Decimal {
  const quantity = findDecimal(value)
  if (quantity === undefined) throw new SourceError('unreadable_answer', `fetchBalance: ${code} has no decimal amount`)
  return quantity
}

/** Two codes of the same asset make one position. */
function toBalances(providerId: string, held: readonly { code: string; amount: Decimal }[]): Balance[] {
  const folded = new Map<string, { asset: Asset; liquid: Decimal }>()
  for (const { code, amount } of held) {
    const asset = readAssetCode(providerId, code)
    const before = folded.get(asset.assetId)?.liquid ?? zero
    folded.set(asset.assetId, { asset, liquid: add(before, amount) })
  }
  return [...folded.values()].map(({ asset: { assetId, symbol, name }, liquid }) => ({
    assetId,
    symbol,
    name,
    liquid,
    staked: zero,
  }))
}
