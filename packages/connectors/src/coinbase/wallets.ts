/**
 * The wallets of an account: all pages of `GET /v2/accounts` (docs.cdp.coinbase.com, coinbase-app/track-apis/accounts).
 *
 * We never skip a wallet because of its balance or `updated_at`: empty wallets have a history, and rotki found
 * `updated_at` to be unreliable. The id of an unused wallet is its currency code; it gets its own id with its first
 * transaction.
 *
 * Staked assets are in separate wallets (docs: `staking_transfer` is "Funds from primary account moved to staked
 * account"). No member identifies these wallets, so we use three signs: the code ETH2, a name that begins with
 * "Staked", and a received staking transfer (pages.ts).
 */
import { add, findDecimal, isZero, SourceError, zero, type Asset, type Decimal } from '@assay/core'
import { z } from 'zod'
import { leaveOutUnreadable } from '../kit/balances.ts'
import type { Balances } from '../kit/connector.ts'
import { readAnswer } from '../kit/json.ts'
import { pageSize } from './definition.ts'
import { coinbaseAsset, isStakedAssetCode } from './records.ts'
import { fetchListPage, type Call } from './client.ts'

export interface Wallet {
  id: string
  code: string
  isStaked: boolean
  amount: Decimal
}

const walletSchema = z.object({
  id: z.string().min(1),
  name: z.string().nullish(),
  type: z.string().nullish(),
  balance: z.object({ amount: z.string(), currency: z.string() }),
})

// An account has a few hundred wallets at most: one per currency, and a few vaults.
const pagesMax = 50
/** A page may be longer than was asked for. */
const walletsMax = pagesMax * pageSize

export async function fetchWallets(call: Call): Promise<Wallet[]> {
  const wallets = new Map<string, Wallet>()
  let pageMark: string | null = null
  for (let page = 0; page < pagesMax; page += 1) {
    const { rows, next }: Awaited<ReturnType<typeof fetchListPage>> = await fetchListPage(
      call,
      '/v2/accounts',
      pageMark,
    )
    // A row may appear twice when a wallet is opened between two pages.
    for (const wallet of rows.map(toWallet)) wallets.set(wallet.id, wallet)
    if (wallets.size > walletsMax) throw new SourceError('unreadable_answer', `more than ${walletsMax} wallets`)
    if (next === null) return [...wallets.values()]
    pageMark = next
  }
  throw new SourceError('unreadable_answer', `more than ${pagesMax} pages of wallets`)
}

function toWallet(row: unknown): Wallet {
  const { id, name, type, balance } = readAnswer('accounts', walletSchema, row)
  const amount = findDecimal(balance.amount)
  if (amount === undefined) throw new SourceError('unreadable_answer', 'accounts: a balance is not a decimal number')
  const code = balance.currency
  const isStaked = isStakedAssetCode(code) || /^staked\b/i.test(name ?? '') || /stak/i.test(type ?? '')
  return { id, code, isStaked, amount }
}

export function toBalances(
  wallets: readonly Wallet[],
  staked: ReadonlySet<string>,
): Pick<Balances, 'balances' | 'unreadable'> {
  const { readable, ...leftOut } = leaveOutUnreadable('coinbase', wallets)
  const folded = new Map<string, { asset: Asset; liquid: Decimal; staked: Decimal }>()
  for (const { id, code, amount } of readable) {
    const asset = coinbaseAsset(code)
    const before = folded.get(asset.assetId) ?? { asset, liquid: zero, staked: zero }
    const place = staked.has(id) ? 'staked' : 'liquid'
    folded.set(asset.assetId, { ...before, [place]: add(before[place], amount) })
  }
  const balances = [...folded.values()]
    .filter(({ liquid, staked: locked }) => !isZero(liquid) || !isZero(locked))
    .map(({ asset: { assetId, symbol, name }, liquid, staked: locked }) => ({
      ...{ assetId, symbol, name, liquid },
      staked: locked,
    }))
  return { balances, ...leftOut }
}
