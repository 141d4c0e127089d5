/**
 * Cursors: opaque, signed, without an expiry. A cursor holds the filters of the walk and the place it has reached; the
 * list and the subject (user and client) it was given to are not in it but under the signature, so that it is short and
 * worthless to anybody else.
 *
 * base64url( HMAC-SHA256 cut to 16 bytes ‖ JSON [filters, position] ). RFC 2104 §5 allows the cut; cursors go in URLs.
 * A long JSON (a hundred ids) is deflated, behind a zero byte, with which no JSON begins.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'

type FilterValue = string | number | boolean | readonly string[]
export type Filters = Readonly<Record<string, FilterValue>>

/** What the list needs to go on from here, such as the timestamp and id of the last row. */
export type Position = readonly string[]

interface Walk {
  /** The endpoint's id. */
  list: string
  /** Whom the cursor belongs to; empty for a public list. */
  subject: string
}

export interface Cursors {
  write(walk: Walk, filters: Filters, position: Position): string
  /** Undefined when it was altered, or given to somebody else, or for another list. */
  find(walk: Walk, text: string): { filters: Filters; position: Position } | undefined
}

const signatureBytes = 16
// Below it there is little to gain, and a page of few filters should cost nothing more.
const packAboveBytes = 512
const packedMark = 0

/** The first key signs, all of them verify: a rotation ends no walk. */
export function createCursors(secrets: readonly Uint8Array[]): Cursors {
  // Made once: from raw bytes Node makes a key at every call, which takes three times as long as the HMAC itself.
  const keys = secrets.map((secret) => createSecretKey(secret))
  const [signingKey] = keys
  if (signingKey === undefined) throw new RangeError('cursors need at least one key')

  return {
    write(walk, filters, position) {
      const payload = pack(Buffer.from(JSON.stringify([filters, position])))
      return Buffer.concat([sign(signingKey, walk, payload), payload]).toString('base64url')
    },

    find(walk, text) {
      const bytes = Buffer.from(text, 'base64url')
      // Node's decoder skips what it does not know and ignores stray bits: only the one canonical spelling is ours.
      if (bytes.length <= signatureBytes || bytes.toString('base64url') !== text) return undefined
      const signature = bytes.subarray(0, signatureBytes)
      const payload = bytes.subarray(signatureBytes)
      if (!keys.some((key) => timingSafeEqual(signature, sign(key, walk, payload)))) return undefined
      // Signed by us, so this is what `write` was given.
      const [filters, position] = JSON.parse(unpack(payload).toString()) as [Filters, Position]
      return { filters, position }
    },
  }
}

function pack(json: Buffer): Buffer {
  if (json.length <= packAboveBytes) return json
  return Buffer.concat([Buffer.of(packedMark), deflateRawSync(json)])
}

function unpack(payload: Buffer): Buffer {
  return payload[0] === packedMark ? inflateRawSync(payload.subarray(1)) : payload
}

function sign(key: KeyObject, walk: Walk, payload: Uint8Array): Buffer {
  // JSON keeps the two names apart from each other, and the newline, which JSON escapes, from the payload.
  const bound = JSON.stringify(['cursor 1', walk.list, walk.subject])
  return createHmac('sha256', key).update(bound).update('\n').update(payload).digest().subarray(0, signatureBytes)
}
