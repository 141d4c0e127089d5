/**
 * Codes and tokens that carry what they stand for. The service keeps its database across restarts, while the sandbox
 * keeps nothing. So a token that one process issued must be valid in the next one with the same seed. Each is its
 * claims in JSON and a MAC over them; a MAC of one kind is not valid for another, so a code cannot pass as a token.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

export interface Claims {
  /** The account's name in the control API. */
  account: string
  /** One sign-in and all tokens that resulted from it. */
  family: string
  /** How many times the family was refreshed before this token was issued. */
  serial: number
  issuedMs: number
  scope: string
}

export interface AuthorizationCodeClaims extends Claims {
  redirectUri: string
  challenge: string
}

interface ClaimsOf {
  code: AuthorizationCodeClaims
  access: Claims
  refresh: Claims
}
export type TokenKind = keyof ClaimsOf

export interface Tokens {
  seal<K extends TokenKind>(kind: K, claims: ClaimsOf[K]): string
  /** Undefined for anything that was not sealed as this kind with this seed. */
  open<K extends TokenKind>(kind: K, text: string): ClaimsOf[K] | undefined
}

/** `prefixes` are what the provider's codes and tokens begin with. */
export function createTokens(seed: string, provider: string, prefixes: Readonly<Record<TokenKind, string>>): Tokens {
  const macOf = (kind: TokenKind, body: string): string =>
    createHmac('sha256', seed).update(`${provider}\n${kind}\n${body}`).digest('base64url')
  return {
    seal(kind, claims) {
      const body = Buffer.from(JSON.stringify(claims)).toString('base64url')
      return `${prefixes[kind]}${body}.${macOf(kind, body)}`
    },
    open<K extends TokenKind>(kind: K, text: string) {
      if (!text.startsWith(prefixes[kind])) return undefined
      const [body = '', mac = '', ...more] = text.slice(prefixes[kind].length).split('.')
      if (more.length > 0 || !isSame(mac, macOf(kind, body))) return undefined
      // Only `seal` can have made the MAC, so it wrote these claims.
      return JSON.parse(Buffer.from(body, 'base64url').toString()) as ClaimsOf[K]
    },
  }
}

/** Takes the same time wherever they differ. */
export function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
