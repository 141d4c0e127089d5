/**
 * A tenant's users. A user is known by the tenant's own id or by email. A person known by both is two users, because
 * nothing proves that they are the same person.
 */
import { domainToASCII } from 'node:url'
import { invalidParameter, newId } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import type { Owner, Tenant } from '../owner.ts'
import * as store from './store.ts'
import type { UserName } from './store.ts'

const externalUserIdLengthMax = 255
/** RFC 5321 §4.5.3.1.3, without the angle brackets. */
const emailLengthMax = 254

/**
 * The stored form of an address; undefined for text that is not an address. It is trimmed, in lower case, and with the
 * plain form of letters that have several (NFKC); the domain is in ASCII (RFC 5891), because mail programs resolve every
 * other form of it to that one. It allows less than RFC 5321: nothing that a mail program could read as a list, a group
 * or a display name. Otherwise one mailbox would have many spellings, and limits count spellings.
 */
export function toStoredEmail(text: string): string | undefined {
  const typed = text.trim().normalize('NFKC').toLowerCase()
  // Checked before the conversion, which would cut off everything behind a slash or a colon.
  const [, local, domain] =
    /^([\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+)@([\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*)$/u.exec(typed) ?? []
  const ascii = domain === undefined ? '' : domainToASCII(domain)
  const email = `${local}@${ascii}`
  return ascii === '' || email.length > emailLengthMax ? undefined : email
}

export function parseEmail(text: string): string {
  const email = toStoredEmail(text)
  if (email === undefined) throw invalidParameter('email', 'must be an email address')
  return email
}

const userKeyBytes = 8
const roundsMax = 4

interface UsersDeps {
  db: Database
  randomBytes: (size: number) => Buffer
}

export function createUsers(deps: UsersDeps) {
  const { db } = deps
  return {
    /** The first call for a name makes the user. */
    ensureUser: (user: Tenant & UserName): Promise<Owner> => ensureUser(deps, user, user),
    /** Finds the user by the id that the tenant knows; undefined when it is not a user of this tenant. */
    findOwner: (tenant: Tenant, userId: string): Promise<Owner | undefined> => store.findOwner(db, tenant, userId),
    findEmail: (user: Owner): Promise<string | null> => store.findEmail(db, user.userKey),
    /**
     * The person has proved this address. With `mayBeFirst` it is stored if no address is known. Returns false if
     * another address is known.
     */
    confirmEmail: (tx: Sql, user: Owner, email: string, mayBeFirst: boolean): Promise<boolean> =>
      store.confirmEmail(tx, user.userKey, email, mayBeFirst),
    /** Call it last: sessions refer to this row and are deleted with it. False when the user was deleted before. */
    deleteUser: (tx: Sql, user: Owner): Promise<boolean> => store.deleteUser(tx, user.userKey),
  }
}

async function ensureUser(
  { db, randomBytes }: UsersDeps,
  { tenantKey, tenantId }: Tenant,
  userName: UserName,
): Promise<Owner> {
  const tenant = { tenantKey, tenantId }
  const name = checkUserName(userName)
  // A second round when another process made the same user a moment before, or when the key is taken.
  for (let round = 0; round < roundsMax; round += 1) {
    const found = await store.findUser(db, tenant, name)
    if (found !== undefined) return found
    const made = { ...tenant, userKey: newUserKey(randomBytes), userId: newId('usr') }
    if (await store.insertUser(db, made, name)) return made
  }
  throw new Error('a user could neither be found nor made')
}

/** Random, because tokens begin with it: a sequential number would reveal the number of users. Never 0. */
function newUserKey(randomBytes: (size: number) => Buffer): string {
  const key = randomBytes(userKeyBytes).readBigInt64BE()
  return key === 0n ? newUserKey(randomBytes) : key.toString()
}

function checkUserName(name: UserName): UserName {
  if ('email' in name) {
    return { email: parseEmail(name.email) }
  }
  const { externalUserId } = name
  // Half a surrogate pair would be stored as U+FFFD, and two people could become one user.
  const storable = externalUserId.isWellFormed() && !/\p{Cc}/u.test(externalUserId)
  if (externalUserId === '' || externalUserId.length > externalUserIdLengthMax || !storable) {
    throw invalidParameter(
      'external_user_id',
      `must be 1 to ${externalUserIdLengthMax} characters without control characters`,
    )
  }
  return { externalUserId }
}
