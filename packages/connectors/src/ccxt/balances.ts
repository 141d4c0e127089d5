/**
 * Holdings, summed over the wallets of an account. ccxt's `total` is free plus on hold; it does not show what is
 * staked.
 *
 * What an account owes is not a holding. A balance is what is left when all loans were paid back, and is negative where
 * borrowed coins were spent: then the history explains it, because a trade with borrowed coins is a trade. Loans are not
 * transactions (transactions.ts). Whether ccxt's `total` contains them differs by exchange (`borrowed`).
 */
import {
  add,
  findDecimal,
  isNegative,
  isZero,
  SourceError,
  subtract,
  zero,
  type Asset,
  type Decimal,
} from '@assay/core'
import { z } from 'zod'
import { leaveOutUnreadable } from '../kit/balances.ts'
import type { Balance, Balances } from '../kit/connector.ts'
import { readAnswer } from '../kit/json.ts'
import { textAt, valueAt } from './answers.ts'
import type { About, Borrowed, OpenLosses, WalletParams } from './catalogue/about.ts'
import { findAbout } from './catalogue/abouts.ts'
import { readAssetCode } from './assets.ts'
import { UnknownSymbol, Unsupported, type CcxtClient } from './client.ts'
import { findElsewhere } from './elsewhere.ts'

const amount = z.union([z.string(), z.number().transform(String)]).nullish()
const amounts = z.record(z.string(), amount)
const balanceSchema = z.object({
  ...{ total: amounts, free: amounts.nullish(), used: amounts.nullish(), debt: amounts.nullish() },
  info: z.unknown().optional(),
})

export async function fetchBalances(
  client: CcxtClient,
  providerId: string,
): Promise<Pick<Balances, 'balances' | 'unreadable' | 'isInDoubt' | 'mayHaveLost'> & { codes: string[] }> {
  // The account may have changed its kind since it was connected.
  if ((await findElsewhere(client, providerId)) !== undefined) return { balances: [], codes: [] }
  const held = new Map<string, Decimal>()
  const doubtful = new Set<string>()
  let mayHaveLost = false
  const about = findAbout(providerId)
  const { wallets = [{}] } = about
  const askWallet = await openWallets(client, about)
  for (const places of wallets) {
    const wallet = await fetchWallet(client, [places].flat(), about, askWallet)
    mayHaveLost ||= wallet.mayHaveLost
    for (const [code, quantity] of wallet.amounts) held.set(code, add(held.get(code) ?? zero, quantity))
    for (const code of wallet.doubtful) doubtful.add(code)
  }
  const all = [...held].filter(([, quantity]) => !isZero(quantity)).map(([code, amount]) => ({ code, amount }))
  const { readable, unreadable = [] } = leaveOutUnreadable(providerId, all)
  const named = [...unreadable, ...[...doubtful].map((code) => `borrowed ${code}`)]
  return {
    balances: toBalances(providerId, readable),
    ...(named.length > 0 && { unreadable: named }),
    ...(doubtful.size > 0 && { isInDoubt: true }),
    ...(mayHaveLost && { mayHaveLost: true }),
    codes: readable.map(({ code }) => code),
  }
}

interface Wallet {
  amounts: [string, Decimal][]
  /** Codes of debts that the amounts may contain. */
  doubtful: string[]
  mayHaveLost: boolean
}

type AskWallet = (params: WalletParams) => Promise<unknown>

async function openWallets(client: CcxtClient, { wallets = [], walletsIn }: About): Promise<AskWallet> {
  if (walletsIn === undefined) return async (params) => (await ask(client, [params]))[0]
  const all = wallets.flat()
  const answers = await ask(client, all, walletsIn)
  return async (params) => answers[all.indexOf(params)]
}

/** One wallet, which is in the first of these places that holds or owes something. */
async function fetchWallet(
  client: CcxtClient,
  places: readonly WalletParams[],
  about: About,
  askWallet: AskWallet,
): Promise<Wallet> {
  for (const params of places) {
    const wallet = await fetchPlace(client, params, about, askWallet)
    if (wallet.amounts.some(([, quantity]) => !isZero(quantity)) || wallet.doubtful.length > 0) return wallet
  }
  return { amounts: [], doubtful: [], mayHaveLost: false }
}

async function fetchPlace(
  client: CcxtClient,
  params: WalletParams,
  { borrowed, openLosses }: About,
  askWallet: AskWallet,
): Promise<Wallet> {
  const { total, free, used, debt, info } = readAnswer('fetchBalance', balanceSchema, await askWallet(params))
  const owing = Object.entries(debt ?? {}).flatMap(([code, text]) =>
    isZero(toAmount(code, text ?? '0')) ? [] : [code],
  )
  const loans = typeof borrowed === 'object' ? await findLoans(client, info, borrowed) : undefined
  const amounts = Object.entries(total).map(([code, text]): [string, Decimal] => {
    const known = text ?? undefined
    const quantity =
      known === undefined
        ? add(toAmount(code, free?.[code] ?? '0'), toAmount(code, used?.[code] ?? '0'))
        : toAmount(code, known)
    return [code, subtract(quantity, loans?.get(code) ?? zero)]
  })
  const isEmpty = amounts.every(([, quantity]) => isZero(quantity))
  return {
    amounts,
    doubtful: borrowed === 'excluded' ? [] : owing.filter((code) => loans?.has(code) !== true),
    mayHaveLost: openLosses !== undefined && !isEmpty && mayHaveOpenLoss(openLosses, params, info),
  }
}

/** A loss that cannot be read may be any. */
function mayHaveOpenLoss({ wallet = {}, shown }: OpenLosses, params: WalletParams, answer: unknown): boolean {
  if ([...Object.keys(wallet), ...Object.keys(params)].some((name) => params[name] !== wallet[name])) return false
  if (shown === undefined) return true
  return [valueAt(answer, shown.rows)].flat().some((row) => {
    const left = textAt(row, shown.left)
    // The exchange leaves it empty where an account has no such amount.
    if (left === '') return false
    const [all, balance, loans] = [left, textAt(row, shown.balance), textAt(row, shown.borrowed) || '0'].map((text) =>
      findDecimal(text ?? ''),
    )
    if (all === undefined || balance === undefined || loans === undefined) return true
    return isNegative(subtract(all, subtract(balance, loans)))
  })
}

const loanRows = z.array(z.record(z.string(), z.unknown())).catch([])

/** What the balance of each code contains of loans, where the exchange's own answer says so. */
async function findLoans(client: CcxtClient, answer: unknown, borrowed: Borrowed): Promise<Map<string, Decimal>> {
  const loans = new Map<string, Decimal>()
  for (const row of loanRows.parse(valueAt(answer, borrowed.rows))) {
    const [currency, amount] = [row[borrowed.currency], row[borrowed.amount]]
    if (typeof currency !== 'string' || (typeof amount !== 'string' && typeof amount !== 'number')) continue
    // An amount that does not apply to the account. A debt beside it leaves the balance in doubt.
    if (amount === '') continue
    const code = await client.codeOf(currency)
    loans.set(code, toAmount(code, String(amount)))
  }
  return loans
}

async function ask(client: CcxtClient, wallets: readonly WalletParams[], endpoint?: string): Promise<unknown[]> {
  try {
    return await client.balances(wallets, endpoint)
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
