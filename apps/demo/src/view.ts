/** What the visitor chose to see. It is all in the address, so that a reload or a link shows the same. */
import type { TransactionType } from '@assay/sdk'

export const dayMs = 86_400_000

export interface View {
  days: number
  by: 'asset' | 'source'
  /** The name of a kind; undefined for all. */
  kind: string | undefined
  types: readonly TransactionType[] | undefined
}

export const ranges = [
  { days: 366, words: '1 year' },
  { days: 90, words: '90 days' },
  { days: 30, words: '30 days' },
] as const

export const kinds: readonly { name: string; words: string; types: readonly TransactionType[] }[] = [
  { name: 'in', words: 'Received', types: ['receive'] },
  { name: 'out', words: 'Sent', types: ['send'] },
  { name: 'swap', words: 'Swapped', types: ['input_and_output'] },
  { name: 'earned', words: 'Earned', types: ['input_only'] },
  { name: 'other', words: 'Paid and other', types: ['output_only', 'uncategorized'] },
]

/** Unknown parameters are ignored, and missing ones get their defaults. */
export function toView(parameters: URLSearchParams): View {
  const range = ranges.find(({ days }) => String(days) === parameters.get('days')) ?? ranges[0]
  const kind = kinds.find(({ name }) => name === parameters.get('kind'))
  return {
    days: range.days,
    by: parameters.get('by') === 'source' ? 'source' : 'asset',
    kind: kind?.name,
    types: kind?.types,
  }
}

/** The address of this view with something else chosen. */
export function toAddress(view: View, change: Partial<Pick<View, 'days' | 'by' | 'kind'>>, place: string): string {
  const { days, by, kind } = { ...view, ...change }
  const parameters = new URLSearchParams()
  if (days !== ranges[0].days) parameters.set('days', String(days))
  if (by !== 'asset') parameters.set('by', by)
  if (kind !== undefined) parameters.set('kind', kind)
  const query = parameters.toString()
  return `/${query === '' ? '' : `?${query}`}#${place}`
}
