/**
 * Adds a connection in the process that serves the request: checks what was sent, seals it, stores it as pending,
 * queues its verification and waits for the worker's verdict. A refused key is not kept. That a provider was called to
 * check one is remembered for an hour, without the key (`key_checks`).
 */
import type { ProviderMetadata } from '@assay/connectors'
import { findSignIn, toAuthorizationUrl } from '@assay/connectors/catalog'
import { invalidParameter, newId, notFound, Refusal, type ErrorItem } from '@assay/core'
import { createHmac } from 'node:crypto'
import type { Database, Sql } from '../../db/index.ts'
import { addJob, toProviderLane } from '../../jobs/index.ts'
import type { Keyring } from '../../keys.ts'
import type { ConnectionRef, Owner } from '../../owner.ts'
import {
  checkCredentials,
  cleanCredentials,
  sealCredentials,
  toLaneText,
  type CheckPolicy,
  type NewCredentials,
} from '../credentials/credential-types.ts'
import type { Sealer } from '../credentials/seal.ts'
import type { OpenDeps } from '../open.ts'
import { findConnection } from '../store.ts'
import * as pending from './pending-store.ts'
import { verifyTimeoutMs } from './verify.ts'

export interface AddDeps extends CheckPolicy {
  db: Database
  keyring: Keyring
  /** What can be connected here. */
  catalog: readonly ProviderMetadata[]
  /** Limits for one user, so that invented keys do not keep workers from the keys of other users. */
  keyLimits?: KeyLimits
  /** How many removed transactions are remembered of a user, up to `max` (ledger). */
  countRemoved?(tx: Sql, userKey: string, max: number): Promise<number>
  /** The user has left more entries in the audit log today than people do. */
  isRestless?(sql: Sql, owner: Owner): Promise<boolean>
  /** How long `add` waits for a worker; half a minute by default. */
  verdictTimeoutMs?: number
}

export interface KeyLimits {
  /** How many keys may be under verification at a time. */
  pending: number
  refusedPerHour: number
  /** Checks that left no further connection. Each takes calls from what all users share, as a refused one does. */
  repeatedPerHour: number
  /** How many connections one user may have. A repair does not count. */
  connections: number
  /** How many removed transactions may be remembered of a user who adds a connection. */
  removed: number
}

const defaultLimits: KeyLimits = {
  ...{ pending: 3, refusedPerHour: 20, repeatedPerHour: 20 },
  ...{ connections: 500, removed: 1_000_000 },
}

export interface NewConnection {
  providerId: string
  displayLabel: string | null
  credentials: NewCredentials
  /** Made inside a connect session: provisional until its code is redeemed. */
  connectSessionId: string | null
  /** The settled connection of this user whose credentials these replace. */
  repairOf?: string
  /**
   * Runs what needs the database when it is the caller's turn. The requests of a user wait for each other, and all of
   * them at once would hold every connection. The wait for a worker takes no turn.
   */
  inTurn?: InTurn
}

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

const atOnce: InTurn = (work) => work()

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
  const { displayLabel, repairOf, inTurn = atOnce } = request
  const credentials = cleanCredentials(request.credentials)
  const provider = getOffered(deps.catalog, request.providerId, credentials.type)
  const refused = checkCredentials(credentials, provider, deps)
  if (refused !== undefined) return toRefused(provider, displayLabel, [refused])
  const ref = await inTurn(() => storePending(deps, sealer, owner, { ...request, credentials, provider }))
  await waitForVerdict(deps, ref)
  const verdict = await inTurn(() => pending.takeVerdict(deps.db, ref))
  const errors = verdict?.errors ?? [toUnheard(provider)]
  if (verdict === undefined || verdict.connection_id === null) return toRefused(provider, displayLabel, errors)
  const { added, connection_id: foundId } = verdict
  const current = added && repairOf === undefined ? undefined : await findConnection(deps.db, owner, foundId)
  const status = current?.status
  return {
    ...{ added, connectionId: foundId, providerId: provider.provider_id, displayLabel, errors },
    status: status === undefined || status === 'pending' || status === 'removed' ? 'syncing' : status,
  }
}

/** Stores it without a verdict, and queues its verification. */
async function storePending(
  deps: AddDeps,
  sealer: Sealer,
  owner: Owner,
  { credentials, displayLabel, repairOf, provider, connectSessionId }: NewConnection & { provider: ProviderMetadata },
): Promise<ConnectionRef> {
  if (repairOf !== undefined) await checkRepair(deps.db, owner, repairOf, provider)
  await refuseRestless(deps, owner)
  const connectionId = newId('con')
  const keyLane = toKeyLane(deps.keyring, provider.provider_id, toLaneText(credentials, connectionId))
  const stored = await sealCredentials(sealer, repairOf ?? connectionId, credentials)
  return deps.db.transaction(async (tx): Promise<ConnectionRef> => {
    const connectionKey = await pending.insertPending(tx, owner, {
      ...{ connectionId, displayLabel, keyLane, connectSessionId, repairOf: repairOf ?? null },
      providerId: provider.provider_id,
      connectionType: credentials.type,
      stored,
    })
    // This comes after the insert, which waits for the user's other requests, so that all of them are counted, and for
    // the deletion of the user, after which a stored key could not be removed by its owner.
    if (!(await pending.isUser(tx, owner))) throw new Refusal('invalid_token', 'This user no longer exists.')
    const limits = deps.keyLimits ?? defaultLimits
    await refuseAbove(tx, owner, limits, repairOf !== undefined)
    const removed = (await deps.countRemoved?.(tx, owner.userKey, limits.removed)) ?? 0
    if (removed >= limits.removed && repairOf === undefined) throw refuseRemoved()
    const made = { ...owner, connectionKey, connectionId }
    // The lane is the user's, not the key's: a user with many slow keys occupies one place of one worker. Two jobs that
    // use one key at once are kept apart by its nonces (open.ts).
    await addJob(tx, 'verify', { ref: made, lane: `user ${owner.userKey}`, providerId: provider.provider_id })
    return made
  })
}

