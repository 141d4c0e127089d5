/**
 * An application that gets tokens all the time, of `user` and of others: a code, its exchange, a refresh. Each answer is 200, or 503 with
 * Retry-After; after a 503 it is unknown whether the code was spent, so the application begins again with a new one. A
 * token that was handed out must work afterwards.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, demo } from '../../application.ts'

export interface Exchanges {
  /** The last one of `user` that was handed out. */
  token(): string
  /** Of the tokens handed out since the last check, those that do not work. In words. */
  checkAcknowledged(): Promise<string[]>
  counts(): { acknowledged: number; refused: number }
  /** What is wrong, in words. */
  stop(): Promise<string[]>
}

const pauseMs = 200
/** A service takes only so many consents of one user a day, and keeps only so many of the tokens. */
const usersMax = 20
const tokenTriesMax = 100

interface Tokens {
  access_token: string
  refresh_token: string
}

export async function startExchanges(url: string, user: string): Promise<Exchanges> {
  let { token } = await connect(url, user, [])
  const stopping = new AbortController()
  const wrong: string[] = []
  let unchecked: string[] = []
  let [acknowledged, refused] = [0, 0]
  let turn = 0

  async function post(path: string, body: string | URLSearchParams): Promise<unknown> {
    const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body })
    const text = await response.text()
    if (response.status === 200) return JSON.parse(text)
    if (response.status === 503 && response.headers.has('retry-after')) refused += 1
    else wrong.push(`${path} was answered ${response.status}: ${text.replace(/req_\w+/, 'req_…')}`)
    return undefined
  }

  async function exchange(): Promise<void> {
    const verifier = randomBytes(32).toString('base64url')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const wish = { client_id: demo.clientId, code_challenge: challenge, code_challenge_method: 'S256' }
    const isFirst = turn % usersMax === 0
    const whose = isFirst ? user : `${user} ${turn % usersMax}`
    turn += 1
    const authorization = JSON.stringify({ ...wish, state: randomUUID(), user: whose, providers: [] })
    const made = (await post('/sandbox/authorizations', authorization)) as { code: string } | undefined
    if (made === undefined) return
    const client = { client_id: demo.clientId, client_secret: demo.secret }
    const proof = { code: made.code, code_verifier: verifier, redirect_uri: demo.redirectUri }
    const form = new URLSearchParams({ grant_type: 'authorization_code', ...proof, ...client })
    const first = (await post('/oauth/token', form)) as Tokens | undefined
    if (first === undefined) return
    keep(first, isFirst)
    const renewal = { grant_type: 'refresh_token', refresh_token: first.refresh_token, ...client }
    const second = (await post('/oauth/token', new URLSearchParams(renewal))) as Tokens | undefined
    if (second !== undefined) keep(second, isFirst)
  }
  function keep({ access_token }: Tokens, isFirst: boolean): void {
    acknowledged += 1
    if (isFirst) token = access_token
    unchecked.push(access_token)
  }

  /** Asks again while the database is away. */
  async function isLive(candidate: string): Promise<boolean> {
    for (let tries = 0; tries < tokenTriesMax; tries += 1) {
      const headers = { authorization: `Bearer ${candidate}` }
      const response = await fetch(`${url}/accounts/v2/providers`, { headers })
      await response.arrayBuffer()
      if (response.status !== 503) return response.status === 200
      await delay(pauseMs)
    }
    return false
  }

  const exchanging = (async () => {
    while (!stopping.signal.aborted) {
      await exchange().catch((error: unknown) => void wrong.push(`an exchange had no answer: ${String(error)}`))
      await delay(pauseMs)
    }
  })()

  async function checkAcknowledged(): Promise<string[]> {
    const tokens = unchecked
    unchecked = []
    const lost: string[] = []
    for (const candidate of tokens) {
      if (!(await isLive(candidate))) lost.push('a token that was handed out does not work')
    }
    return lost
  }

  return {
    token: () => token,
    checkAcknowledged,
    counts: () => ({ acknowledged, refused }),
    async stop() {
      stopping.abort()
      await exchanging
      return [...(await checkAcknowledged()), ...wrong]
    },
  }
}
