/**
 * Signing in by email: six digits, ten minutes, five tries, valid only in the session that asked. Nothing here looks
 * for a user, so nothing can reveal whether the address is known; the user is found or made once the code was right.
 *
 * The limits are counted in PostgreSQL, so they hold for the whole fleet. An address is counted together with the
 * network that asks, so that an attacker elsewhere uses up only their own share. What one network, one tenant or all
 * networks together may do is counted beside it, so that an attacker gains nothing from many addresses or many networks.
 * Those of a tenant and of all networks do not concern an address in a network from which it signed in within 30 days.
 * All the same, limits that an attacker uses up keep people out. With the default limits, these are
 *
 * - from one network: in that network, a named person (5 codes an hour, 20 wrong tries a day), and all people (30 codes an
 *   hour);
 * - from five networks (100 wrong tries): a named person for a day, wherever they are new;
 * - from 17 (half of the tenant's codes): people who are new in a network where people new in it were sent three codes
 *   within the hour;
 * - from 184 (all of the tenant's codes): all people who are new in their network.
 *
 * The code is derived from a server key, the session and a stored nonce. The worker that mails it derives it again, so
 * neither the table nor the queue holds it; without the key a dump reveals nothing, whereas a hash of six digits would.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { Refusal, type Cause, type ErrorItem } from '@assay/core'
import type { InTurn } from '../../connections/index.ts'
import type { Database, Sql } from '../../db/index.ts'
import { addJob } from '../../jobs/index.ts'
import { parseAddress } from '../../limits/index.ts'
import { parseEmail } from '../../tenants/index.ts'
import { currentKey, findKey, keyIdOf } from '../secrets.ts'
import * as store from './sign-in-store.ts'
import type { SignInCodeRequester } from './sign-in-store.ts'

export type { SignInCodeRequester, SignInPurpose } from './sign-in-store.ts'

const signInCodeSeconds = 600
const triesMax = 5
/** A session could otherwise write to one address after the other. */
const codesPerSession = 10
const codeWindowSeconds = 3_600

/**
 * A network's first codes of an hour may be any of the tenant's codes; its further ones come out of this share alone.
 * With the default limits, 17 networks can use up the share. Then each network still gets its first codes, which all
 * people who are new in it share, and it takes another 167 networks to use up those.
 */
const firstCodes = 3
const furtherCodesShare = 0.5

/** Limits for an email address, a network and a tenant. Codes are counted by the hour, wrong tries by the day. */
export interface SignInLimits {
  codesPerAddressInNetwork: number
  codesPerNetwork: number
  codesPerTenant: number
  triesPerAddressInNetwork: number
  triesPerAddress: number
}

const nonceBytes = 16
export const resendAfterSeconds = 30

/** What is needed to derive a code. */
export interface SignInCodeDeps {
  db: Database
  /** Newest first: the first derives, all of them recognise. */
  signInKeys: readonly Uint8Array[]
}

export interface SignInDeps extends SignInCodeDeps {
  randomBytes: (size: number) => Buffer
  signInLimits: SignInLimits
  /** Called for each code that is refused because of the tenant's limit. */
  onTenantLimit: (tenantId: string) => void
}

/** Where a request comes from: the client's IP address. */
export type Origin = string

const runAtOnce: InTurn = (work) => work()