async function refuseAbove(tx: Sql, owner: Owner, limits: KeyLimits, isRepair: boolean): Promise<void> {
  const { connected, waiting, refusedWaitSeconds, repeatedWaitSeconds } = await pending.countKeys(tx, owner, {
    refused: limits.refusedPerHour,
    repeated: limits.repeatedPerHour,
  })
  if (connected > limits.connections && !isRepair) {
    const message = `A user can connect at most ${limits.connections} accounts.`
    const items = [{ cause: 'bad_request', message, fix: 'Remove an account that you no longer need.' }] as const
    throw new Refusal('invalid_request', message, { items })
  }
  if (waiting > limits.pending) {
    throw toRateLimited(`Wait until your other keys are checked: at most ${limits.pending} at a time.`, 5)
  }
  if (refusedWaitSeconds !== null) {
    throw toRateLimited('Too many keys were refused or could not be checked.', refusedWaitSeconds)
  }
  if (repeatedWaitSeconds !== null) {
    throw toRateLimited('You have added or repaired the same accounts too often. Try again later.', repeatedWaitSeconds)
  }
}

/**
 * The ids of removed transactions are remembered for months, for applications that follow the changes. A user who
 * connects and removes one account again and again would fill the disk with them.
 */
function refuseRemoved(): Refusal {
  return toRateLimited('Too many transactions were removed with accounts lately. Add accounts again later.', 86_400)
}

async function refuseRestless({ db, isRestless }: AddDeps, owner: Owner): Promise<void> {
  if ((await isRestless?.(db, owner)) === true) {
    throw toRateLimited('Accounts were added and removed too often today. Add accounts again later.', 3_600)
  }
}

function toRateLimited(message: string, retryAfterSeconds: number): Refusal {
  const item: ErrorItem = { cause: 'rate_limited', message, retry_after_seconds: retryAfterSeconds }
  return new Refusal('rate_limited', message, { items: [item], retryAfterSeconds })
}

function toRefused(provider: ProviderMetadata, displayLabel: string | null, errors: ErrorItem[]): AddResult {
  return { added: false, connectionId: null, providerId: provider.provider_id, displayLabel, status: null, errors }
}

const verdictPollMs = 25
/** The part of the time waited so far after which is looked again. */
const verdictPollShare = 0.1

/**
 * Short polling needs no connection of its own and works through every pooler. It becomes slower with the wait: where
 * hundreds of keys wait, looking for all of them forty times a second would take every connection.
 */
async function waitForVerdict({ db, verdictTimeoutMs = verifyTimeoutMs }: AddDeps, ref: ConnectionRef): Promise<void> {
  const start = performance.now()
  const waited = (): number => performance.now() - start
  while (waited() < verdictTimeoutMs && (await pending.isUndecided(db, ref))) {
    const nextMs = Math.max(verdictPollMs, waited() * verdictPollShare)
    await new Promise((resolve) => setTimeout(resolve, nextMs))
  }
}

/** A worker did not verify the key in time. That is our failure, and says nothing about the provider or the key. */
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
  if (target === undefined) throw notFound('connection')
  if (target.provider_id !== provider.provider_id) {
    throw invalidParameter('provider_id', 'must be the provider of the connection that is repaired')
  }
}

/** Refuses a provider that is not in the catalogue, and a connection type that it does not offer. */
export function getOffered(
  catalog: readonly ProviderMetadata[],
  providerId: string,
  type: ProviderMetadata['connection_types'][number],
): ProviderMetadata {
  const provider = catalog.find((candidate) => candidate.provider_id === providerId)
  if (provider === undefined) {
    throw new Refusal('invalid_request', `Unknown provider ${JSON.stringify(providerId)}.`, {
      items: [
        { cause: 'unknown_provider', parameter: 'provider_id', message: 'must be an id of the provider catalogue' },
      ],
    })
  }
  if (provider.status === 'not_in_sandbox') {
    const message = `is not simulated: ${provider.name} can be connected outside sandbox mode only`
    throw new Refusal('invalid_request', `${provider.name} has no simulator in the sandbox.`, {
      items: [{ cause: 'unknown_provider', parameter: 'provider_id', provider_id: provider.provider_id, message }],
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

/**
 * Hashed with a server key, and not for each tenant: one key that two tenants know has one series of nonces at the
 * provider. A lane outlives a rotation of the server keys only for connections that exist; two lanes of one key then
 * meet again at repair.
 */
export function toKeyLane(keyring: Keyring, providerId: string, of: string): string {
  const [key] = keyring.derive('lane')
  if (key === undefined) throw new Error('the keyring is empty')
  const hash = createHmac('sha256', key).update(`${providerId}\n${of}`).digest('hex')
  return toProviderLane(providerId, hash.slice(0, 32))
}

/** The address of a provider's own sign-in page, asking for what this installation is registered for there. */
export function toSignInUrl(
  deps: Pick<AddDeps, 'catalog'> & Pick<OpenDeps, 'providerClients' | 'providerUrls'>,
  providerId: string,
  request: { redirectUri: string; state: string; codeChallenge: string },
): string {
  getOffered(deps.catalog, providerId, 'oauth2')
  const signIn = findSignIn(providerId)
  const client = deps.providerClients[providerId]
  if (signIn === undefined || client === undefined) {
    throw new Error(`this installation is not registered at ${providerId}`)
  }
  return toAuthorizationUrl(signIn, deps.providerUrls[providerId], { ...request, clientId: client.clientId })
}
