/**
 * Which rows belong together, and by what. Types: docs.cdp.coinbase.com, coinbase-app/track-apis/transactions; those with
 * a remark occur in real accounts and are not documented.
 *
 *   fill    rows of one order; each fill has a row in both wallets
 *   deal    purchases, sales and conversions: both halves name the same id
 *   swap    something for something in one second, without an id
 *   move    between two wallets of the user's own: equal amounts with opposite signs, without an id
 *   send    transfers, with their echoes: `exchange_deposit` repeats a `send` to Coinbase Pro with less in it (rotki)
 *   single  one row is the whole event
 */
import type { Transaction } from './records.ts'

export type Family = 'fill' | 'deal' | 'swap' | 'move' | 'send' | 'single'

const swapTypes = new Set(['trade', 'wrap_asset', 'unwrap_asset', 'retail_simple_dust'])

const moveTypes = new Set([
  'staking_transfer',
  'unstaking_transfer',
  'transfer',
  'vault_withdrawal',
  // Undocumented: the wallet of staked ether was folded into the one of ether.
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