/** The address as it was understood. */
export async function requestSignInCode(
  deps: SignInDeps,
  asker: SignInCodeRequester,
  origin: Origin,
  typed: string,
  inTurn: InTurn = runAtOnce,
): Promise<string> {
  const email = parseEmail(typed)
  const { sessionId, tenantId, clientId, purpose } = asker
  const subjects = subjectsOf(deps, { ...asker, email }, origin)
  const getCounters = async (sql: Sql): Promise<Counter[]> => {
    const codes = await findCodeLimits(deps, sql, subjects)
    await refuseAbove(sql, 'code', codes, ({ subject }) => {
      if (subject === subjects.tenant) deps.onTenantLimit(tenantId)
    })
    await refuseAbove(sql, 'wrong_try', await findTryLimits(deps, sql, subjects))
    return codes
  }
  // A look without locks first, so that a caller over a limit takes no place in the line.
  await getCounters(deps.db)
  await inTurn(() =>
    deps.db.transaction(async (tx) => {
      await lockAll(tx, subjects)
      await count(tx, 'code', await getCounters(tx))
      const nonce = deps.randomBytes(nonceBytes)
      const keyId = keyIdOf(currentKey(deps.signInKeys))
      const code = { sessionId, tenantId, clientId, purpose, email, nonce, keyId, triesLeft: triesMax }
      await store.putSignInCode(tx, code, signInCodeSeconds)
      await addJob(tx, 'sign_in_mail', { sessionId })
    }),
  )
  return email
}

/** The address that the code proves. */
export async function enterSignInCode(
  deps: SignInDeps,
  asker: Pick<SignInCodeRequester, 'sessionId'>,
  origin: Origin,
  given: string,
  inTurn: InTurn = runAtOnce,
): Promise<string> {
  // People copy the code from a mail, with its spaces and hyphens. Text that cannot be a code does not count as a try.
  const code = given.replaceAll(/[\s-]/g, '')
  if (!/^\d{6}$/.test(code)) throw refuseCode('must be the six digits of the mail')
  const seen = await store.findSignInCode(deps.db, asker.sessionId)
  if (seen === undefined) throw refuseMissing()
  const subjects = subjectsOf(deps, seen, origin)
  // Before the line, as for a new code.
  await refuseAbove(deps.db, 'wrong_try', await findTryLimits(deps, deps.db, subjects))
  // A refusal is returned, not thrown, out of the transaction: the try that it cost must be committed.
  const outcome = await inTurn(() => deps.db.transaction((tx) => tryCode(deps, tx, seen, subjects, code)))
  if (outcome instanceof Refusal) throw outcome
  return outcome
}

async function tryCode(
  deps: SignInDeps,
  tx: Sql,
  { sessionId, email }: Pick<store.SignInCodeRow, 'sessionId' | 'email'>,
  subjects: Subjects,
  given: string,
): Promise<string | Refusal> {
  // The counters before the code, as `requestSignInCode` does. In the other order a session that asks and guesses at once
  // would deadlock, and each time block every sign-in of this tenant.
  await lockAll(tx, subjects)
  const row = await store.lockSignInCode(tx, sessionId)
  // Replaced meanwhile by a code for another address, whose counters are not locked.
  if (row?.email !== email) return refuseMissing()
  await refuseAbove(tx, 'wrong_try', await findTryLimits(deps, tx, subjects))
  const key = findKey(deps.signInKeys, row.keyId)
  if (key !== undefined && isSame(given, deriveSignInCode(key, row))) {
    await store.deleteSignInCode(tx, sessionId)
    await store.addEvent(tx, subjects.addressInNetwork, 'signed_in')
    return row.email
  }
  await count(tx, 'wrong_try', tryCounters(deps, subjects))
  const left = row.triesLeft - 1
  if (left === 0) {
    await store.deleteSignInCode(tx, sessionId)
    return refuseSpent('is wrong, and it was the last try')
  }
  await store.spendTry(tx, sessionId)
  return refuseCode('is wrong', `Look at the newest mail: ${left} ${left === 1 ? 'try' : 'tries'} left.`)
}

/** What the mail says; undefined when the code was replaced, used or has expired meanwhile. */
export async function findSignInCodeToMail(
  deps: SignInCodeDeps,
  sessionId: string,
): Promise<{ email: string; code: string; clientId: string; purpose: store.SignInPurpose } | undefined> {
  const row = await store.findSignInCode(deps.db, sessionId)
  const key = row && findKey(deps.signInKeys, row.keyId)
  if (row === undefined || key === undefined) return undefined
  const { email, clientId, purpose } = row
  return { email, clientId, purpose, code: deriveSignInCode(key, row) }
}

