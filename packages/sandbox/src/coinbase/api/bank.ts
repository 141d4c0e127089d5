/**
 * GET /v2/accounts/:account_id/deposits and …/withdrawals: the bank's side of `fiat_deposit` and `fiat_withdrawal`.
 * Sources: https://docs.cdp.coinbase.com/coinbase-app/transfer-apis/deposit-fiat, …/withdraw-fiat; field names as in
 * the recorded answers of https://github.com/ccxt/ccxt/blob/master/ts/src/coinbase.ts (`parseTransaction`).
 */
import type { CallContext } from '../../core/serving/provider-server.ts'
import type { CoinbaseAccount } from '../authentication.ts'
import { statusOf, toIso, type TransactionRow, type Wallet } from '../history.ts'
import { encodeUuid } from '../ids.ts'
import { toMoney } from '../wire.ts'
import { parsePaging, spanOf, toPage } from './paging.ts'
import { transactionIdOf } from './transactions.ts'
import { walletPathOf } from './wallets.ts'

export type BankList = 'deposits' | 'withdrawals'

const typeOf: Readonly<Record<BankList, string>> = { deposits: 'fiat_deposit', withdrawals: 'fiat_withdrawal' }

export function listBankTransfers(
  account: CoinbaseAccount,
  wallet: Wallet,
  list: BankList,
  { query, context }: { query: URLSearchParams; context: CallContext },
): object {
  const paging = parsePaging(query)
  const newestFirst = wallet.rows.rows
    .filter((row) => row.type === typeOf[list] && !row.isWithdrawn)
    .toReversed()
    .map((row) => describeBankTransfer(account, wallet, row, { list, nowMs: context.nowMs }))
  const all = paging.order === 'desc' ? newestFirst : newestFirst.toReversed()
  const span = spanOf(paging, (id) => {
    const index = all.findIndex((one) => one.id === id)
    return index === -1 ? undefined : { index, isThere: true }
  })
  const view = { count: all.length, cut: (offset: number, size: number) => all.slice(offset, offset + size) }
  const data = context.cutPage(view, span.offset, span.size)
  const edges = { before: span.offset > 0, more: span.offset + span.size < all.length }
  return toPage(`${walletPathOf(account, wallet)}/${list}`, paging, data, edges)
}

function describeBankTransfer(
  account: CoinbaseAccount,
  wallet: Wallet,
  row: TransactionRow,
  { list, nowMs }: { list: BankList; nowMs: number },
): { id: string } {
  const id = encodeUuid(account.id, 'bank', row.reference)
  const path = walletPathOf(account, wallet)
  const transaction = transactionIdOf(account, row)
  const method = encodeUuid(account.id, 'payment method', 0)
  const amount = toMoney(row.amount < 0n ? -row.amount : row.amount, wallet.currency)
  const at = toIso(row.atTicks)
  const more = {
    status: statusOf(row, nowMs),
    payment_method: { id: method, resource: 'payment_method', resource_path: `/v2/payment-methods/${method}` },
    transaction: { id: transaction, resource: 'transaction', resource_path: `${path}/transactions/${transaction}` },
    amount,
    subtotal: amount,
    fee: toMoney(0n, wallet.currency),
    created_at: at,
    updated_at: at,
    resource: list === 'deposits' ? 'deposit' : 'withdrawal',
    resource_path: `${path}/${list}/${id}`,
    committed: true,
    payout_at: at,
  }
  return { id, ...more }
}
