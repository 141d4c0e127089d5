/**
 * Signing secrets at rest, and their part in a rotation of the sealing keys (see connections/credentials/reseal.ts).
 * Only workers open them, because workers sign; `assay webhook set` seals one with a public key.
 */
import type { Keyring } from '../keys.ts'
import { createSealKeeper, openText, sealText } from '../sealing.ts'
import * as store from './store.ts'

const boundTo = (tenantId: string): string => `webhook ${tenantId}`

export function sealSecret(keyring: Keyring, tenantId: string, secret: string): Promise<string> {
  return sealText(keyring, boundTo(tenantId), secret)
}

export function openSecret(keyring: Keyring, tenantId: string, sealed: string): Promise<string> {
  return openText(keyring, boundTo(tenantId), sealed)
}

/** `lost` names tenants. */
export const { check: checkSecrets, reseal: resealSecrets } = createSealKeeper({
  list: store.listWebhooks,
  toThing: (row) => ({ id: row.tenant_id, boundTo: boundTo(row.tenant_id), sealed: row.sealed_secret }),
  replace: store.replaceSecret,
})
