/**
 * Transactions as a table (RFC 4180): one row each, amounts and assets in columns of their own, so that a spreadsheet
 * can calculate with them. Where several assets came or left, both cells list them in the same order: `0.5; 3`, `BTC;
 * ETH`. Programs take ndjson, which loses nothing.
 */
import type { ResponseOf, exportTransactions } from '@assay/contract'
import { parseDecimal, sum, type Decimal } from '@assay/core'

type Transaction = ResponseOf<typeof exportTransactions>
type Leg = Pick<Transaction['inputs'][number], 'amount' | 'asset_symbol'>

const columns: readonly [name: string, cell: (transaction: Transaction) => string | null][] = [
  ['id', ({ id }) => id],
  ['timestamp', ({ timestamp }) => timestamp],
  ['type', ({ type }) => type],
  ['category', ({ categorization }) => categorization.category],
  ['status', ({ status }) => status],
  ['provider_id', ({ provider_id: provider }) => provider],
  ['connection_id', ({ connection_id: connection }) => connection],
  ['input_amounts', ({ inputs }) => toAmounts(inputs)],
  ['input_assets', ({ inputs }) => toAssets(inputs)],
  ['output_amounts', ({ outputs }) => toAmounts(outputs)],
  ['output_assets', ({ outputs }) => toAssets(outputs)],
  ['fee_amounts', ({ fees }) => toAmounts(fees.items)],
  ['fee_assets', ({ fees }) => toAssets(fees.items)],
  ['inputs_in_usd', ({ inputs }) => toTotal(inputs)],
  ['outputs_in_usd', ({ outputs }) => toTotal(outputs)],
  ['fees_in_usd', ({ fees }) => fees.total_in_usd],
  ['network', ({ network }) => network],
  ['hash', ({ hash }) => hash],
  ['from_address', ({ from_address: from }) => from],
  ['to_address', ({ to_address: to }) => to],
  ['counterpart', ({ counterpart }) => counterpart?.transaction_id ?? null],
  ['spam', ({ spam }) => String(spam)],
  ['provider_reference', ({ provider_reference: reference }) => reference],
  ['description', ({ description }) => description],
  ['incomplete', ({ incomplete }) => incomplete.join('; ')],
  ['updated_at', ({ updated_at: updated }) => updated],
]

export const csvHeader = `${columns.map(([name]) => name).join(',')}\r\n`

export function toCsvRow(transaction: Transaction): string {
  return `${columns.map(([, cell]) => toCell(cell(transaction) ?? '')).join(',')}\r\n`
}

/**
 * A stranger may have written a provider's text (the name of a token, a note on a payment), and spreadsheets run what
 * looks like a formula, even when its sign is a full-width one. The apostrophe makes it text (OWASP, CSV injection). A
 * cell may also begin after a semicolon: where that is the separator of lists, Excel splits lines there and ignores our
 * quotation marks. For the same reason it begins a new row, and so a cell, at a line break inside a text. A quotation mark that comes
 * first is doubled here, and is then an empty text in front of the formula.
 */
export function toCell(value: string): string {
  const safe = value
    .replaceAll(/(?<=[\r\n])(?=(?:"[" ]*)?[=+\-@＝＋－＠\t])/g, "'")
    .replaceAll(/(^|; *)(?=(?:"[" ]*)?[=+\-@＝＋－＠\t\r\n])/g, "$1'")
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function toAmounts(legs: readonly Leg[]): string {
  return legs.map(({ amount }) => amount).join('; ')
}

function toAssets(legs: readonly Leg[]): string {
  return legs.map(({ asset_symbol: symbol }) => symbol).join('; ')
}

/** Unknown if any part is unknown. */
function toTotal(legs: readonly { value_in_usd: string | null }[]): Decimal | null {
  const values = legs.flatMap(({ value_in_usd: value }) => (value === null ? [] : [parseDecimal(value)]))
  return values.length < legs.length || legs.length === 0 ? null : sum(values)
}
