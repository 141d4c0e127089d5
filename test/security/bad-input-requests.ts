/**
 * Malformed requests. Each begins as a valid one, the documented example of a call, and then has one to
 * three things done to it: so that it gets past the checks before the one that is to be tried.
 */
import { toRequest, type Operation } from '../documents/openapi-documents.ts'
import { bodies, encodedTexts, headerLines, jsonValues, methods, pick, type Chance } from './bad-input-values.ts'

/** A request in its valid form. */
export interface Target {
  method: string
  path: string
  query: readonly string[]
  body: string | undefined
  mediaType: string
  access: 'user' | 'tenant' | 'session' | 'manage' | 'nobody'
}

export interface Draft {
  method: string
  path: string
  query: string[]
  headers: string[]
  body: Buffer
}

const form = 'application/x-www-form-urlencoded'
const others: readonly Partial<Target>[] = [
  {
    method: 'POST',
    path: '/oauth/token',
    mediaType: form,
    body: 'grant_type=authorization_code&code=x&client_id=cli_demo',
  },
  {
    method: 'POST',
    path: '/oauth/token',
    mediaType: form,
    body: 'grant_type=refresh_token&refresh_token=x&client_id=cli_demo',
  },
  { method: 'POST', path: '/oauth/revoke', mediaType: form, body: 'token=x&client_id=cli_demo' },
  { method: 'POST', path: '/oauth/introspect', mediaType: form, body: 'token=x&client_id=cli_demo' },
  { path: '/.well-known/oauth-authorization-server' },
  { method: 'POST', path: '/sandbox/authorizations', body: '{"client_id":"cli_demo","user":"x","providers":[]}' },
  { path: '/sandbox/scenarios' },
  { path: '/sandbox/mailbox' },
  { path: '/connect', query: ['client_id=cli_demo', 'state=x'] },
  { path: '/connect/manage', query: ['client_id=cli_demo'] },
  { path: '/connect/callback' },
  ...['/healthz', '/readyz', '/metrics', '/docs', '/docs/v1', '/openapi/v2.json', '/', '//', '*'].map((path) => ({
    path,
  })),
]

/** Every documented call, and undocumented ones. */
export function listTargets(operations: readonly Operation[]): Target[] {
  const plain = { method: 'GET', query: [], body: undefined, mediaType: 'application/json', access: 'nobody' } as const
  return [
    ...operations.map((operation): Target => {
      const { method, target, body } = toRequest(operation, {})
      const [path = '', query = ''] = target.split('?')
      const access = operation.security.flatMap(Object.keys)[0] as Target['access'] | undefined
      return { ...plain, method, path, query: query === '' ? [] : query.split('&'), body, access: access ?? 'nobody' }
    }),
    ...others.map((target) => ({ path: '', ...plain, ...target })),
  ]
}

export function toDraft(target: Target, bearer: string | undefined): Draft {
  const { method, path, query, body, mediaType } = target
  return {
    method,
    path,
    query: [...query],
    headers: [
      'Host: 127.0.0.1',
      ...(bearer === undefined ? [] : [`Authorization: Bearer ${bearer}`]),
      ...(body === undefined ? [] : [`Content-Type: ${mediaType}`]),
    ],
    body: Buffer.from(body ?? ''),
  }
}

const parameterNames = [
  'limit',
  'cursor',
  'next_uri',
  'start_time',
  'end_time',
  'types',
  'asset_symbols',
  'provider_ids',
  'x',
]

/** The mutations of a request; each works on the result of the one before. */
const spoils: readonly ((draft: Draft, chance: Chance) => void)[] = [
  (draft, chance) => void (draft.method = pick(chance, methods)),
  (draft, chance) =>
    void (draft.path += pick(chance, ['/', '//', '/..', '/%2e%2e', '/%00', '/%zz', '/\u00e9', ';x', '#x', '\\x'])),
  (draft, chance) => {
    const parts = draft.path.split('/')
    parts[chance(parts.length)] = pick(chance, encodedTexts)
    draft.path = parts.join('/')
  },
  (draft, chance) => void draft.query.push(`${pick(chance, parameterNames)}=${pick(chance, encodedTexts)}`),
  (draft, chance) => void draft.query.push(`${pick(chance, encodedTexts)}=1`),
  (draft, chance) => {
    const place = chance(draft.query.length)
    const [name = 'limit'] = (draft.query[place] ?? 'limit').split('=')
    draft.query[place] = `${name}=${pick(chance, encodedTexts)}`
  },
  (draft, chance) => void draft.query.push(...draft.query.slice(0, 1), `${'&'.repeat(chance(50))}`),
  (draft, chance) => void draft.headers.push(pick(chance, headerLines)),
  (draft, chance) => {
    const line = pick(chance, headerLines)
    const name = line.split(':')[0]?.toLowerCase() ?? ''
    draft.headers = [...draft.headers.filter((other) => !other.toLowerCase().startsWith(`${name}:`)), line]
  },
  (draft, chance) => void (draft.body = pick(chance, bodies)),
  (draft, chance) => void (draft.body = Buffer.from(pick(chance, jsonValues))),
  spoilMember,
  spoilMember,
  spoilMember,
  (draft, chance) => void (draft.body = draft.body.subarray(0, chance(draft.body.length + 1))),
  (draft, chance) => {
    const bytes = Buffer.from(draft.body)
    if (bytes.length > 0) bytes[chance(bytes.length)] = chance(256)
    draft.body = bytes
  },
]

/** One member of a JSON body gets another value; of a form, one field. */
function spoilMember(draft: Draft, chance: Chance): void {
  const text = draft.body.toString()
  const isForm = !text.startsWith('{')
  const values = [...text.matchAll(isForm ? /=([^&]*)/g : /:\s*("(?:[^"\\]|\\.)*"|[^,{}[\]\s]+|\[\]|\{\})/g)]
  const found = values[chance(values.length)]
  if (found === undefined) return
  const value = found[1] ?? ''
  const start = found.index + found[0].length - value.length
  const other = pick(chance, isForm ? encodedTexts : jsonValues)
  draft.body = Buffer.from(text.slice(0, start) + other + text.slice(start + value.length))
}

export function spoil(draft: Draft, chance: Chance): void {
  for (let count = 1 + chance(3); count > 0; count -= 1) pick(chance, spoils)(draft, chance)
}

export interface Wire {
  bytes: Buffer
  /** False when it announces more bytes or is not valid HTTP. Its sender must then end it, and may get no answer. */
  isWhole: boolean
}

/** The raw bytes. One request in fifty states a wrong length, and one in fifty is not HTTP at all. */
export function toWire({ method, path, query, headers, body }: Draft, chance: Chance): Wire {
  if (chance(50) === 0) {
    return { bytes: Buffer.concat([Buffer.from(pick(chance, encodedTexts)), body]), isWhole: false }
  }
  const target = query.length === 0 ? path : `${path}?${query.join('&')}`
  const length = chance(50) === 0 ? body.length + 1 + chance(9) : body.length
  const isSized = headers.some((line) => /^(content-length|transfer-encoding|upgrade):/i.test(line))
  const head = [
    `${method} ${target} HTTP/1.1`,
    ...headers,
    ...(isSized || (length === 0 && method === 'GET') ? [] : [`Content-Length: ${length}`]),
    'Connection: close',
  ]
  const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
  return { bytes, isWhole: !isSized && length === body.length }
}
