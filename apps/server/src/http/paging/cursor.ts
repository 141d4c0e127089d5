/**
 * Cursors: opaque, signed, without an expiry. A cursor holds the filters of the walk as the caller wrote them, the point
 * it has reached, and a digest of the subject (user and client) that it was given to. The list is not in it but under
 * the signature. A cursor is read before the caller is known, because one statement checks the token and reads the page:
 * first the signature, then the text, and when the caller is known, whether it is theirs.
 *
 * base64url( HMAC-SHA256 cut to 18 bytes ‖ SHA-256 of the subject cut to 12 bytes ‖ JSON [filters, point] ). RFC
 * 2104 §5 allows the cut; cursors go in URLs. Both cuts are multiples of three bytes, so that the parts of the text can
 * be read without decoding the whole, and the signature is over the text: another spelling of the same bytes is another
 * text. A long JSON (a hundred ids) is deflated, behind a zero byte, with which no JSON begins.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { hash, timingSafeEqual } from 'node:crypto'

type FilterValue = string | number | boolean | readonly string[]
export type Filters = Readonly<Record<string, FilterValue>>

/** What the list needs to continue from here, such as the timestamp and id of the last row. */
export type Point = readonly string[]

interface Walk {
  /** The endpoint's id. */
  list: string
  /** Whom the cursor belongs to. */
  subject: Subject
}

/** User and client as a cursor knows them; made once for a request. */
export interface Subject {
  readonly digest: string
}

export interface FoundCursor {
  filters: Filters
  point: Point
  isOf(subject: Subject): boolean
}

export interface Cursors {
  write(walk: Walk, filters: Filters, point: Point): string
  /** Undefined when it was altered, or is of another list. */
  find(list: string, text: string): FoundCursor | undefined
}

/** In characters of base64url: 18 and 12 bytes. */
const signatureLength = 24
const digestLength = 16
// Deflating shorter texts gains little, and a page with few filters should not pay for it.
const packAboveBytes = 512
const packedMark = 0
/** No filters are that long (pages.ts), so a signed text that unpacks to more is not ours. */
const unpackedBytesMax = 64 * 1024

/** Makes a subject of any text that names user and client. */
export function toSubject(text: string): Subject {
  return { digest: hash('sha256', text, 'base64url').slice(0, digestLength) }
}

/** The subject of a list that is the same for every caller. */
export const noSubject = toSubject('')

/** The first key signs, all of them verify: a rotation ends no walk. */
export function createCursors(secrets: readonly Uint8Array[]): Cursors {
  const macs = secrets.map((secret) => createMac(secret))
  const [signing] = macs
  if (signing === undefined) throw new RangeError('cursors need at least one key')

  return {
    write({ list, subject }, filters, point) {
      const payload = pack(Buffer.from(JSON.stringify([filters, point])))
      const signed = `${subject.digest}${payload.toString('base64url')}`
      return `${sign(signing, list, signed)}${signed}`
    },

    find(list, text) {
      if (text.length <= signatureLength + digestLength) return undefined
      const signature = text.slice(0, signatureLength)
      const signed = text.slice(signatureLength)
      if (!macs.some((mac) => isSame(signature, sign(mac, list, signed)))) return undefined
      const digest = signed.slice(0, digestLength)
      // Signed by us, so this is what `write` was given.
      const json = unpack(Buffer.from(signed.slice(digestLength), 'base64url')).toString()
      const [filters, point] = JSON.parse(json) as [Filters, Point]
      return { filters, point, isOf: (subject) => isSame(digest, subject.digest) }
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

function sign(mac: Mac, list: string, signed: string): string {
  // The newline, which neither a name nor base64url has, keeps the two apart.
  return mac(`cursor 4 ${list}\n${signed}`).slice(0, signatureLength)
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The code of a text, in base64url. */
export type Mac = (text: string) => string

const blockBytes = 64
const digestBytes = 32

/**
 * HMAC-SHA256 (RFC 2104) in two calls of Node's one-shot hash. `createHmac` creates an object that the garbage
 * collector has to finalise. A page reads one cursor and writes another; their HMACs took a sixteenth of its processor
 * time, and take a third of that this way.
 */
export function createMac(secret: Uint8Array): Mac {
  // §2 hashes a key that is longer than a block; ours are derived and never are.
  if (secret.length > blockBytes) throw new RangeError(`a key has at most ${blockBytes} bytes`)
  const inner = pad(secret, 0x36)
  // The inner digest is written behind the outer pad, always in the same place.
  const outer = Buffer.concat([pad(secret, 0x5c), Buffer.alloc(digestBytes)])
  return (text) => {
    outer.write(hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'binary'), blockBytes, 'binary')
    return hash('sha256', outer, 'base64url')
  }
}

function pad(secret: Uint8Array, byte: number): Buffer {
  return Buffer.alloc(blockBytes, byte).map((each, index) => each ^ (secret[index] ?? 0)) as Buffer
}
