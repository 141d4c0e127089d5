/**
 * A live token for the demo user, obtained like an application's: authorization, code, token. The first time it
 * connects three simulated accounts, one for each way to connect (a key, a sign-in, a wallet), and waits until they
 * were read.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'

const clientId = 'cli_demo'
/** Whose accounts the demo application shows as samples. */
export const demoUser = 'demo'
const demoProviders = [
  { provider_id: 'kraken' },
  { provider_id: 'coinbase' },
  { provider_id: 'bitcoin', scenario: 'savings' },
]
const firstReadMaxMs = 60_000
const pollMs = 250
const unavailableMaxMs = 60_000

/** The service answers 503 while its database is unreachable. */
class Unavailable extends Error {}

/** Starts over when the database fails in between: a code whose response was lost cannot be redeemed again. */
export async function openDemoAccess(
  url: string,
  redirectUri: string,
  print: (line: string) => void,
): Promise<{ token: string }> {
  const deadline = performance.now() + unavailableMaxMs
  for (;;) {
    try {
      return await openOnce(url, redirectUri, print)
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
}

async function openOnce(url: string, redirectUri: string, print: (line: string) => void): Promise<{ token: string }> {
  const token = await authorize(url, redirectUri, [])
  if ((await listConnections(url, token)).length > 0) return { token }
  print(
    'Connecting demo accounts at the simulated Kraken and Coinbase and a Bitcoin wallet, and reading their history …',
  )
  const connected = await authorize(url, redirectUri, demoProviders)
  const deadline = performance.now() + firstReadMaxMs
  for (;;) {
    const connections = await listConnections(url, connected)
    if (connections.length > 0 && connections.every(({ status }) => status === 'active')) {
      const count = connections.reduce((sum, { transaction_count }) => sum + transaction_count, 0)
      print(`Read ${count} transactions.`)
      return { token: connected }
    }
    if (performance.now() > deadline) {
      print('The history is still being read; this continues in the background.')
      return { token: connected }
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

async function authorize(
  url: string,
  redirectUri: string,
  providers: readonly { provider_id: string; scenario?: string }[],
): Promise<string> {
  const verifier = randomBytes(32).toString('base64url')
  const answer = await post<{ code: string }>(`${url}/sandbox/authorizations`, 'application/json', {
    client_id: clientId,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: randomUUID(),
    user: demoUser,
    providers,
  })
  const form = { grant_type: 'authorization_code', code: answer.code, code_verifier: verifier, client_id: clientId }
  const tokens = await post<{ access_token: string }>(`${url}/oauth/token`, 'application/x-www-form-urlencoded', {
    ...form,
    redirect_uri: redirectUri,
  })
  return tokens.access_token
}

interface Connection {
  status: string
  transaction_count: number
}

async function listConnections(url: string, token: string): Promise<Connection[]> {
  const response = await fetch(`${url}/accounts/v2/providers`, { headers: { authorization: `Bearer ${token}` } })
  return ((await answerOf(response)) as { data: Connection[] }).data
}

async function post<T>(url: string, type: string, body: Record<string, unknown>): Promise<T> {
  const text = type === 'application/json' ? JSON.stringify(body) : new URLSearchParams(body as Record<string, string>)
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body: text })
  return (await answerOf(response)) as T
}

async function answerOf(response: Response): Promise<unknown> {
  const answer: unknown = await response.json()
  // The body says why, and is ours: it holds no secret.
  const message = `${response.url} answered ${response.status}: ${JSON.stringify(answer)}`
  if (response.status === 503) throw new Unavailable(message)
  if (!response.ok) throw new Error(message)
  return answer
}
