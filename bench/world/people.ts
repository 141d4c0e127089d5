/**
 * The users of the populations. They are numbered, so that pgbench can choose one at random, and everything else
 * follows from the number by arithmetic that both JavaScript and pgbench (or PostgreSQL) can do.
 */
import { createHash } from 'node:crypto'

export const tenantId = 'ten_bench'
export const clientId = 'cli_bench'

export function userIdOf(user: number): string {
  return `usr_${String(user).padStart(26, '0')}`
}

/** FNV-1a, as pgbench's `hash_fnv1a(user, 0)`: keys look as random as those that the product draws. */
export function userKeyOf(user: number): string {
  let hash = 0xcbf29ce484222325n
  for (let octet = 0n; octet < 8n; octet += 1n) {
    hash = BigInt.asUintN(64, (hash ^ ((BigInt(user) >> (octet * 8n)) & 0xffn)) * 0x100000001b3n)
  }
  return String(BigInt.asIntN(64, hash))
}

/** pgbench's command that gives `:key` for the user `:user`. */
export const setUserKey = '\\set key hash_fnv1a(:user, 0)'

/** What is random in a real token. Tokens differ by the key before it, and these protect nothing. */
const tokenFiller = Buffer.alloc(32, 'bench')

/** A user's key, then 32 bytes (oauth/token-values.ts). */
export function accessTokenOf(user: number): string {
  const key = Buffer.alloc(8)
  key.writeBigInt64BE(BigInt(userKeyOf(user)))
  return Buffer.concat([key, tokenFiller]).toString('base64url')
}

/**
 * The hash of that token in SQL, for pgbench, whose variables are numbers. PostgreSQL computes it once for each
 * statement, in a microsecond or two, which is to our advantage by about a hundredth.
 */
export function tokenHashSql(key: string): string {
  const bytes = `int8send(${key}::bigint) || decode('${tokenFiller.toString('hex')}', 'hex')`
  return `sha256(convert_to(translate(encode(${bytes}, 'base64'), '+/=', '-_'), 'UTF8'))`
}

/** A client's own token, for enterprise pages. */
export const tenantToken = createHash('sha256').update('assay bench tenant').digest('base64url')

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