/** A tenant that used up the share for further codes, so that some codes may have been refused. */
interface TenantNearLimit {
  tenantId: string
  /** The most within an hour of the last day. */
  codesInAnHour: number
}

/** For operators: which of these tenants came near their limit of codes within the last day. */
export async function listTenantsNearLimit(
  { db, signInKeys, signInLimits }: SignInCodeDeps & { signInLimits: Pick<SignInLimits, 'codesPerTenant'> },
  tenantIds: readonly string[],
): Promise<TenantNearLimit[]> {
  const near = new Map<string, number>()
  // After a rotation, the counters of the last day are under the older keys.
  for (const key of signInKeys) {
    const hashes = new Map(
      tenantIds.map((tenantId) => [hashSubject(key, 'tenant', tenantId).toString('hex'), tenantId]),
    )
    const peaks = await store.listCodePeaks(db, [...hashes.keys()], {
      min: furtherCodesMax(signInLimits),
      windowSeconds: codeWindowSeconds,
    })
    for (const { subject, codes } of peaks) {
      const tenantId = hashes.get(subject)
      if (tenantId !== undefined) near.set(tenantId, Math.max(codes, near.get(tenantId) ?? 0))
    }
  }
  return [...near].map(([tenantId, codesInAnHour]) => ({ tenantId, codesInAnHour }))
}

/** 64 bits modulo a million: the bias is one part in 10^13. */
function deriveSignInCode(
  key: Uint8Array,
  { sessionId, nonce }: Pick<store.SignInCodeRow, 'sessionId' | 'nonce'>,
): string {
  const digest = createHmac('sha256', key).update(`code\n${sessionId}\n`).update(nonce).digest()
  return String(digest.readBigUInt64BE() % 1_000_000n).padStart(6, '0')
}

/** What events count against, hashed. */
interface Subjects {
  session: Buffer
  addressInNetwork: Buffer
  network: Buffer
  tenant: Buffer
  address: Buffer
}

interface Counted {
  sessionId: string
  tenantId: string
  email: string
}

function subjectsOf(deps: SignInDeps, { sessionId, tenantId, email }: Counted, origin: Origin): Subjects {
  const key = currentKey(deps.signInKeys)
  const hash = (kind: keyof Subjects, ...words: string[]): Buffer => hashSubject(key, kind, ...words)
  const address = toMailbox(email)
  const network = networkOf(origin)
  return {
    session: hash('session', sessionId),
    addressInNetwork: hash('addressInNetwork', tenantId, address, network),
    network: hash('network', network),
    tenant: hash('tenant', tenantId),
    address: hash('address', tenantId, address),
  }
}

function hashSubject(key: Uint8Array, kind: keyof Subjects, ...words: string[]): Buffer {
  return createHmac('sha256', key)
    .update([kind, ...words].join('\n'))
    .digest()
}

/** Removes the part after a plus: `ann+1@`, `ann+2@` … are mailboxes of one person, who would get all the mails. */
function toMailbox(email: string): string {
  const [local = '', domain = ''] = email.split('@')
  return `${local.replace(/(?<=.)\+.*$/, '')}@${domain}`
}

/** The /24 of an IPv4 address, the /48 of an IPv6 one: what one customer of a provider usually has. */
export function networkOf(origin: Origin): string {
  const address = parseAddress(origin)
  if (address === undefined) return origin
  if (address.version === 6) return `${address.groups.slice(0, 3).join(':')}::/48`
  return `${address.text.split('.').slice(0, 3).join('.')}.0/24`
}

/** Always in the same order, or two requests could wait for each other. */
async function lockAll(tx: Sql, subjects: Subjects): Promise<void> {
  const { session, addressInNetwork, network, tenant, address } = subjects
  const hashes = [session, addressInNetwork, network, tenant, address].toSorted((a, b) => a.compare(b))
  for (const subject of hashes) await store.lockSubject(tx, subject)
}

interface Counter {
  subject: Buffer
  max: number
  windowSeconds: number
}

