/**
 * Parses stored Kraken records (docs.kraken.com, get-ledgers-info, get-status-of-recent-deposits and -withdrawals).
 * Only the members that we use are parsed.
 */
import { findDecimal, parseDecimal, subtract, zero, type Asset, type Decimal } from '@assay/core'
import { z } from 'zod'
import type { RunningBalance, StoredRecord } from '../kit/connector.ts'
import { parseJson } from '../kit/json.ts'
import { readAssetCode, type WalletKind } from './assets.ts'

export interface LedgerRow {
  /** The ledger id, which is the key of the record. */
  id: string
  /** Empty if Kraken gives none. */
  refid: string
  timeMs: number
  type: string
  subtype: string
  asset: Asset
  base: string
  walletKind: WalletKind
  verified: boolean
  /** Signed. The balance changes by amount − fee. */
  amount: Decimal
  /** Negative for a rebate, and in the second half of a failed withdrawal. */
  fee: Decimal
}

type FundingStatus = 'pending' | 'success' | 'failure'

/** A deposit or withdrawal from the funding lists, with what the ledger lacks. */
export interface FundingRecord {
  refid: string
  timeMs: number
  asset: Asset
  amount: Decimal
  fee: Decimal
  status: FundingStatus
  method: string | null
  network: string | null
  txid: string | null
  /** Ours for a deposit, the recipient's for a withdrawal; bank details for fiat. */
  address: string | null
  originators: readonly string[]
}

// These schemas only check shapes. A schema that transforms its members takes several times as long, and deriving a
// history reads every record of it.
const text = z.string().nullish()

const ledgerRow = z.object({
  refid: text,
  time: z.string(),
  type: z.string(),
  subtype: text,
  asset: z.string().min(1),
  amount: z.string(),
  fee: text,
})

const runningRow = z.object({
  time: z.string(),
  asset: z.string().min(1),
  amount: z.string(),
  fee: text,
  balance: text,
})

const fundingRecord = z.object({
  refid: z.string().min(1),
  time: z.string(),
  asset: z.string().min(1),
  amount: z.string(),
  fee: text,
  status: z.string(),
  'status-prop': text,
  method: text,
  network: text,
  txid: text,
  info: text,
  originators: z.array(z.string()).nullish(),
})

function toAmount(name: string, value: string): Decimal {
  const amount = findDecimal(value)
  if (amount === undefined) throw new RangeError(`${name} is not a decimal number`)
  return amount
}

/** Kraken omits members, or sends null or an empty text. */
function textOf(value: string | null | undefined): string | null {
  return value === undefined || value === null || value === '' ? null : value
}

export function parseLedgerRow(id: string, body: string): LedgerRow {
  const row = ledgerRow.parse(parseJson(body))
  const timeMs = toMs(row.time)
  const { asset, base, walletKind, verified } = readAssetCode(row.asset, timeMs)
  return {
    id,
    refid: toReference(row.refid),
    timeMs,
    type: row.type,
    subtype: row.subtype ?? '',
    asset,
    base,
    walletKind,
    verified,
    amount: toAmount('amount', row.amount),
    fee: typeof row.fee === 'string' ? toAmount('fee', row.fee) : zero,
  }
}

/**
 * `balance` of a ledger entry is what its code holds afterwards (docs.kraken.com, get-ledgers-info). Codes are wallets:
 * staked assets have their own code and running balance.
 */
export function runningBalance({ stream, body }: StoredRecord): RunningBalance | undefined {
  if (stream !== 'ledger') return undefined
  const row = runningRow.parse(parseJson(body))
  const fee = typeof row.fee === 'string' ? toAmount('fee', row.fee) : zero
  const balance = textOf(row.balance)
  return {
    wallet: row.asset,
    assetId: readAssetCode(row.asset, toMs(row.time)).asset.assetId,
    change: subtract(toAmount('amount', row.amount), fee),
    balance: balance === null ? undefined : toAmount('balance', balance),
    order: toOrder(row.time),
  }
}

/** Seconds keep the same number of digits for two centuries, so padded texts sort by time. */
function toOrder(time: string): string {
  const [whole = '', fraction = ''] = parseDecimal(time).split('.')
  return `${whole.padStart(12, '0')}.${fraction.padEnd(9, '0')}`
}

export function parseFundingRecord(body: string): FundingRecord {
  const record = fundingRecord.parse(parseJson(body))
  const timeMs = toMs(record.time)
  return {
    refid: record.refid,
    timeMs,
    asset: readAssetCode(record.asset, timeMs).asset,
    amount: toAmount('amount', record.amount),
    fee: typeof record.fee === 'string' ? toAmount('fee', record.fee) : zero,
    status: toStatus(record.status, textOf(record['status-prop'])),
    method: textOf(record.method),
    network: textOf(record.network),
    txid: textOf(record.txid),
    address: textOf(record.info),
    originators: record.originators ?? [],
  }
}

/** Some Earn rows have `Unknown` instead of a reference. They would all become one transaction. */
function toReference(refid: string | null | undefined): string {
  return refid === undefined || refid === null || /^unknown$/i.test(refid) ? '' : refid
}

/**
 * Converts seconds with a fraction to milliseconds. It truncates instead of rounding, so that a record never moves into
 * the next window, and works on the text, because 1688464484.1787 has no exact binary form.
 */
function toMs(time: string): number {
  const text = parseDecimal(time)
  const dot = text.indexOf('.')
  if (dot === -1) return Number(text) * 1000
  return Number(text.slice(0, dot) + text.slice(dot + 1, dot + 4).padEnd(3, '0'))
}

// Any status other than the two final ones is pending. So is a final one that is on hold or being cancelled.
function toStatus(status: string, property: string | null): FundingStatus {
  if (status === 'Failure') return 'failure'
  const held = property === 'on-hold' || property === 'onhold' || property === 'cancel-pending'
  return status === 'Success' && !held ? 'success' : 'pending'
}
