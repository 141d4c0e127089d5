/**
 * Claims: a signed statement about whether a user holds at least a given amount, which a third party can verify. It
 * reveals no row of data. With many questions an application could find out the balance, so it may ask three different
 * ones a day under one grant, and the user's own page lists them. See docs/proof.md.
 */
import { randomUUID, createECDH, hkdfSync } from 'node:crypto'
import { compare, dayMs, invalidParameter, isAssetId, Refusal, type Decimal, type ErrorItem } from '@assay/core'
import { SignJWT, calculateJwkThumbprint, importJWK, type JWK, type CryptoKey } from 'jose'
import type { Database, Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import type { Owned, OwnedAccount, OwnedRequest } from '../portfolio/index.ts'
import { count, type Counted } from './count.ts'
import * as store from './store.ts'

export { listClaims, type MadeClaim } from './store.ts'

type Grade = OwnedAccount['grade']

export interface ClaimRequest {
  claim: store.AskedClaim['claim']
  /** Null where the claim is about the value of everything. */
  assetId: string | null
  amount: Decimal
  /** The latest moment that is wanted; undefined for the newest to which all accounts were read. */
  asOf: string | undefined
  grades: readonly Grade[]
  /** Undefined: the client itself. */
  audience: string | undefined
}

export interface ClaimAnswer {
  /** Null when the data is too weak to say. */
  holds: boolean | null
  grade: Grade
  asOf: string
  /** A compact JWS; null without an answer. */
  statement: string | null
  errors: ErrorItem[]
}

/** The client that asks, the user, and the consent that allows it. */
export type Claimant = Owner & { clientId: string; grantId: string }

export interface Claims {
  make(asker: Claimant, request: ClaimRequest): Promise<ClaimAnswer>
  /** The public keys (RFC 7517) of all server keys, and of those whose statements may still be valid. */
  jwks(): Promise<{ keys: JWK[] }>
}

export interface ClaimsDeps {
  db: Database
  /** One for each server key, the newest first. */
  secrets: readonly Uint8Array[]
  issuer: string
  sandbox: boolean
  listOwned(sql: Sql, owner: Owner, request: OwnedRequest): Promise<Owned>
  /**
   * An account that was not read for this long before the moment that is wanted does not count. One claim has one moment
   * for all accounts, and a key that was deleted would set it back for as long as the connection stays.
   */
  freshForMs: number
  /** The providers whose lists have every movement of an account. */
  wholeLedgers: readonly string[]
  /** The providers whose balances count. */
  claimable: readonly string[]
  /** The exchange of which a provider reads a brand, a region or some wallets; or the provider itself. */
  exchangeOf(providerId: string): string
}

const claimsPerDay = 3
/** The user's page lists every recipient, and must stay readable. */
const askedPerDayMax = 100
const lifeDays = 30
/** A key is listed as long as a statement that it signed is valid, and a day longer for clocks and caches. */
const keysKeptMs = (lifeDays + 1) * dayMs
/** The precision with which the last use of a key is recorded. */
const keysNotedEveryMs = 3_600_000

export function createClaims(deps: ClaimsDeps): Claims {
  const { db, secrets } = deps
  // Derived once, when they are first needed: most processes never sign.
  let derived: Promise<readonly ClaimKey[]> | undefined
  const loadKeys = (): Promise<readonly ClaimKey[]> => (derived ??= Promise.all(secrets.map(toClaimKey)))

  let notedAtMs = -Infinity
  /** Every caller may fetch the keys, as often as it likes, so this process records them at most once an hour. */
  async function noteAll(keys: readonly ClaimKey[]): Promise<void> {
    const nowMs = Date.parse(db.now())
    if (nowMs - notedAtMs < keysNotedEveryMs) return
    await store.noteKeys(db, keys, keysNotedEveryMs)
    notedAtMs = nowMs
  }

  async function sign(tx: Sql, payload: Record<string, unknown>): Promise<string> {
    const [key] = await loadKeys()
    if (key === undefined) throw new Error('the keyring is empty')
    await store.noteKeys(tx, [key], keysNotedEveryMs)
    const iat = Math.floor(Date.parse(tx.now()) / 1000)
    return new SignJWT({ iss: deps.issuer, ...payload, ...(deps.sandbox && { sandbox: true }) })
      .setProtectedHeader({ alg: 'ES256', typ: 'assay-claim+jwt', kid: key.kid })
      .setIssuedAt(iat)
      .setExpirationTime(iat + (lifeDays * dayMs) / 1000)
      .sign(key.privateKey)
  }

  return {
    async make(asker, request) {
      checkAsset(request.assetId)
      return db.transaction(async (tx) => {
        if (!(await store.holdUser(tx, asker))) {
          throw new Refusal('invalid_token', 'This user no longer exists.')
        }
        const subject = await store.holdSubject(tx, asker, asker.grantId, randomUUID())
        const { claim, assetId, amount } = request
        const now = tx.now()
        await checkLimit(tx, asker, { claim, assetId, amount, asOf: request.asOf ?? null }, Date.parse(now))
        const audience = request.audience ?? asker.clientId
        await checkAudiences(tx, asker, audience, Date.parse(now))
        const { freshForMs, wholeLedgers, claimable } = deps
        const wanted = { asOf: request.asOf, freshForMs, assetId, wholeLedgers, claimable }
        const { asOf, accounts } = await deps.listOwned(tx, asker, wanted)
        const { holds, grade, error } = judge(count(accounts, deps.exchangeOf), request)
        const id = randomUUID()
        const { grantId } = asker
        // A question without an answer counts, too. The grade that it names differs between an asset that the user has
        // had and one that the user has not, so questions that cost nothing would list the user's assets.
        await store.insertClaim(tx, asker, {
          ...{ id, grantId, claim, assetId, amount, asOf, holds, grade, audience, madeAt: now },
          askedFor: request.asOf ?? null,
        })
        if (error !== undefined) return { holds, grade, asOf, statement: null, errors: [error] }
        const said = assetId === null ? { amount_in_usd: amount } : { asset_id: assetId, amount }
        const statement = await sign(tx, {
          sub: subject,
          aud: audience,
          jti: id,
          claim,
          ...said,
          holds,
          grade,
          as_of: asOf,
        })
        return { holds, grade, asOf, statement, errors: [] }
      })
    },
    async jwks() {
      const keys = await loadKeys()
      // A key that a rotation removed from the ring was recorded here while it was in use.
      await noteAll(keys)
      return { keys: await store.listKeys(db, keysKeptMs) }
    },
  }
}

/**
 * Checks only the form of the id, which is one word: the user's own page shows it in a sentence. Whether an asset was
 * ever seen depends on what other users hold, so an unseen asset gets the same answer as one that this user does not
 * hold.
 */
function checkAsset(assetId: string | null): void {
  if (assetId === null || (isAssetId(assetId) && !/[\p{C}\p{Z}]/u.test(assetId))) return
  throw invalidParameter('asset_id', 'must be the asset_id of a position, such as crypto:bitcoin')
}

async function checkLimit(tx: Sql, asker: Claimant, asked: store.AskedClaim, nowMs: number): Promise<void> {
  const before = await store.listAsked(tx, asker, asker.grantId, nowMs - dayMs)
  const isSame = (one: store.AskedClaim): boolean =>
    one.claim === asked.claim && one.assetId === asked.assetId && one.amount === asked.amount && one.asOf === asked.asOf
  if (before.some(isSame) || before.length < claimsPerDay) return
  // The next claim is allowed when the oldest of the last three is a day old.
  const oldestMs = Date.parse(before.at(-claimsPerDay)?.firstAt ?? '')
  const seconds = Math.max(1, Math.ceil((oldestMs + dayMs - nowMs) / 1000))
  const message = `At most ${claimsPerDay} different claims a day can be made with one consent. Claims that were made already can be repeated.`
  throw new Refusal('rate_limited', message, {
    items: [{ cause: 'rate_limited', message, retry_after_seconds: seconds }],
    retryAfterSeconds: seconds,
  })
}

/** Above the limit, only an audience that was given a statement within the last day may be given another. */
async function checkAudiences(tx: Sql, asker: Claimant, audience: string, nowMs: number): Promise<void> {
  const since = { grantId: asker.grantId, audience, sinceMs: nowMs - dayMs }
  const { asked, toAudience } = await store.countQuestions(tx, asker, since)
  if (asked < askedPerDayMax || toAudience > 0) return
  const message = `At most ${askedPerDayMax} statements a day can be made for different audiences with one consent.`
  const seconds = 3_600
  throw new Refusal('rate_limited', message, {
    items: [{ cause: 'rate_limited', message, retry_after_seconds: seconds }],
    retryAfterSeconds: seconds,
  })
}

/** The error names no account: a consent to claims alone does not say where the user has any. */
function judge(
  { least, most, grade }: Counted,
  { amount, grades }: Pick<ClaimRequest, 'amount' | 'grades'>,
): Pick<ClaimAnswer, 'holds' | 'grade'> & { error?: ErrorItem } {
  if (!grades.includes(grade)) {
    const message = `The data is ${grade}, and this claim asks for ${grades.join(' or ')}.`
    return { holds: null, grade, error: { cause: 'grade_too_low', message } }
  }
  if (compare(least, amount) >= 0) return { holds: true, grade }
  if (most !== undefined && compare(most, amount) < 0) return { holds: false, grade }
  return { holds: null, grade: 'unprovable', error: { cause: 'grade_too_low', message: notAllCounted } }
}

const notAllCounted =
  'The accounts that can be counted do not reach this amount, and others might: accounts that were not read within minutes of the others, or not for a day, further accounts at the same exchange, accounts with open contracts or margin positions, a movement at the time of a reading, or an asset whose price is not known for now. Refresh all accounts together, wait until they have been read once more, and ask again.'

/**
 * Withdraws the keys of server keys that have left the ring, and returns how many there were. A key that left by a
 * rotation stays published for its statements, and goes with the others.
 */
export async function withdrawClaimKeys(sql: Sql, secrets: ClaimsDeps['secrets']): Promise<number> {
  const kept = await Promise.all(secrets.map(toClaimKey))
  return store.deleteKeysExcept(
    sql,
    kept.map(({ kid }) => kid),
  )
}

/**
 * The keys that sign claims (ES256, RFC 7518 §3.4). An API process signs while a request waits, and must not hold a
 * secret that is reserved for workers, so each key is derived from a server key, and the newest signs. The database
 * keeps the public halves, because a statement must verify after its server key has left the ring.
 */
interface ClaimKey {
  kid: string
  publicJwk: JWK
  privateKey: CryptoKey | Uint8Array
}

/** The order of P-256 (FIPS 186-5, SP 800-186 §3.2.1.3). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const fieldBytes = 32

/** 64 bits more than the order has, so that every remainder is nearly as likely as another (FIPS 186-5 §A.2.1). */
const wideBytes = fieldBytes + 8

async function toClaimKey(secret: Uint8Array): Promise<ClaimKey> {
  const wide = Buffer.from(hkdfSync('sha256', secret, '', 'assay:claims:p-256', wideBytes))
  const scalar = (BigInt(`0x${wide.toString('hex')}`) % (order - 1n)) + 1n
  const d = Buffer.from(scalar.toString(16).padStart(2 * fieldBytes, '0'), 'hex')
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(d)
  // Uncompressed: one byte that says so, and the two coordinates.
  const point = pair.getPublicKey()
  const publicJwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 1 + fieldBytes).toString('base64url'),
    y: point.subarray(1 + fieldBytes).toString('base64url'),
  }
  const kid = await calculateJwkThumbprint(publicJwk)
  const privateKey = await importJWK({ ...publicJwk, d: d.toString('base64url') }, 'ES256')
  return { kid, publicJwk: { ...publicJwk, kid, alg: 'ES256', use: 'sig' }, privateKey }
}
