/**
 * The token endpoint (RFC 6749 §4.1.3, §6; RFC 7009), and a holder of tokens that refreshes them once for all calls
 * that wait: a refresh token is spent by its first use, and a spent token that is presented again ends the session.
 * Several processes that share stored tokens therefore refresh one after the other (`lock`), and each of them reads the
 * store again (`loadTokens`) before it spends a token.
 */
import { ConnectionError, OAuthError } from './errors.ts'
import { retryAfterSeconds, send, type HttpAnswer, type HttpRequest, type SendOptions } from './calling/send.ts'

export interface Tokens {
  accessToken: string
  /** Absent in the short-term flow. */
  refreshToken?: string
  /** Epoch milliseconds. */
  expiresAtMs: number
  scope: string
  userId: string
  grantId: string
}

export interface TokenClient extends SendOptions {
  authUrl: string
  clientId: string
  /** Backends only. It must never reach a browser. */
  clientSecret: string | undefined
}

export interface CodeExchange {
  code: string
  codeVerifier: string
  /** The one of the authorization request, or the registered one. */
  redirectUri: string
}

export function exchangeCode(client: TokenClient, exchange: CodeExchange, signal?: AbortSignal): Promise<Tokens> {
  return askForTokens(
    client,
    {
      grant_type: 'authorization_code',
      code: exchange.code,
      code_verifier: exchange.codeVerifier,
      redirect_uri: exchange.redirectUri,
    },
    { signal },
  )
}

/**
 * If the answer is lost, the token is spent and its successor unknown. The service answers the same request again for
 * ten seconds; after that, it ends everything that was issued for the code.
 */
const refreshRepeatableMs = 8_000

function refreshTokens(client: TokenClient, refreshToken: string): Promise<Tokens> {
  return askForTokens(
    client,
    { grant_type: 'refresh_token', refresh_token: refreshToken },
    {
      repeatableMs: refreshRepeatableMs,
    },
  )
}

/** Revokes a refresh token with everything issued from it, or an access token alone. */
export async function revokeToken(client: TokenClient, token: string): Promise<void> {
  await postForm(client, '/oauth/revoke', { token })
}

export interface TokenHolder {
  /** A token that is valid for some seconds more; `refused` is one that the service did not accept. */
  get(refused?: string): Promise<string>
  current(): Tokens
}

/** Refreshed this long before expiry, so that a token does not expire during a call. */
export const marginMs = 30_000

/** Where an application keeps the tokens of one user, so that all its processes share them. */
export interface TokenStore {
  /** New tokens, to be kept; the old refresh token is spent. */
  onTokens?: ((tokens: Tokens) => void | Promise<void>) | undefined
  /** The tokens kept last. The client calls it inside `lock`, before it spends a refresh token. */
  loadTokens?: (() => Tokens | Promise<Tokens>) | undefined
  /** Runs `work` while no other process runs work for the same user. */
  lock?: ((work: () => Promise<void>) => Promise<void>) | undefined
}

export function createTokenHolder(client: TokenClient, first: Tokens, tokenStore: TokenStore): TokenHolder {
  const { onTokens, loadTokens, lock = (work) => work() } = tokenStore
  let tokens = first
  /** The refresh token that was spent for `tokens`, while the application has not stored them. */
  let spent: string | undefined
  let refreshing: Promise<void> | undefined

  const isGood = (refused: string | undefined): boolean =>
    tokens.accessToken !== refused && tokens.expiresAtMs - marginMs > Date.now()

  async function refresh(refused: string | undefined): Promise<void> {
    // Another process may have refreshed since: its tokens are good, and ours are spent.
    const stored = await loadTokens?.()
    if (spent !== undefined && (stored === undefined || stored.refreshToken === spent)) await store(spent)
    else tokens = stored ?? tokens
    spent = undefined
    if (isGood(refused) || tokens.refreshToken === undefined) return
    const { refreshToken } = tokens
    tokens = await refreshTokens(client, refreshToken)
    // Stored before it is used, and before the lock is released: the next process must find the new pair.
    await store(refreshToken)
  }

  /** If the application fails to, the pair is passed on again by the next call: all other processes have the spent one. */
  async function store(spentFor: string): Promise<void> {
    spent = spentFor
    await onTokens?.(tokens)
    spent = undefined
  }

  return {
    current: () => tokens,
    async get(refused) {
      const canRefresh = tokens.refreshToken !== undefined || loadTokens !== undefined
      if (spent === undefined && (isGood(refused) || !canRefresh)) return tokens.accessToken
      refreshing ??= lock(() => refresh(refused)).finally(() => {
        refreshing = undefined
      })
      await refreshing
      return tokens.accessToken
    },
  }
}

interface TokenAnswer {
  access_token: string
  expires_in: number
  refresh_token?: string
  scope: string
  user_id: string
  grant_id: string
}

async function askForTokens(client: TokenClient, fields: Record<string, string>, how: FormOptions): Promise<Tokens> {
  const body = JSON.parse(await postForm(client, '/oauth/token', fields, how)) as TokenAnswer
  return {
    accessToken: body.access_token,
    ...(body.refresh_token === undefined ? {} : { refreshToken: body.refresh_token }),
    expiresAtMs: Date.now() + body.expires_in * 1_000,
    scope: body.scope,
    userId: body.user_id,
    grantId: body.grant_id,
  }
}

type FormOptions = Pick<HttpRequest, 'signal' | 'repeatableMs'>

/** The body of the answer; refusals are thrown. */
export async function postForm(
  client: TokenClient,
  path: string,
  fields: Record<string, string>,
  how: FormOptions = {},
): Promise<string> {
  const { authUrl, clientId, clientSecret } = client
  const body = new URLSearchParams({
    ...fields,
    client_id: clientId,
    ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
  })
  const answer = await send(client, {
    method: 'POST',
    url: `${authUrl}${path}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: body.toString(),
    ...how,
  })
  if (answer.status !== 200) throw toOAuthError(answer)
  return answer.text
}

function toOAuthError({ status, headers, text }: HttpAnswer): Error {
  try {
    const { error, error_description: description = '' } = JSON.parse(text) as Record<string, string>
    if (error !== undefined) return new OAuthError(error, description, retryAfterSeconds(headers))
  } catch {
    // The body is not JSON, so something in between has answered.
  }
  return new ConnectionError(`the authorization server answered ${status}`, status)
}
