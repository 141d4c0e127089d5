/**
 * Which rows belong together, and why. The types are from docs.cdp.coinbase.com, coinbase-app/track-apis/transactions;
 * types marked as undocumented occur in real accounts.
 *
 *   fill    rows of one order; each fill has a row in both wallets
 *   deal    purchases, sales and conversions: both halves name the same id
 *   swap    something for something in one second, without an id
 *   move    between two wallets of the user's own: equal amounts with opposite signs, without an id
 *   send    transfers, with their echoes: `exchange_deposit` repeats a `send` to Coinbase Pro with less in it (rotki)
 *   single  one row is the whole event
 */
import { absolute, hourMs } from '@assay/core'
import type { StoredRecord } from '../../kit/connector.ts'
import { parseTransaction, type Transaction } from '../records.ts'

export type Family = 'fill' | 'deal' | 'swap' | 'move' | 'send' | 'single'

const swapTypes = new Set(['trade', 'wrap_asset', 'unwrap_asset', 'retail_simple_dust'])

const moveTypes = new Set([
  'staking_transfer',
  'unstaking_transfer',
  'transfer',
  'vault_withdrawal',
  // Undocumented: Coinbase merged the wallet of staked ether into the ether wallet.
  'retail_eth2_deprecation',
])

const echoTypes = new Set(['exchange_deposit', 'exchange_withdrawal'])

export function familyOf({ type, fill, dealId }: Transaction): Family {
  if (fill !== undefined) return 'fill'
  if (dealId !== undefined) return 'deal'
  if (swapTypes.has(type)) return 'swap'
  if (moveTypes.has(type)) return 'move'
  return type === 'send' || echoTypes.has(type) ? 'send' : 'single'
}

export function isEcho({ type }: Transaction): boolean {
  return echoTypes.has(type)
}

/** Coinbase books both halves in the same second. We allow an hour. */
export const pairingMaxMs = hourMs

/**
 * The keys that a row shares with the other rows of its event. Halves without a common id are matched by amount and
 * time.
 */
export function linkKeys({ body, partition }: StoredRecord): readonly [string, ...string[]] {
  const transaction = parseTransaction(body)
  switch (familyOf(transaction)) {
    case 'fill':
      return [`order:${transaction.fill?.orderId ?? ''}`]
    case 'deal':
      return [`deal:${transaction.dealId ?? ''}`]
    case 'swap':
      return [swapKey(transaction)]
    case 'move':
      return nearby(moveKey(transaction), transaction.timeMs)
    case 'send':
      return nearby(`send:${partition}:${transaction.amount}`, transaction.timeMs)
    case 'single':
      return [`tx:${transaction.id}`]
  }
}

export function swapKey({ type, timeMs }: Transaction): string {
  return `${type}@${timeMs}`
}

export function moveKey({ type, asset, amount }: Transaction): string {
  return `${type}:${asset.assetId}:${absolute(amount)}`
}

/** Two grids of two-hour cells, shifted by an hour: rows at most an hour apart share a cell in at least one of them. */
function nearby(key: string, timeMs: number): [string, string] {
  const cellMs = 2 * pairingMaxMs
  return [`${key}:a${Math.floor(timeMs / cellMs)}`, `${key}:b${Math.floor((timeMs + pairingMaxMs) / cellMs)}`]
}