/**
 * A person who signed in from this network lately is neither refused by the tenant's limit nor counted against it.
 * Otherwise strangers could keep a tenant's users out, or use up the codes of others with addresses of their own. The
 * limit of the network makes no such difference: with thirty requests, any neighbour could find out who did.
 */
async function findCodeLimits({ signInLimits }: SignInDeps, tx: Sql, subjects: Subjects): Promise<Counter[]> {
  const windowSeconds = codeWindowSeconds
  const limits = [
    { subject: subjects.session, max: codesPerSession, windowSeconds },
    { subject: subjects.addressInNetwork, max: signInLimits.codesPerAddressInNetwork, windowSeconds },
    { subject: subjects.network, max: signInLimits.codesPerNetwork, windowSeconds },
  ]
  if (await store.hasSignedIn(tx, subjects.addressInNetwork)) return limits
  const first = { kind: 'code', max: firstCodes, windowSeconds } as const
  const hadFirst = (await store.findWaitSeconds(tx, subjects.network, first)) !== undefined
  const max = hadFirst ? furtherCodesMax(signInLimits) : signInLimits.codesPerTenant
  return [...limits, { subject: subjects.tenant, max, windowSeconds }]
}

/** At least one, however small the tenant's limit is. */
function furtherCodesMax({ codesPerTenant }: Pick<SignInLimits, 'codesPerTenant'>): number {
  return Math.ceil(codesPerTenant * furtherCodesShare)
}

function tryCounters({ signInLimits }: SignInDeps, subjects: Subjects): Counter[] {
  const windowSeconds = 86_400
  return [
    { subject: subjects.addressInNetwork, max: signInLimits.triesPerAddressInNetwork, windowSeconds },
    { subject: subjects.address, max: signInLimits.triesPerAddress, windowSeconds },
  ]
}

/**
 * A person who signed in from this network lately has the tries of the network alone. Otherwise an attacker with five
 * networks could use up the tries of an address, and keep its owner out wherever they are.
 */
async function findTryLimits(deps: SignInDeps, tx: Sql, subjects: Subjects): Promise<Counter[]> {
  const counters = tryCounters(deps, subjects)
  if (!(await store.hasSignedIn(tx, subjects.addressInNetwork))) return counters
  return counters.filter(({ subject }) => subject !== subjects.address)
}

async function refuseAbove(
  tx: Sql,
  kind: store.EventKind,
  counters: readonly Counter[],
  onRefused?: (counter: Counter) => void,
): Promise<void> {
  for (const counter of counters) {
    const waitSeconds = await store.findWaitSeconds(tx, counter.subject, { kind, ...counter })
    if (waitSeconds === undefined) continue
    onRefused?.(counter)
    throw refuseFor(waitSeconds, kind)
  }
}

async function count(tx: Sql, kind: store.EventKind, counters: readonly Counter[]): Promise<void> {
  for (const { subject } of counters) await store.addEvent(tx, subject, kind)
}

function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}

function refuseMissing(): Refusal {
  return refuseSpent('has expired or was not asked for in this session')
}

/** No code can be entered any more. The right digits are refused like this, too, so the cause says nothing about them. */
function refuseSpent(rule: string): Refusal {
  return refuseCode(rule, 'Ask for a new code.', 'invalid_state')
}

function refuseCode(rule: string, fix?: string, cause: Cause = 'invalid_parameter'): Refusal {
  const item: ErrorItem = { cause, parameter: 'code', message: rule, ...(fix && { fix }) }
  return new Refusal('invalid_request', `code ${rule}`, { items: [item] })
}

/** The message is the same for every limit, because naming the limit would tell an attacker what to change. */
function refuseFor(waitSeconds: number, kind: store.EventKind): Refusal {
  const what = kind === 'code' ? 'Too many codes were sent' : 'Too many wrong codes were entered'
  const item: ErrorItem = { cause: 'rate_limited', message: `${what}.`, retry_after_seconds: waitSeconds }
  return new Refusal('rate_limited', `${what}; wait before you ask again.`, {
    items: [item],
    retryAfterSeconds: waitSeconds,
  })
}
