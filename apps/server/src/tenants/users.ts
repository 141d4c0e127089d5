/**
 * The people whose data it is. A user is known by the tenant's own id or by e-mail; whoever is known by both is two users,
 * because nothing proves that they are one.
 */
import { invalidParameter, newId } from '@assay/core'
import type { Database } from '../db/index.ts'
import * as store from './store.ts'
import type { UserName } from './store.ts'

const externalUserIdLengthMax = 255
/** RFC 5321 §4.5.3.1.3, without the angle brackets. */
const emailLengthMax = 254

/**
 * As it is kept: trimmed and in lower case. Narrower than RFC 5321: nothing that a mail program could read as a list, a
 * group or a display name, because then one mailbox would have many spellings, and limits count spellings.
 */
export function parseEmail(text: string): string {
  const email = text.trim().toLowerCase()
  const fits = /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*$/u.test(email)
  if (email.length > emailLengthMax || !fits) throw invalidParameter('email', 'must be an e-mail address')
  return email
}

export async function ensureUser(db: Database, tenantId: string, userName: UserName): Promise<string> {
  const name = checkUserName(userName)
  const userId =
    (await store.findUser(db, tenantId, name)) ??
    (await store.insertUser(db, tenantId, newId('usr'), name)) ??
    // Lost a race: by now the other's row is there.
    (await store.findUser(db, tenantId, name))
  if (userId === undefined) throw new Error('a user that was there a moment ago is gone')
  return userId
}

function checkUserName(name: UserName): UserName {
  if ('email' in name) {
    return { email: parseEmail(name.email) }
  }
  const { externalUserId } = name
  // Half a surrogate pair would be stored as U+FFFD, and two people would be one.
  const storable = externalUserId.isWellFormed() && !/\p{Cc}/u.test(externalUserId)
  if (externalUserId === '' || externalUserId.length > externalUserIdLengthMax || !storable) {
    throw invalidParameter(
      'external_user_id',
      `must be 1 to ${externalUserIdLengthMax} characters without control characters`,
    )
  }
  return { externalUserId }
}
