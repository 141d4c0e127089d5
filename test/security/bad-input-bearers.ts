/** One good bearer of each kind, so that a spoiled request gets as far as it can. */
import { authorize, redeem } from '../application.ts'
import type { Bearers } from './bad-input.ts'

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
