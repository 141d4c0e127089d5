/** Ids that differ from account to account and can be made again from the number of a row. */
import { hexOf } from '../core/ids.ts'
import type { Network } from './story.ts'

/** The account's own number, the same for every key of it. Eight digits, or nine. */
export function uidOf(accountId: string): number {
  return 10_000_000 + (parseInt(hexOf(accountId, 'uid', 0, 8), 16) % 400_000_000)
}

/** What is added to the number of a row to make a numeric id: other for each account, and for each kind of record. */
export function idBaseOf(accountId: string, kind: string): number {
  return 100_000_000 + (parseInt(hexOf(accountId, `base/${kind}`, 0, 8), 16) % 800_000_000)
}

export function uuidOf(accountId: string, kind: string, number: number): string {
  const hex = hexOf(accountId, kind, number, 32)
  const version = `${hex.slice(0, 12)}4${hex.slice(13, 16)}8${hex.slice(17)}`
  return version.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const withPrefix: ReadonlySet<Network> = new Set(['ethereum'])

export function hashOf(accountId: string, network: Network, number: number): string {
  const hex = hexOf(accountId, 'tx', number, 64)
  return withPrefix.has(network) ? `0x${hex}` : hex
}

/** It looks like an address of its network, but no wallet has it. */
export function addressOf(accountId: string, network: Network, which: number): string {
  const hex = hexOf(accountId, `address/${network}`, which, 40)
  if (withPrefix.has(network)) return `0x${hex}`
  return network === 'bitcoin' ? `bc1qsandbox${hex.slice(0, 31)}` : `sandbox1${hex.slice(0, 32)}`
}
