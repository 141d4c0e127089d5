/**
 * What a test does to a simulated account without the reader's knowledge: changes that a provider makes and no reader
 * can request. They are methods of the simulator and not part of the control API, because only code that runs beside
 * the simulator needs them. Balances always stay the exact sum of the records; a change that would break this throws a
 * RangeError.
 */
export interface SimulatorControls {
  /** Returns everything that the account holds, for an independent check. */
  readAccount(accountId: string): AccountContents
  /** Removes a record from every list, even one that was shown before; the balances follow. */
  withdrawRecord(accountId: string, recordId: string): void
  /** Books something now that happened earlier. Returns the id of its record. */
  addLateRecord(accountId: string, record: LateRecord): string
  /** Changes a record, which keeps its id. */
  correctRecord(accountId: string, recordId: string, change: RecordChange): void
}

export interface AccountContents {
  accountId: string
  /** Decimal text by the provider's own code, without trailing zeros; emptied codes are included with "0". */
  balances: Readonly<Record<string, string>>
  /** By the provider's own name of the list, oldest first. */
  records: Readonly<Record<string, readonly SimulatorRecord[]>>
}

export interface SimulatorRecord {
  /** What `withdrawRecord` and `correctRecord` take, for the lists that the simulator names in its head. */
  id: string
  /** The record as it goes over the wire. */
  body: object
}

/** A deposit of this much, at this time (ISO 8601). */
export interface LateRecord {
  time: string
  asset: string
  amount: string
}

export interface RecordChange {
  amount?: string
  fee?: string
  time?: string
}
