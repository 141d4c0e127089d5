/**
 * What a row shares with the others of its event. Halves that name no common id are found by amount and time: Coinbase
 * books them in the same second, and an hour is allowed.
 */
import { absolute } from '@assay/core'
import type { StoredRecord } from '../kit/connector.ts'
import { familyOf } from './families.ts'
import { parseTransaction, type Transaction } from './records.ts'

export const pairingMaxMs = 3_600_000

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

/** Two grids of two hours, one shifted by one: whatever lies at most an hour apart shares a cell in one of them. */
function nearby(key: string, timeMs: number): [string, string] {
  const cellMs = 2 * pairingMaxMs
  return [`${key}:a${Math.floor(timeMs / cellMs)}`, `${key}:b${Math.floor((timeMs + pairingMaxMs) / cellMs)}`]
}
