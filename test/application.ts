/**
 * An integrator's application, written from the reference alone: it authorizes, redeems and reads with plain fetch and
 * none of our code.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { until } from './until.ts'

export const demo = {
  clientId: 'cli_demo',
  secret: 'sandbox-demo-secret',
  redirectUri: 'http://127.0.0.1:4100/callback',
}

export interface Authorization {
  code: string
  verifier: string
  state: string
  redirect_to: string
  connections: { provider_id: string; connection_id: string | null; added: boolean; errors: { cause: string }[] }[]
}

export interface ProviderWish {
  provider_id: string
  scenario?: string
  connection_id?: string
}

export async function authorize(url: string, user: string, providers: ProviderWish[]): Promise<Authorization> {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomUUID()
  const response = await fetch(`${url}/sandbox/authorizations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_id: demo.clientId,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state,
      user,
      providers,
    }),
  })
  if (response.status !== 200) throw new Error(`authorization: ${response.status} ${await response.text()}`)
  return { ...((await response.json()) as Omit<Authorization, 'verifier'>), verifier }
}

export interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
  user_id: string
  grant_id: string
}

export async function redeem(url: string, { code, verifier }: { code: string; verifier: string }): Promise<Tokens> {
  const response = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      client_id: demo.clientId,
      client_secret: demo.secret,
      redirect_uri: demo.redirectUri,
    }),
  })
  if (response.status !== 200) throw new Error(`token: ${response.status} ${await response.text()}`)
  return (await response.json()) as Tokens
}

export async function connect(
  url: string,
  user: string,
  providers: ProviderWish[],
): Promise<{ token: string; authorization: Authorization }> {
  const authorization = await authorize(url, user, providers)
  const { access_token: token } = await redeem(url, authorization)
  return { token, authorization }
}

/** The parsed body; numbers are JavaScript's. Use `fetchText` where digits matter. */
export async function fetchJson<T>(url: string, path: string, token: string): Promise<T> {
  return JSON.parse(await fetchText(url, path, token)) as T
}

export async function fetchText(url: string, path: string, token: string): Promise<string> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`)
  return text
}

export interface Page<T> {
  page: { next: string }
  data: T[]
  errors: { cause: string }[]
}

/** Follows `next` as it is, to the end. */
export async function walk<T>(url: string, path: string, token: string): Promise<T[]> {
  const all: T[] = []
  for (let next = path; next !== '';) {
    const page = await fetchJson<Page<T>>(url, next, token)
    all.push(...page.data)
    next = page.page.next
  }
  return all
}

interface ConnectionState {
  connection_id: string
  status: string
  status_cause: string | null
}

/**
 * Waits until every connection of the user has left `syncing`, or has stopped with a cause that waiting does not
 * resolve.
 */
export function untilRead(url: string, token: string): Promise<ConnectionState[]> {
  const find = async (): Promise<ConnectionState[] | undefined> => {
    const { data } = await fetchJson<Page<ConnectionState>>(url, '/accounts/v2/providers', token)
    return data.every(({ status }) => status !== 'syncing') ? data : undefined
  }
  return until('the end of the first read', find, 100)
}
