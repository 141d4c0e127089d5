/** Conditional requests (RFC 9110 §13.1.2) for answers that are the same for every caller. */
import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface TaggedBody {
  bytes: Buffer
  etag: string
}

export function toTaggedBody(text: string): TaggedBody {
  return { bytes: Buffer.from(text), etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"` }
}

/**
 * For answers that may be compressed: plain or not they have one tag and say the same, so the tag is weak (§8.8.3.3).
 */
export function weaken({ bytes, etag }: TaggedBody): TaggedBody {
  return { bytes, etag: `W/${etag}` }
}

export function sendTaggedBody(reply: FastifyReply, body: TaggedBody, type: string): FastifyReply {
  void reply.header('ETag', body.etag).header('Cache-Control', 'no-cache')
  if (hasCopy(reply.request, body.etag)) return reply.code(304).send()
  return reply.type(type).send(body.bytes)
}

/**
 * `If-None-Match` is a list of tags, compared weakly, or a star. A proxy that compresses an answer makes its tag weak, so
 * the weak one comes back also where we sent a strong one.
 */
export function hasCopy({ headers }: FastifyRequest, etag: string): boolean {
  const known = headers['if-none-match']?.split(',').map((tag) => toOpaque(tag.trim())) ?? []
  return known.includes(toOpaque(etag)) || known.includes('*')
}

function toOpaque(tag: string): string {
  return tag.replace(/^W\//, '')
}
