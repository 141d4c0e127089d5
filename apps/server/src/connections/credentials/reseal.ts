/**
 * A rotation of the sealing keys, while everything runs. The ring has old and new keys. Row by row, what an old key
 * sealed is sealed again with the newest one, but only where the row still holds what was opened: a repair that happens
 * meanwhile wins. Afterwards the old key may leave the ring.
 */
import type { Database } from '../../db/index.ts'
import type { Keyring } from '../../keys.ts'
import { examineSeal, resealOne, type Resealed, type SealedThing, type SealReport } from '../../sealing.ts'
import { credentialTypes } from './credential-types.ts'
import * as store from './store.ts'

const batchSize = 200

/** `lost` names connections. */
export async function resealCredentials(db: Database, keyring: Keyring): Promise<Resealed> {
  const report = { sealedBy: new Map<string, number>(), lost: [], resealed: 0 }
  await walkSeals(db, (row, thing) => resealOne(report, keyring, thing, (sealed) => store.replaceSeal(db, row, sealed)))
  return report
}

/** Opens every credential and changes nothing. What opens has to be what a connection of its type keeps. */
export async function checkSeals(db: Database, keyring: Keyring): Promise<SealReport> {
  const report: SealReport = { sealedBy: new Map(), lost: [] }
  await walkSeals(db, async (row, thing) => {
    const opened = await examineSeal(report, keyring, thing)
    if (opened === undefined) return
    if (!isKept(row, opened.text)) report.lost.push(row.id)
  })
  return report
}

function isKept({ connection_type: type }: store.SealedRow, text: string): boolean {
  let kept: unknown
  try {
    kept = JSON.parse(text)
  } catch {
    // The error would quote the secret.
    return false
  }
  return credentialTypes[type].schema.safeParse(kept).success
}

async function walkSeals(
  db: Database,
  visit: (row: store.SealedRow, thing: SealedThing) => Promise<void>,
): Promise<void> {
  let after: store.SealedRow | undefined
  for (;;) {
    const rows = await store.listSealed(db, after, batchSize)
    for (const row of rows) {
      await visit(row, { id: row.id, boundTo: row.repair_of ?? row.id, sealed: row.sealed_credentials })
    }
    after = rows.at(-1)
    if (after === undefined) return
  }
}
