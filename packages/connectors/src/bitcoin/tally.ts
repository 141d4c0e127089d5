/**
 * How many transactions of an address are in blocks, and what they pay to it and take from it, as
 * "count/funded/spent". An Esplora server states the same for an address, so that a list that lacks a transaction, or
 * has one too many, is noticed.
 */
import type { SeenTransaction } from './records.ts'

export const emptyTally = '0/0/0'

export function addTallies(...tallies: readonly string[]): string {
  const sums = [0n, 0n, 0n]
  for (const tally of tallies) {
    for (const [place, text] of tally.split('/').entries()) sums[place] = (sums[place] ?? 0n) + BigInt(text)
  }
  return sums.join('/')
}

export function countOf(tally: string): number {
  return Number(tally.split('/')[0])
}

export function tallyOf(address: string, transactions: readonly Pick<SeenTransaction, 'amounts'>[]): string {
  return addTallies(
    ...transactions.map(({ amounts }) => {
      const { funded = 0n, spent = 0n } = amounts.get(address) ?? {}
      return `1/${funded}/${spent}`
    }),
    emptyTally,
  )
}
