/**
 * A rotation of the sealing keys, while everything runs. The ring knows old and new keys; this seals what an old key
 * sealed with the newest, row by row, and only where the row still holds what was opened: a repair that happens
 * meanwhile wins. Afterwards the old key may leave the ring.
 */
import type { Database } from '../db/index.ts'
import type { Keyring } from '../keys.ts'
import { createSealer } from './seal.ts'
import * as store from './reseal-store.ts'

export interface SealReport {
  /** By the name of the key that sealed them. */
  sealedBy: Map<string, number>
  resealed: number
  /** Connections whose credentials no key of the ring opens. */
  lost: string[]
}

const batchSize = 200

export async function resealCredentials(db: Database, keyring: Keyring): Promise<SealReport> {
  return walkSeals(db, keyring, async (row, reseal) => store.replaceSeal(db, row, await reseal()))
}

/** Opens every credential and changes nothing. */
export async function checkSeals(db: Database, keyring: Keyring): Promise<SealReport> {
  return walkSeals(db, keyring, async () => false)
}

async function walkSeals(
  db: Database,
  keyring: Keyring,
  visitOld: (row: store.SealedRow, reseal: () => Promise<string>) => Promise<boolean>,
): Promise<SealReport> {
  const sealer = createSealer(keyring)
  const [newest] = keyring.sealing
  const report: SealReport = { sealedBy: new Map(), resealed: 0, lost: [] }
  let after: store.SealedRow | undefined
  for (;;) {
    const rows = await store.listSealed(db, after, batchSize)
    for (const row of rows) {
      const boundTo = row.repair_of ?? row.id
      const keyName = sealer.keyNameOf(row.sealed_credentials)
      report.sealedBy.set(keyName, (report.sealedBy.get(keyName) ?? 0) + 1)
      const opened = await sealer.open(boundTo, row.sealed_credentials).catch(() => undefined)
      if (opened === undefined) report.lost.push(row.id)
      else if (keyName !== newest.name && (await visitOld(row, () => sealer.seal(boundTo, opened))))
        report.resealed += 1
    }
    after = rows.at(-1)
    if (after === undefined) return report
  }
}
