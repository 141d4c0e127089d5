/**
 * Request bodies: JSON in UTF-8, read strictly. Fastify's parser would let broken UTF-8 through as replacement
 * characters, and any parser lets NULs and half surrogates through, which PostgreSQL cannot store. A member that is
 * there twice would be taken from its last place here and from its first elsewhere (RFC 8259 §4), so it is refused by
 * name.
 */
import { Refusal } from '@assay/core'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { parseOrRefuse, refuse, wrongParameter } from './invalid.ts'

/** Deeper than any body of ours; a walk down a hostile one must end. */
const depthMax = 16

export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      const encoding = request.headers['content-encoding']
      if (encoding !== undefined && encoding !== 'identity') {
        throw new Refusal('unsupported_media_type', 'send the body without a content encoding')
      }
      return parseJsonBody(bytes)
    },
  )
}

const noBody = z.strictObject({}).optional()

/** A call that takes no body still names what it does not know: an empty object is as good as none. */
export function readBody({ body }: { body?: z.ZodType }, given: unknown, examine?: (given: unknown) => void): unknown {
  examine?.(given)
  const value = parseOrRefuse(body ?? noBody, given)
  return body === undefined ? undefined : value
}

/** Undefined for no body at all, which is a matter for the endpoint's schema. */
function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined
  const value = parse(bytes)
  checkTexts(value)
  return value
}

function parse(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const value = JSON.parse(text) as unknown
    checkMembers(text)
    return value
  } catch (error) {
    // V8's message quotes the body, and a body may hold a secret.
    if (error instanceof SyntaxError) throw new Refusal('invalid_request', 'the body is not JSON')
    if (error instanceof TypeError) throw new Refusal('invalid_request', 'the body is not UTF-8')
    throw error
  }
}

// A string, with the colon that makes it a member's name, or a bracket. Nothing else matters here.
const nameOrBracket = /("[^"\\]*(?:\\.[^"\\]*)*")\s*(:)?|[{}[\]]/g

/** Expects text that is valid JSON. */
function checkMembers(text: string): void {
  const open: { names: Set<string>; latest: string }[] = []
  for (const [token, quoted = '', colon] of text.matchAll(nameOrBracket)) {
    if (token === '{' || token === '[') open.push({ names: new Set(), latest: '' })
    else if (token === '}' || token === ']') open.pop()
    const inner = open.at(-1)
    if (colon === undefined || inner === undefined) continue
    inner.latest = JSON.parse(quoted) as string
    if (inner.names.has(inner.latest)) {
      const path = open.flatMap(({ latest }) => (latest === '' ? [] : [latest])).join('.')
      throw refuse([wrongParameter(path || 'the body', 'must be given once')])
    }
    inner.names.add(inner.latest)
  }
}

function checkTexts(root: unknown): void {
  const waiting = [{ value: root, path: '', depth: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path, depth } = next
    if (depth > depthMax) throw new Refusal('invalid_request', `the body is nested deeper than ${depthMax} levels`)
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
      throw refuse([wrongParameter(path || 'the body', 'must not have a NUL or half a surrogate pair')])
    }
    if (typeof value !== 'object' || value === null) continue
    for (const [name, member] of Object.entries(value)) {
      waiting.push({ value: member, path: path === '' ? name : `${path}.${name}`, depth: depth + 1 })
    }
  }
}
