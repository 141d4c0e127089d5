/**
 * Adding a connection, on the side that serves requests: check what was sent, seal it, store it as pending, have a worker
 * verify it, and wait for the verdict. A refusal leaves nothing behind.
 */
import { invalidParameter, newId, Refusal, type ErrorItem } from '@assay/core'
import type { ProviderMetadata } from '@assay/connectors'
import { createHmac } from 'node:crypto'
import type { Database } from '../db/index.ts'
import { addJob, toConnectionPayload } from '../jobs/index.ts'
import type { Keyring } from '../keys.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import * as pending from './pending-store.ts'
import type { SealedCredentials, Sealer } from './seal.ts'
import { findConnection } from './store.ts'
import { verifyTimeoutMs } from './verify.ts'

export interface AddDeps {
  db: Database
  keyring: Keyring
  /** What can be connected here. */
  catalog: readonly ProviderMetadata[]
  /** How long `add` waits for a worker; half a minute by default. */
  verdictTimeoutMs?: number
}

export interface NewConnection {
  providerId: string
  displayLabel: string | null
  credentials: SealedCredentials
  /** Made inside a connect session: provisional until its code is redeemed. */
  sessionId: string | null
  /** The settled connection of this user whose credentials these are to replace. */
  repairOf?: string
}

export interface AddResult {
  added: boolean
  connectionId: string | null
  providerId: string
  displayLabel: string | null
  status: 'pending' | 'syncing' | 'active' | 'degraded' | 'needs_reauth' | null
  errors: ErrorItem[]
  /** Where the person signs in first. */
  redirectUrl?: string
}

export async function addConnection(
  deps: AddDeps,
  sealer: Sealer,
  owner: Owner,
  request: NewConnection,
): Promise<AddResult> {
  const { credentials } = request
  const type = credentials.type === 'api_key' ? 'api_key' : 'oauth2'
  const provider = getOffered(deps.catalog, request.providerId, type)
  if (credentials.type === 'api_key') checkFields(provider, credentials)
  const { repairOf } = request
  if (repairOf !== undefined) await checkRepair(deps.db, owner, repairOf, provider)

  const connectionId = newId('con')
  // Tokens belong to one connection; a key may have been used before, under another.
  const laneOf = credentials.type === 'api_key' ? credentials.apiKey : connectionId
  const keyLane = toKeyLane(deps.keyring, provider.provider_id, laneOf)
  const sealedCredentials = await sealer.seal(repairOf ?? connectionId, credentials)
  const { displayLabel, sessionId } = request
  const ref = await deps.db.transaction(async (tx): Promise<ConnectionRef> => {
    const row = {
      connectionId,
      providerId: provider.provider_id,
      connectionType: type,
      displayLabel,
      sealedCredentials,
    }
    const connectionKey = await pending.insertPending(tx, owner, {
      ...row,
      keyLane,
      sessionId,
      repairOf: repairOf ?? null,
    })
    const made = { ...owner, connectionKey, connectionId }
    const payload = toConnectionPayload(made)
    await addJob(tx, { task: 'verify', payload, key: `verify:${connectionId}`, lane: keyLane, interactive: true })
    return made
  })

  await waitForVerdict(deps, ref)
  const verdict = await pending.takeVerdict(deps.db, ref)
  const errors = verdict?.errors ?? [toUnheard(provider)]
  const common = { providerId: provider.provider_id, displayLabel: request.displayLabel, errors }
  if (verdict === undefined || verdict.connection_id === null)
    return { ...common, added: false, connectionId: null, status: null }
  const { added, connection_id: foundId } = verdict
  const current = added && repairOf === undefined ? undefined : await findConnection(deps.db, owner, foundId)
  const status = current?.status
  return {
    ...common,
    added,
    connectionId: foundId,
    status: status === undefined || status === 'pending' || status === 'removed' ? 'syncing' : status,
  }
}

const verdictPollMs = 25

/** Short polling: it needs no connection of its own and works through every pooler. */
async function waitForVerdict({ db, verdictTimeoutMs = verifyTimeoutMs }: AddDeps, ref: ConnectionRef): Promise<void> {
  const deadline = performance.now() + verdictTimeoutMs
  while (performance.now() < deadline && !(await pending.hasVerdict(db, ref))) {
    await new Promise((resolve) => setTimeout(resolve, verdictPollMs))
  }
}

/** No worker came to it: our failure, and nothing is known of the provider or the key. */
function toUnheard(provider: ProviderMetadata): ErrorItem {
  const message = `The key could not be checked in time. Nothing was stored.`
  return { cause: 'internal', provider_id: provider.provider_id, message, fix: 'Try again in a few minutes.' }
}

async function checkRepair(
  db: Database,
  owner: Owner,
  connectionId: string,
  provider: ProviderMetadata,
): Promise<void> {
  const target = await findConnection(db, owner, connectionId)
  if (target === undefined) throw new Refusal('not_found', 'No such connection.')
  if (target.provider_id !== provider.provider_id) {
    throw invalidParameter('provider_id', 'must be the provider of the connection that is repaired')
  }
}

/** Refuses a provider that is not in the catalogue, and a way to connect it that it does not have. */
export function getOffered(
  catalog: readonly ProviderMetadata[],
  providerId: string,
  type: ProviderMetadata['connection_types'][number],
): ProviderMetadata {
  const provider = catalog.find((candidate) => candidate.provider_id === providerId)
  if (provider === undefined) {
    throw new Refusal('invalid_request', `There is no provider ${JSON.stringify(providerId)}.`, {
      items: [
        { cause: 'unknown_provider', parameter: 'provider_id', message: 'must be an id of the provider catalogue' },
      ],
    })
  }
  if (!provider.connection_types.includes(type)) {
    throw new Refusal('invalid_request', `${provider.name} cannot be connected by ${type}.`, {
      items: [
        {
          cause: 'unsupported_connection_type',
          parameter: 'connection.type',
          provider_id: provider.provider_id,
          message: `must be ${provider.connection_types.join(' or ')} for ${provider.name}, got ${type}`,
        },
      ],
    })
  }
  return provider
}

function checkFields(provider: ProviderMetadata, credentials: Extract<SealedCredentials, { type: 'api_key' }>): void {
  const given: Record<string, string | undefined> = {
    api_key: credentials.apiKey,
    secret_key: credentials.secretKey,
    passphrase: credentials.passphrase,
  }
  for (const field of provider.credential_fields) {
    if (field.required && (given[field.name] ?? '') === '') {
      throw invalidParameter(`connection.${field.name}`, `is required for ${provider.name}`)
    }
  }
}

/** A lane outlives a rotation of the ring only for connections that exist; two lanes of one key then meet again at repair. */
function toKeyLane(keyring: Keyring, providerId: string, of: string): string {
  const [key] = keyring.derive('lane')
  if (key === undefined) throw new Error('the keyring is empty')
  return createHmac('sha256', key).update(`${providerId}\n${of}`).digest('hex').slice(0, 32)
}
