/**
 * Which records belong together. As a rule it is the reference, which a ledger row shares with the other side of the trade
 * and with the funding lists. Two exceptions, both seen in real histories:
 *
 * - The halves of a transfer between spot and staking have different references. They share asset and amount, and nearly
 *   the time, so all such transfers of one amount are one bucket and are paired inside it by time.
 * - The halves of a migration (MATIC to POL) have different references too, and share the amount alone.
 */
import { absolute } from '@assay/core'
import type { StoredRecord } from '../kit/connector.ts'
import { familyOf } from './families.ts'
import { isMigration, migrationKey } from './successors.ts'
import { parseFundingRecord, parseLedgerRow, type LedgerRow } from './records.ts'

export function linkKeys(record: StoredRecord): readonly [string, ...string[]] {
  if (record.stream !== 'ledger') return [parseFundingRecord(record.body).refid]
  const row = parseLedgerRow(record.key, record.body)
  if (isPairedByAmount(row)) return [`move:${row.base}:${absolute(row.amount)}`]
  const reference = row.refid === '' ? row.id : row.refid
  return isMigration(row) ? [reference, migrationKey(row)] : [reference]
}

/** A half of a transfer between spot and staking in Kraken's older books. */
export function isPairedByAmount(row: LedgerRow): boolean {
  return row.type === 'transfer' && familyOf(row) === 'move'
}
