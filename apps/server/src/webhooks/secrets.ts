/**
 * Signing secrets at rest, and what a rotation of the sealing keys does to them (see connections/credentials/reseal.ts). Workers sign,
 * so only they open them; `assay webhook set` seals one with a public key.
 */
import type { Database } from '../db/index.ts'
import type { Keyring } from '../keys.ts'
import {
  examineSeals,
  openText,
  resealRows,
  sealText,
  type Resealed,
  type SealedThing,
  type SealReport,
} from '../sealing.ts'
import * as store from './store.ts'

const boundTo = (tenantId: string): string => `webhook ${tenantId}`

export function sealSecret(keyring: Keyring, tenantId: string, secret: string): Promise<string> {
  return sealText(keyring, boundTo(tenantId), secret)
}

export function openSecret(keyring: Keyring, tenantId: string, sealed: string): Promise<string> {
  return openText(keyring, boundTo(tenantId), sealed)
}

const toThing = (row: store.WebhookRow): SealedThing => ({
  id: row.tenant_id,
  boundTo: boundTo(row.tenant_id),
  sealed: row.sealed_secret,
})

/** Opens every secret and changes nothing; `lost` names tenants. */
export async function checkSecrets(db: Database, keyring: Keyring): Promise<SealReport> {
  return examineSeals(keyring, (await store.listWebhooks(db)).map(toThing))
}

export async function resealSecrets(db: Database, keyring: Keyring): Promise<Resealed> {
  return resealRows(keyring, await store.listWebhooks(db), toThing, (row, sealed) =>
    store.replaceSecret(db, row, sealed),
  )
}
