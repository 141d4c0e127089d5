/**
 * Cursors: opaque, signed, without an expiry. A cursor holds the filters of the walk, the place it has reached, and a
 * digest of the subject (user and client) that it was given to. The list is not in it but under the signature. A cursor is
 * read before the caller is known, because one statement checks the token and reads the page: first the signature, then
 * the text, and when the caller is known, whether it is theirs.
 *
 * base64url( HMAC-SHA256 cut to 16 bytes ‖ SHA-256 of the subject cut to 12 bytes ‖ JSON [filters, position] ). RFC 2104
 * §5 allows the cut; cursors go in URLs. A long JSON (a hundred ids) is deflated, behind a zero byte, with which no JSON
 * begins.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { createHmac, createSecretKey, hash, timingSafeEqual, type KeyObject } from 'node:crypto'

type FilterValue = string | number | boolean | readonly string[]
export type Filters = Readonly<Record<string, FilterValue>>

/** What the list needs to go on from here, such as the timestamp and id of the last row. */
export type Position = readonly string[]

interface Walk {
  /** The endpoint's id. */
  list: string
  /** Whom the cursor belongs to. */
  subject: Subject
}

/** User and client as a cursor knows them; made once for a request. */
export interface Subject {
  readonly digest: Buffer
}

export interface FoundCursor {
  filters: Filters
  position: Position
  isOf(subject: Subject): boolean
}

export interface Cursors {
  write(walk: Walk, filters: Filters, position: Position): string
  /** Undefined when it was altered, or is of another list. */
  find(list: string, text: string): FoundCursor | undefined
}

const signatureBytes = 16
const digestBytes = 12
// Below it there is little to gain, and a page of few filters should cost nothing more.
const packAboveBytes = 512
const packedMark = 0
/** No filters are as long (pages.ts); a signed text that unpacks to more is not one of ours. */
const unpackedBytesMax = 64 * 1024

/** From any text that names user and client. */
export function toSubject(text: string): Subject {
  return { digest: hash('sha256', text, 'buffer').subarray(0, digestBytes) }
}

/** Of a list that is the same for everybody. */
export const noSubject = toSubject('')

/** The first key signs, all of them verify: a rotation ends no walk. */
export function createCursors(secrets: readonly Uint8Array[]): Cursors {
  // Made once: from raw bytes Node makes a key at every call, which takes three times as long as the HMAC itself.
  const keys = secrets.map((secret) => createSecretKey(secret))
  const [signingKey] = keys
  if (signingKey === undefined) throw new RangeError('cursors need at least one key')

  return {
    write({ list, subject }, filters, position) {
      const payload = pack(Buffer.from(JSON.stringify([filters, position])))
      const signed = Buffer.concat([subject.digest, payload])
      return Buffer.concat([sign(signingKey, list, signed), signed]).toString('base64url')
    },

    find(list, text) {
      const bytes = Buffer.from(text, 'base64url')
      // Node's decoder skips what it does not know and ignores stray bits: only the one canonical spelling is ours.
      if (bytes.length <= signatureBytes + digestBytes || bytes.toString('base64url') !== text) return undefined
      const signature = bytes.subarray(0, signatureBytes)
      const signed = bytes.subarray(signatureBytes)
      if (!keys.some((key) => timingSafeEqual(signature, sign(key, list, signed)))) return undefined
      const digest = signed.subarray(0, digestBytes)
      // Signed by us, so this is what `write` was given.
      const [filters, position] = JSON.parse(unpack(signed.subarray(digestBytes)).toString()) as [Filters, Position]
      return { filters, position, isOf: (subject) => timingSafeEqual(digest, subject.digest) }
    },
  }
}

function pack(json: Buffer): Buffer {
  if (json.length <= packAboveBytes) return json
  return Buffer.concat([Buffer.of(packedMark), deflateRawSync(json)])
}

function unpack(payload: Buffer): Buffer {
  if (payload[0] !== packedMark) return payload
  return inflateRawSync(payload.subarray(1), { maxOutputLength: unpackedBytesMax })
}

function sign(key: KeyObject, list: string, signed: Uint8Array): Buffer {
  // The newline, which JSON escapes, keeps the list's name apart from what is signed.
  const bound = `${JSON.stringify(['cursor 2', list])}\n`
  return createHmac('sha256', key).update(bound).update(signed).digest().subarray(0, signatureBytes)
}
