/**
 * Sends spoiled requests to a running service and judges the answers: never a 5xx, never silence, always a problem
 * document (or the OAuth error shape where that is spoken) with a request id. Request n of a seed is always the same
 * one.
 */
import { connect } from 'node:net'
import { createChance, pick } from './bad-input-values.ts'
import { listTargets, spoil, toDraft, toWire, type Target, type Wire } from './bad-input-requests.ts'
import type { Operation } from '../documents/openapi-documents.ts'
import { parseResponse, readText, type RawResponse } from './raw-response.ts'
import { patienceMs } from '../until.ts'
import { authorize, redeem } from '../application.ts'

export type Bearers = Readonly<Record<Exclude<Target['access'], 'nobody'>, string>>

export interface BadInputOptions {
  url: string
  operations: readonly Operation[]
  requests: number
  seed: number
  /** These are renewed now and then, because some requests succeed and end the bearer that they were sent with. */
  signIn: () => Promise<Bearers>
  onProgress?: (done: number) => Promise<void>
}

export interface BadInputReport {
  /**
   * How many answers had this status; 0 counts requests that were not HTTP and whose connection was closed without an
   * answer.
   */
  byStatus: Map<number, number>
  faults: string[]
}

/** Very high limits, because a request that is refused for its rate tests nothing else. */
export const badInputSettings = {
  ASSAY_LIMIT_TOKEN: '1000000',
  ASSAY_LIMIT_ADDRESS: '1000000',
  ASSAY_LIMIT_CLIENT: '1000000',
  ASSAY_LIMIT_OAUTH_FAILURES: '1000000',
  ASSAY_SLOW_SECRETS_AFTER: '1000000',
}

const bearersGoodFor = 500
const atATime = 8

export async function sendBadInput(options: BadInputOptions): Promise<BadInputReport> {
  const { url, operations, requests, seed, signIn, onProgress } = options
  const targets = listTargets(operations)
  const report: BadInputReport = { byStatus: new Map(), faults: [] }
  for (let done = 0; done < requests; done += bearersGoodFor) {
    const bearers = await signIn()
    const numbers = Array.from(
      { length: Math.min(bearersGoodFor, requests - done) },
      (_, index) => done + index,
    ).values()
    const send = async (): Promise<void> => {
      for (const number of numbers) await sendOne(url, number, seed, targets, bearers, report)
    }
    await Promise.all(Array.from({ length: atATime }, send))
    await onProgress?.(Math.min(done + bearersGoodFor, requests))
  }
  return report
}

async function sendOne(
  url: string,
  number: number,
  seed: number,
  targets: readonly Target[],
  bearers: Bearers,
  report: BadInputReport,
): Promise<void> {
  const chance = createChance(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number, 0x85ebca6b))
  const target = pick(chance, targets)
  const draft = toDraft(target, target.access === 'nobody' ? undefined : bearers[target.access])
  spoil(draft, chance)
  const wire = toWire(draft, chance)
  const answer = await exchange(url, wire)
  const response = answer === undefined ? undefined : parseResponse(answer)
  const status = response?.status ?? 0
  report.byStatus.set(status, (report.byStatus.get(status) ?? 0) + 1)
  const fault = answer === undefined ? `no answer for ${patienceMs} ms` : findFault(response, answer, target, wire)
  if (fault === undefined) return
  const line = toLine(wire.bytes, 200)
  report.faults.push(`request ${number} of seed ${seed}: ${fault}\n  ${line}\n  ${toLine(answer ?? Buffer.of(), 600)}`)
}

function toLine(bytes: Buffer, max: number): string {
  return bytes.toString('latin1', 0, max).replaceAll(/[\r\n]+/g, ' ⏎ ')
}

/** What came back until the connection ended, or enough of it to judge; undefined when nothing came for too long. */
function exchange(url: string, { bytes, isWhole }: Wire): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const chunks: Buffer[] = []
    const end = (result: Buffer | undefined): void => {
      socket.destroy()
      resolve(result)
    }
    socket.setTimeout(patienceMs, () => end(undefined))
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      // A stream that lasts for minutes counts as answered.
      const answer = Buffer.concat(chunks)
      if (isNdjson(parseResponse(answer))) end(answer)
    })
    socket.on('error', () => end(Buffer.concat(chunks)))
    socket.on('close', () => end(Buffer.concat(chunks)))
    // Node's server does not answer a client that has ended its side if the answer takes longer.
    if (isWhole) socket.write(bytes)
    else socket.end(bytes)
  })
}

function isNdjson(response: RawResponse | undefined): boolean {
  return response?.status === 200 && response.headers.get('content-type')?.startsWith('application/x-ndjson') === true
}

const speaksOauth = /^\/(oauth|\.well-known)\//
const continues = 'HTTP/1.1 100 Continue\r\n\r\n'

function findFault(
  response: RawResponse | undefined,
  answer: Buffer,
  { path }: Target,
  { isWhole, bytes }: Wire,
): string | undefined {
  // The request ends halfway, so the server cannot answer it.
  if (!isWhole && (answer.length === 0 || answer.equals(Buffer.from(continues)))) return undefined
  if (response === undefined) return answer.length === 0 ? 'no answer' : 'no HTTP response'
  const { status, headers } = response
  if (status < 200 || status >= 500) return `status ${status}`
  if (headers.get('x-request-id')?.startsWith('req_') !== true) return 'no request id'
  // A HEAD request gets no body.
  if (status < 400 || bytes.subarray(0, 5).toString() === 'HEAD ') return undefined
  const body = readBody(response)
  if (body === undefined) return 'a body that is not JSON'
  if (headers.get('content-type') === 'application/problem+json') return findProblemFault(body, status)
  return speaksOauth.test(path) && /^[a-z_]+$/.test(String(body['error']))
    ? undefined
    : 'neither a problem document nor an OAuth error'
}

/** Undefined when it is not what its headers say, or not a JSON object. */
function readBody(response: RawResponse): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(readText(response))
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function findProblemFault(problem: Record<string, unknown>, status: number): string | undefined {
  const names = ['type', 'title', 'status', 'code', 'detail', 'request_id', 'errors']
  const missing = names.filter((name) => problem[name] === undefined)
  if (missing.length > 0) return `a problem document without ${missing.join(', ')}`
  return problem['status'] === status ? undefined : 'a problem document of another status'
}

/** One good bearer of each kind, so that a spoiled request gets as far as it can. */
export async function signInForBadInput(url: string): Promise<Bearers> {
  const { access_token: user } = await redeem(url, await authorize(url, 'bad input', []))
  const tenant = await post<{ access_token: string }>(
    `${url}/oauth/token`,
    new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'cli_enterprise',
      client_secret: 'sandbox-enterprise-secret',
      scope: 'enterprise:read enterprise:manage',
    }),
  )
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
  const query = `client_id=cli_demo&code_challenge=${challenge}&code_challenge_method=S256&state=${crypto.randomUUID()}`
  const session = await post<{ session_secret: string }>(`${url}/connect/v1/session`, JSON.stringify({ query }))
  const manage = await post<{ session_secret: string }>(`${url}/connect/v1/me/session`, '{"client_id":"cli_demo"}')
  return { user, tenant: tenant.access_token, session: session.session_secret, manage: manage.session_secret }
}

async function post<T>(url: string, body: string | URLSearchParams): Promise<T> {
  const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
  const response = await fetch(url, { method: 'POST', headers, body })
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}
