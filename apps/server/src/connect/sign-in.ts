/**
 * Signing in by e-mail (contract §4): six digits, ten minutes, five tries, valid only in the session that asked; five
 * codes an hour and twenty wrong tries a day for each address, and ten codes for each session, which could otherwise
 * write to one address after the other. Nothing here looks for a user, so nothing can tell whether the address is
 * known; the user is found or made once the code was right.
 *
 * The code is derived from a server key, the session and a stored nonce. The worker that mails it derives it again, so
 * neither the table nor the queue holds it; a dump without the key tells nothing, although six digits hashed would.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { Refusal, type ErrorItem } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import { addJob } from '../jobs/index.ts'
import { parseEmail } from '../tenants/index.ts'
import * as store from './sign-in-store.ts'
import type { Asker } from './sign-in-store.ts'

export type { Asker } from './sign-in-store.ts'

const codeSeconds = 600
const triesMax = 5
const codesPerHour = { kind: 'code', max: 5, windowSeconds: 3_600 } as const
const codesPerSession = { kind: 'code', max: 10, windowSeconds: 3_600 } as const
const wrongTriesPerDay = { kind: 'wrong_try', max: 20, windowSeconds: 86_400 } as const
const nonceBytes = 16
export const resendAfterSeconds = 30

export interface SignInDeps {
  db: Database
  /** Newest first: the first derives, all of them recognise. */
  signInKeys: readonly Uint8Array[]
  randomBytes: (size: number) => Buffer
}

/** The address as it was understood. */
export async function requestCode(deps: SignInDeps, asker: Asker, typed: string): Promise<string> {
  const email = parseEmail(typed)
  const address = hashAddress(deps, asker.tenantId, email)
  const session = hash(deps, 'session', asker.sessionId)
  await deps.db.transaction(async (tx) => {
    for (const one of [session, address]) await store.lockSubject(tx, one)
    for (const [subject, limit] of [
      [session, codesPerSession],
      [address, codesPerHour],
      [address, wrongTriesPerDay],
    ] as const) {
      refuseFor(await store.findWaitSeconds(tx, subject, limit), limit.kind)
    }
    for (const one of [session, address]) await store.addEvent(tx, one, 'code')
    const { sessionId, tenantId, clientId } = asker
    const nonce = deps.randomBytes(nonceBytes)
    await store.putCode(tx, { sessionId, tenantId, clientId, email, nonce, triesLeft: triesMax }, codeSeconds)
    const payload = { session_id: asker.sessionId }
    await addJob(tx, { task: 'sign_in_mail', payload, key: `sign_in_mail:${sessionId}`, interactive: true })
  })
  return email
}

/** The address that the code proves. */
export async function enterCode(deps: SignInDeps, asker: Asker, given: string): Promise<string> {
  // As people copy it from a mail. Text that cannot be a code costs no try.
  const code = given.replaceAll(/[\s-]/g, '')
  if (!/^\d{6}$/.test(code)) throw refuseCode('must be the six digits of the mail')
  // A refusal is returned, not thrown, out of the transaction: the try that it cost must be committed.
  const outcome = await deps.db.transaction((tx) => tryCode(deps, tx, asker, code))
  if (outcome instanceof Refusal) throw outcome
  return outcome
}

async function tryCode(deps: SignInDeps, tx: Sql, asker: Asker, given: string): Promise<string | Refusal> {
  const row = await store.lockCode(tx, asker.sessionId)
  if (row === undefined) return refuseCode('has expired or was not asked for in this session', 'Ask for a new code.')
  const address = hashAddress(deps, row.tenantId, row.email)
  await store.lockSubject(tx, address)
  refuseFor(await store.findWaitSeconds(tx, address, wrongTriesPerDay), 'wrong_try')
  const right = deps.signInKeys.map((key) => isSame(given, deriveCode(key, row))).includes(true)
  if (right) {
    await store.deleteCode(tx, asker.sessionId)
    return row.email
  }
  await store.addEvent(tx, address, 'wrong_try')
  const left = row.triesLeft - 1
  if (left === 0) {
    await store.deleteCode(tx, asker.sessionId)
    return refuseCode('is wrong, and it was the last try', 'Ask for a new code.')
  }
  await store.spendTry(tx, asker.sessionId)
  return refuseCode('is wrong', `Look at the newest mail: ${left} ${left === 1 ? 'try' : 'tries'} left.`)
}

/** What the mail says; undefined when the code was replaced, used or has expired meanwhile. */
export async function findCodeToMail(
  deps: SignInDeps,
  sessionId: string,
): Promise<{ email: string; code: string; clientId: string } | undefined> {
  const [key] = deps.signInKeys
  const row = await store.findCode(deps.db, sessionId)
  if (row === undefined || key === undefined) return undefined
  return { email: row.email, code: deriveCode(key, row), clientId: row.clientId }
}

/** 64 bits modulo a million: the bias is one part in 10^13. */
function deriveCode(key: Uint8Array, { sessionId, nonce }: Pick<store.CodeRow, 'sessionId' | 'nonce'>): string {
  const digest = createHmac('sha256', key).update(`code\n${sessionId}\n`).update(nonce).digest()
  return String(digest.readBigUInt64BE() % 1_000_000n).padStart(6, '0')
}

/** Without what stands after a plus: `ann+1@`, `ann+2@` … are mailboxes of one person, who would get all the mails. */
function hashAddress(deps: SignInDeps, tenantId: string, email: string): Buffer {
  const [local = '', domain = ''] = email.split('@')
  return hash(deps, 'address', `${tenantId}\n${local.replace(/(?<=.)\+.*$/, '')}@${domain}`)
}

function hash({ signInKeys: [key] }: SignInDeps, kind: 'address' | 'session', text: string): Buffer {
  if (key === undefined) throw new Error('the keyring is empty')
  return createHmac('sha256', key).update(`${kind}\n${text}`).digest()
}

function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}

function refuseCode(rule: string, fix?: string): Refusal {
  const item: ErrorItem = { cause: 'invalid_parameter', parameter: 'code', message: rule, ...(fix && { fix }) }
  return new Refusal('invalid_request', `code ${rule}`, { items: [item] })
}

function refuseFor(waitSeconds: number | undefined, kind: store.EventKind): void {
  if (waitSeconds === undefined) return
  const what = kind === 'code' ? 'Too many codes were sent' : 'Too many wrong codes for this address'
  const item: ErrorItem = { cause: 'rate_limited', message: `${what}.`, retry_after_seconds: waitSeconds }
  throw new Refusal('rate_limited', `${what}; wait before you ask again.`, {
    items: [item],
    retryAfterSeconds: waitSeconds,
  })
}
