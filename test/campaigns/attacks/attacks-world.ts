/**
 * A running service and the parties of an attack: a victim, an attacker who is a user too, and a second application.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createTenants, platformScopes } from '../../../apps/server/src/tenants/index.ts'
import { authorize, demo, redeem, type Authorization, type Tokens } from '../../application.ts'
import type { TestService } from '../../service.ts'

export interface Party {
  authorization: Authorization
  tokens: Tokens
  connectionId: string
}

export interface AttackWorld extends Pick<TestService, 'url' | 'db'> {
  tenants: ReturnType<typeof createTenants>
  /** Every line of the service's log so far. */
  lines: readonly string[]
  victim: Party
  attacker: Party
  /** Another application of the same tenant, and one of another tenant. */
  sibling: { clientId: string; secret: string }
  stranger: { clientId: string; secret: string }
}

/** Thrown when the service let an attack through. */
export class Breach extends Error {}

export function refuse(isRefused: boolean, what: string): void {
  if (!isRefused) throw new Breach(what)
}

export interface Answer {
  status: number
  body: Record<string, unknown>
  headers: Headers
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return {
    status: response.status,
    body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
    headers: response.headers,
  }
}

export const bearer = (token: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${token}` },
})

export function postJson(url: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  return ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

export function askToken(url: string, fields: Record<string, string>): Promise<Answer> {
  return ask(`${url}/oauth/token`, { method: 'POST', body: new URLSearchParams(fields) })
}

export const codeFields = (code: string, verifier: string): Record<string, string> => ({
  grant_type: 'authorization_code',
  ...{ code, code_verifier: verifier, client_id: demo.clientId, redirect_uri: demo.redirectUri },
})

export function newPkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export type Begun = { secret: string | null; redirectTo: string | null; status: number }

/** The connect URL, as a browser opens it. */
export async function beginConnectSession(url: string, parameters: Record<string, string> = {}): Promise<Begun> {
  const { challenge } = newPkce()
  const asked = { client_id: demo.clientId, code_challenge: challenge, code_challenge_method: 'S256' }
  const query = new URLSearchParams({ ...asked, state: randomUUID(), ...parameters }).toString()
  const { status, body } = await postJson(`${url}/connect/v1/session`, { query })
  const { session_secret: secret = null, redirect_to: redirectTo = null } = body as {
    session_secret?: string | null
    redirect_to?: string | null
  }
  return { secret, redirectTo, status }
}

async function enter(url: string, user: string): Promise<Party> {
  const authorization = await authorize(url, user, [{ provider_id: 'kraken', scenario: 'default' }])
  const tokens = await redeem(url, authorization)
  return { authorization, tokens, connectionId: authorization.connections[0]?.connection_id ?? '' }
}

export async function openAttackWorld({ url, db }: TestService, lines: readonly string[]): Promise<AttackWorld> {
  const tenants = createTenants({ db })
  const victim = await enter(url, 'victim')
  const attacker = await enter(url, 'attacker')
  const register = async (tenantId: string): Promise<{ clientId: string; secret: string }> => {
    const { client, secret } = await tenants.createClient(tenantId, {
      ...{ name: 'Other', redirectUris: ['https://other.example/cb'] },
      scopes: platformScopes,
    })
    return { clientId: client.clientId, secret: secret ?? '' }
  }
  const { tenantId } = await tenants.createTenant('Strangers')
  const [sibling, stranger] = [await register('ten_sandbox'), await register(tenantId)]
  return { url, db, tenants, lines, victim, attacker, sibling, stranger }
}
