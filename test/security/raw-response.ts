/**
 * An HTTP/1.1 response read from the bytes of a connection (RFC 9112). fetch cannot be used where the request itself is
 * broken on purpose, and it would hide how the server framed and compressed its answer.
 */
import { gunzipSync } from 'node:zlib'

export interface RawResponse {
  status: number
  /** Names in lower case; of a header that was sent twice, the last. */
  headers: ReadonlyMap<string, string>
  /** As it came: framed and compressed as the headers say. */
  payload: Buffer
}

const headEnd = Buffer.from('\r\n\r\n')

/** Undefined when the bytes do not begin with a whole response head. Interim responses (100 Continue) are skipped. */
export function parseResponse(bytes: Buffer): RawResponse | undefined {
  const end = bytes.indexOf(headEnd)
  if (end === -1) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(statusLine)?.[1])
  if (Number.isNaN(status)) return undefined
  const payload = bytes.subarray(end + headEnd.length)
  if (status < 200 && status !== 101) return parseResponse(payload)
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return { status, headers: new Map(headers), payload }
}

/** The text of the body, without its framing and its compression. Throws when either is broken. */
export function readText({ headers, payload }: RawResponse): string {
  const body = headers.get('transfer-encoding') === 'chunked' ? joinChunks(payload) : payload
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding === 'identity') return body.toString()
  if (encoding === 'gzip') return gunzipSync(body).toString()
  throw new Error(`expected a content encoding of identity or gzip, got ${encoding}`)
}

/** RFC 9112 §7.1: a size in hexadecimal, that many bytes, and so on until a size of zero. */
function joinChunks(payload: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let place = 0; ;) {
    const lineEnd = payload.indexOf('\r\n', place)
    const size = Number.parseInt(payload.toString('latin1', place, lineEnd), 16)
    if (lineEnd === -1 || Number.isNaN(size)) throw new Error(`expected the size of a chunk at byte ${place}`)
    if (size === 0) return Buffer.concat(chunks)
    const start = lineEnd + 2
    if (start + size > payload.length) throw new Error(`expected a chunk of ${size} bytes at byte ${start}`)
    chunks.push(payload.subarray(start, start + size))
    place = start + size + 2
  }
}
