/**
 * Private endpoints DepositStatus and WithdrawStatus. Sources:
 * https://docs.kraken.com/api-reference/funding/get-status-of-recent-deposits, …/get-status-of-recent-withdrawals
 *
 * Without `cursor` a plain list of the newest; with `cursor=true` an object with `next_cursor`, to be sent back until
 * it is null. Rows before `start` and after `end` are left out, so both edges include. Times are whole seconds here.
 */
import { hexOf } from '../../core/ids.ts'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { ticksPerSecond, type Timeline } from '../../core/timeline.ts'
import { toFixedText, toUnits } from '../../core/units.ts'
import { findAsset, getAsset } from '../assets.ts'
import type { KrakenAccount } from '../authentication.ts'
import { idOf, type FundingRow } from '../rows.ts'
import { KrakenRefusal, wholeNumber } from '../wire.ts'

const pageSizeDefault = 25
const pageSizeMax = 500

interface Question {
  member: 'deposit' | 'withdrawals'
  rows: Timeline<FundingRow>
}

export function depositStatus(account: KrakenAccount, parameters: URLSearchParams, context: CallContext): object {
  return status(account, parameters, context, { member: 'deposit', rows: account.world().deposits })
}

export function withdrawStatus(account: KrakenAccount, parameters: URLSearchParams, context: CallContext): object {
  return status(account, parameters, context, { member: 'withdrawals', rows: account.world().withdrawals })
}

function status(account: KrakenAccount, sent: URLSearchParams, context: CallContext, question: Question): object {
  const cursor = sent.get('cursor')
  const walking = cursor !== null && cursor !== '' && cursor !== 'false'
  const { offset, parameters } = walking && cursor !== 'true' ? readCursor(cursor) : { offset: 0, parameters: sent }
  const size = Math.min(wholeNumber(parameters, 'limit', pageSizeDefault), pageSizeMax)
  const view = question.rows.view(rangeOf(parameters), filterOf(parameters))
  const rows = context.cutPage(view, offset, size).map((row) => describeFunding(account, row))
  if (!walking) return rows
  const more = offset + size < view.count
  return { [question.member]: rows, next_cursor: more ? writeCursor(offset + size, parameters) : null }
}

export function describeFunding(account: KrakenAccount, row: FundingRow): object {
  const { event, number } = row
  const { decimals } = getAsset(event.code)
  const { status, property } = statusOf(row)
  return {
    method: event.method,
    aclass: getAsset(event.code).class,
    asset: event.code,
    refid: idOf(account.id, row.reference),
    // A failed withdrawal never reached a chain, and one on hold has not yet.
    txid: status === 'Success' ? transactionIdOf(account, row) : null,
    info: addressOf(account, row),
    amount: toFixedText(toUnits(event.amount, decimals), decimals),
    fee: toFixedText(toUnits(event.fee ?? '0', decimals), decimals),
    time: Math.floor(row.atTicks / ticksPerSecond),
    status,
    ...(property !== undefined && { 'status-prop': property }),
    ...(event.kind === 'withdrawal' && { key: `address-${number % 3}` }),
    ...(event.network !== undefined && { network: event.network }),
  }
}

/** `status-prop` says more about a status: "onhold" and "return" are two of the five documented words. */
function statusOf({ event, holdEnded }: FundingRow): { status: string; property?: string } {
  if (event.failed === true) return { status: 'Failure' }
  if (event.hold === undefined || holdEnded === 'Success') return { status: 'Success' }
  return holdEnded === 'return' ? { status: 'Failure', property: 'return' } : { status: 'Pending', property: 'onhold' }
}

function transactionIdOf(account: KrakenAccount, row: FundingRow): string {
  if (row.event.hash !== undefined) return row.event.hash
  if (row.event.network === undefined) return hexOf(account.id, 'bank', row.number, 16).toUpperCase()
  const hex = hexOf(account.id, 'tx', row.number, 64)
  return row.event.network.startsWith('Ethereum') ? `0x${hex}` : hex
}

/** Looks like an address of its network, but no wallet has it. */
function addressOf(account: KrakenAccount, row: FundingRow): string {
  const { network, address } = row.event
  if (address !== undefined) return address
  // One address of the person's for each network on the way in, three of theirs on the way out.
  const which = row.event.kind === 'deposit' ? 0 : 1 + (row.number % 3)
  const hex = hexOf(account.id, `address/${network ?? 'bank'}`, which, 40)
  if (network === undefined) return `SANDBOX${hex.slice(0, 4).toUpperCase()}`
  if (network.startsWith('Ethereum')) return `0x${hex}`
  return network === 'Bitcoin' ? `bc1qsandbox${hex.slice(0, 31)}` : `sandbox1${hex.slice(0, 32)}`
}

function filterOf(parameters: URLSearchParams): { name: string; keep: (row: FundingRow) => boolean } | undefined {
  const name = parameters.get('asset') ?? ''
  const method = parameters.get('method') ?? ''
  if (name === '' && method === '') return undefined
  const asset = name === '' ? undefined : findAsset(name)
  if (name !== '' && asset === undefined) throw new KrakenRefusal('EFunding:Unknown asset')
  return {
    name: `${asset?.code ?? ''}|${method}`,
    keep: ({ event }) =>
      (asset === undefined || event.code === asset.code) && (method === '' || event.method === method),
  }
}

function rangeOf(parameters: URLSearchParams): { afterTicks?: number; untilTicks?: number } {
  const start = secondsOf(parameters, 'start')
  const end = secondsOf(parameters, 'end')
  return {
    ...(start !== undefined && { afterTicks: start * ticksPerSecond - 1 }),
    ...(end !== undefined && { untilTicks: (end + 1) * ticksPerSecond - 1 }),
  }
}

function secondsOf(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name)
  if (text === null || text === '') return undefined
  if (!/^\d{1,12}(\.\d+)?$/.test(text)) throw new KrakenRefusal(`EGeneral:Invalid arguments:${name}`)
  return Number(text.split('.')[0])
}

/** Opaque to the reader: where to continue, and the query that it belongs to. */
function writeCursor(offset: number, parameters: URLSearchParams): string {
  const kept = new URLSearchParams()
  for (const name of ['asset', 'method', 'start', 'end', 'limit']) {
    const value = parameters.get(name)
    if (value !== null) kept.set(name, value)
  }
  return Buffer.from(`${offset}?${kept.toString()}`).toString('base64')
}

function readCursor(cursor: string): { offset: number; parameters: URLSearchParams } {
  const [offset = '', question = ''] = Buffer.from(cursor, 'base64').toString().split('?')
  if (!/^\d{1,9}$/.test(offset)) throw new KrakenRefusal('EGeneral:Invalid arguments:cursor')
  return { offset: Number(offset), parameters: new URLSearchParams(question) }
}
