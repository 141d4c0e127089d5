/**
 * Which process can open which secret. The service's own code stores everything that it seals, and then the test tries
 * every key that a process holds on it. test/security/key-separation.test.ts does the same with the memory of real
 * processes.
 */
import { listCatalog } from '@assay/connectors/catalog'
import assert from 'node:assert/strict'
import { KeyObject, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { pino } from 'pino'
import { testDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/until.ts'
import { parseConfig } from './config/config.ts'
import { addConnection } from './connections/adding/add.ts'
import type { NewCredentials } from './connections/credentials/credential-types.ts'
import { createFingerprints } from './connections/credentials/fingerprints.ts'
import { createSealer } from './connections/credentials/seal.ts'
import type { Database } from './db/index.ts'
import { installQueue } from './jobs/index.ts'
import { openKeyring, purposes, toPrivateKey, type Keyring } from './keys.ts'
import { openText, sealKeyName, sealText } from './sealing.ts'
import { testKeyTexts } from './test-keys.ts'
import { createWebhooks } from './webhooks/index.ts'

const { ASSAY_SEALING_PRIVATE_KEYS, ...forApi } = testKeyTexts('new', 'old')
const forWorker = { ASSAY_SERVER_KEYS: forApi.ASSAY_SERVER_KEYS, ASSAY_SEALING_PRIVATE_KEYS }
const api = parseConfig(forApi, 'api')
const worker = parseConfig(forWorker, 'worker')
const [apiKeyring, workerKeyring] = [openKeyring(api.keys), openKeyring(worker.keys)]

const owner = { tenantKey: 1, tenantId: 'ten_1', userKey: '5', userId: 'usr_1' }

interface Sealed {
  what: string
  boundTo: string
  sealed: string
}

/** Runs as a process that answers requests: what a caller sends is sealed and waits for a worker. */
async function sealPending(db: Database, what: string, credentials: NewCredentials): Promise<Sealed> {
  const [provider] = listCatalog()
  assert.ok(provider)
  const providerId = `provider of ${what}`
  const types = [credentials.type]
  const catalog = [{ ...provider, provider_id: providerId, connection_types: types, credential_fields: [] }]
  const wallet = [
    { name: 'extended_public_key', label: '', secret: false, required: true, hint: '', shape: null },
  ] as const
  const offered = catalog.map((one) => (credentials.type === 'wallet' ? { ...one, credential_fields: wallet } : one))
  const deps = {
    db,
    keyring: apiKeyring,
    catalog: offered,
    uncheckedKeys: 'confirm',
    verdictTimeoutMs: 60_000,
  } as const
  const request = { providerId, displayLabel: null, credentials, connectSessionId: null }
  const adding = addConnection(deps, createSealer(apiKeyring), owner, request)
  const row = await until(`a pending connection: ${what}`, () =>
    db.maybeRow<{ id: string; sealed: string }>(
      `select id, sealed_credentials as sealed from connections where provider_id = $1`,
      [providerId],
    ),
  )
  // Writes the verdict of a worker that refuses the key.
  await db.execute(`update connections set verdict = '{"added": false, "connection_id": null, "errors": []}'`, [])
  await adding
  return { what, boundTo: row.id, sealed: row.sealed }
}

async function sealEverything(db: Database): Promise<Sealed[]> {
  const log = pino({ level: 'silent' })
  const pending = [
    await sealPending(db, 'an API key', { type: 'api_key', apiKey: 'a', secretKey: 'b' }),
    await sealPending(db, 'a wallet', { type: 'wallet', extendedPublicKey: 'xpub' }),
    await sealPending(db, 'a sign-in', {
      ...{ type: 'oauth2', code: await sealText(apiKeyring, 'a state', 'the code'), codeBoundTo: 'a state' },
      ...{ codeVerifier: 'v', redirectUri: 'https://widget.example/callback' },
    }),
  ]
  const webhooks = createWebhooks({
    ...{
      db,
      keyring: apiKeyring,
      fetch,
      now: Date.now,
      realNow: Date.now,
      randomBytes,
      loopbackOnly: false,
      scaleWait: (ms) => ms,
      log,
    },
  })
  await webhooks.set(owner.tenantId, 'https://app.example/')
  await createFingerprints(db, workerKeyring)(owner, 'an account')
  const { secret } = await db.row<{ secret: string }>('select sealed_secret as secret from webhooks')
  const { key } = await db.row<{ key: string }>('select sealed_key as key from tenant_fingerprint_keys')
  return [
    ...pending,
    { what: 'a provider’s code', boundTo: 'a state', sealed: await sealText(apiKeyring, 'a state', 'the code') },
    { what: 'a webhook secret', boundTo: `webhook ${owner.tenantId}`, sealed: secret },
    { what: 'a fingerprint key', boundTo: `fingerprints ${owner.tenantKey}`, sealed: key },
  ]
}

/** Every 32 bytes that are reachable from what a process holds, whatever form they have. */
function listSecrets(held: unknown, seen = new Set<unknown>()): Buffer[] {
  if (typeof held === 'string') {
    return held.split(/[^A-Za-z0-9+/=_-]/).flatMap((word) => {
      const bytes = Buffer.from(word, 'base64')
      return bytes.length === 32 ? [bytes] : []
    })
  }
  if (typeof held !== 'object' || held === null || seen.has(held)) return []
  seen.add(held)
  if (held instanceof Uint8Array) return held.length === 32 ? [Buffer.from(held)] : []
  if (held instanceof KeyObject) {
    const jwk = held.export({ format: 'jwk' })
    return [jwk.d, jwk.x].flatMap((part) => (part === undefined ? [] : [Buffer.from(part, 'base64url')]))
  }
  return Object.values(held).flatMap((one) => listSecrets(one, seen))
}

const holdingsOf = (config: unknown, keyring: Keyring): Buffer[] =>
  listSecrets([config, keyring, keyring.seals, keyring.opens, purposes.map((purpose) => keyring.derive(purpose))])

async function listOpened(all: readonly Sealed[], secrets: readonly Buffer[]): Promise<string[]> {
  const opened = new Set<string>()
  for (const { what, boundTo, sealed } of all) {
    for (const secret of secrets) {
      const opens = [{ name: sealKeyName(sealed), key: toPrivateKey(secret) }] as const
      const text = await openText({ opens }, boundTo, sealed).catch(() => undefined)
      if (text !== undefined) opened.add(what)
    }
  }
  return [...opened].toSorted()
}

describe('what a process of each role can open', () => {
  it('a process of role api can open nothing that is sealed, and a worker everything', async (t) => {
    const { db, connection } = await testDatabase(t)
    await installQueue(connection, pino({ level: 'silent' }))
    await db.execute(
      `with tenant as (
         insert into tenants (tenant_key, id, name, created_at) overriding system value values ($2, $3, 'A', $5)
       )
       insert into users (user_key, tenant_key, tenant_id, id, external_user_id, created_at) values ($1, $2, $3, $4, $4, $5)`,
      [owner.userKey, owner.tenantKey, owner.tenantId, owner.userId, db.now()],
    )
    const all = await sealEverything(db)
    const [apiHolds, workerHolds] = [holdingsOf(api, apiKeyring), holdingsOf(worker, workerKeyring)]
    // The search must find the two server keys, the keys derived from them, and the two public halves.
    assert.ok(apiHolds.length >= 2 + 2 * purposes.length + 2, String(apiHolds.length))
    assert.deepEqual(await listOpened(all, apiHolds), [])
    assert.deepEqual(await listOpened(all, workerHolds), all.map(({ what }) => what).toSorted())
  })
})
