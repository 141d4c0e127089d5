/** Signing secrets at rest, and what a rotation of the sealing keys does to them (see connections/reseal.ts). */
import type { Database } from '../db/index.ts'
import type { Keyring } from '../keys.ts'
import { examineSeal, openText, sealText, type SealReport } from '../sealing.ts'
import * as store from './store.ts'

const boundTo = (tenantId: string): string => `webhook ${tenantId}`

export function sealSecret(keyring: Keyring, tenantId: string, secret: string): Promise<string> {
  return sealText(keyring, boundTo(tenantId), secret)
}

export function openSecret(keyring: Keyring, tenantId: string, sealed: string): Promise<string> {
  return openText(keyring, boundTo(tenantId), sealed)
}

/** Opens every secret and changes nothing; `lost` names tenants. */
export async function checkSecrets(db: Database, keyring: Keyring): Promise<SealReport> {
  const report: SealReport = { sealedBy: new Map(), lost: [] }
  for (const row of await store.listWebhooks(db)) {
    await examineSeal(report, keyring, {
      id: row.tenant_id,
      boundTo: boundTo(row.tenant_id),
      sealed: row.sealed_secret,
    })
  }
  return report
}

export async function resealSecrets(db: Database, keyring: Keyring): Promise<SealReport & { resealed: number }> {
  const [newest] = keyring.sealing
  const report = { sealedBy: new Map<string, number>(), lost: [], resealed: 0 }
  for (const row of await store.listWebhooks(db)) {
    const seal = { id: row.tenant_id, boundTo: boundTo(row.tenant_id), sealed: row.sealed_secret }
    const opened = await examineSeal(report, keyring, seal)
    if (opened === undefined || opened.keyName === newest.name) continue
    if (await store.replaceSecret(db, row, await sealSecret(keyring, row.tenant_id, opened.text))) report.resealed += 1
  }
  return report
}
