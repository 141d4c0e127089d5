/**
 * Which account at a provider a connection reads, as a hash: by it the same account is recognised when its owner
 * connects it again. The hash is keyed for each tenant, so that a dump of the database does not reveal that users of
 * two tenants are one person, nor whether a known account is among them.
 *
 * The key is random, made at the tenant's first verification and sealed for workers. A key derived from the server keys
 * would change when those are rotated, and accounts that cannot be verified again would lose their hash. This one is
 * sealed again by `assay keys rotate` and stays what it is.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { Database } from '../../db/index.ts'
import type { Keyring } from '../../keys.ts'
import type { Tenant } from '../../owner.ts'
import { createSealKeeper, openText, sealText } from '../../sealing.ts'
import * as store from './store.ts'

const keyBytes = 32
const boundTo = (tenantKey: number): string => `fingerprints ${tenantKey}`

/** `found` is what the connector says of the account (Account.fingerprint). */
export type ToFingerprint = (tenant: Pick<Tenant, 'tenantKey'>, found: string) => Promise<string>

export function createFingerprints(db: Database, keyring: Keyring): ToFingerprint {
  return async ({ tenantKey }, found) => {
    const sealed = (await store.findFingerprintKey(db, tenantKey)) ?? (await makeKey(tenantKey))
    const key = Buffer.from(await openText(keyring, boundTo(tenantKey), sealed), 'base64')
    return createHmac('sha256', key).update(found).digest('hex')
  }

  /** If two workers make the key at the same time, one of them stores it and both use the stored one. */
  async function makeKey(tenantKey: number): Promise<string> {
    const made = await sealText(keyring, boundTo(tenantKey), randomBytes(keyBytes).toString('base64'))
    return store.ensureFingerprintKey(db, tenantKey, made)
  }
}

/**
 * Deletes the keys of these tenants. Each makes a new one at its next verification; accounts that were connected before
 * are not recognised by it. An operator decides this and no worker does by itself: a worker whose ring lacks a key for
 * a while, as during a rotation that is done in the wrong order, would separate accounts from their connections.
 */
export async function forgetFingerprintKeys(db: Database, tenantKeys: readonly string[]): Promise<void> {
  for (const row of await store.listFingerprintKeys(db)) {
    if (tenantKeys.includes(String(row.tenantKey))) await store.deleteFingerprintKey(db, row)
  }
}

/** `lost` names tenants by their keys. */
export const { check: checkFingerprintKeys, reseal: resealFingerprintKeys } = createSealKeeper({
  list: store.listFingerprintKeys,
  toThing: ({ tenantKey, sealedKey }) => ({ id: String(tenantKey), boundTo: boundTo(tenantKey), sealed: sealedKey }),
  replace: store.replaceFingerprintKey,
})
